"""TLC401: an in-place operator whose result has a higher type kind than the tensor it changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules import claims
from stridelint.rules.contract.dtypes import Scalar, can_cast, kind_of, possible_types
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.messages import SCALAR_TYPES
from stridelint.rules.contract.out_contract import scalar_kind
from stridelint.rules.contract.result_rules import apply_rule
from stridelint.rules.contract.sizes import Size
from stridelint.rules.events import Form, Operand, TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.inplace.screening import changes_low
from stridelint.rules.rule import Finding, Invalid, Rule, Severity

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes

# Measured: these raise if and only if the dtype of their result can't be cast to self's.
PROMOTING = frozenset(
    """add sub subtract mul multiply floor_divide remainder fmod pow bitwise_and bitwise_or bitwise_xor bitwise_left_shift
    bitwise_right_shift clamp clamp_min clamp_max clip addcmul""".split()
)
TO_FLOAT = frozenset(
    """div divide true_divide atan2 arctan2 copysign xlogy acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin
    asinh atan atanh cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 i0 lgamma log log10 log1p log2 logit rad2deg
    reciprocal rsqrt sigmoid sin sinc sinh sqrt tan tanh""".split()
)
_DECIDING = ("input", "other", "exponent", "min", "max", "tensor1", "tensor2")


class InplaceLowerKind(Rule):
    """
    What it does:
        Finds in-place operators (`+=`, `/=`, `add_`, `clamp_`, ...) on a tensor whose type kind is below the result's, in
        the order bool < integer < float < complex.

    Why is this bad?
        The tensor keeps its dtype, and torch refuses to lose the fraction or the imaginary part: "result type Float can't
        be cast to the desired output type Long". It depends on dtypes only, so the line fails whenever it runs.

    Example:
        mask = torch.from_numpy(image)      # uint8
        mask /= 255

    Use instead:
        mask = mask / 255

    Confirmed by:
        Running the operator on tensors of these dtypes.
    """

    code = "TLC401"
    name = "inplace-lower-kind"
    severity = Severity.ERROR
    words = (
        "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=",
        *sorted(f"{op}_(" for op in PROMOTING | TO_FLOAT),
    )  # fmt: skip
    ops = PROMOTING | TO_FLOAT

    VALID = (
        """\
import torch

counts, flags = torch.zeros(4, dtype=torch.long), torch.zeros(4) > 0
counts += flags
counts //= 2
flags |= counts > 1
counts.div_(2, rounding_mode="floor")
counts[counts > 3] = 3
counts.clamp_(0, 5).fill_(2.5)
half = torch.rand(4).half()
half *= torch.rand(4, dtype=torch.float64)
""",
        """\
import torch

def average(images, weights):
    total = 0
    for image, weight in zip(images, weights):
        total += image * weight
    total /= len(images)
    return total
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

mask = torch.tensor([0, 255], dtype=torch.uint8)
mask /= 255
""",
            (
                (
                    4,
                    1,
                    "'mask /= 255' raises because its result is float32 and 'mask' is uint8 (result type Float can't be cast "
                    "to the desired output type Byte); compute a new tensor, or convert 'mask' first",
                ),
            ),
        ),
        Invalid(
            """\
import torch

def count_hits(scores, target):
    hits = 0
    for row in scores:
        hits += (row.argmax(0) == target).long()
    hits *= 0.5
    return hits

count_hits(torch.rand(3, 5), torch.tensor(2))
flags = torch.zeros(3, dtype=torch.bool)
flags += 5
""",
            (
                (
                    7,
                    5,
                    "'hits *= 0.5' raises because its result is float32 and 'hits' is int64 (result type Float can't be cast "
                    "to the desired output type Long); compute a new tensor, or convert 'hits' first",
                ),
                (
                    12,
                    1,
                    "'flags += 5' raises because its result is int64 and 'flags' is bool (result type Long can't be cast to "
                    "the desired output type Bool); compute a new tensor, or convert 'flags' first",
                ),
            ),
        ),
        Invalid(
            """\
