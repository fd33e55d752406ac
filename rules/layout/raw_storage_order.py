"""TLC106: raw memory of a tensor that is not row-major, read as if it were."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer
from stridelint.rules.events import TensorEvent
from stridelint.rules.findings import found, quoted, tuple_text
from stridelint.rules.rule import Finding, Invalid, Rule, Severity
from stridelint.rules.screening import name_of

if TYPE_CHECKING:
    from stridelint.rules.screening import Nodes

READERS = frozenset({"as_strided", "set_", "untyped_storage", "storage", "typed_storage", "_typed_storage"})
POINTERS = frozenset({"data_ptr", "data_as"})


class RawStorageOrder(Rule):
    """
    What it does:
        Finds raw memory of a tensor that is not row-major, handed on without its strides: `data_ptr()` passed to a kernel,
        a storage with a shape laid over it, `as_strided` with row-major strides, `numpy().ravel(order="K")`, and flat
        views of memory that get the tensor's shape again.

    Why is this bad?
        The bytes of a channels_last, transposed or sliced tensor lie in another order than its shape tells. Whoever walks
        them from one end to the other gets the right numbers in the wrong places, without an error. `empty_like`,
        `zeros_like` and `clone` keep such strides of tensors that have neither gaps nor overlaps.

    Example:
        out = torch.empty_like(image)           # image is channels_last
        kernel(out.data_ptr(), out.numel())     # writes in the order of rows

    Use instead:
        out = torch.empty_like(image, memory_format=torch.contiguous_format)
        kernel(out.data_ptr(), out.numel())

    Confirmed by:
        Comparing the numbers in memory order with those of the tensor in the order of its shape.
    """

    code = "TLC106"
    name = "raw-storage-order"
    severity = Severity.ERROR
    words = (
        "data_ptr(", "storage(", "untyped_storage(", "typed_storage(", "_typed_storage(", ".as_strided(", ".set_(", ".ravel(",
        ".flatten(", "data_as(",
    )  # fmt: skip
    ops = frozenset({"raw_memory"})

    VALID = (
        """\
import ctypes

import torch

library = ctypes.CDLL("kernels.so")
x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
library.scale(x.contiguous().data_ptr(), x.numel())
library.scale_strided(x.data_ptr(), x.numel(), *x.stride())
print(x.data_ptr(), x.data_ptr() == x.detach().data_ptr())
same = torch.empty_like(x)
library.scale_all(x.data_ptr(), same.data_ptr(), x.numel())
y = x.as_strided(x.shape, x.stride())
largest = x.numpy().ravel(order="K").max()
pointer = library.make_ptr(x.data_ptr())
""",
    )
    INVALID = (
        Invalid(
            """\
import ctypes

import torch

library = ctypes.CDLL("kernels.so")
x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
library.scale(x.data_ptr(), x.numel())
y = torch.empty(0).set_(x.untyped_storage(), 0, x.shape)
z = x.as_strided((2, 60), (60, 1))
flat = x.numpy().ravel(order="K")
""",
            (
                (
                    7,
                    15,
                    "'x.data_ptr()' hands on memory that is not in row-major order: 'x' has strides (60, 1, 15, 3); use .contiguous()",
                ),
                (
                    8,
                    5,
                    "'torch.empty(0).set_(x.untyped_storage(), 0, x.shape)' hands on memory that is not in row-major order: 'x' "
                    "has strides (60, 1, 15, 3); use .contiguous()",
                ),
                (
                    10,
                    8,
                    "'x.numpy().ravel(order=\"K\")' hands on memory that is not in row-major order: 'x' has strides "
                    "(60, 1, 15, 3); use .contiguous()",
                ),
            ),
        ),
        Invalid(
            """\
import torch

weight = torch.rand(6, 4).t()
flat = weight.as_strided((24,), (1,))
again = flat.view(weight.shape)
""",
            (
                (
                    4,
                    8,
                    "'weight.as_strided((24,), (1,))' hands on memory that is not in row-major order: 'weight' has strides "
                    "(1, 4); use .contiguous()",
                ),
            ),
        ),
    )

    @classmethod
    def places(cls, nodes: Nodes) -> frozenset[str] | None:
        """Raw memory is read, or a pointer gets into a call."""
        found = set()
        has_pointers = not POINTERS.isdisjoint(nodes.names)
        for call, unit in nodes.calls:
            name = name_of(call.func)
            if name in READERS or (name in ("ravel", "flatten") and _has_order(call)):
                found.add(unit)
            elif has_pointers and any(
                name_of(each) in POINTERS
                for arg in (*call.args, *(k.value for k in call.keywords))
                for each in _calls(arg)
            ):
                found.add(unit)
        found |= {
            unit
            for node, unit in nodes.bindings
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and name_of(node.value) in POINTERS
        }
        return frozenset(found)

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """The tensor is surely not row-major."""
        source = event.tensors[0]
        contiguous = questions.is_contiguous(source.facts, "contiguous_format")
        if contiguous.answer is not Answer.NO:
            return
        message = (
            f"'{event.text}' hands on memory that is not in row-major order: {quoted(source)} has strides "
            f"{tuple_text(source.facts.strides)}; use .contiguous()"
        )
        claim = Claim(Kind.MEMORY_ORDER)
        yield found(self, event, message, confidence=contiguous.confidence, about=(source,), claim=claim)


def _has_order(call: ast.Call) -> bool:
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in values)


def _calls(node: ast.expr) -> Iterator[ast.Call]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Call))
