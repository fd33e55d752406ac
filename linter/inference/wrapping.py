"""Code that means integers to wrap around: hashes and checksums, counters that are reduced afterwards, masks of ones."""

from __future__ import annotations

import re

import libcst as cst

from stridelint.linter.inference.objects import Function
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import TensorValue, Value
from stridelint.rules.contract import ranges
from stridelint.rules.contract.narrowing import INTEGERS
from stridelint.rules.contract.ranges import Range
from stridelint.rules.forms.walking import names_in, walk

_WORDS = re.compile(
    r"hash|checksum|crc|digest|parity|adler|fletcher|overflow|wrap|modulo|modular|modulus|cyclic|cipher|crypt|lcg|scrambl"
    r"|carry|borrow|complement|saturat",
    re.IGNORECASE,
)
_BITS = (
    cst.BitAnd, cst.BitOr, cst.BitXor, cst.LeftShift, cst.RightShift,
    cst.BitAndAssign, cst.BitOrAssign, cst.BitXorAssign, cst.LeftShiftAssign, cst.RightShiftAssign,
)  # fmt: skip
_REDUCING = frozenset({"remainder", "remainder_", "fmod", "fmod_", "mod"})


def is_meant(path: Path, node: cst.CSTNode, numbers: Range, changed: Value | None) -> bool:
    """Whether results with these numbers are to wrap around in the dtype of `changed`, as far as the code tells."""
    dtype = path.facts(changed).dtype if isinstance(changed, TensorValue) else None
    if dtype is None or ranges.overflow(numbers, dtype) is None:
        return False
    if INTEGERS[dtype][0] == 0 and numbers.within(-1, 0):
        return True  # all bits set
    bodies: list[cst.CSTNode] = [frame.function.node for frame in path.frames] or [path.program.module]
    names = _names(node) | {_name(frame.function) for frame in path.frames}
    if any(map(_WORDS.search, names)):
        return True
    running = path.program.once(bodies[-1], _Uses, bodies[-1])
    if running.computes_bits or any(map(_WORDS.search, running.names)):
        return True
    return any(not names.isdisjoint(path.program.once(body, _Uses, body).reduced) for body in bodies)


def _name(function: Function) -> str:
    return function.node.name.value if isinstance(function.node, cst.FunctionDef) else ""


class _Uses:
    """What a function or module does with its names: reduced ones stand left of `%`, or in a call that does the same."""

    def __init__(self, body: cst.CSTNode) -> None:
        self.names: set[str] = set()
        self.reduced: set[str] = set()
        self.computes_bits = False
        for node in walk(body, cst.Name, cst.BinaryOperation, cst.AugAssign, cst.Call):
            if isinstance(node, cst.Name):
                self.names.add(node.value)
            elif isinstance(node, (cst.BinaryOperation, cst.AugAssign)):
                self.computes_bits |= isinstance(node.operator, _BITS) and not _is_of_truths(node)
                if isinstance(node.operator, (cst.Modulo, cst.ModuloAssign)):
                    self._reduces(node.left if isinstance(node, cst.BinaryOperation) else node.target)
            elif isinstance(node, cst.Call):
                self._called(node)

    def _called(self, node: cst.Call) -> None:
        function = node.func
        name = function.attr.value if isinstance(function, cst.Attribute) else ""
        self.computes_bits |= name.startswith("bitwise_") or (name == "view" and _is_dtype(node))
        if name in _REDUCING:
            self._reduces(function)
            for each in node.args:
                self._reduces(each)

    def _reduces(self, node: cst.CSTNode) -> None:
        self.reduced |= _names(node)


def _names(node: cst.CSTNode) -> set[str]:
    return names_in(node) - {"torch", "self", "cls"}


def _is_of_truths(node: cst.BinaryOperation | cst.AugAssign) -> bool:
    """`(x > 0) & ~mask`."""
    parts = (node.left, node.right) if isinstance(node, cst.BinaryOperation) else (node.value,)
    return any(
        isinstance(each, cst.Comparison)
        or (isinstance(each, cst.UnaryOperation) and isinstance(each.operator, cst.BitInvert))
        for each in parts
    )


def _is_dtype(node: cst.Call) -> bool:
    """`.view(torch.int8)`: the same bits as other numbers."""
    given = node.args[0].value if node.args else None
    name = given.attr.value if isinstance(given, cst.Attribute) else given.value if isinstance(given, cst.Name) else ""
    return name in INTEGERS
