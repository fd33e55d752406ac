"""TLC109: a write to a copy that is thrown away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.contract.writes import PICKING
from stridelint.rules.events import Form, Operand, TensorEvent
from stridelint.rules.findings import found
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.screening import name_of
from stridelint.rules.screening.certain import parts_of, targets_of
from stridelint.rules.screening.words import STORE

if TYPE_CHECKING:
    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.screening import Nodes

IN_PLACE = frozenset(
    """abs acos add addcdiv addcmul asin atan bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min
    clip cos cumprod cumsum div divide eq erf exp expm1 floor floor_divide fmod ge gt hardshrink index_add index_copy
    index_fill index_put le lerp log log1p logical_and logical_not logical_or logical_xor lt masked_fill masked_scatter mul
    multiply nan_to_num ne neg negative pow put reciprocal relu remainder renorm round rsqrt scatter scatter_add
    scatter_reduce sigmoid sign sin sqrt square sub subtract tan tanh tril triu true_divide trunc xlogy addbmm addmm addmv
    addr baddbmm bernoulli copysign fill fill_diagonal floor_ ldexp logit normal nn.functional.dropout nn.functional.elu
    nn.functional.hardswish nn.functional.hardtanh nn.functional.leaky_relu nn.functional.relu nn.functional.relu6
    nn.functional.silu nn.functional.threshold""".split()
)
# Those that are not operators of the table keep their underscore.
METHODS = frozenset(
    "copy_ zero_ fill_ random_ uniform_ exponential_ cauchy_ log_normal_ geometric_ normal_ bernoulli_".split()
)
# Functions of torch.nn.init that are called otherwise than the method they call.
INITIALIZERS = frozenset(
    """xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ trunc_normal_ orthogonal_ sparse_ constant_ ones_ zeros_ eye_
    dirac_""".split()
)
WITH_OUT = frozenset(
    """matmul mm bmm cat stack sum mean prod maximum minimum where index_select gather cumsum max min topk sort median kthvalue mode
    cummax cummin aminmax""".split()
)
COPYING = PICKING | frozenset(
    """to type type_as float double half bfloat16 int long short char byte bool cfloat cdouble contiguous reshape reshape_as flatten
    ravel cpu cuda""".split()
)


class LostWrite(Rule):
    """
    What it does:
        Finds in-place operators, item assignments and `out=` on a copy that nothing reads afterwards: the result of
        `x[indices]`, `x.index_select(0, rows)`, `x.float()`, `x.contiguous()`, or of a `reshape` or `flatten` that the
        strides force to copy.

    Why is this bad?
        The tensor that was meant stays as it was, without an error. Whether `reshape` is a view or a copy depends on the
        strides, so the same line works on a row-major tensor and does nothing on a channels_last one.

    Example:
        weight = conv.to(memory_format=torch.channels_last).weight.data
        weight.reshape(-1).copy_(flat)

    Use instead:
        weight.copy_(flat.reshape(weight.shape))

    Fix:
        `x[mask].mul_(2)` becomes `x[mask] = x[mask].mul(2)` (unsafe: from then on `x` changes). What else was meant by a lost
        write is left to you.

    Confirmed by:
        Asking the rule again about real tensors, which the verdict says: no call makes the copy that is thrown away. Without what the
        code reads afterwards some cannot be asked again, and are `inconclusive`.
    """

    code = "TLC109"
    name = "lost-write"
    severity = Severity.ERROR
    also = (
        *(f".{name.rpartition('.')[2].rstrip('_')}_(" for name in sorted(IN_PLACE | METHODS | INITIALIZERS)),
        "inplace=",
        "out=",
        STORE,
    )
    words = (*(f".{name}(" for name in sorted(COPYING)), *also[:-1], "][")
    ops = IN_PLACE | METHODS | WITH_OUT | {"setitem"}

    VALID = (
        """\
import torch

