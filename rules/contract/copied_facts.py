"""Facts of copies and conversions, and whether they are the input itself."""

from __future__ import annotations

from stridelint.rules.contract import copies, generic
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.generic import lift_strides
from stridelint.rules.contract.layout import CONTIGUOUS, PRESERVE, Ints
from stridelint.rules.contract.predicates import fresh, is_contiguous, suggests


def format_strides_of(facts: TensorFacts, memory_format: str) -> Dims | None:
    """Strides of a new tensor of the shape, which needs no strides unless the format is preserve_format."""

    def compute(filled: tuple[TensorFacts, ...], extra: generic.Numbers) -> Ints | None:
        made = copies.copied_strides(extra[0], filled[0].concrete_strides or (), memory_format)
        return made if isinstance(made, tuple) else None

    shape = facts.shape
    if shape is None:
        return None
    source = facts if memory_format == PRESERVE else facts.but(strides=())
    return lift_strides(compute, shape, [source], shape, about=("copy", memory_format))


def cloned(facts: TensorFacts, memory_format: str = PRESERVE) -> TensorFacts:
    """`x.clone(memory_format=...)`."""
    return fresh(facts, strides=format_strides_of(facts, memory_format))


def like(
    facts: TensorFacts, memory_format: str = PRESERVE, dtype: str | None = None, device: str | None = None
) -> TensorFacts:
    """`torch.empty_like(x, ...)` and its kin; never requires grad by itself."""
    made = cloned(facts, memory_format).but(requires_grad=False)
    if dtype is not None:
        made = made.but(dtype=dtype, kind=kind_of(dtype))
    return made if device is None else made.but(device=device)


def _dtype_changes(facts: TensorFacts, dtype: str | None) -> Answer:
    if dtype is None:
        return Answer.NO
    if facts.dtype is not None:
        return Answer.of(facts.dtype != dtype)
    return Answer.YES if facts.kind is not None and facts.kind != kind_of(dtype) else Answer.UNKNOWN


def _device_changes(facts: TensorFacts, device: str | None) -> Answer:
    if device is None or facts.device == device:
        return Answer.NO
    if facts.device is None:
        return Answer.UNKNOWN
    (own, _, own_index), (new, _, new_index) = facts.device.partition(":"), device.partition(":")
    return Answer.YES if own != new or (own_index and new_index) else Answer.UNKNOWN


def converted(
    facts: TensorFacts,
    *,
    dtype: str | None = None,
    device: str | None = None,
    memory_format: str | None = None,
    copy: bool = False,
    assume_dense: bool = False,
) -> tuple[TensorFacts, Answer]:
    """`x.to(...)`, and whether it is the input itself.

    Args:
        dtype, device, memory_format: what the call asks for, None where it does not.
        assume_dense: where the result's strides depend on unknown strides of the input, give those of a new tensor of
            `memory_format` (the input would have to be a slice of one for this to be wrong).
    """
    changes = Answer.of(copy) | _dtype_changes(facts, dtype) | _device_changes(facts, device)
    wanted = PRESERVE if memory_format is None else memory_format
    there = Answer.YES if wanted == PRESERVE else suggests(facts, wanted).answer
    aliases = ~changes & there
    new_dtype = {} if dtype is None else {"dtype": dtype, "kind": kind_of(dtype)}
    new_device = {} if device is None else {"device": device}
    if aliases is Answer.YES:
        return facts, aliases
    made = fresh(facts, strides=format_strides_of(facts, wanted), **new_dtype, **new_device)
    if new_dtype and made.kind in ("bool", "integer"):
        made = made.but(requires_grad=False)
    if aliases is Answer.NO or (assume_dense and memory_format is not None):
        return made, aliases
    return _either(made, facts.but(**new_dtype, **new_device)), aliases


def _either(made: TensorFacts, itself: TensorFacts) -> TensorFacts:
    """What a new tensor and the old one agree on."""
    offset = made.storage_offset if made.storage_offset == itself.storage_offset else None
    same = made.strides if made.strides == itself.strides else None
    return made.but(strides=same, storage_offset=offset)


def made_contiguous(
    facts: TensorFacts, memory_format: str = CONTIGUOUS, *, assume_dense: bool = False
) -> tuple[TensorFacts, Answer]:
    """`x.contiguous(memory_format=...)`, and whether it is the input itself.

    Args:
        assume_dense: where size-1 axes may keep odd strides of the input, give those of a new tensor.
    """
    aliases = is_contiguous(facts, memory_format).answer
    if aliases is Answer.YES and facts.strides is not None:
        return facts, aliases
    strides = format_strides_of(facts, memory_format)
    made = fresh(facts, strides=strides)
    if aliases is Answer.NO:
        return made, aliases
    if not assume_dense and any(isinstance(dim, int) and dim < 2 for dim in facts.shape or ()):
        made = made.but(strides=None)  # A contiguous input keeps whatever strides its size-1 axes have.
    if aliases is Answer.YES:
        return facts.but(strides=made.strides), aliases
    return made.but(storage_offset=0 if facts.storage_offset == 0 else None), aliases
