"""The clauses of the out= contract on complete, partly known and unknown facts."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from stridelint.rules.contract import operators, out_contract
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.dtypes import Scalar, kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.operators import Variant
from stridelint.rules.contract.sizes import Size
from stridelint.rules.contract.verdict import Verdict


def tensor(*shape: Any, dtype: str = "float32", **more: Any) -> TensorFacts:
    strides, running = [], 1
    for size in reversed(shape):
        strides.append(running)
        running = running * size if isinstance(size, int) else 0
    known = all(isinstance(size, int) for size in shape)
    facts = TensorFacts(
        shape=shape,
        strides=tuple(reversed(strides)) if known else None,
        storage_offset=0,
        dtype=dtype,
        kind=kind_of(dtype),
        device="cpu",
        requires_grad=False,
        is_leaf=True,
        storage=id(shape) + random.randrange(1 << 60),
    )
    return facts.but(**more)


F = tensor(4, 6)
I = tensor(4, 6, dtype="int64")  # noqa: E741


def variant(name: str, **arguments: object) -> Variant:
    operator = operators.lookup(name)
    assert operator is not None
    found = operator.variant(arguments)
    assert found is not None
    return found


def dtype_clause(name: str, out: TensorFacts, index: int = 0, **arguments: object) -> Verdict:
    return out_contract.dtype_clause(variant(name, **arguments), index, arguments, out)


@pytest.mark.parametrize(
    ("name", "arguments", "dtype"),
    [
        ("add", {"input": I, "other": F}, "float32"),
        ("add", {"input": I, "other": 2.5}, "float32"),
        ("add", {"input": I, "other": Scalar("float")}, "float32"),
        ("add", {"input": I, "other": 2}, "int64"),
        ("add", {"input": I, "other": Scalar(None)}, None),
        ("div", {"input": I, "other": I}, "float32"),
        ("div", {"input": I, "other": I, "rounding_mode": "floor"}, "int64"),
        ("eq", {"input": F, "other": F}, "bool"),
        ("argmax", {"input": F}, "int64"),
        ("abs", {"input": tensor(2, dtype="complex64")}, "float32"),
        ("fft.rfft", {"input": F}, "complex64"),
        ("sum", {"input": tensor(2, dtype="bool"), "dim": 0}, "int64"),
        ("sum", {"input": tensor(2, dtype="bool"), "dim": 0, "dtype": "float64"}, "float64"),
        ("where", {"condition": tensor(4, 6, dtype="bool"), "input": F, "other": I}, "float32"),
        ("gather", {"input": F, "dim": 1, "index": I}, "float32"),
        ("float_power", {"input": F, "exponent": 2}, "float64"),
        ("zeros", {"size": (2, 3)}, "float32"),
        ("arange", {"end": 5}, "int64"),
        ("arange", {"end": 5.0}, "float32"),
        ("mm", {"input": F.but(dtype=None, kind="float"), "mat2": F}, None),
        ("softmax", {"input": F, "dim": 1, "dtype": object()}, None),
    ],
)
def test_result_dtypes(name: str, arguments: dict[str, object], dtype: str | None) -> None:
    assert out_contract.result_dtype(variant(name, **arguments), 0, arguments) == dtype


def test_the_kind_is_known_where_the_dtype_is_not() -> None:
    arguments = {"input": F.but(dtype=None), "other": F}
    assert out_contract.result_dtype(variant("add", **arguments), 0, arguments) is None
    assert out_contract.result_dtype_and_kind(variant("add", **arguments), 0, arguments) == (None, "float")


def test_a_lower_kind_raises_with_the_text_of_torch() -> None:
    verdict = dtype_clause("add", I, input=F, other=F)
    assert verdict == Verdict(
        Answer.YES, "raises", "RuntimeError", "result type Float can't be cast to the desired output type Long"
    )
    assert dtype_clause("add", tensor(4, 6, dtype="float16"), input=F, other=F).violated is Answer.NO


def test_kinds_are_enough() -> None:
    verdict = dtype_clause("add", I.but(dtype=None), input=F.but(dtype=None), other=F.but(dtype=None))
    assert (verdict.violated, verdict.effect) == (Answer.YES, "raises")
    assert verdict.message == "result type ... can't be cast to the desired output type ..."
    assert dtype_clause("add", F.but(dtype=None, kind=None), input=F, other=F).violated is Answer.UNKNOWN


def test_an_exact_operator_refuses_another_width() -> None:
    verdict = dtype_clause("mm", tensor(4, 4, dtype="float64"), input=F, mat2=tensor(6, 4))
    assert verdict.message == "Expected out tensor to have dtype float, but got double instead"
    assert dtype_clause("mm", tensor(4, 4), input=F, mat2=tensor(6, 4)).violated is Answer.NO


def test_sum_silently_computes_wrong_numbers() -> None:
    for name, arguments in (("sum", {"dim": 0}), ("prod", {"dim": 0}), ("cumsum", {"dim": 0}), ("cumprod", {"dim": 0})):
        verdict = dtype_clause(name, tensor(6, dtype="int64"), input=F, **arguments)
        assert (verdict.violated, verdict.effect) == (Answer.YES, "wrong"), name
    assert dtype_clause("mean", tensor(6, dtype="int64"), input=F, dim=0).effect == "raises"


def test_an_explicit_dtype_decides() -> None:
    verdict = dtype_clause("sum", tensor(6, dtype="int64"), input=F, dim=0, dtype="float32")
    assert verdict.message == "Expected out tensor to have dtype float, but got long int instead"


def test_factories_take_any_dtype() -> None:
    assert dtype_clause("zeros", tensor(2, 3, dtype="int64"), size=(2, 3)).violated is not Answer.YES


def test_comparisons_take_any_dtype() -> None:
    assert dtype_clause("eq", F, input=F, other=F).violated is Answer.NO


def test_casting_errors_of_cat_are_type_errors() -> None:
    assert dtype_clause("cat", I, tensors=(F, F)).exception == "TypeError"


@pytest.mark.parametrize(
    ("required", "shape", "answer", "confidence"),
    [
        ((4, 6), (4, 6), Answer.NO, Confidence.CERTAIN),
        ((4, 6), (0,), Answer.NO, Confidence.CERTAIN),
        ((4, 6), (4, 5), Answer.YES, Confidence.CERTAIN),
        ((4, 6), (24,), Answer.YES, Confidence.CERTAIN),
        (None, (4, 6), Answer.UNKNOWN, Confidence.CERTAIN),
    ],
)
def test_shapes(required: Any, shape: tuple[int, ...], answer: Answer, confidence: Confidence) -> None:
    verdict = out_contract.shape_clause(variant("add", input=F, other=F), required, tensor(*shape))
    assert (verdict.violated, verdict.confidence) == (answer, confidence)
    assert verdict.effect == ("warns" if answer is Answer.YES else "")


def test_symbolic_shapes() -> None:
    add = variant("add", input=F, other=F)
    n, m = Size.fresh("n"), Size.fresh("m")
    double = Size({(n.symbol,): 2}) if n.symbol else n
    for required, shape, answer in (
        ((n, 6), (n, 6), Answer.NO),
        ((n, 6), (m, 6), Answer.UNKNOWN),
        ((n, 6), (n, 5), Answer.YES),
        ((n, 6), (double, 6), Answer.YES),
    ):
        verdict = out_contract.shape_clause(add, required, tensor(*shape))
        assert verdict.violated is answer, (required, shape)
        if answer is Answer.YES:
            assert verdict.confidence is Confidence.LIKELY
    assert "[n, 5]" in out_contract.shape_clause(add, (4, 6), tensor(n, 5)).message


def test_factories_resize_silently() -> None:
    verdict = out_contract.shape_clause(variant("zeros", size=(2, 3)), (2, 3), tensor(4, 6))
    assert (verdict.violated, verdict.effect) == (Answer.YES, "silent")
    kept = out_contract.shape_clause(variant("arange", end=24), (24,), tensor(4, 6))
    assert kept.effect == "kept"


def test_devices() -> None:
    add = variant("add", input=F, other=F)
    arguments = {"input": F.but(device="cuda"), "other": tensor()}
    assert out_contract.device_clause(add, arguments, F).message.startswith(
        "Attempting to copy from device cuda to device cpu"
    )
    assert out_contract.device_clause(add, arguments, F.but(device="cuda:1")).violated is Answer.UNKNOWN
    assert out_contract.device_clause(add, arguments, F.but(device="cuda")).violated is Answer.NO
    assert out_contract.device_clause(add, arguments, F.but(device=None)).violated is Answer.UNKNOWN


def grads(name: str, out: TensorFacts, grad_mode: Answer = Answer.YES, **arguments: object) -> Verdict:
    return out_contract.grad_clause(variant(name, **arguments), name, arguments, out, grad_mode)


def test_gradients() -> None:
    needs = F.but(requires_grad=True)
    refused = grads("add", F, input=needs, other=F)
    assert refused.message.startswith("add(): functions with out=... arguments don't support automatic differentiation")
    assert grads("add", needs, input=F, other=F).violated is Answer.YES
    assert grads("add", needs, Answer.NO, input=F, other=F).violated is Answer.NO
    assert grads("add", needs, Answer.UNKNOWN, input=F, other=F).violated is Answer.UNKNOWN
    assert grads("add", F, input=F.but(requires_grad=None), other=F).violated is Answer.UNKNOWN
    assert grads("add", F, input=F, other=F).violated is Answer.NO
    assert grads("argmax", I, input=needs).violated is Answer.NO
    assert grads("softmax", F, input=needs, dim=1).effect == "gradient"
    assert grads("linalg.norm", tensor(), input=needs).violated is Answer.NO
    assert grads("randn", needs, Answer.NO, size=(4, 6)).message == "cannot resize variables that require grad"
    assert grads("cat", F, tensors=(F, needs)).violated is Answer.YES


def overlaps(name: str, out: TensorFacts, **arguments: object) -> Verdict:
    return out_contract.overlap_clause(variant(name, **arguments), arguments, out, out.but(storage=None))


def test_out_that_is_an_operand() -> None:
    square = tensor(6, 6)
    assert overlaps("mm", square, input=square, mat2=tensor(6, 6)).effect == "wrong"
    assert overlaps("addmm", square, input=square, mat1=tensor(6, 6), mat2=tensor(6, 6)).violated is Answer.NO
    assert overlaps("add", square, input=square, other=square).violated is Answer.NO
    assert overlaps("mm", square, input=square.but(storage=None), mat2=tensor(6, 6)).violated is Answer.UNKNOWN
    assert overlaps("mm", tensor(6, 6), input=square, mat2=square).violated is Answer.NO
    unknown = TensorFacts(storage=1)
    verdict = overlaps("mm", unknown, input=unknown, mat2=tensor(6, 6))
    assert (verdict.effect, verdict.confidence) == ("wrong", Confidence.LIKELY)


def test_out_that_overlaps_an_operand() -> None:
    memory = tensor(4, 6)
    row = tensor(6, storage=memory.storage)
    assert overlaps("sum", row, input=memory, dim=0).effect == "wrong"
    shifted = memory.but(storage_offset=6)
    assert overlaps("add", shifted, input=memory, other=F).message.startswith("unsupported operation: some elements")


def test_rows_moved_within_their_memory() -> None:
    rows = tensor(2, 7).but(strides=(8, 1))
    assert overlaps("exp", rows.but(storage_offset=1), input=rows).effect == "wrong"
    assert overlaps("exp", rows.but(storage_offset=1), input=rows).confidence is Confidence.LIKELY
    assert overlaps("exp", rows, input=rows.but(storage_offset=1)).violated is Answer.UNKNOWN
    assert overlaps("exp", rows.but(storage_offset=16), input=rows).violated is Answer.NO


@pytest.mark.parametrize("name", ["exp", "neg", "sqrt"])
def test_torch_does_not_notice_moved_rows(name: str) -> None:
    torch = pytest.importorskip("torch")
    rows = torch.linspace(0.1, 0.9, 16).reshape(2, 8)
    expected = getattr(torch, name)(rows[:, :-1])
    getattr(torch, name)(rows[:, :-1], out=rows[:, 1:])
    assert not torch.equal(rows[:, 1:], expected)


def test_out_that_overlaps_itself() -> None:
    expanded = tensor(4, 6).but(strides=(0, 1))
    add = variant("add", input=F, other=F)
    assert out_contract.self_overlap_clause(add, expanded).effect == "raises"
    unfolded = tensor(4, 4).but(strides=(2, 1))
    assert out_contract.self_overlap_clause(add, unfolded).effect == "wrong"
    assert out_contract.self_overlap_clause(add, F).violated is Answer.NO
    assert out_contract.self_overlap_clause(add, F.but(strides=None)).violated is Answer.UNKNOWN


def test_arity() -> None:
    values, indices = tensor(4), tensor(4, dtype="int64")
    reduction = variant("max", input=F, dim=1)
    assert out_contract.arity_clause(reduction, "max", (values, indices)).violated is Answer.NO
    assert out_contract.arity_clause(reduction, "max", values).exception == "TypeError"
    assert out_contract.arity_clause(reduction, "max", (values,)).message == "expected tuple of 2 elements but got 1"
    assert out_contract.arity_clause(variant("add", input=F, other=F), "add", (F,)).exception == "TypeError"
    twice = out_contract.arity_clause(variant("linalg.qr", A=F), "linalg.qr", (F, F))
    assert (twice.violated, twice.effect) == (Answer.YES, variant("linalg.qr", A=F).twice)
    unknown = out_contract.arity_clause(reduction, "max", (values, None))
    assert unknown.violated is Answer.UNKNOWN


def test_operators_without_out() -> None:
    for name, violated in (("relu", Answer.YES), ("add", Answer.NO)):
        operator = operators.lookup(name)
        assert operator is not None
        assert out_contract.accepts_clause(operator, None).violated is violated


FIELDS = ("shape", "strides", "storage_offset", "dtype", "kind", "device", "requires_grad", "is_leaf", "storage")


def masked(draw: random.Random, facts: TensorFacts) -> TensorFacts:
    hidden = {name: None for name in FIELDS if draw.random() < 0.3}
    if "kind" in hidden:
        hidden["dtype"] = None
    return dataclasses.replace(facts, **hidden)


CALLS: tuple[tuple[str, tuple[str, ...], dict[str, object]], ...] = (
    ("add", ("input", "other"), {}),
    ("mm", ("input", "mat2"), {}),
    ("addmm", ("input", "mat1", "mat2"), {}),
    ("sum", ("input",), {"dim": 0, "keepdim": True}),
    ("eq", ("input", "other"), {}),
    ("softmax", ("input",), {"dim": 1}),
    ("div", ("input", "other"), {}),
    ("where", ("condition", "input", "other"), {}),
    ("gather", ("input", "index"), {"dim": 0}),
    ("clamp", ("input",), {"min": 0, "max": 1}),
    ("abs", ("input",), {}),
    ("std", ("input",), {"dim": 0, "unbiased": True, "keepdim": True}),
)


@pytest.mark.parametrize("seed", range(300))
def test_hiding_a_fact_never_makes_an_answer_wrong(seed: int) -> None:
    draw = random.Random(seed)
    name, parameters, more = CALLS[seed % len(CALLS)]
    dtypes = ("bool", "int32", "int64", "float16", "float32", "complex64")
    storages = [1, 2, 3]

    def any_tensor() -> TensorFacts:
        facts = tensor(4, 4, dtype=draw.choice(dtypes), storage=draw.choice(storages))
        floating = facts.kind in ("float", "complex")
        changes: dict[str, Any] = {
            "requires_grad": floating and draw.random() < 0.3,
            "device": draw.choice(("cpu", "cpu", "cuda")),
        }
        if draw.random() < 0.3:
            changes["storage_offset"] = draw.choice((2, 4, 40))
        if draw.random() < 0.2:
            changes["strides"] = draw.choice(((0, 1), (2, 1), (1, 4)))
        return facts.but(**changes)

    complete: dict[str, object] = {**{parameter: any_tensor() for parameter in parameters}, **more}
    out = any_tensor()
    for _ in range(20):
        partial = {key: masked(draw, v) if isinstance(v, TensorFacts) else v for key, v in complete.items()}
        hidden_out = masked(draw, out)
        mode = draw.choice((Answer.YES, Answer.NO))
        hidden_mode = draw.choice((mode, Answer.UNKNOWN))
        known, hidden = variant(name, **complete), variant(name, **partial)
        assert known is hidden
        required = draw.choice(((4, 4), (1, 4), (2, 8)))
        pairs = [
            (
                out_contract.dtype_clause(known, 0, complete, out),
                out_contract.dtype_clause(known, 0, partial, hidden_out),
            ),
            (out_contract.shape_clause(known, required, out), out_contract.shape_clause(known, required, hidden_out)),
            (
                out_contract.device_clause(known, complete, out),
                out_contract.device_clause(known, partial, hidden_out),
            ),
            (
                out_contract.grad_clause(known, name, complete, out, mode),
                out_contract.grad_clause(known, name, partial, hidden_out, hidden_mode),
            ),
            (
                out_contract.overlap_clause(known, complete, out, out),
                out_contract.overlap_clause(known, partial, hidden_out, hidden_out),
            ),
            (out_contract.self_overlap_clause(known, out), out_contract.self_overlap_clause(known, hidden_out)),
        ]
        for index, (full, part) in enumerate(pairs):
            if part.confidence is not Confidence.CERTAIN:
                continue
            assert part.violated in (Answer.UNKNOWN, full.violated), (
                name,
                index,
                complete,
                out,
                partial,
                hidden_out,
                full,
                part,
            )
        dtype = out_contract.result_dtype(hidden, 0, partial)
        assert dtype in (None, out_contract.result_dtype(known, 0, complete))
