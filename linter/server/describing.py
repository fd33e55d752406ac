"""What is known of a tensor, as rows of text: what a fact is called, and what it says. No row for what is not known."""

from __future__ import annotations

import re
from collections.abc import Mapping

from stridelint.rules.contract import generic, layout, questions, sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.findings import tuple_text

SHAPE, STRIDES, LAYOUT, DTYPE, DEVICE, GRAD, MEMORY = ROWS = (
    "shape", "strides", "layout", "dtype", "device", "requires grad", "memory",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*")
# Names that the interpreter gives to what the code does not name.
NAMELESS = re.compile(r"(size|count|d)\d*|unpacked|call|\?")
_YES_NO = {True: "yes", False: "no"}


def rows(facts: TensorFacts) -> dict[str, str]:
    """The rows of a tensor's facts."""
    facts = generic.substituted(facts, _readable(facts))
    found = {
        SHAPE: None if facts.shape is None else f"`{tuple_text(facts.shape)}`",
        STRIDES: None if facts.strides is None else f"`{tuple_text(facts.strides)}`",
        LAYOUT: layout_of(facts),
        DTYPE: f"`{facts.dtype}`" if facts.dtype else _kind(facts.kind),
        DEVICE: f"`{facts.device}`" if facts.device else None,
        GRAD: None if facts.requires_grad is None else _YES_NO[facts.requires_grad],
    }
    return {name: text for name, text in found.items() if text is not None}


def _kind(kind: str | None) -> str | None:
    return None if kind is None else "bool" if kind == "bool" else f"some {kind} type"


def _readable(facts: TensorFacts) -> dict[sizes.Atom, sizes.SizeLike]:
    """Names for sizes that have none in the code, or one that another size has, too: `d2` is that of axis 2."""
    every: dict[sizes.Atom, None] = {}
    for dim in (*(facts.shape or ()), *(facts.strides or ()), facts.storage_offset or 0):
        every.update(dict.fromkeys(sorted(sizes.leaves(dim), key=lambda atom: atom.identity)))
    names = [atom.name for atom in every]
    renamed: dict[sizes.Atom, sizes.SizeLike] = {}
    taken = set(names)
    for atom in every:
        if _NAME.fullmatch(atom.name) and not NAMELESS.fullmatch(atom.name) and names.count(atom.name) == 1:
            continue
        axis = next((axis for axis, dim in enumerate(facts.shape or ()) if dim == sizes.Size({(atom,): 1})), None)
        name = (
            f"d{axis}"
            if axis is not None
            else next(each for each in map("s{}".format, range(999)) if each not in taken)
        )
        taken.add(name)
        renamed[atom] = sizes.Size.fresh(name)
    return renamed


def layout_of(facts: TensorFacts) -> str | None:
    """The memory format in words; None where it is not known."""
    if facts.shape is None or facts.strides is None:
        return None
    if 0 in facts.shape:
        return "empty"
    if len(facts.shape) < 2 and facts.strides in ((), (1,)):
        return "row-major (contiguous)"
    row_major = questions.is_contiguous(facts).answer
    formats = {name: questions.is_contiguous(facts, name).answer for name in layout.RANK_OF}
    last = next((name for name, answer in formats.items() if answer is Answer.YES), None)
    if row_major is Answer.YES:
        return f"row-major and {last} at once" if last else "row-major (contiguous)"
    if last:
        return last
    if any(stride == 0 and size != 1 for size, stride in zip(facts.shape, facts.strides)):
        return "expanded: elements share memory"
    if row_major is Answer.UNKNOWN or Answer.UNKNOWN in formats.values():
        return "depends on the sizes"
    order = memory_order(facts)
    axes = f": axes {', '.join(map(str, order))} in memory, the innermost last" if order else ""
    dense = questions.is_dense(facts).answer
    if dense is Answer.YES:
        return f"permuted, not contiguous{axes}"
    looks = next((name for name in layout.RANK_OF if questions.suggests(facts, name).answer is Answer.YES), None)
    if looks:
        return f"{looks} with gaps, not contiguous"
    return f"not contiguous{', with gaps' if dense is Answer.NO else ''}{axes if order != sorted(order) else ''}"


def memory_order(facts: TensorFacts) -> list[int]:
    """The axes of a tensor from the outermost to the innermost in memory; empty where that depends on the sizes."""
    orders: set[tuple[int, ...]] = set()
    for (one,), _ in generic.instances([facts]):
        shape, strides = one.concrete_shape or (), one.concrete_strides or ()
        orders.add(tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], -shape[axis], axis))))
    return list(orders.pop()) if len(orders) == 1 else []


def joined(variants: list[Mapping[str, str]]) -> dict[str, str]:
    """What several descriptions of one value have in common; two that differ are both told."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(name for each in variants for name in each):
        texts = list(dict.fromkeys(each.get(name, "") for each in variants))
        if "" in texts:
            continue
        if len(texts) == 1:
            found[name] = texts[0]
        elif len(texts) == 2:
            found[name] = f"{texts[0]} or {texts[1]}, by the path taken"
    return found