x = torch.rand(4, 6)
x.reshape(-1).copy_(torch.zeros(24))
x[x > 0.5] += 1
x[torch.tensor([0, 2])] = 0
half = x.half().clamp_(0, 1)
rows = x.t().reshape(-1)
rows.mul_(2)
print(rows)
parts = [slice(0, 2), slice(None)]
x[parts].zero_()
labels = torch.zeros(4).long()
labels[0] = 1

torch.nn.init.uniform_(x[:2])
torch.nn.functional.relu(x[x > 0.5], inplace=False)
drawn = torch.nn.init.normal_(x[x > 0.5])
torch.max(x, 1, out=(torch.empty(4), torch.empty(0).long()))

def store(x: torch.Tensor, parts, value):
    x[[part.to_slice() for part in parts]].copy_(value)
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

x = torch.rand(4, 6)
x[x > 0.5].mul_(2)
x.half().clamp_(0, 1)
x.t().flatten()[0] = 1
""",
            (
                (
                    4,
                    1,
                    "'x[x > 0.5].mul_(2)' does not change 'x': it writes to 'x[x > 0.5]', a copy that is thrown away",
                ),
                (
                    5,
                    1,
                    "'x.half().clamp_(0, 1)' does not change 'x': it writes to 'x.half()', a copy that is thrown away",
                ),
                (
                    6,
                    1,
                    "'x.t().flatten()[0] = 1' does not change 'x.t()': it writes to 'x.t().flatten()', a copy that is thrown away",
                ),
            ),
            fixed="""\
import torch

x = torch.rand(4, 6)
x[x > 0.5] = x[x > 0.5].mul(2)
x.half().clamp_(0, 1)
x.t().flatten()[0] = 1
""",
            safe=False,
        ),
        Invalid(
            """\
import torch

x, rows = torch.rand(4, 6), torch.tensor([0, 2])
x[rows].clamp_(0, 0.5)  # saturate
x[x > 0.4].fill_(1)
""",
            (
                (
                    4,
                    1,
                    "'x[rows].clamp_(0, 0.5)' does not change 'x': it writes to 'x[rows]', a copy that is thrown away",
                ),
                (
                    5,
                    1,
                    "'x[x > 0.4].fill_(1)' does not change 'x': it writes to 'x[x > 0.4]', a copy that is thrown away",
                ),
            ),
            fixed="""\
import torch

x, rows = torch.rand(4, 6), torch.tensor([0, 2])
x[rows] = x[rows].clamp(0, 0.5)  # saturate
x[x > 0.4] = 1
""",
            safe=False,
        ),
        Invalid(
            """\
import torch
from torch import nn

x, rows = torch.rand(4, 6), torch.tensor([0, 2])
nn.init.xavier_uniform_(x[rows])
nn.functional.relu(x[rows], inplace=True)
torch.sort(x[:2], out=(x[rows], torch.zeros(2, 6).long()))
""",
            (
                (
                    5,
                    1,
                    "'nn.init.xavier_uniform_(x[rows])' does not change 'x': it writes to 'x[rows]', a copy that is thrown away",
                ),
                (
                    6,
                    1,
                    "'nn.functional.relu(x[rows], inplace=True)' does not change 'x': it writes to 'x[rows]', a copy that is thrown away",
                ),
                (
                    7,
                    1,
                    "'torch.sort(x[:2], out=(x[rows], torch.zeros(2, 6).long()))' does not change 'x': it writes to 'x[rows]', a copy that is thrown "
                    "away",
                ),
            ),
        ),
        Invalid(
            """\
import torch

