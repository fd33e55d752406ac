"""Parameters of operators, and binding a call's arguments to them.

A signature is written as in operators.json: `"input:T other:Tn *alpha:n="`: names in positional order, after the colon
the kinds of value accepted, `=` for a parameter that may be left out, `*` before a keyword-only one, `...` after a
list of sizes that may also be given as separate arguments.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import Scalar
from stridelint.rules.contract.sizes import Size


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operator.

    kinds: letters, any of which fits: T tensor, L sequence of tensors, n number, b bool, i integer or sequence of
        integers, s string, d dtype, 0 None, o anything else.
    """

    name: str
    kinds: str
    required: bool = True
    keyword_only: bool = False
    spread: bool = False

    @property
    def is_tensor(self) -> bool:
        """A tensor may be given."""
        return "T" in self.kinds

    def accepts(self, value: object, *, zero_dim: bool = False) -> Answer:
        """Whether torch would take `value` here; UNKNOWN for a value that is not known.

        With `zero_dim`, a 0-dim tensor passes for a number, which torch allows where no signature takes a tensor.
        """
        kinds = kinds_of(value)
        if kinds is None:
            return Answer.UNKNOWN
        if zero_dim and kinds == "T" and not self.is_tensor and "n" in self.kinds:
            return Answer.of(rank_is_zero(value))
        return Answer.of(any(kind in self.kinds for kind in kinds) or "o" in self.kinds)

    def text(self) -> str:
        """The parameter in the notation of the table."""
        return "*" * self.keyword_only + f"{self.name}:{self.kinds}" + "..." * self.spread + "=" * (not self.required)


Signature = tuple[Parameter, ...]


def tensor_parameters(signature: Signature) -> tuple[str, ...]:
    """Names of the parameters that take a tensor or a sequence of tensors, in order."""
    return tuple(p.name for p in signature if "T" in p.kinds or "L" in p.kinds)


def kinds_of(value: object) -> str | None:
    """The kinds (see `Parameter`) that a value may stand for; None if nothing is known about it."""
    known = _KINDS_OF_TYPES.get(type(value))
    if known is not None:
        return known
    if is_tensor(value):
        return "T"
    if isinstance(value, Scalar):
        return {"bool": "bn", "integer": "ni", "float": "n", "complex": "n"}.get(value.kind or "")
    if isinstance(value, str):
        return "sd"
    if isinstance(value, (tuple, list)):
        return _kinds_of_sequence(value)
    if isinstance(value, enum.Enum):
        return None
    return next((kinds for cls, kinds in _KINDS_OF_TYPES.items() if isinstance(value, cls)), None)


_KINDS_OF_TYPES: Mapping[type, str] = {
    bool: "bn", int: "ni", Size: "ni", float: "n", complex: "n", str: "sd", type(None): "0",
}  # fmt: skip


def _kinds_of_sequence(values: Sequence[object]) -> str | None:
    kinds = [kinds_of(value) for value in values]
    if not values or all(kind is None for kind in kinds):
        return "Li" if not values else None
    return "L" if "T" in kinds else "i"


def rank_is_zero(value: object) -> bool | None:
    """Whether a tensor has no axes; None if its rank is not known."""
    shape = getattr(getattr(value, "facts", value), "shape", None)
    return None if shape is None else len(shape) == 0


def is_tensor(value: object) -> bool:
    """A tensor's facts, an operand of an event, or a real tensor."""
    return hasattr(value, "facts") or hasattr(value, "requires_grad")


def parse(text: str) -> Signature:
    """Read the notation of the table; ValueError where it is malformed."""
    parameters = []
    for word in text.split():
        name, colon, kinds = word.lstrip("*").partition(":")
        if not colon:
            raise ValueError(f"a parameter without kinds in a signature: {word!r}")
        optional = kinds.endswith("=")
        kinds = kinds[:-1] if optional else kinds
        spread = kinds.endswith("...")
        parameters.append(Parameter(name, kinds[:-3] if spread else kinds, not optional, word.startswith("*"), spread))
    return tuple(parameters)


def write(signature: Signature) -> str:
    """The notation of the table."""
    return " ".join(parameter.text() for parameter in signature)


def bind(signature: Signature, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object] | None:
    """Arguments by parameter name; None if the call does not fit. Types are not looked at; `out` is left out."""
    positional = [parameter for parameter in signature if not parameter.keyword_only]
    values = list(args)
    bound: dict[str, object] = {}
    spread = spread_at(signature, args)
    if spread is not None:
        values[spread:] = [tuple(values[spread:])]
    if len(values) > len(positional):
        return None
    for parameter, value in zip(positional, values, strict=False):
        bound[parameter.name] = value
    names = {parameter.name for parameter in signature}
    for name, value in kwargs.items():
        if name == "out":
            continue
        name = _SYNONYMS.get(name, name) if name not in names else name
        if name not in names or name in bound:
            return None
        bound[name] = value
    if any(parameter.required and parameter.name not in bound for parameter in signature):
        return None
    return bound


# numpy's names, which torch takes for `input`, `dim`, `keepdim` and `other`.
_SYNONYMS = {"x": "input", "a": "input", "axis": "dim", "keepdims": "keepdim", "x1": "input", "x2": "other"}


def spread_at(signature: Signature, args: Sequence[object]) -> int | None:
    """From which positional argument on they are the elements of one sequence parameter; None where none are."""
    positional = [parameter for parameter in signature if not parameter.keyword_only]
    spread = next((index for index, parameter in enumerate(positional) if parameter.spread), None)
    if spread is None or len(args) <= spread or not _is_spread(positional[spread], args[spread:]):
        return None
    return spread


def _is_spread(parameter: Parameter, values: Sequence[object]) -> bool:
    """Whether the values are the elements of a sequence parameter, rather than the sequence itself."""
    if any(isinstance(value, (tuple, list)) for value in values):
        return False
    wanted = "T" if "L" in parameter.kinds else "i"
    return all((kinds := kinds_of(value)) is None or wanted in kinds for value in values)


def fits(signature: Signature, bound: Mapping[str, object], *, zero_dim: bool = False) -> Answer:
    """Whether bound arguments fit by name and by type; UNKNOWN if some value is not known."""
    parameters = {parameter.name: parameter for parameter in signature}
    if any(parameter.required and parameter.name not in bound for parameter in signature):
        return Answer.NO
    answer = Answer.YES
    for name, value in bound.items():
        if name not in parameters:
            return Answer.NO
        answer = answer & parameters[name].accepts(value, zero_dim=zero_dim)
    return answer
