"""Small, named facts of PyTorch that people rely on; `stridelint probe verify` compares the rest."""

from __future__ import annotations

from stridelint.rules.contract import convolution, copies, joins, layout, overlap, reshaping, shapes, spatial, views
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.dtypes import Scalar
from stridelint.rules.contract.elementwise import broadcast_shapes, elementwise_strides
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.layout import Raises
from stridelint.rules.contract.sizes import Size

SHAPE, ROWS, LAST = (2, 3, 4, 5), (60, 20, 5, 1), (60, 1, 15, 3)
ROW = TensorFacts(shape=SHAPE, strides=ROWS, dtype="float32", device="cpu")
CL = ROW.but(strides=LAST)


def test_strides_of_formats() -> None:
    assert layout.contiguous_strides(SHAPE) == ROWS
    assert layout.contiguous_strides((2, 0, 3)) == (3, 3, 1)
    assert layout.format_strides(SHAPE, layout.CHANNELS_LAST) == LAST
    assert layout.format_strides((2, 3, 4, 5, 6), layout.CHANNELS_LAST_3D) == (360, 1, 90, 18, 3)
    assert isinstance(layout.format_strides((2, 3), layout.CHANNELS_LAST), Raises)


def test_size_1_axes_make_layouts_ambiguous() -> None:
    one_channel = (2, 1, 4, 5)
    for strides in ((20, 20, 5, 1), (20, 1, 5, 1)):
        assert layout.is_contiguous(one_channel, strides)
        assert layout.is_contiguous(one_channel, strides, "channels_last")
    assert layout.suggest_memory_format(one_channel, (20, 20, 5, 1)) == "contiguous_format"
    assert layout.suggest_memory_format(one_channel, (20, 1, 5, 1)) == "channels_last"
    assert not layout.is_contiguous((1, 3, 4, 5), ROWS, "channels_last")


def test_format_of_an_unsqueezed_hwc_image_is_not_suggested() -> None:
    strides = (3, 1, 15, 3)
    assert layout.is_contiguous((1, 3, 4, 5), strides, "channels_last")
    assert layout.suggest_memory_format((1, 3, 4, 5), strides) == "contiguous_format"


def test_conversions_alias_by_different_questions() -> None:
    part = (288, 1, 48, 8)  # Four of eight channels of a channels_last tensor.
    assert copies.to((2, 4, 6, 6), part, "channels_last") == (part, True)
    assert copies.contiguous((2, 4, 6, 6), part, "channels_last") == ((144, 1, 24, 4), False)
    assert copies.to((3, 2), (1, 3), "contiguous_format") == ((1, 3), True)
    assert copies.contiguous((3, 2), (1, 3)) == ((2, 1), False)
    assert isinstance(copies.to((3, 2), (2, 1), "channels_last"), Raises)
    assert isinstance(copies.contiguous(SHAPE, ROWS, "preserve_format"), Raises)


def test_first_operand_decides() -> None:
    assert elementwise_strides([ROW, CL]) == ROWS
    assert elementwise_strides([CL, ROW]) == LAST
    assert elementwise_strides([CL, ROW], out=ROW) == ROWS
    assert elementwise_strides([CL], out=ROW.but(shape=(0,), strides=(1,))) == LAST
    mask = ROW.but(dtype="bool")
    assert elementwise_strides([mask, CL, CL], conditions=1) == ROWS


def test_numbers_keep_odd_strides_that_tensors_lose() -> None:
    odd = CL.but(shape=(2, 1, 4, 5), strides=(20, 1, 5, 1))
    assert elementwise_strides([odd]) == (20, 20, 5, 1)
    assert elementwise_strides([odd, Scalar("integer")]) == (20, 1, 5, 1)


def test_casts_copy_on_cpu_only() -> None:
    gaps = TensorFacts(shape=(2, 2, 2), strides=(1, 8, 8), dtype="int64", device="cpu")
    other = TensorFacts(shape=(2, 2, 2), strides=(1, 4, 2), dtype="float32", device="cpu")
    on_gpu = [facts.but(device="cuda") for facts in (gaps, other)]
    assert elementwise_strides([gaps, other]) is not None
    assert elementwise_strides(on_gpu) == elementwise_strides([facts.but(dtype="float32") for facts in (gaps, other)])