pool = torch.zeros(4, 5, 6)[:, :3]
rows = pool.reshape(-1, 6)
rows.index_copy_(0, torch.tensor([1, 7]), torch.ones(2, 6))
""",
            (
                (
                    5,
                    1,
                    "'rows.index_copy_(0, torch.tensor([1, 7]), torch.ones(2, 6))' does not change 'pool': it writes to "
                    "'pool.reshape(-1, 6)', a copy that is thrown away",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Something is written to that may be a copy."""
        return _Writes(nodes).units()

    @classmethod
    def wants(cls, op: str, *, in_place: bool, out: bool) -> bool:
        """Calls that change a tensor in place, and those that pass out=."""
        return (in_place or out) and op in cls.ops

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The target is a copy, and the statement is all that knows it."""
        written = event.tensors[:1] if event.in_place else event.out if isinstance(event.out, tuple) else (event.out,)
        target = next((each for each in written if isinstance(each, Operand) and each.unread is not None), None)
        if not event.discarded or target is None or target.unread is None:
            return
        copy = target.unread
        source = f"'{copy.source}'" if copy.source else "the tensor"
        message = f"'{event.text}' does not change {source}: it writes to '{copy.text}', a copy that is thrown away"
        yield found(self, event, message, confidence=copy.confidence, about=(target,), explained=(copy.site,))

    def fix(self, finding: Finding, code: Code) -> Fix | None:
        """Store the result through the index."""
        from stridelint.rules.forms import edits, tensor_edits

        event, call = finding.event, code.call(finding.site)
        if not isinstance(event, TensorEvent) or call is None or event.form is not Form.INPLACE:
            return None
        receiver = event.argument_sites.get("receiver", event.tensors[0].site)
        statement, target = edits.own_line(code, call), code.expression(receiver)
        if statement is None or target is None:
            return None
        value = tensor_edits.stored(call, target)
        if value is None:
            return None
        text = f"{code.text(target)} = {code.text(value, call)}"
        return edits.Fix("assign to the index", (edits.Edit(statement, text),))


class _Writes:
    """Statements that write to the result of a call or an index, or to a name that stands for one."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.helpers = {function.name for function, _ in nodes.functions}
        self.assigned: dict[tuple[str, str], list[ast.expr]] = {}
        for node, unit in nodes.bindings:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
                continue
            targets = list(targets_of(node))
            if len(targets) == 1 and isinstance(targets[0], ast.Name):
                self.assigned.setdefault((unit, targets[0].id), []).append(node.value)

    def units(self) -> frozenset[str]:
        """The units of those statements."""
        found = set()
        for value, unit in self.nodes.statements:
            if isinstance(value, ast.Call) and any(self.copies(each, unit) for each in _targets(value)):
                found.add(unit)
        for node, unit in self.nodes.bindings:
            targets = targets_of(node) if isinstance(node, (ast.Assign, ast.AugAssign)) else ()
            if any(isinstance(each, ast.Subscript) and self.copies(each.value, unit) for each in targets):
                found.add(unit)
        return frozenset(found)

    def copies(self, node: ast.expr, unit: str, depth: int = 0) -> bool:
        """Whether somewhere down the receivers a copy may be made."""
        while True:
            if isinstance(node, ast.Call):
                if name_of(node) in COPYING or (isinstance(node.func, ast.Name) and node.func.id in self.helpers):
                    return True
                if not isinstance(node.func, ast.Attribute):
                    return False
                node = node.func.value
            elif isinstance(node, ast.Subscript):
                if not _is_plain(node.slice):
                    return not self.nodes.certain.is_container(node.value, unit)  # what has the item still holds it
                node = node.value
            elif isinstance(node, ast.Attribute):
                node = node.value
            else:
                values = self.assigned.get((unit, node.id), []) if isinstance(node, ast.Name) and depth < 3 else []
                return len(values) == 1 and self.copies(values[0], unit, depth + 1)


def _targets(call: ast.Call) -> Iterator[ast.expr]:
    """What a call statement writes to."""
    name = name_of(call)
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    first = [*call.args[:1], *(named[each] for each in ("input", "tensor") if each in named)]
    if name.endswith("_") and not name.startswith("_"):
        if isinstance(call.func, ast.Attribute):
            yield call.func.value
        yield from first
    elif "inplace" in named:
        yield from first
    if "out" in named:
        yield from parts_of(named["out"])


def _is_plain(index: ast.expr) -> bool:
    """Whole numbers and slices: a view."""
    if isinstance(index, ast.Tuple):
        return all(_is_plain(each) for each in index.elts)
    if isinstance(index, ast.UnaryOp):  # -1, but not ~mask
        return isinstance(index.operand, ast.Constant)
    return isinstance(index, (ast.Constant, ast.Slice))
