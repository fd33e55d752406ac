"""The operator table: what each torch operator does with dtypes, `out=` and layout, as measured by `probe harvest`.

    operator = lookup("addmm")
    arguments = operator.bind((bias, a, b), {})     # {"input": bias, "mat1": a, "mat2": b}
    variant = operator.variant(arguments)           # its behaviour for these arguments
    variant.full_overlap                            # {"input": "ok", "mat1": "wrong", "mat2": "wrong"}

Names are canonical: "add", "linalg.qr", "nn.functional.gelu" (no leading "torch."). Loading does not import torch.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from stridelint.rules.contract import signatures
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.signatures import Signature

FORMAT = 1
# In a variant's `when`: any value that is not a string (padding=1, where "same" and "valid" behave differently).
OTHER = "<other>"

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Output:
    """One result of an operator.

    rule: how its dtype follows from the promoted dtype of the parameters `of`: see `result_rules.apply_rule`.
    of: the parameters (tensors and numbers) whose dtypes are promoted; several "mixed" dtypes among them are refused
        or not described where `uniform` is set.
    out: which dtypes an out tensor may have: "exact" (the result's own), "kind" (any it can be cast to safely), "any".
    but: exceptions from `out`: promoted input dtype -> the out dtypes accepted for it.
    error, width_error: what torch says about an out of a lower kind, and about another dtype of a kind that would do;
        "TypeName: text" with the fields {result}, {out} ("long int") and {Result}, {Out} ("Long").
    with_dtype: as `out`, where dtype= is given (and is the result's dtype), with what torch says about another out.
    differentiable: it requires grad when a float input does.
    """

    rule: str = ""
    of: tuple[str, ...] = ()
    uniform: bool = False
    out: str = ""
    but: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _EMPTY)
    error: str = ""
    width_error: str = ""
    with_dtype: str = ""
    with_dtype_error: str = ""
    differentiable: bool = True


@dataclass(frozen=True, slots=True)
class Variant:
    """One way an operator behaves, for the calls that `signature` and `when` describe. "" stands for not measured.

    when: values that these parameters must have (`{"approximate": ("none",)}`); an absent argument has its default.
    measured: some call of it succeeded, so that the fields below are known.
    accepts_out: it takes out=.
    dtype_argument: dtype= sets the result's dtype.
    shape: of the result: "broadcast" (of all tensor operands), "first" (as the first tensor), "reduction" (dim and
        keepdim), "other".
    layout: of a 4-D result of dense 4-D operands: "elementwise" (TensorIterator, `order` tells which operand decides),
        "preserve" (as a preserve_format copy), "channels_last" (keeps it, other permutations become row-major),
        "row_major", "view"; "other" for none of these or no 4-D result.
    order: tensor parameters, the one whose layout decides first.
    out_strides: "" obeyed: a right out keeps its strides and gets right values; else "wrong", "outside" (writes beyond
        the out view), "restrided", per kind of out: "reversed", "sliced", "channels_last".
    empty_out: an empty out: "resized", "restrided" (to other strides than the functional result's), "error".
    wrong_shape: a non-empty out of another shape: "warns", "silent" (both resize it), "error"; same_numel: the same for
        one with the right number of elements, also "kept" (silently left as it is).
    out_grad: an out that requires grad, in grad mode: "error", "accepted"; out_grad_off: the same in no_grad;
        out_grad_nonleaf: the same for one that is not a leaf.
    input_grad: a float input that requires grad, in grad mode: "error", "fine" (nothing to differentiate), "detached"
        (accepted, gradient silently lost), "broken" (accepted, backward fails or is wrong), "right"; `input_grad_of`
        per parameter where they differ.
    device: an out on another device: "error", "accepted".
    full_overlap, partial_overlap: out is that operand / overlaps its memory: "ok", "wrong" (values), "error".
    self_overlap: out expanded onto itself: "error", "accepted".
    tuple_of_one, single, too_few, sequence, twice: out=(t,) for one output, a lone tensor for several, a tuple too short,
        a list, the same tensor for all: "error", "accepted" ("wrong" where values then are).
    errors: clause -> "TypeName: text" with fields {op}, {result_shape}, {out_shape} ...
    """

    signature: Signature
    when: Mapping[str, tuple[object, ...]] = field(default_factory=lambda: _EMPTY)
    measured: bool = False
    accepts_out: bool | None = None
    outputs: tuple[Output, ...] = ()
    dtype_argument: bool = False
    shape: str = ""
    layout: str = ""
    order: tuple[str, ...] = ()
    out_strides: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    empty_out: str = ""
    wrong_shape: str = ""
    same_numel: str = ""
    out_grad: str = ""
    out_grad_off: str = ""
    out_grad_nonleaf: str = ""
    input_grad: str = ""
    input_grad_of: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    device: str = ""
    full_overlap: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    partial_overlap: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    self_overlap: str = ""
    tuple_of_one: str = ""
    single: str = ""
    too_few: str = ""
    sequence: str = ""
    twice: str = ""
    errors: Mapping[str, str] = field(default_factory=lambda: _EMPTY)

    @property
    def tensor_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that take a tensor or a sequence of tensors, in order."""
        return tensor_parameters(self.signature)


@dataclass(frozen=True, slots=True)
class Operator:
    """A public function or tensor method. `defaults`: of the parameters that `when` conditions mention."""

    name: str
    variants: tuple[Variant, ...]
    is_function: bool = True
    is_method: bool = False
    has_inplace: bool = False
    defaults: Mapping[str, object] = field(default_factory=lambda: _EMPTY)

    @property
    def accepts_out(self) -> bool | None:
        """Some variant takes out=; None if that was not measured for any."""
        known = [variant.accepts_out for variant in self.variants if variant.accepts_out is not None]
        return any(known) if known else None

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object] | None:
        """Arguments by parameter name (`out` left out), the receiver of a method being the first of `args`.

        None if no signature fits, or if unknown values leave it open which parameter an argument is for.
        """
        found: list[tuple[Answer, dict[str, object]]] = []
        for signature in dict.fromkeys(variant.signature for variant in self.variants):
            bound = signatures.bind(signature, args, kwargs)
            if bound is not None and (answer := signatures.fits(signature, bound)) is not Answer.NO:
                found.append((answer, bound))
        if not found:
            return None
        # Torch takes the first signature that fits; an undecided one before it leaves the choice open.
        if found[0][0] is Answer.YES or all(list(bound) == list(found[0][1]) for _, bound in found):
            return found[0][1]
        return None

    def variant(self, arguments: Mapping[str, object]) -> Variant | None:
        """The behaviour for arguments by name; None if undecidable or never measured."""
        given = {name: value for name, value in arguments.items() if name != "out"}
        possible: list[Variant] = []
        for variant in self.variants:
            answer = self._applies(variant, given)
            if answer is Answer.YES and not possible:
                return variant
            if answer is not Answer.NO:
                possible.append(variant)
                if answer is Answer.YES:
                    break
        if len(possible) == 1:
            return possible[0]
        return None

    def _applies(self, variant: Variant, arguments: Mapping[str, object]) -> Answer:
        answer = signatures.fits(variant.signature, arguments)
        if answer is Answer.NO:
            # Optional selectors may be passed as None, which is the same as leaving them out.
            present = {name: value for name, value in arguments.items() if value is not None}
            if len(present) < len(arguments):
                answer = signatures.fits(variant.signature, present)
        for name, values in variant.when.items():
            value = arguments.get(name, self.defaults.get(name))
            if signatures.kinds_of(value) is None:
                answer = answer & Answer.UNKNOWN
            elif (value if isinstance(value, str) or value is None else OTHER) not in values:
                return Answer.NO
        return answer


@dataclass(frozen=True, slots=True)
class Table:
    """The whole table: where it was measured, and its operators (decoded on first use)."""

    torch: str
    device: str
    rows: Mapping[str, Mapping[str, Any]]
    defaults: Mapping[str, Any]
    texts: Mapping[str, str]

    def names(self) -> Iterator[str]:
        """All canonical names, sorted."""
        return iter(self.rows)


@functools.cache
def table() -> Table:
    """The table that ships with the package."""
    text = importlib.resources.files(__package__).joinpath("operators.json").read_text("utf-8")
    return read(json.loads(text))


def read(document: Mapping[str, Any]) -> Table:
    """A table from its JSON document; ValueError for another format."""
    if document.get("format") != FORMAT:
        raise ValueError(f"operators.json has format {document.get('format')!r}, expected {FORMAT}")
    return Table(document["torch"], document["device"], document["operators"], document["defaults"], document["texts"])


def lookup(name: str) -> Operator | None:
    """The operator a name stands for: "add", "torch.add", "Tensor.add", "add_"; None if the table has none."""
    key = canonical(name)
    return None if key is None else _operator(key)


@functools.cache
def canonical(name: str) -> str | None:
    """The table's key for a function, a method ("Tensor.add") or an in-place variant ("add_"); None if it has none."""
    rows = table().rows
    name = name.removeprefix("torch.").removeprefix("Tensor.")
    if name in rows:
        return name
    bare = name.removesuffix("_")
    return bare if bare in rows and rows[bare].get("inplace") else None


@functools.cache
def _operator(key: str) -> Operator:
    return decode(table(), key)


def decode(source: Table, key: str) -> Operator:
    """One operator of a table."""
    row = source.rows[key]
    variants = tuple(_variant(source, {**source.defaults, **record}) for record in row["variants"])
    return Operator(
        key,
        variants,
        is_function=not row.get("only_method", False),
        is_method=row.get("method", False),
        has_inplace=row.get("inplace", False),
        defaults=row.get("defaults", _EMPTY),
    )


def _variant(source: Table, record: Mapping[str, Any]) -> Variant:
    fields = {name: value for name, value in record.items() if name in Variant.__dataclass_fields__}
    if not record.get("measured"):
        fields = {name: fields[name] for name in ("signature", "when") if name in fields}
    elif not record.get("accepts_out"):
        fields = {name: value for name, value in fields.items() if name not in OUT_FIELDS}
    fields["signature"] = signatures.parse(record["signature"])
    for name in ("order",):
        if name in fields:
            fields[name] = tuple(fields[name].split())
    fields["when"] = {name: tuple(values) for name, values in record.get("when", {}).items()}
    if "errors" in fields:
        fields["errors"] = _errors(source, record["errors"])
    if record.get("measured"):
        tensors = tensor_parameters(fields["signature"])
        fields["outputs"] = tuple(_output(source, output, tensors) for output in record.get("outputs", ()))
    return Variant(**fields)


def tensor_parameters(signature: Signature) -> tuple[str, ...]:
    """Names of the parameters that take a tensor or a sequence of tensors, in order."""
    return tuple(p.name for p in signature if "T" in p.kinds or "L" in p.kinds)


def _errors(source: Table, own: Mapping[str, str]) -> dict[str, str]:
    """All clauses' texts. Grad clauses say the same unless told otherwise."""
    texts = {**source.defaults["errors"], **own}
    if "out_grad" in own:
        texts.update({clause: own["out_grad"] for clause in ("out_grad_nonleaf", "input_grad") if clause not in own})
    return {clause: _text(source, text) for clause, text in texts.items()}


def _text(source: Table, text: str) -> str:
    """A text of the table: spelled out, or a key of `texts`; "autograd|mul" names another operator than the one called."""
    key, _, inner = text.partition("|")
    found = source.texts.get(key)
    return text if found is None else found.replace("{op}", inner) if inner else found


_USUAL_ERRORS = {"kind": "cast", "exact": "expected dtype", "any": ""}


def _output(source: Table, record: Mapping[str, Any], tensors: tuple[str, ...]) -> Output:
    fields = dict(record)
    fields["of"] = tuple(fields["of"].split()) if "of" in fields else tensors
    fields["but"] = {dtype: tuple(names.split()) for dtype, names in fields.get("but", {}).items()}
    if "out" in fields:
        error = fields.get("error", _USUAL_ERRORS[fields["out"]])
        fields["error"] = _text(source, error)
        fields["width_error"] = _text(source, fields.get("width_error", error))
    if "with_dtype" in fields:
        error = fields.get("with_dtype_error", _USUAL_ERRORS[fields["with_dtype"]])
        fields["with_dtype_error"] = _text(source, error)
    return Output(**fields)


# Fields that only mean something for a variant that takes out=.
OUT_FIELDS = frozenset(
    [
        "out_strides",
        "empty_out",
        "wrong_shape",
        "same_numel",
        "out_grad",
        "out_grad_off",
        "out_grad_nonleaf",
        "input_grad",
        "input_grad_of",
        "device",
        "full_overlap",
        "partial_overlap",
        "self_overlap",
        "tuple_of_one",
        "single",
        "too_few",
        "sequence",
        "twice",
        "errors",
    ]
)
