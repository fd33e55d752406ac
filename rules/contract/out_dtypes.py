"""The dtype of an operator's result, and the dtype clause of the out= contract.

Everything is computed over all dtypes that partly known operands may have: an answer holds for all of them, or is
unknown. `arguments` are those of `TensorEvent.arguments`: tensors (facts, or operands that carry `.facts`), numbers,
`Scalar`, sequences of these; any other value is an unknown one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

from stridelint.rules.contract import dtypes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import DTYPES, MEASURED, Operand, Scalar, agreed, can_cast, kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.messages import filled, split
from stridelint.rules.contract.operators import Output, Variant
from stridelint.rules.contract.result_rules import apply_rule
from stridelint.rules.contract.verdict import FINE, UNKNOWN, Verdict

# Kinds of parameters (see `signatures.Parameter`) that take tensors as such; of others, which take one for its number, only
# the kind counts.
_TENSORS = frozenset("TLo")


def scalar_kind(number: object) -> str | None:
    """The kind of a Python number."""
    kinds = {bool: "bool", int: "integer", float: "float", complex: "complex"}
    return kinds.get(type(number))


def facts_of(value: object) -> TensorFacts | None:
    """The facts of an argument that is a tensor."""
    found = getattr(value, "facts", value)
    return found if isinstance(found, TensorFacts) else None


def operands(variant: Variant, index: int, arguments: Mapping[str, object]) -> list[Operand] | None:
    """The arguments whose dtypes decide the result's; None if one of them is not known."""
    found: list[Operand] = []
    for name in variant.outputs[index].of:
        if name not in arguments or arguments[name] is None:
            continue
        value = arguments[name]
        number_only = not any(p.name == name and not _TENSORS.isdisjoint(p.kinds) for p in variant.signature)
        for each in value if isinstance(value, (tuple, list)) else (value,):
            facts, kind = facts_of(each), scalar_kind(each)
            if facts is not None:
                found.append(Scalar(facts.kind or kind_of(facts.dtype)) if number_only else facts)
            elif isinstance(each, Scalar):
                found.append(each)
            elif kind is not None:
                found.append(Scalar(kind))
            else:
                return None
    return found


def promoted_dtypes(
    variant: Variant, index: int, arguments: Mapping[str, object], default: str = "float32"
) -> frozenset[str]:
    """All dtypes the deciding operands may promote to; empty if nothing is known, or the call is illegal."""
    output = variant.outputs[index]
    decide = operands(variant, index, arguments)
    if decide is None:
        return frozenset(DTYPES)
    if not decide:
        return frozenset([default])
    if output.uniform and len(decide) > 1:
        return _uniform(decide)
    return dtypes.possible_types(decide, default)


def _uniform(decide: Sequence[Operand]) -> frozenset[str]:
    """Operands of one dtype promote to it; what several dtypes do is not described."""
    known = {operand.dtype for operand in decide if isinstance(operand, TensorFacts)}
    if len(known) == 1 and None not in known and not any(isinstance(operand, Scalar) for operand in decide):
        return frozenset(dtype for dtype in known if dtype is not None)
    return frozenset(DTYPES)


def _asked(variant: Variant, arguments: Mapping[str, object]) -> str | bool | None:
    """The dtype= argument: a name, None if absent, False if not known."""
    asked = arguments.get("dtype") if variant.dtype_argument else None
    return asked if asked is None else dtypes.canonical(asked) or False if isinstance(asked, str) else False


def result_dtypes(
    variant: Variant, index: int, arguments: Mapping[str, object], default: str = "float32"
) -> frozenset[str]:
    """All dtypes the result may have; empty if not known or illegal."""
    asked = _asked(variant, arguments)
    if asked is False or index >= len(variant.outputs):
        return frozenset()
    if isinstance(asked, str):
        return frozenset([asked])
    return _ruled(variant.outputs[index].rule, promoted_dtypes(variant, index, arguments, default), default)


@functools.lru_cache(maxsize=4096)
def _ruled(rule: str, promoted: frozenset[str], default: str) -> frozenset[str]:
    results = (apply_rule(rule, dtype, default) for dtype in promoted)
    return frozenset(result for result in results if result is not None)


