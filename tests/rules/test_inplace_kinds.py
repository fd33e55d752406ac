"""TLC401 against torch: for each of its operators and dtypes it reports exactly what raises; and its screen."""

from __future__ import annotations

import ast
import warnings

import pytest

from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import Form, Operand, Site, TensorEvent
from stridelint.rules.inplace.inplace_lower_kind import PROMOTING, TO_FLOAT, InplaceLowerKind

torch = pytest.importorskip("torch")

DTYPES = ("bool", "uint8", "int64", "float16", "float32", "float64", "complex64")
NUMBERS = (True, 2, 1.5, 1j)
UNARY = TO_FLOAT - {"div", "divide", "true_divide", "atan2", "arctan2", "copysign", "xlogy"}


def arguments(op: str) -> list[dict[str, object]]:
    """Everything besides the tensor itself that a call may have, with real tensors."""
    if op in UNARY:
        return [{}]
    others = [torch.ones(3, dtype=getattr(torch, dtype)) for dtype in DTYPES]
    others += [torch.ones((), dtype=getattr(torch, dtype)) for dtype in DTYPES]
    if op == "addcmul":
        return [{"tensor1": other, "tensor2": torch.ones(3, dtype=torch.bool)} for other in others]
    name = {"pow": "exponent", "clamp": "min", "clip": "min", "clamp_min": "min", "clamp_max": "max"}.get(op, "other")
    given: list[dict[str, object]] = [{name: other} for other in (*others, *NUMBERS)]
    if op in ("div", "divide"):
        given += [{**each, "rounding_mode": mode} for each in given for mode in ("floor", "trunc")]
    return given


def operand(value: object) -> object:
    if not isinstance(value, torch.Tensor):
        return value
    dtype = str(value.dtype).removeprefix("torch.")
    return Operand(TensorFacts(shape=tuple(value.shape), dtype=dtype, kind=kind_of(dtype)), "other")


def refusal(op: str, target: object, given: dict[str, object]) -> str:
    """What torch says when it raises; "" where it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(target, f"{op}_")(**given)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("op", sorted(PROMOTING | TO_FLOAT))
def test_reports_what_torch_refuses(op: str) -> None:
    rule, reported, about_kinds = InplaceLowerKind(), 0, 0
    for dtype in DTYPES:
        for given in arguments(op):
            target = torch.ones(3, dtype=getattr(torch, dtype))
            plain = {"input": operand(target), **{name: operand(value) for name, value in given.items()}}
            found = list(rule.check(TensorEvent(op, Form.INPLACE, plain, (), Site(), wording="x.op_()")))
            said = refusal(op, target, given)
            if found:
                assert said, (dtype, given)
            elif said:
                assert "can't be cast" not in said, (dtype, given, said)
            reported += bool(found)
            about_kinds += "can't be cast" in said
    assert reported >= about_kinds > 0


@pytest.mark.parametrize(
    "code",
    [
        "counts = torch.zeros(3, dtype=torch.long)\ncounts *= 0.5",
        "class A:\n def __init__(self, dtype=torch.uint8):\n  self.x = torch.empty(3, dtype=dtype)\n def f(self):\n  self.x /= 2",
        "class A(nn.Module):\n def __init__(self):\n  self.register_buffer('x', torch.empty(3).bool())\n def f(self):\n  self.x += 2",
        "def f(mask):\n mask.mul_(0.5)\nf(scores > 0)",
        "def f(mask, *, scale):\n mask /= scale\nf(mask=torch.from_numpy(image), scale=255)",
        "total = 0\nfor row in rows:\n total += (row == 1).sum()\ntotal /= 2",
        "if x.dtype == torch.uint8:\n x /= 255",
        "cols, rows = x.long().T\nrows.clamp_(0, size)",
        "signal *= torch.exp(2j * t)",
        "hits = {'a': torch.tensor([0, 0])}\nhits['a'] += 0.5",
    ],
)
def test_screen_passes(code: str) -> None:
    assert InplaceLowerKind.screen(ast.parse(f"import torch\n{code}\n"))


@pytest.mark.parametrize(
    "code",
    [
        "step = 0\nstep += 1\nstep /= 2",
        "def f(x, residual):\n x += residual\n return x.mul_(0.5)",
        "index = torch.arange(4)\nx = embedding(index) * 2\nweights *= scale",
        "names += ['a']\ntext += 'b'\nloss += self.criterion(out, target.long())",
        "labels = torch.randint(0, 5, (3,))\nloss = F.cross_entropy(scores, labels)\nloss /= 4",
    ],
)
def test_screen_rejects(code: str) -> None:
    assert not InplaceLowerKind.screen(ast.parse(f"import torch\n{code}\n"))
