"""Operators of the table: binding a call's arguments, the result's facts, and the event."""

from __future__ import annotations

from collections.abc import Mapping as Dict

import libcst as cst

from stridelint.linter.inference import number_ranges, testing, wrapping
from stridelint.linter.inference.attributes import as_tensor
from stridelint.linter.inference.objects import Arguments
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api import (
    agreeing_sizes,
    demanded_kinds,
    joined_lists,
    raw_memory,
    result_facts,
    whole_numbers,
)
from stridelint.linter.inference.torch_api.emit import emit, plain
from stridelint.linter.inference.values import Copied, Number, Sequence, Step, TensorValue, Unknown, Value, is_none
from stridelint.rules import events
from stridelint.rules.contract import operators, ranges
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.contract.dtypes import Scalar
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.operators import Operator, Variant
from stridelint.rules.contract.ranges import Range
from stridelint.rules.contract.writes import PICKING
from stridelint.rules.events import Form

FIELDS = {
    "max": ("values", "indices"),
    "min": ("values", "indices"),
    "sort": ("values", "indices"),
    "topk": ("values", "indices"),
    "median": ("values", "indices"),
    "mode": ("values", "indices"),
    "kthvalue": ("values", "indices"),
    "cummax": ("values", "indices"),
    "cummin": ("values", "indices"),
    "nanmedian": ("values", "indices"),
    "aminmax": ("min", "max"),
    "linalg.qr": ("Q", "R"),
    "linalg.svd": ("U", "S", "Vh"),
    "linalg.eigh": ("eigenvalues", "eigenvectors"),
    "linalg.eig": ("eigenvalues", "eigenvectors"),
    "linalg.slogdet": ("sign", "logabsdet"),
    "svd": ("U", "S", "V"),
    "qr": ("Q", "R"),
}


def apply(
    path: Path,
    name: str,
    arguments: Dict[str, Value],
    node: cst.CSTNode,
    form: Form,
    nodes: Dict[str, cst.CSTNode] | None = None,
) -> Value:
    """An operator written with Python's syntax (`a + b`, `a += b`, `-a`)."""
    positional = list(arguments.values())
    written: dict[int | str, cst.CSTNode] = dict(enumerate((nodes or {}).values()))
    return apply_call(path, name, Arguments(positional, {}, written), node, form)


