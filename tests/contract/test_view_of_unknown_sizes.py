"""What a view of unknown sizes must not claim."""

from __future__ import annotations

from stridelint.rules.contract import questions, sizes
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import strides_in_order


def test_sizes_that_may_be_equal_make_no_error() -> None:
    # (b, h, w, c) seen through NCHW memory; `.view(b, -1, d)` is legal where d is c, read from another tensor.
    b, h, w, c, d = (sizes.Size.fresh(name) for name in "bhwcd")
    facts = TensorFacts(shape=(b, h, w, c), strides=strides_in_order((b, h, w, c), (0, 3, 1, 2)))
    assert questions.view(facts, (b, -1, d))[1].answer is Answer.UNKNOWN


def test_the_same_expression_is_judged() -> None:
    b, h, w, c = (sizes.Size.fresh(name) for name in "bhwc")
    facts = TensorFacts(shape=(b, h, w, c), strides=strides_in_order((b, h, w, c), (0, 3, 1, 2)))
    assert questions.view(facts, (b, -1, c))[1].answer is Answer.NO
    assert questions.view(facts, (b, -1))[1].answer is Answer.YES


def test_views_of_dense_rows_are_dense() -> None:
    # Legal calls have equally many elements, so it does not matter that the sizes' names tell nothing of it.
    n, h, w = (sizes.Size.fresh(name) for name in "nhw")
    for shape in ((n,), (n, 48), (48,)):
        dense = TensorFacts(shape=shape, strides=strides_in_order(shape, range(len(shape))))
        made, raises = questions.view(dense, (h, w, 3))
        assert raises.answer is Answer.NO
        assert made is not None and made.strides == strides_in_order((h, w, 3), range(3))
        assert questions.reshape(dense, (h, w, 3))[0].strides == made.strides


def test_views_of_other_rows_stay_unknown() -> None:
    n, h, w = (sizes.Size.fresh(name) for name in "nhw")
    gaps = TensorFacts(shape=(n,), strides=(2,))
    columns = TensorFacts(shape=(n, w), strides=(1, n))
    for facts in (gaps, columns):
        made, raises = questions.view(facts, (h, w, 3))
        assert raises.answer is Answer.UNKNOWN
        assert made is None or made.strides is None
