"""The operator table: what it covers, how calls are bound to its variants, and facts that must not change unnoticed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from stridelint.rules.contract import operators
from stridelint.rules.contract.dtypes import DTYPES, Scalar
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.operators import Variant
from stridelint.rules.contract.result_rules import RULES

T = TensorFacts(shape=(4, 6), dtype="float32")
UNKNOWN = object()

WORDS = {
    "shape": {"broadcast", "first", "reduction", "other"},
    "layout": {"", "elementwise", "preserve", "channels_last", "row_major", "view", "other"},
    "empty_out": {"", "resized", "restrided", "error"},
    "right_shape": {"", "warns"},
    "wrong_shape": {"", "warns", "silent", "error", "kept"},
    "same_numel": {"", "warns", "silent", "error", "kept"},
    "out_grad": {"", "error", "accepted"},
    "out_grad_off": {"", "error", "accepted"},
    "out_grad_nonleaf": {"", "error", "accepted"},
    "input_grad": {"", "error", "fine", "detached", "broken", "right"},
    "device": {"", "error", "accepted"},
    "self_overlap": {"", "error", "accepted", "either"},
    "twice": {"", "error", "accepted", "wrong", "either"},
}


def every_variant() -> list[tuple[str, Variant]]:
    found = []
    for name in operators.table().names():
        operator = operators.lookup(name)
        assert operator is not None
        found += [(name, variant) for variant in operator.variants]
    return found


def of(name: str, *args: object, **kwargs: object) -> Variant:
    operator = operators.lookup(name)
    assert operator is not None
    arguments = operator.bind(args, kwargs)
    assert arguments is not None
    variant = operator.variant(arguments)
    assert variant is not None
    return variant


def test_it_covers_the_functions_that_take_out() -> None:
    names = [name for name in operators.table().names() if getattr(operators.lookup(name), "accepts_out", False)]
    assert len(names) >= 380
    for space, least in (("linalg.", 38), ("fft.", 20), ("special.", 54), ("nn.functional.", 8)):
        assert sum(name.startswith(space) for name in names) >= least, space


def test_it_says_where_it_was_measured() -> None:
    table = operators.table()
    assert table.torch.startswith("2.")
    assert table.device == "cpu"


def test_every_record_uses_the_documented_words() -> None:
    for name, variant in every_variant():
        if not variant.measured:
            continue
        for field, words in WORDS.items():
            if variant.accepts_out or field in ("shape", "layout"):
                assert getattr(variant, field) in words, (name, field, getattr(variant, field))
        for clause in (variant.full_overlap, variant.partial_overlap):
            assert set(clause) <= set(variant.tensor_parameters), name
            assert set(clause.values()) <= {"", "ok", "wrong", "error", "either"}, name
        assert set(variant.out_strides) <= {"reversed", "sliced", "channels_last"}
        assert set(variant.out_strides.values()) <= {"wrong", "outside", "restrided"}


def test_every_output_has_a_rule_that_can_be_applied() -> None:
    for name, variant in every_variant():
        parameters = {parameter.name for parameter in variant.signature}
        for output in variant.outputs:
            words = output.rule.split()
            assert output.rule in RULES or all(word.partition(">")[0] in DTYPES for word in words), (name, output.rule)
            assert set(output.of) <= parameters, name
            assert output.out in ("", "exact", "kind", "any"), name
            assert set(output.but) <= set(DTYPES), name


def test_errors_are_an_exception_and_a_text() -> None:
    for name, variant in every_variant():
        for text in (*variant.errors.values(), *(output.error for output in variant.outputs)):
            assert not text or text.split(":")[0].endswith("Error"), (name, text)


def test_names_of_functions_methods_and_in_place_variants() -> None:
    assert operators.canonical("add_") == operators.canonical("Tensor.add") == operators.canonical("torch.add") == "add"
    assert operators.canonical("mm_") is None
    assert operators.lookup("no_such_operator") is None


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "parameters"),
    [
        ("max", (T, 1), {}, ["input", "dim"]),
        ("max", (T, T), {}, ["input", "other"]),
        ("max", (T,), {}, ["input"]),
        ("sum", (T, 0), {"keepdim": True}, ["input", "dim", "keepdim"]),
        ("sum", (T,), {"axis": 0}, ["input", "dim"]),
        ("add", (T, 2), {"alpha": 3, "out": T}, ["input", "other", "alpha"]),
        ("add", (T, Scalar("float")), {}, ["input", "other"]),
        ("zeros", (2, 3), {"out": T}, ["size"]),
        ("zeros", ((2, 3),), {}, ["size"]),
        ("view", (T, 2, -1), {}, ["input", "size"]),
        ("addmm", (T, T, T), {}, ["input", "mat1", "mat2"]),
        ("where", (T, T, T), {}, ["condition", "input", "other"]),
        ("cat", ((T, T),), {"dim": 1}, ["tensors", "dim"]),
        ("arange", (0, 10, 2), {}, ["start", "end", "step"]),
        ("add", (T, UNKNOWN), {}, ["input", "other"]),
    ],
)
def test_arguments_are_bound_by_name(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], parameters: list[str]
) -> None:
    operator = operators.lookup(name)
    assert operator is not None
    bound = operator.bind(args, kwargs)
    assert bound is not None
    assert list(bound) == parameters


def test_an_unknown_value_leaves_the_overload_open() -> None:
    operator = operators.lookup("max")
    assert operator is not None
    assert operator.bind((T, UNKNOWN), {}) is None
    assert operator.variant({"input": T, "dim": UNKNOWN}) is of("max", T, 1)


def test_an_illegal_call_is_not_bound() -> None:
    operator = operators.lookup("mm")
    assert operator is not None
    assert operator.bind((T,), {}) is None
    assert operator.bind((T, T), {"nonsense": 1}) is None


def test_a_string_argument_selects_the_variant() -> None:
    gelu = operators.lookup("nn.functional.gelu")
    assert gelu is not None
    assert gelu.variant({"input": T}).out_strides["reversed"] == "wrong"  # type: ignore[union-attr]
    assert not gelu.variant({"input": T, "approximate": "tanh"}).out_strides  # type: ignore[union-attr]
    assert gelu.variant({"input": T, "approximate": UNKNOWN}) is None
    assert of("div", T, T).outputs[0].rule == "int_to_float"
    assert of("div", T, T, rounding_mode="floor").outputs[0].rule == "promote"
    assert of("div", T, T, rounding_mode=None).outputs[0].rule == "int_to_float"


@pytest.mark.parametrize(
    ("name", "args", "out"),
    [
        ("add", (T, T), "kind"),
        ("mul", (T, 2), "kind"),
        ("mm", (T, T), "exact"),
        ("clamp", (T, 0, 1), "exact"),
        ("abs", (T,), "exact"),
        ("gather", (T, 0, T), "exact"),
        ("cat", ((T, T),), "kind"),
        ("sum", (T, 0), "any"),
    ],
)
def test_what_dtype_out_may_have(name: str, args: tuple[Any, ...], out: str) -> None:
    assert of(name, *args).outputs[0].out == out


def test_known_errors() -> None:
    assert of("cat", (T, T)).outputs[0].error.startswith("TypeError: torch.cat(): input types can't be cast")
    assert of("add", T, T).outputs[0].error.startswith("RuntimeError: result type {Result} can't be cast")
    assert of("mm", T, T).outputs[0].error.startswith("RuntimeError: Expected out tensor to have dtype {result}")
    assert of("max", T, 1).errors["single"].startswith("TypeError: {op}()")


def test_known_overlaps() -> None:
    assert of("mm", T, T).full_overlap == {"input": "wrong", "mat2": "wrong"}
    assert of("addmm", T, T, T).full_overlap == {"input": "ok", "mat1": "wrong", "mat2": "wrong"}
    assert set(of("add", T, T).full_overlap.values()) == {"ok"}
    assert set(of("max", T, T).full_overlap.values()) == {"ok"}
    assert of("cat", (T, T)).full_overlap == {"tensors": "error"}
    assert of("sum", T, 0).partial_overlap == {"input": "wrong"}
    assert of("softmax", T, 1).partial_overlap == {"input": "wrong"}
    assert of("add", T, T).partial_overlap == {"input": "error", "other": "error"}


def test_known_resizing() -> None:
    assert of("add", T, T).wrong_shape == "warns"
    for name in ("zeros", "ones", "rand", "randn"):
        assert of(name, 4, 6).wrong_shape == "silent", name
    assert of("full", (4, 6), 0.5).wrong_shape == "silent"
    assert of("arange", 12).same_numel == "kept"


def test_known_gradients() -> None:
    assert of("add", T, T).out_grad == of("add", T, T).input_grad == "error"
    assert of("softmax", T, 1).input_grad == "broken"
    assert of("argmax", T).input_grad == of("eq", T, T).input_grad == "fine"
    for name in ("floor_divide", "heaviside"):  # They have no derivative: without out= backward raises as well.
        assert of(name, T, T).input_grad == "fine", name
    for name in ("rand", "zeros", "eye"):
        assert of(name, 4).errors["out_grad"].startswith("RuntimeError: aten::{op}(): functions with out="), name
    assert of("linalg.norm", T).input_grad == "right"
    assert of("special.bessel_j0", T).out_grad == "accepted"
    assert of("randn", 4, 6).out_grad_off == "error"


def test_known_arities() -> None:
    assert of("aminmax", T).twice in ("wrong", "either")
    assert of("linalg.qr", T).twice in ("wrong", "either")
    assert len(of("max", T, 1).outputs) == 2
    assert [output.rule for output in of("topk", T, 2).outputs] == ["promote", "int64"]


def test_known_defects_with_strided_out() -> None:
    assert of("nn.functional.avg_pool3d", T, 2).out_strides["channels_last"] in ("wrong", "outside")
    assert "channels_last" in of("tril", T).out_strides
    assert of("matmul", T, T).out_strides["sliced"] == "restrided"
    assert not of("add", T, T).out_strides


@pytest.mark.parametrize(
    ("name", "args", "layout"),
    [
        ("add", (T, T), "elementwise"),
        ("relu", (T,), "elementwise"),
        ("nn.functional.relu", (T,), "elementwise"),
        ("clone", (T,), "preserve"),
        ("softmax", (T, 1), "row_major"),
        ("cumsum", (T, 1), "row_major"),
        ("index_select", (T, 1, T), "row_major"),
        ("gather", (T, 1, T), "row_major"),
        ("tril", (T,), "row_major"),
        ("nn.functional.interpolate", (T,), "channels_last"),
        ("nn.functional.pixel_shuffle", (T, 2), "channels_last"),
        ("nn.functional.max_pool2d", (T, 2), "channels_last"),
        ("nn.functional.group_norm", (T, 2), "channels_last"),
        ("cat", ((T, T),), "channels_last"),
        ("transpose", (T, 0, 1), "view"),
        ("permute", (T, (0, 2, 3, 1)), "view"),
    ],
)
def test_known_layouts(name: str, args: tuple[Any, ...], layout: str) -> None:
    assert of(name, *args).layout == layout


def test_the_condition_of_where_decides_its_layout() -> None:
    assert of("where", T, T, T).order[0] == "condition"


def test_functions_that_refuse_out() -> None:
    for name in ("relu", "clone", "flip", "masked_fill", "isnan", "nn.functional.pixel_shuffle", "roll", "std_mean"):
        operator = operators.lookup(name)
        assert operator is not None, name
        assert operator.accepts_out is False, name


def test_loading_does_not_import_torch() -> None:
    code = "import sys; from stridelint.rules.contract import operators; operators.lookup('add'); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format"):
        operators.read({"format": 0})