def apply_call(path: Path, name: str, args: Arguments, node: cst.CSTNode, form: Form) -> Value:
    """A call of an operator of the table, by function name; the receiver of a method is the first argument."""
    operator = operators.lookup(name)
    if operator is None:
        return Unknown(name)
    path.step(3)
    inputs, out = args.positional, args.keywords.get("out")
    if path.claim is not None:
        testing.record_difference(path, operator.name, (*inputs[:2], *args.keywords.values()))
    if form is Form.OPERATOR:
        _prove_together(inputs)
    demanded_kinds.learn(path, operator.name, args, form)
    heard = _is_heard(path, operator, form, out)
    positional = [prepared(path, value, args.nodes.get(index), heard) for index, value in enumerate(inputs)]
    keywords = {
        key: prepared(path, value, args.nodes.get(key), heard) for key, value in args.keywords.items() if key != "out"
    }
    called = None if args.unknown_star else operator.called(positional, keywords)
    if called is None:
        return _unknown_result(path, operator, args, node)
    bound, variant = called
    if variant is not None and form is Form.FUNCTION:
        _prove(path, variant, bound, args, inputs, heard)
    tensors = result_facts.tensors_of(bound)
    results = result_facts.of(path, operator, variant, bound, tensors)
    if operator.name in joined_lists.NAMES:
        results = _of_unknown_number(path, operator, args) or results
    receiver = inputs[0] if inputs and isinstance(inputs[0], TensorValue) else None
    if out is not None:
        for each in (out.items or ()) if isinstance(out, Sequence) else (out,):
            if isinstance(each, TensorValue):
                path.overwrites(each)
    numbers = None
    if path.numbers:
        turned = isinstance(node, cst.BinaryOperation) and args.nodes.get(0) is node.right  # `1 - x`
        numbers = number_ranges.of_result(path, operator.name, bound, results[0].dtype, turned)
    if heard:
        changed = receiver if form is Form.INPLACE else out
        emit(
            path,
            operator.name,
            form,
            node,
            bound,
            tensors,
            None if is_none(out) else plain(path, out, args.nodes.get("out")),
            results[0] if results else TensorFacts(),
            {key: each for key, each in args.nodes.items() if isinstance(key, str)},
            receiver if form is not Form.FUNCTION else None,
            None if numbers is None or wrapping.is_meant(path, node, numbers, changed) else numbers,
        )
    elif isinstance(out, TensorValue):
        path.reads(out)
    agreeing_sizes.learn(path, operator.name, bound)
    whole = whole_numbers.of_result(operator.name, args)
    numbers = ranges.held(numbers, results[0].dtype) if len(results) == 1 else None
    if bound.get("inplace") not in (None, False):
        path.numbers.clear()
    if form is Form.INPLACE and receiver is not None:
        whole_numbers.written(path, receiver, whole, numbers)
        receiver.written_by = None
        return _changed(path, receiver, bound)
    if out is not None and not is_none(out):
        return into_out(path, out, results, (operator.name, node), whole, numbers)
    values = _values(path, operator, variant, results, node, _inherited(args))
    if "vmap" in path.transforms and any(map(_is_batched, (*inputs, *args.keywords.values()))):
        for each in (values.items or ()) if isinstance(values, Sequence) else (values,):
            if isinstance(each, TensorValue):
                each.batched = True
    if bound.get("return_indices") is True and isinstance(values, TensorValue):
        places = values.facts.but(dtype="int64", kind="integer", requires_grad=False, storage=None)
        return Sequence([values, path.tensor(places, story=values.story)], "tuple")
    if isinstance(values, TensorValue):
        values.made_by = operator.name
        picked = inputs[0] if inputs else args.keywords.get("input")
        if operator.name in PICKING and isinstance(picked, TensorValue):
            values.copied = Copied(picked, node, Confidence.CERTAIN)
        values.whole = whole
        number_ranges.record(path, values, numbers)
        if operator.name in ("cat", "concat", "concatenate"):
            values.raw = raw_memory.joined(args)
    return values


def _is_batched(value: Value) -> bool:
    """Whether an operand is, or a list holds, slices that vmap maps over."""
    if isinstance(value, Sequence):
        return any(map(_is_batched, value.items or ()))
    return isinstance(value, TensorValue) and value.batched


def _inherited(args: Arguments) -> tuple[Step, ...]:
    """A result's story goes on from that of the first operand whose layout was decided somewhere, else of the first."""
    first: tuple[Step, ...] | None = None
    for value in (*args.positional, *args.keywords.values()):
        if isinstance(value, TensorValue):
            first = value.story if first is None else first
            for what, _ in value.story:
                if "channels_last" in what or "permuted" in what:
                    return value.story
    return first or ()


def _prove_together(operands: list[Value]) -> None:
    """What stands in one expression with a tensor, and has been used like one, is one."""
    tensors = [value for value in operands if isinstance(value, TensorValue)]
    proven = [tensor.proven for tensor in tensors]
    if True in proven and False in proven:
        for tensor in tensors:
            tensor.prove()


def _is_heard(path: Path, operator: Operator, form: Form, out: Value | None) -> bool:
    """Whether some rule may want to see the call; whether `inplace=True` is among the arguments is known later."""
    name, has_out = operator.name, not is_none(out)
    return path.hears(name, form is Form.INPLACE, has_out) or (
        operator.has_inplace_option and path.hears(name, True, has_out)
    )


def prepared(path: Path, value: Value, node: cst.CSTNode | None, heard: bool = True) -> object:
    """An argument for binding: a number of unknown value keeps its kind. Of a tensor that no rule hears of only the facts matter."""
    if isinstance(value, Number):
        return Scalar(value.kind, value.is_settled)
    return plain(path, value, node, heard)


