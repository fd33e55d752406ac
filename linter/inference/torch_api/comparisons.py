"""Comparisons of tensors, as tests make them."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import testing
from stridelint.linter.inference.objects import Arguments
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.emit import plain
from stridelint.linter.inference.torch_api.registry import Call, function, method
from stridelint.linter.inference.values import NONE, ArrayValue, TensorValue, Unknown, Value

KINDS = {
    "equal": "equal",
    "array_equal": "equal",
    "array_equiv": "equal",
    "allclose": "allclose",
    "isclose": "allclose",
}
CLOSE = ("torch.testing.assert_close", "torch.testing.assert_allclose", "torch.testing._comparison.assert_close")
ARRAYS = tuple(
    f"numpy.testing.{name}"
    for name in (
        "assert_allclose",
        "assert_array_equal",
        "assert_equal",
        "assert_almost_equal",
        "assert_array_almost_equal",
        "assert_array_almost_equal_nulp",
        "assert_array_max_ulp",
    )
)


def _compared(args: Arguments) -> list[TensorValue | ArrayValue]:
    names = ("input", "other", "actual", "expected", "desired")
    values = [*args.positional[:2], *(args.keywords[key] for key in names if key in args.keywords)]
    return [value for value in values if isinstance(value, (TensorValue, ArrayValue))]


@function("torch.equal", "torch.allclose", "torch.isclose", *(f"numpy.{name}" for name in KINDS if name != "equal"))
def compare(call: Call) -> Value:
    """`torch.equal(a, b)`: values only."""
    testing.record(call.path, KINDS[call.name.rpartition(".")[2]], _compared(call.args), {})
    return Unknown("bool")


@method("equal", "allclose")
def compare_with(call: Call) -> Value:
    """`a.equal(b)`: values only."""
    other = call.get(0, "other")
    testing.record(call.path, KINDS[call.name], [call.tensor, *([other] if isinstance(other, TensorValue) else [])], {})
    return Unknown("bool")


@function(*CLOSE)
def assert_close(call: Call) -> Value:
    """`torch.testing.assert_close(a, b, check_stride=...)`."""
    arguments: dict[str, object] = {
        key: plain(call.path, value) for key, value in call.args.keywords.items() if key == "check_stride"
    }
    testing.record(call.path, "assert_close", _compared(call.args), arguments, call.node)
    return NONE


@function(*ARRAYS)
def assert_arrays(call: Call) -> Value:
    """numpy's comparisons: values only."""
    testing.record(call.path, "allclose", _compared(call.args), {}, call.node)
    return NONE


@function("pytest.approx")
def approximately(call: Call) -> Value:
    """`array == pytest.approx(other)`: values only, as if it were the other array."""
    expected = call.get(0, "expected")
    return expected if isinstance(expected, ArrayValue) else Unknown(call.name)


def unittest_compared(path: Path, node: cst.Call, args: Arguments) -> None:
    """`self.assertEqual(a, b)` of tensors compares values (torch's own TestCase ignores strides unless told)."""
    if testing.called_name(node) != "assertEqual":
        return
    tensors = _compared(Arguments(args.positional[:2]))
    if len(tensors) == 2:
        exact = args.keywords.get("exact_stride")
        strict = exact is not None and path.known_truth(exact) is not False
        testing.record(path, "stride" if strict else "equal", tensors, {}, node)
