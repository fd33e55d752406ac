from __future__ import annotations

from stridelint.rules.contract import layout, questions, sizes, views
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.dtypes import Scalar
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import instances, judge, lift_strides
from stridelint.rules.contract.sizes import Size

N, C, H, W = (Size.fresh(name) for name in "nchw")
IMAGE = TensorFacts(shape=(N, C, H, W), dtype="float32", kind="float", device="cpu")
CW, HW = sizes.multiply(C, W), sizes.multiply(H, W)
LAST = IMAGE.but(strides=(sizes.multiply(C, HW), 1, CW, C))
ROWS = IMAGE.but(strides=(sizes.multiply(C, HW), HW, W, 1))


def test_instances_are_distinct_and_at_least_two() -> None:
    for filled, _ in instances([LAST]):
        shape = filled[0].concrete_shape
        assert shape is not None
        assert min(shape) >= 2
    assert len(instances([LAST])) >= 5
    assert len(instances([TensorFacts(shape=(2, 3), strides=(3, 1))])) == 1


def test_quotients_get_instances_large_enough() -> None:
    part = sizes.floor_divide(C, 32)
    assert part is not None
    view, raises = questions.view(ROWS, (N, 32, part, H, W))
    assert raises.answer is Answer.NO
    assert view is not None
    assert view.shape == (N, 32, part, H, W)


def test_broadcast_gives_a_lone_symbol_the_number_it_faces() -> None:
    known = TensorFacts(shape=(2, 3, 4, 5), strides=(60, 20, 5, 1))
    for filled, _ in instances([LAST, known], broadcast=True):
        assert filled[0].shape == (2, 3, 4, 5)
        assert filled[0].strides == (60, 1, 15, 3)


def test_judgement_of_numbers_is_certain_and_of_symbols_likely() -> None:
    one = TensorFacts(shape=(2, 3), strides=(3, 1))
    assert questions.is_contiguous(one).confidence is Confidence.CERTAIN
    judged = questions.is_contiguous(ROWS)
    assert (judged.answer, judged.confidence) == (Answer.YES, Confidence.LIKELY)


def test_judgement_is_unknown_where_a_special_size_decides() -> None:
    """(3, s) with strides (7, 1) is contiguous for s == 7 only."""
    facts = TensorFacts(shape=(3, N), strides=(7, 1))
    assert questions.is_contiguous(facts).answer is Answer.UNKNOWN


def test_in_one_format_only() -> None:
    """Not where a single channel, or a single pixel, leaves both formats one memory."""
    both = TensorFacts(shape=(2, 1, 4, 5), strides=(20, 20, 5, 1))
    for facts, rows, last in (
        (ROWS, Answer.YES, Answer.NO),
        (LAST, Answer.NO, Answer.YES),
        (both, Answer.NO, Answer.NO),
        (IMAGE, Answer.UNKNOWN, Answer.UNKNOWN),
    ):
        assert questions.is_only(facts, "contiguous_format", "channels_last").answer is rows
        assert questions.is_only(facts, "channels_last").answer is last
    assert questions.is_only(LAST, "channels_last").confidence is Confidence.LIKELY
    assert questions.is_only(both, "channels_last").confidence is Confidence.CERTAIN


def test_illegal_instances_are_ignored() -> None:
    judged = judge(lambda tensors, _: None, [ROWS])
    assert judged.answer is Answer.UNKNOWN


def test_strides_are_lifted_to_formulas() -> None:
    def channels_last(tensors: object, extra: tuple[tuple[int, ...], ...]) -> tuple[int, ...] | None:
        made = layout.format_strides(extra[0], layout.CHANNELS_LAST)
        return made if isinstance(made, tuple) else None

    shape = (N, C, H, W)
    assert lift_strides(channels_last, shape, [IMAGE.but(strides=())], shape) == LAST.strides


def test_elementwise_keeps_symbolic_layouts() -> None:
    assert questions.elementwise([LAST, Scalar("float")]).strides == LAST.strides
    assert questions.elementwise([LAST, ROWS]).strides == LAST.strides
    assert questions.elementwise([ROWS, LAST]).strides == ROWS.strides
    bias = TensorFacts(shape=(C, 1, 1), strides=(1, 1, 1), dtype="float32", device="cpu")
    assert questions.elementwise([bias, LAST]).strides == LAST.strides


def test_order_of_operands_matters() -> None:
    judged = questions.order_matters([ROWS, LAST])
    assert (judged.answer, judged.confidence) == (Answer.YES, Confidence.LIKELY)
    assert questions.order_matters([LAST, LAST]).answer is Answer.NO
    mask = TensorFacts(shape=(2, 3, 4, 5), strides=(60, 20, 5, 1), dtype="float32", device="cpu")
    assert questions.order_matters([mask, LAST]).answer is Answer.YES
    bias = TensorFacts(shape=(1, 3, 1, 1), strides=(3, 1, 1, 1), dtype="float32", device="cpu")
    assert questions.order_matters([bias, LAST]).answer is Answer.NO


def test_views_of_channels_last() -> None:
    assert questions.view(LAST, (N, C, -1))[1].answer is Answer.NO
    made, raises = questions.view(LAST, (N, -1))
    assert made is None
    assert raises.answer is Answer.YES
    flat, copies = questions.flatten(LAST, 1)
    assert copies.answer is Answer.YES
    assert flat.shape == (N, sizes.multiply(C, HW))
    part = questions.viewed(LAST, views.slice_axis, 1, 0, 4)
    assert part is not None
    assert questions.suggests(part, "channels_last").answer is Answer.YES


def test_conversions() -> None:
    made, aliases = questions.converted(ROWS, memory_format="channels_last")
    assert (made.strides, aliases) == (LAST.strides, Answer.NO)
    same, aliases = questions.converted(LAST, memory_format="channels_last", dtype="float32")
    assert same is LAST
    assert aliases is Answer.YES
    unknown, aliases = questions.converted(IMAGE, memory_format="channels_last")
    assert (unknown.strides, aliases) == (None, Answer.UNKNOWN)
    assumed, _ = questions.converted(IMAGE, memory_format="channels_last", assume_dense=True)
    assert assumed.strides == LAST.strides
    assert questions.made_contiguous(IMAGE)[0].strides == ROWS.strides
    assert questions.converted(TensorFacts(shape=(N, C)), memory_format="channels_last")[0].strides is None
    assert questions.format_raises(TensorFacts(shape=(N, C)), "channels_last").answer is Answer.YES
    assert questions.like(LAST, dtype="float16").strides == LAST.strides


def test_joins() -> None:
    assert questions.cat([LAST, LAST], 1).shape == (N, sizes.multiply(2, C), H, W)
    assert questions.suggests(questions.cat([LAST, LAST], 1), "channels_last").answer is Answer.YES
    assert questions.is_contiguous(questions.cat([LAST, ROWS], 1)).answer is Answer.YES
    assert questions.is_contiguous(questions.cat([IMAGE, ROWS], 1)).answer is Answer.YES
    assert questions.stack([ROWS, ROWS], 0).shape == (2, N, C, H, W)


def test_joins_of_slices() -> None:
    """What torch joins has the same sizes, whatever they are called."""
    frames = [TensorFacts(shape=(sizes.minimum(start + 8, N), C), strides=(C, 1), dtype="int8") for start in (0, 4)]
    length = frames[0].shape[0] if frames[0].shape is not None else 0
    assert questions.stack(frames).strides == (sizes.multiply(length, C), C, 1)