def test_broadcasting_of_unknown_sizes() -> None:
    n, m = Size.fresh("n"), Size.fresh("m")
    assert broadcast_shapes((n, 1), (1, 3)) == (n, 3)
    assert broadcast_shapes((n,), (4,)) == (4,)
    assert broadcast_shapes((n,), (n,)) == (n,)
    assert broadcast_shapes((n,), (m,)) is None
    assert broadcast_shapes((n,), (m,), assume_legal=True) == (n,)
    assert broadcast_shapes((2,), (3,)) is None


def test_channels_last_views() -> None:
    assert reshaping.view(SHAPE, LAST, (2, 3, -1)) == (60, 1, 3)
    assert isinstance(reshaping.view(SHAPE, LAST, (2, -1)), Raises)
    assert reshaping.reshape(SHAPE, LAST, (2, -1)) == ((60, 1), True)
    assert isinstance(reshaping.reshape(SHAPE, LAST, (7, -1)), Raises)


def test_joins_keep_a_format_only_if_all_suggest_it() -> None:
    assert joins.cat_strides([(SHAPE, LAST), (SHAPE, LAST)], 1) == (120, 1, 30, 6)
    assert joins.cat_strides([(SHAPE, LAST), (SHAPE, ROWS)], 1) == (120, 20, 5, 1)
    assert joins.stack_strides([(SHAPE, LAST)], 0) == (120, 60, 1, 15, 3)


def test_convolutions_follow_input_or_weight() -> None:
    weight, strides = (4, 3, 3, 3), ((27, 9, 3, 1), (27, 1, 9, 3))
    result = (2, 4, 2, 3)
    assert convolution.conv_strides((SHAPE, ROWS), (weight, strides[0]), result) == (24, 6, 3, 1)
    assert convolution.conv_strides((SHAPE, ROWS), (weight, strides[1]), result) == (24, 1, 12, 4)
    assert convolution.conv_strides((SHAPE, LAST), (weight, strides[0]), result) == (24, 1, 12, 4)
    assert convolution.result_strides("drops", [(SHAPE, LAST)], SHAPE) == ROWS
    assert convolution.result_strides("channels_last", [(SHAPE, LAST)], (2, 3, 2, 2)) == (12, 1, 6, 3)
    assert convolution.result_strides("follows", [(SHAPE, LAST)], SHAPE) == LAST
    assert convolution.result_strides("view", [(SHAPE, LAST)], SHAPE) is None
    assert convolution.batch_norm_strides(((2, 1, 4, 5), (20, 1, 5, 1))) == (20, 20, 5, 1)


def test_torch_detects_only_expanded_self_overlap() -> None:
    assert overlap.detected_self_overlap((3, 2), (0, 1)) is Answer.YES
    assert overlap.detected_self_overlap((3, 2), (1, 1)) is Answer.UNKNOWN
    assert overlap.overlaps_itself((3, 2), (1, 1)) is True
    assert overlap.overlaps_itself((3, 2), (4, 1)) is False
    assert overlap.overlaps_itself((2, 3), (3, 2)) is False


def test_a_part_is_smaller_than_the_whole() -> None:
    whole = TensorFacts(shape=(4, 3), strides=(3, 1), storage_offset=0, storage=1)
    first, second = (whole.but(shape=(2, 3), storage_offset=offset) for offset in (0, 3))
    assert overlap.is_part(first, whole) is Answer.YES
    assert overlap.is_part(whole, first) is Answer.NO
    assert overlap.is_part(first, second) is Answer.NO
    assert overlap.is_part(whole.but(shape=(3, 4), strides=(1, 3)), whole) is Answer.NO
    assert overlap.is_part(first.but(storage=2), whole) is Answer.NO
    assert overlap.is_part(first.but(storage_offset=None), whole) is Answer.UNKNOWN