def _prove(
    path: Path, variant: Variant, bound: dict[str, object], args: Arguments, inputs: list[Value], heard: bool
) -> None:
    """Arguments of unknown type in places where torch takes tensors only are tensors."""
    for index, (name, value) in enumerate(bound.items()):
        if value is not events.Unknown.UNKNOWN or not any(p.name == name and p.kinds == "T" for p in variant.signature):
            continue
        source = args.keywords.get(name) or (inputs[index] if index < len(inputs) else None)
        if isinstance(source, Unknown):
            tensor = as_tensor(path, source)
            tensor.prove()
            bound[name] = plain(path, tensor, args.nodes.get(index), heard)
        elif isinstance(source, TensorValue):
            source.prove()
    for value in (*inputs, *args.keywords.values()):
        if isinstance(value, TensorValue):
            value.prove()


def _of_unknown_number(path: Path, operator: Operator, args: Arguments) -> list[TensorFacts]:
    pair = joined_lists.pair(path, args)
    if pair is None:
        return []
    positional = [prepared(path, value, None, False) for value in pair.positional]
    keywords = {key: prepared(path, value, None, False) for key, value in pair.keywords.items() if key != "out"}
    called = operator.called(positional, keywords)
    if called is None:
        return []
    bound, variant = called
    results = result_facts.of(path, operator, variant, bound, result_facts.tensors_of(bound))
    return [joined_lists.of_any_number(operator.name, bound, each) for each in results]


def _unknown_result(path: Path, operator: Operator, args: Arguments, node: cst.CSTNode) -> Value:
    out = args.keywords.get("out")
    if out is not None and not is_none(out):
        path.numbers.clear()
        return out
    counts = {len(variant.outputs) for variant in operator.variants if variant.measured}
    if counts == {1}:
        return path.tensor(TensorFacts(), node, "")
    return Unknown(operator.name)


def _changed(path: Path, receiver: TensorValue, bound: Dict[str, object]) -> Value:
    facts = receiver.facts
    if path.grad_mode is not False and facts.requires_grad is False:
        others = [each.facts.requires_grad for each in result_facts.tensors_of(bound)[1:]]
        if any(each is not False for each in others):
            receiver.facts = facts.but(requires_grad=True if True in others and path.grad_mode else None, is_leaf=False)
    return receiver


def into_out(
    path: Path, out: Value, results: list[TensorFacts], by: Step, whole: bool, numbers: Range | None = None
) -> Value:
    """`out` after the call: resized where the result's shape is another."""
    targets = [out] if isinstance(out, TensorValue) else (out.items or []) if isinstance(out, Sequence) else []
    for target, result in zip(targets, results):
        if not isinstance(target, TensorValue):
            continue
        target.written_by = by
        same_size = result.shape is not None and result.shape == path.facts(target).shape
        whole_numbers.written(path, target, whole, numbers if same_size else None)
        facts = path.facts(target)
        if result.shape is None:
            if facts.shape is not None and 0 in facts.shape:
                target.facts = facts.but(shape=None, strides=None)
        elif facts.shape is None:
            target.facts = facts.but(shape=result.shape, strides=None)
        elif facts.shape != result.shape and all(isinstance(dim, int) for dim in (*facts.shape, *result.shape)):
            target.facts = facts.but(shape=result.shape, strides=result.strides)
    return out


def _values(
    path: Path,
    operator: Operator,
    variant: Variant | None,
    results: list[TensorFacts],
    node: cst.CSTNode,
    story: tuple[Step, ...],
) -> Value:
    if variant is None or not variant.measured:
        counts = {len(each.outputs) for each in operator.variants if each.measured}
        return (
            path.tensor(TensorFacts(requires_grad=results[0].requires_grad), story=story)
            if counts == {1}
            else Unknown(operator.name)
        )
    if variant.any_number:
        return Sequence(None, "tuple", lambda: path.tensor(results[0].but(shape=None, strides=None), story=story))
    values: list[Value] = [path.tensor(facts, story=story) for facts in results]
    if len(values) == 1:
        return values[0]
    sequence = Sequence(values, "tuple")
    sequence.fields = FIELDS.get(operator.name, ())
    return sequence