def result_dtype_and_kind(
    variant: Variant, index: int, arguments: Mapping[str, object], default: str = "float32"
) -> tuple[str | None, str | None]:
    """The dtype of result `index`, without out=, and its kind, which is often known when the dtype is not."""
    return agreed(result_dtypes(variant, index, arguments, default))


def result_dtype(variant: Variant, index: int, arguments: Mapping[str, object], default: str = "float32") -> str | None:
    """The dtype of result `index`, without out=; None if not known."""
    return result_dtype_and_kind(variant, index, arguments, default)[0]


def dtype_clause(
    variant: Variant, index: int, arguments: Mapping[str, object], out: TensorFacts, default: str = "float32"
) -> Verdict:
    """Whether torch takes an out of this dtype for result `index`.

    Violated with effect "raises" where it refuses, "wrong" where it accepts a lower kind and computes other numbers.
    """
    if not variant.accepts_out or index >= len(variant.outputs):
        return UNKNOWN
    output = variant.outputs[index]
    asked = _asked(variant, arguments) is not None
    effects: set[str] = set()
    seen: set[tuple[str, str | None, str]] = set()
    for promoted, result in _cases(variant, index, arguments, default):
        for name in _dtypes_of(out):
            effect = _effect(variant, output, promoted, result, name, asked=asked)
            if effect is None or not effects <= {effect}:
                return UNKNOWN
            effects.add(effect)
            if effect:
                seen.add((name, result, _error(output, result, name, asked)))
    if not effects:
        return UNKNOWN
    effect = effects.pop()
    if not effect:
        return FINE
    results, outs, errors = (
        {r for _, r, _ in seen},
        {name for name, _, _ in seen},
        {text for _, _, text in seen},
    )
    if effect == "wrong" or len(errors) > 1:
        return Verdict(Answer.YES, effect, "" if effect == "wrong" else "RuntimeError")
    exception, message = split(errors.pop())
    one = {"result": results.pop() if len(results) == 1 else None, "out": outs.pop() if len(outs) == 1 else None}
    return Verdict(Answer.YES, effect, exception, filled(message, **one))


def _cases(
    variant: Variant, index: int, arguments: Mapping[str, object], default: str
) -> Iterator[tuple[str, str | None]]:
    asked = _asked(variant, arguments)
    if asked is not None:
        for dtype in [asked] if isinstance(asked, str) else DTYPES:
            yield dtype, dtype
        return
    for promoted in sorted(promoted_dtypes(variant, index, arguments, default)):
        yield promoted, apply_rule(variant.outputs[index].rule, promoted, default)


def _dtypes_of(out: TensorFacts) -> list[str]:
    if out.dtype is not None:
        return [out.dtype] if out.dtype in DTYPES else []
    return [name for name in DTYPES if out.kind in (None, kind_of(name))]


def _effect(
    variant: Variant, output: Output, promoted: str, result: str | None, out: str, *, asked: bool
) -> str | None:
    """ "raises", "wrong", "" for fine, None for not known."""
    if result is None:
        return None
    safe = can_cast(result, out)
    source = promoted if variant.tensor_parameters else result
    if not variant.tensor_parameters and not safe and kind_of(result) == "complex":
        return None  # Whether a factory stores a complex number in a lower kind depends on the number.
    if asked:
        accepted = _by_class(output.with_dtype, result, out) if output.with_dtype else None
    elif source in output.but:
        accepted = out in output.but[source] if out in MEASURED else None
    elif output.but and source not in MEASURED:
        accepted = None
    else:
        accepted = _by_class(output.out, result, out)
    if accepted is None:
        return None
    if not accepted:
        return "raises"
    if safe:
        return ""
    # What a factory writes into a lower kind depends on its numbers.
    return "wrong" if variant.tensor_parameters else None


def _by_class(kind: str, result: str, out: str) -> bool | None:
    return {"exact": result == out, "kind": can_cast(result, out), "any": True}.get(kind)


def _error(output: Output, result: str | None, out: str, asked: bool) -> str:
    if asked:
        return output.with_dtype_error
    return output.error if result is None or not can_cast(result, out) else output.width_error
