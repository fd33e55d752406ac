"""Steps from sample to sample that the runs of a test do not take, their batches having one."""

from __future__ import annotations

from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim
from stridelint.rules.contract.layout import RANK_OF
from stridelint.rules.events import Assertion, Operand, SampleStep, TensorEvent, TestRun
from stridelint.rules.tests_of_layout import subject


def batch(operand: Operand) -> Dim | None:
    """How many images a tensor holds, where it may be a batch of them."""
    shape = operand.facts.shape
    return shape[0] if shape is not None and len(shape) in (4, 5) else None


def by_stride(run: TestRun) -> tuple[Assertion, TensorEvent, Operand, Dim, Dim] | None:
    """A wrong first step given to as_strided that this run cannot notice, and the assertion about its result."""
    for event in run.events:
        size, stride, images = (
            event.arguments.get("size"),
            event.arguments.get("stride"),
            event.tensors[0] if event.tensors else None,
        )
        if (
            event.op != "as_strided"
            or images is None
            or not isinstance(size, tuple)
            or not isinstance(stride, tuple)
            or not size
            or not stride
        ):
            continue
        own = images.facts.strides
        if batch(images) != 1 or size[0] != 1 or not subject.is_channels_last(images) or own is None:
            continue
        given, right = stride[0], own[0]
        whole = sizes.product((images.facts.shape or ())[1:])
        if not isinstance(given, int) or not isinstance(right, int) or given in (right, whole):
            continue
        for assertion in run.assertions:
            if assertion.kind in subject.VALUE_KINDS and any(
                each.facts.storage == images.facts.storage for each in assertion.tensors
            ):
                return assertion, event, images, given, right
    return None


def by_offset(run: TestRun) -> tuple[Assertion, SampleStep] | None:
    """A computed step that does not fit and that this run does not take, and the assertion about what was found there."""
    for step in run.steps:
        if batch(step.batch) != 1 or not subject.is_channels_last(step.batch):
            continue
        memory = {step.storage, step.batch.facts.storage}
        for assertion in run.assertions:
            if assertion.kind in subject.VALUE_KINDS and any(
                each.facts.storage in memory for each in assertion.tensors
            ):
                return assertion, step
    return None


def format_asked(images: Operand, at: Assertion) -> Assertion:
    """The question to a batch of one that its stride(0) does not answer."""
    wanted = next(name for name, rank in RANK_OF.items() if rank == images.facts.rank)
    return Assertion("is_contiguous", (images,), at.site, {"memory_format": wanted})
