"""What comes of the layout of a result, by the way the code is written: `f(...)` stands for a call of unknown code."""

from __future__ import annotations

import libcst as cst
import pytest

from stridelint.linter.inference.layout_uses import LayoutUses
from stridelint.rules.events import LayoutUse
from stridelint.rules.forms.walking import walk


def use(code: str) -> LayoutUse:
    """That of `a * x`, the first product in the code."""
    module = cst.parse_module(code)
    products = [
        each
        for each in walk(module, cst.BinaryOperation)
        if module.code_for_node(each) in ("a * x", "(a * x)", "((a * x))")
    ]
    assert len(products) == 1
    return LayoutUses(module).use_of(products[0])


def in_function(*lines: str, name: str = "g") -> str:
    return f"def {name}(a, x, b):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch.equal(a * x, b)", LayoutUse.EXACT),
        ("torch.testing.assert_close(a * x, b)", LayoutUse.EXACT),
        ("torch.testing.assert_close(a * x, b, check_stride=True)", LayoutUse.OPEN),
        ("b.equal(a * x)", LayoutUse.EXACT),
        ("((a * x) - b).abs().max()", LayoutUse.EXACT),
        ("((a * x) > b).all().item()", LayoutUse.EXACT),
        ("float((a * x).amax(dim=(1, 2, 3)))", LayoutUse.EXACT),
        ("(a * x).max(dim=1)", LayoutUse.TAKEN),
        ("(a * x).mean(dim=1, keepdim=True)", LayoutUse.TAKEN),
        ("(a * x).mean((1, 2, 3))", LayoutUse.ROUNDED),
        ("(a * x).mean(*axes)", LayoutUse.TAKEN),
        ("(((a * x) - b) ** 2).mean()", LayoutUse.ROUNDED),
        ("torch.sum(torch.where(b > 0, a * x, b))", LayoutUse.ROUNDED),
        ("other.sum(a * x)", LayoutUse.OPEN),
        ("F.mse_loss(a * x, b)", LayoutUse.ROUNDED),
        ("F.mse_loss(a * x, b, reduction='sum')", LayoutUse.ROUNDED),
        ("F.mse_loss(a * x, b, reduction='none')", LayoutUse.OPEN),
        ("F.mse_loss(a * x, b, reduction=b)", LayoutUse.OPEN),
        ("assert (a * x).is_contiguous()", LayoutUse.STATED),
        ("assert b and not (a * x).is_contiguous(memory_format=torch.channels_last)", LayoutUse.STATED),
        ("assert (a * x).stride() == (60, 20, 5, 1)", LayoutUse.STATED),
        ("self.assertTrue((a * x).is_contiguous())", LayoutUse.STATED),
        # What fails for a row-major result is no statement about it.
        ("assert (a * x).is_contiguous(memory_format=torch.channels_last)", LayoutUse.OPEN),
        ("assert not (a * x).is_contiguous()", LayoutUse.OPEN),
        ("assert (a * x).stride() == (60, 1, 15, 3)", LayoutUse.OPEN),
        ("assert (a * x).stride() == x.stride()", LayoutUse.OPEN),
        ("print((a * x).stride())", LayoutUse.OPEN),
        ("if (a * x).is_contiguous(): f()", LayoutUse.OPEN),
        ("print(a * x)", LayoutUse.OPEN),
        ("f(a * x)", LayoutUse.OPEN),
        ("self.y = a * x", LayoutUse.OPEN),
        ("b[0] = a * x", LayoutUse.OPEN),
        ("(a * x).view(2, -1).max()", LayoutUse.OPEN),
        ("(a * x).cpu().numpy().max()", LayoutUse.TAKEN),
        ("(a * x) @ b", LayoutUse.OPEN),
        ("f'{a * x}'", LayoutUse.OPEN),
        ("yield a * x", LayoutUse.OPEN),
        ("(lambda: a * x)().max()", LayoutUse.OPEN),
        ("(a * x).to(memory_format=torch.channels_last).max()", LayoutUse.OPEN),
        ("a * x", LayoutUse.OPEN),
    ],
)
def test_expressions(line: str, expected: LayoutUse) -> None:
    assert use(in_function(line)) is expected
    if not line.startswith(("yield", "self.y", "b[")) and "a * x)()" not in line and line != "a * x":
        named = line.replace("a * x", "y")
        assert use(in_function("y = a * x", "print(y.shape)", named)) is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["y = a * x"], LayoutUse.OPEN),
        (["y = a * x", "z = y - b", "z.max()", "return z.all()"], LayoutUse.EXACT),
        (["y = a * x", "y.max()", "return y"], LayoutUse.OPEN),
        (["y = 0", "for b in x:", "    y = y + (a * x)", "return y.max()"], LayoutUse.EXACT),
        (["y = 0", "for b in x:", "    y += a * x", "return y"], LayoutUse.OPEN),
        (["y = a * x", "y.clamp_(0)", "return y.max()"], LayoutUse.EXACT),
        (["y = a * x", "y.max()", "return lambda: y"], LayoutUse.OPEN),
        (["global y", "y = a * x", "y.max()"], LayoutUse.OPEN),
        (["if (y := a * x).max() > 0:", "    return y.sum()"], LayoutUse.ROUNDED),
        (["y = (a * x).topk(2)[1]", "return y"], LayoutUse.TAKEN),
    ],
)
def test_names(lines: list[str], expected: LayoutUse) -> None:
    assert use(in_function(*lines)) is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["return a * x"], LayoutUse.RETURNED),
        (["return (a * x) if b else x"], LayoutUse.RETURNED),
        (["y = a * x", "if b:", "    return y", "return {'y': y, 'best': y.argmax(1)}"], LayoutUse.RETURNED),
        (["y = a * x", "outs = (b, [y])", "return outs"], LayoutUse.RETURNED),
        (["y = a * x", "f(y)", "return y"], LayoutUse.OPEN),
        (["return f([a * x])"], LayoutUse.OPEN),
    ],
)
def test_what_forward_returns(lines: list[str], expected: LayoutUse) -> None:
    assert use(in_function(*lines, name="forward")) is expected
    assert use(in_function(*lines)) is LayoutUse.OPEN


def test_names_of_modules_and_classes() -> None:
    assert use("y = a * x\nprint(y.max())\n") is LayoutUse.EXACT
    assert use("y = a * x\nprint(y.max())\ndef f():\n    return y\n") is LayoutUse.OPEN
    assert use("class A:\n    y = a * x\n    z = y.max()\n") is LayoutUse.OPEN


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return x.topk(2, dim=1).indices", LayoutUse.EXACT),
        ("return x.topk(2, dim=1)[1]", LayoutUse.EXACT),
        ("_, i = x.topk(2, dim=1); return i", LayoutUse.EXACT),
        ("v, i = x.topk(2, dim=1); return v", LayoutUse.OPEN),
        ("v = x.topk(2, dim=1).values; return v.max()", LayoutUse.EXACT),
        ("return x.topk(2, dim=1)", LayoutUse.OPEN),
    ],
)
def test_pairs(line: str, expected: LayoutUse) -> None:
    module = cst.parse_module(in_function(line))
    (call,) = (each for each in walk(module, cst.Call) if module.code_for_node(each).startswith("x.topk(2, dim=1)"))
    assert LayoutUses(module).use_of(call) is expected