import torch

cells = (torch.rand(5, 2) * 7).long()
limit = torch.tensor([6.0, 6.0])
cells[:, 0].clamp_(0, limit[0])
signal = torch.rand(8)
signal.mul_(1j)
""",
            (
                (
                    5,
                    1,
                    "'cells[:, 0].clamp_(0, limit[0])' raises because its result is float32 and 'cells[:, 0]' is int64 (result "
                    "type Float can't be cast to the desired output type); compute a new tensor, or convert "
                    "'cells[:, 0]' first",
                ),
                (
                    7,
                    1,
                    "'signal.mul_(1j)' raises because its result is complex64 and 'signal' is float32 (result type "
                    "ComplexFloat can't be cast to the desired output type Float); compute a new tensor, or convert "
                    "'signal' first",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Something may be changed in place that is a tensor of a lower kind."""
        return changes_low(nodes, frozenset(f"{op}_" for op in cls.ops))

    @classmethod
    def wants(cls, op: str, *, in_place: bool, out: bool) -> bool:
        """Calls that change a tensor in place."""
        return in_place and op in cls.ops

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """No dtype that the result may have can be cast to the tensor's."""
        target = event.arguments.get("input")
        if event.form is not Form.INPLACE or not isinstance(target, Operand):
            return
        kind = target.facts.kind or kind_of(target.facts.dtype)
        if kind is None or (kind == "bool" and event.op in ("sub", "subtract")):
            return  # On bool tensors `-` itself is an error.
        results = _result_dtypes(event)
        if not results or any(can_cast(dtype, kind) for dtype in results):
            return
        name = quoted(target)
        message = (
            f"'{event.text}' raises because its result is {_common(results)} and {name} is {target.facts.dtype or kind}"
            f"{_gist(event.op, results, target.facts.dtype)}; compute a new tensor, or convert {name} first"
        )
        yield found(
            self,
            event,
            message,
            about=(target,),
            claim=claims.raises("result type ... can't be cast to the desired output type"),
        )


def _result_dtypes(event: TensorEvent) -> frozenset[str]:
    """All dtypes the operator may compute in."""
    rounded = event.op in ("div", "divide") and event.arguments.get("rounding_mode") is not None
    rule = "promote" if event.op in PROMOTING or rounded else "int_to_float"
    operands = [_operand(event.arguments[name]) for name in _DECIDING if event.arguments.get(name) is not None]
    dtypes = {apply_rule(rule, promoted) for promoted in possible_types(operands, "float32")}
    return frozenset(dtype for dtype in dtypes if dtype is not None)


def _operand(value: object) -> TensorFacts | Scalar:
    """What decides the dtype; something that is not known may be a tensor of any."""
    if isinstance(value, Operand):
        return value.facts
    if isinstance(value, Scalar):
        return value
    kind = "integer" if isinstance(value, Size) else scalar_kind(value)
    return TensorFacts() if kind is None else Scalar(kind)


def _common(dtypes: frozenset[str]) -> str:
    if len(dtypes) == 1:
        return next(iter(dtypes))
    kinds = {kind_of(dtype) for dtype in dtypes}
    return (
        {"integer": "an integer", "float": "a float", "complex": "complex"}.get(kinds.pop() or "", "")
        if len(kinds) == 1
        else "of a higher kind"
    )


def _gist(op: str, results: frozenset[str], dtype: str | None) -> str:
    """What torch says, as far as that is known; `clamp_` names the dtype in C++."""
    result = f" {SCALAR_TYPES[next(iter(results))]}" if len(results) == 1 else ""
    target = f" {SCALAR_TYPES[dtype]}" if result and dtype is not None and not op.startswith("cl") else ""
    text = f"result type{result} can't be cast to the desired output type{target}"
    return f" ({text})" if result else f" ({text[12:]})"
