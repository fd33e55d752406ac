"""What the operator table knows of an operator: its signatures, and per variant what each clause of out= does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from stridelint.rules.contract import signatures
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.signatures import Signature

# In `when`, stands for every value that is not a string.
OTHER = "<other>"

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Output:
    """One result of an operator.

    rule: how its dtype follows from the promoted dtype of the parameters `of`: see `result_rules.apply_rule`.
    of: the parameters (tensors and numbers) whose dtypes are promoted; several "mixed" dtypes among them are refused
        or not described where `uniform` is set.
    out: which dtypes an out tensor may have: "exact" (the result's own), "kind" (any it can be cast to safely), "any".
    but: exceptions from `out`: promoted input dtype (of a factory: result dtype) -> the out
        dtypes accepted for it.
    error, width_error: what torch says about an out of a lower kind, and about another dtype of a kind that would do;
        "TypeName: text" with the fields {result}, {out} ("long int") and {Result}, {Out} ("Long").
    with_dtype: as `out`, where dtype= is given (and is the result's dtype), with what torch says about another out.
    differentiable: it requires grad when a float input does.
    own_shape: its shape may be another than the first result's (the pivots of a factorization, its info).
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
    own_shape: bool = False


@dataclass(frozen=True, slots=True)
class Variant:
    """One way an operator behaves, for the calls that `signature` and `when` describe. "" stands for not measured.

    when: values that these parameters must have (`{"approximate": ("none",)}`); an absent argument has its default.
    measured: some call of it succeeded, so that the fields below are known.
    accepts_out: it takes out=.
    dtype_argument: dtype= sets the result's dtype.
    any_number: how many results there are depends on the arguments (`unbind_copy`); `outputs` are those of one call.
    shape: of the first result: "broadcast" (of all tensor operands), "first" (as the first tensor), "reduction" (dim and
        keepdim), "other".
    layout: of a 4-D result of dense 4-D operands: "elementwise" (TensorIterator, `order` tells which operand decides),
        "preserve" (as a preserve_format copy), "channels_last" (keeps it, other permutations become row-major),
        "row_major", "view"; "other" for none of these or no 4-D result.
    order: tensor parameters, the one whose layout decides first.
    out_strides: "" obeyed: a right out keeps its strides and gets right values; else "wrong", "outside" (writes beyond
        the out view), "restrided", per kind of out: "reversed", "sliced", "channels_last".
    empty_out: an empty out: "resized", "restrided" (to other strides than the functional result's), "error".
    right_shape: "warns" where some calls complain of a resize though the shape is right.
    wrong_shape: a non-empty out of another shape: "warns", "silent" (both resize it), "error"; same_numel: the same for
        one with the right number of elements, also "kept" (silently left as it is).
    out_grad: an out that requires grad, in grad mode: "error", "accepted"; out_grad_off: the same in no_grad;
        out_grad_nonleaf: the same for one that is not a leaf.
    input_grad: a float input that requires grad, in grad mode: "error", "fine" (nothing to differentiate), "detached"
        (accepted, gradient silently lost), "broken" (accepted, backward fails or is wrong), "right"; `input_grad_of`
        per parameter where they differ.
    device: an out on another device: "error", "accepted".
    full_overlap, partial_overlap: out is that operand / overlaps its memory: "ok", "wrong" (values), "error",
        "either" (error or wrong, depending on sizes).
    self_overlap: out expanded onto itself: "error", "accepted", "either".
    tuple_of_one, single, too_few, sequence, twice: out=(t,) for one output, a lone tensor for several, a tuple too short,
        a list, the same tensor for all: "error", "accepted", "wrong" (accepted, wrong values), "either".
    errors: clause -> "TypeName: text" with fields {op}, {result_shape}, {out_shape} ...
    tensor_parameters: names of the parameters that take a tensor or a sequence of tensors, in order.
    """

    signature: Signature
    when: Mapping[str, tuple[object, ...]] = field(default_factory=lambda: _EMPTY)
    measured: bool = False
    accepts_out: bool | None = None
    outputs: tuple[Output, ...] = ()
    dtype_argument: bool = False
    any_number: bool = False
    shape: str = ""
    layout: str = ""
    order: tuple[str, ...] = ()
    out_strides: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    empty_out: str = ""
    right_shape: str = ""
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
    tensor_parameters: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tensor_parameters", signatures.tensor_parameters(self.signature))


class _Binding(NamedTuple):
    """How calls that are alike bind. names: of the parameters of the arguments, positional ones first; from `spread` on these
    are one list. variant: how the operator behaves for them."""

    names: tuple[str, ...]
    spread: int | None
    variant: Variant | None


def _bound_by(value: object) -> object:
    """All of an argument that decides to which signature a call binds."""
    kinds = signatures.kinds_of(value)
    if kinds == "T":
        return _TENSORS[signatures.rank_is_zero(value)]
    return ("sequence", kinds) if isinstance(value, (tuple, list)) else kinds


_TENSORS = {rank_is_zero: ("T", rank_is_zero) for rank_is_zero in (True, False, None)}


@dataclass(frozen=True, slots=True)
class Operator:
    """A public function or tensor method.

    defaults: of the parameters that `when` conditions mention.
    selectors: the parameters whose values choose a variant. has_inplace_option: it has a parameter `inplace`.
    bindings: how calls bind that are alike in all that decides it; choices: which variant arguments reach that are;
        both are filled as calls are seen.
    """

    name: str
    variants: tuple[Variant, ...]
    is_function: bool = True
    is_method: bool = False
    has_inplace: bool = False
    defaults: Mapping[str, object] = field(default_factory=lambda: _EMPTY)
    selectors: frozenset[str] = field(init=False, compare=False, repr=False)
    has_inplace_option: bool = field(init=False, compare=False, repr=False)
    bindings: dict[object, _Binding | None] = field(default_factory=dict, compare=False, repr=False)
    choices: dict[object, Variant | None] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = {parameter.name for variant in self.variants for parameter in variant.signature}
        object.__setattr__(self, "selectors", frozenset().union(*(variant.when for variant in self.variants)))
        object.__setattr__(self, "has_inplace_option", "inplace" in names)

    @property
    def accepts_out(self) -> bool | None:
        """Some variant takes out=; None if that was not measured for any."""
        known = [variant.accepts_out for variant in self.variants if variant.accepts_out is not None]
        return any(known) if known else None

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object] | None:
        """Arguments by parameter name (`out` left out), the receiver of a method being the first of `args`.

        None if no signature fits, or if unknown values leave it open which parameter an argument is for.
        """
        called = self.called(args, kwargs)
        return None if called is None else called[0]

    def called(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[dict[str, object], Variant | None] | None:
        """As `bind`, with the behaviour (see `variant`) for these arguments.

        Which parameters the arguments are for, and the behaviour, are worked out once for calls that are alike.
        """
        if "out" in kwargs:
            kwargs = {name: value for name, value in kwargs.items() if name != "out"}
        values = [*args, *kwargs.values()]
        key: object = (tuple(map(_bound_by, values)), len(args), *kwargs)
        if self.selectors and any(isinstance(value, str) for value in values):
            key = key, tuple(value for value in values if isinstance(value, str))
        if key not in self.bindings:
            self.bindings[key] = self._binding(args, kwargs)
        binding = self.bindings[key]
        if binding is None:
            return None
        if binding.spread is not None:
            values = [*args[: binding.spread], tuple(args[binding.spread :]), *kwargs.values()]
        return dict(zip(binding.names, values)), binding.variant

    def _binding(self, args: Sequence[object], kwargs: Mapping[str, object]) -> _Binding | None:
        signature = self._signature(args, kwargs)
        bound = None if signature is None else signatures.bind(signature, args, kwargs)
        if signature is None or bound is None:
            return None
        return _Binding(tuple(bound), signatures.spread_at(signature, args), self.variant(bound))

    def _signature(self, args: Sequence[object], kwargs: Mapping[str, object]) -> signatures.Signature | None:
        for zero_dim in (False, True):
            found: list[tuple[Answer, signatures.Signature, list[str]]] = []
            for signature in dict.fromkeys(variant.signature for variant in self.variants):
                bound = signatures.bind(signature, args, kwargs)
                if bound is None:
                    continue
                answer = signatures.fits(signature, bound, zero_dim=zero_dim)
                if answer is not Answer.NO:
                    found.append((answer, signature, list(bound)))
            if found:
                # Torch takes the first signature that fits; an undecided one before it leaves the choice open.
                sure = found[0][0] is Answer.YES or all(names == found[0][2] for _, _, names in found)
                return found[0][1] if sure else None
        return None

    def variant(self, arguments: Mapping[str, object]) -> Variant | None:
        """The behaviour for arguments by name; None if undecidable or never measured."""
        given = {name: value for name, value in arguments.items() if name != "out"}
        key = tuple(
            (name, _bound_by(value), value if isinstance(value, str) and name in self.selectors else None)
            for name, value in given.items()
        )
        if key not in self.choices:
            self.choices[key] = self._choice(given)
        return self.choices[key]

    def _choice(self, given: Mapping[str, object]) -> Variant | None:
        for zero_dim in (False, True):
            possible: list[Variant] = []
            for variant in self.variants:
                answer = self._applies(variant, given, zero_dim)
                if answer is not Answer.NO:
                    possible.append(variant)
                if answer is Answer.YES:
                    break
            if possible:
                return possible[0] if len(possible) == 1 else None
        return None

    def _applies(self, variant: Variant, arguments: Mapping[str, object], zero_dim: bool) -> Answer:
        answer = signatures.fits(variant.signature, arguments, zero_dim=zero_dim)
        if answer is Answer.NO:
            # Optional selectors may be passed as None, which is the same as leaving them out.
            present = {name: value for name, value in arguments.items() if value is not None}
            if len(present) < len(arguments):
                answer = signatures.fits(variant.signature, present, zero_dim=zero_dim)
        for name, values in variant.when.items():
            value = arguments.get(name, self.defaults.get(name))
            if signatures.kinds_of(value) is None:
                answer = answer & Answer.UNKNOWN
            elif (value if isinstance(value, str) or value is None else OTHER) not in values:
                return Answer.NO
        return answer