def test_overlap_of_two_tensors() -> None:
    whole = TensorFacts(shape=(4,), strides=(1,), storage_offset=0, storage=1)
    Overlap = overlap.Overlap
    assert overlap.overlap(whole, whole) is Overlap.FULL
    assert overlap.overlap(whole, whole.but(storage_offset=2)) is Overlap.PARTIAL
    assert overlap.overlap(whole, whole.but(storage_offset=4)) is Overlap.NO
    assert overlap.overlap(whole, whole.but(storage=2)) is Overlap.NO
    assert overlap.overlap(whole, whole.but(storage=None)) is Overlap.UNKNOWN
    even, odd = whole.but(strides=(2,)), whole.but(strides=(2,), storage_offset=1)
    assert (overlap.overlap(even, odd), overlap.detected_overlap(even, odd)) == (Overlap.NO, Overlap.TOO_HARD)
    n = Size.fresh("n")
    unknown = whole.but(shape=(n,))
    assert overlap.overlap(unknown, unknown) is Overlap.FULL


def test_views_of_unknown_sizes() -> None:
    n, c = Size.fresh("n"), Size.fresh("c")
    base = views.Geometry((n, c, 4), None, 0)
    assert views.permute(base, (0, 2, 1)) == ((n, 4, c), None, 0)
    assert views.unsqueeze(base, -1) == ((n, c, 4, 1), None, 0)
    sliced = views.slice_axis(base, 1, 0, -1)
    assert sliced is not None
    assert repr(sliced.shape[1]) == "-1 + c" or repr(sliced.shape[1]) == "c + -1"
    first = views.slice_axis(base, 1, None, 1)
    assert first is not None
    assert first.shape == (n, 1, 4)
    last = views.slice_axis(base, 1, -1, None)
    assert last is not None
    assert last.shape == (n, 1, 4)
    assert views.permute(base, (0, 0, 1)) is None
    assert views.expand(views.Geometry((1, 3), (3, 1), 0), (4, -1)) == ((4, 3), (0, 1), 0)


def test_shapes_of_unknown_sizes() -> None:
    n, c, h, w = (Size.fresh(name) for name in "nchw")
    image = (n, c, h, w)
    assert shapes.reduced(image, (2, 3), True) == (n, c, 1, 1)
    assert shapes.matmul((n, c), (c, 5)) == (n, 5)
    assert shapes.linear((n, 8, c), (16, c)) == (n, 8, 16)
    assert shapes.einsum("nchw,cd->ndhw", [image, (c, 7)]) == (n, 7, h, w)
    assert spatial.conv(image, (8, 3, 3, 3), padding=1) == (n, 8, h, w)
    assert spatial.conv(image, (8, 3, 3, 3), padding="same") == (n, 8, h, w)
    assert spatial.adaptive_pool(image, 1, axes=2) == (n, c, 1, 1)
    assert spatial.adaptive_pool(image, (None, 7), axes=2) == (n, c, h, 7)
    assert spatial.pad(image, (1, 1)) is not None
    assert shapes.chunk(image, 2, 1) is not None
    assert shapes.advanced_index(image, [None, (5,)]) == (n, 5, h, w)
    assert shapes.unbind((n, 2), 1) == [(n,), (n,)]


def test_rows_that_overlap_whatever_their_number_is() -> None:
    """`x[1:]` and `x[:-1]`; not with a gap between the rows, in another storage, nor one row beside another."""
    count = Size.fresh("count")
    later = TensorFacts(shape=(count, 4), strides=(4, 1), storage_offset=4, storage=1)
    first = later.but(storage_offset=0)
    assert overlap.is_moved_by_one(later, first) and overlap.is_moved_by_one(first, later)
    for other in (
        later,
        first.but(storage=2),
        first.but(storage=None),
        first.but(storage_offset=None),
        first.but(storage_offset=12),
        first.but(shape=(Size.fresh("count"), 4)),
    ):
        assert not overlap.is_moved_by_one(later, other)
    gaps = later.but(strides=(8, 1), storage_offset=8)
    assert not overlap.is_moved_by_one(gaps, gaps.but(storage_offset=0))
    row = later.but(shape=(1, 4))
    assert not overlap.is_moved_by_one(row, row.but(storage_offset=0))
