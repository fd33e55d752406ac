"""User functions with a parameter `out`: what becomes of the tensor that is passed there."""

from __future__ import annotations

import dataclasses

import libcst as cst

from stridelint.linter.inference.objects import Instance
from stridelint.linter.inference.out_usage import is_last_write, usage
from stridelint.linter.inference.path import Frame, Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.values import Constant, Mapping, Number, Sequence, TensorValue, Unknown, Value
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import Form, OutParameter, Site


def enter(path: Path, frame: Frame, scope: Scope) -> None:
    """A function starts: remember what its parameter `out` is."""
    given = scope.values.get("out")
    if not isinstance(given, (TensorValue, Unknown)) or not isinstance(frame.function.node, cst.FunctionDef):
        return
    known = path.program.once(frame.function.node, parameter, frame.function.node)
    if known is None:
        return
    facts = path.facts(given) if isinstance(given, TensorValue) else TensorFacts()
    frame.given_out, frame.out_parameter = given, dataclasses.replace(known, facts=facts)


def parameter(function: cst.FunctionDef) -> OutParameter | None:
    """What is written about the parameter `out` of a function; None where that is not like torch's."""
    known = usage(function)
    if not known.is_contract:
        return None
    return OutParameter(
        TensorFacts(),
        function.name.value,
        writes=bool(known.writes),
        last_writes=tuple(Site(node) for node in known.writes if is_last_write(function, node)),
        handed=tuple(Site(node) for node in known.handed),
        aliased=known.aliased,
        rebindings=tuple(Site(node) for node in known.rebindings),
        replacements=tuple(Site(node) for node in known.replacements),
        returns_values=known.returns_values,
        rereads=known.rereads,
    )


def happens(path: Path, node: cst.CSTNode) -> None:
    """A call or an assignment in the running function: it may hand on its `out`, or bind the name to another value."""
    frame = path.frames[-1] if path.frames else None
    if frame is None or frame.out_parameter is None:
        return
    given_up = (*frame.out_parameter.handed, *frame.out_parameter.replacements)
    frame.out_handed |= any(site.node is node for site in given_up)
    frame.out_rebound = next((site for site in frame.out_parameter.rebindings if site.node is node), frame.out_rebound)


def parameter_of(path: Path, tensor: TensorValue) -> OutParameter | None:
    """The parameter `out` of the running function, if the tensor is (a part of) what was passed there."""
    frame = path.frames[-1] if path.frames else None
    return (
        frame.out_parameter
        if frame is not None and frame.given_out is not None and _is_part(tensor, frame.given_out)
        else None
    )


def _is_part(tensor: TensorValue, given: Value) -> bool:
    return tensor.is_part_of(given.tensor if isinstance(given, Unknown) else given)


def left(path: Path, frame: Frame, result: Value) -> None:
    """The function ends with this result: an event called "return", if `out` is known to be given."""
    from stridelint.linter.inference.torch_api.emit import emit, operand, plain

    given, function = frame.given_out, frame.function.node
    assert isinstance(function, cst.FunctionDef) and frame.out_parameter is not None
    if isinstance(given, Unknown):
        tested = given.none is False
        tensor = given.tensor
    else:
        tensor, tested = (given if isinstance(given, TensorValue) else None), True
    node: cst.CSTNode = frame.returning or _last_statement(function.body)
    arguments: dict[str, object] = {
        "out": None if tensor is None else operand(path, tensor),
        "given": tested,
        "is_out": any(_is_out(result, twin) for twin in frame.out_twins) or _is_out(result, given),
        "value": plain(path, result),
        "called": frame.call is not None and isinstance(given, TensorValue) and given.proven,
        "function": frame.out_parameter,
        "handed": frame.out_handed or any(site.node is node for site in frame.out_parameter.replacements),
        "rebound": frame.out_rebound,
        "named": frame.returning is not None
        and isinstance(frame.returning.value, cst.Name)
        and frame.returning.value.value == "out",
    }
    emit(path, "return", Form.FUNCTION, node, arguments, ())


def _is_out(result: Value, given: Value | None) -> bool | None:
    """Whether a function returns what was passed as out, or something with it; None where that is not known."""
    tensor = result.tensor if isinstance(result, Unknown) else result
    if result is given or (isinstance(tensor, TensorValue) and given is not None and _is_part(tensor, given)):
        return True
    if isinstance(result, Sequence):
        if result.items is None:
            return None
        found = [_is_out(each, given) for each in result.items]
        return True if True in found else None if None in found or not found else False
    if isinstance(result, (Unknown, Mapping, Instance)):
        return None
    return False if isinstance(result, (TensorValue, Constant, Number)) else None


def _last_statement(block: cst.BaseSuite) -> cst.CSTNode:
    """Where a function without a `return` on its way ends, as far as that is one place."""
    last = block.body[-1]
    if isinstance(last, cst.If):
        return _last_statement(last.body)
    return last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
