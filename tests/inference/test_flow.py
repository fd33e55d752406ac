"""How the interpreter follows facts: what reaches a call of `probe(x)` in a small program."""

from __future__ import annotations

import libcst
import pytest
from probing import facts_at_strides

from stridelint.linter.inference import analyse
from stridelint.rules.contract.facts import TensorFacts

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


def probed(code: str) -> list[TensorFacts]:
    return facts_at_strides(HEAD + code)


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        ("x = torch.zeros(2, 3)\nx.stride()", (2, 3)),
        ("a, (b, *c) = 2, (3, 4, 5)\ntorch.zeros(a, b, *c).stride()", (2, 3, 4, 5)),
        ("SHAPE = {'x': [4, 5]}\ntorch.zeros(SHAPE['x']).stride()", (4, 5)),
        ("f = lambda n, m=3: torch.zeros(n, m)\nf(2).stride()", (2, 3)),
        ("from functools import partial\nmake = partial(torch.zeros, 2)\nmake(7).stride()", (2, 7)),
        ("xs = [torch.zeros(i + 1) for i in range(3)]\nxs[-1].stride()", (3,)),
        ("d = {k: torch.zeros(k) for k in (2, 5)}\nd[5].stride()", (5,)),
        ("def outer(n):\n    def inner():\n        return torch.zeros(n)\n    return inner\nouter(4)().stride()", (4,)),
        ("x = torch.zeros(2)\nfor i in range(2):\n    x = torch.cat([x, x])\nx.stride()", (8,)),
        ("class A:\n    def __init__(self, n):\n        self.x = torch.zeros(n)\nA(6).x.stride()", (6,)),
        (
            "class A:\n    N = 3\nclass B(A):\n    @property\n    def x(self):\n        return torch.zeros(self.N)\nB().x.stride()",
            (3,),
        ),
        ("class A:\n    @staticmethod\n    def make(n):\n        return torch.zeros(n)\nA.make(2).stride()", (2,)),
        ("x = torch.zeros(4, 6)\nn, m = x.shape\nx.view(n // 2, 2, m).stride()", (2, 2, 6)),
        ("x = torch.zeros(4, 6)[1:, ::2, None]\nx.stride()", (3, 3, 1)),
        ("x = nn.Linear(3, 5)(torch.zeros(2, 3))\nx.stride()", (2, 5)),
        ("x = nn.Conv2d(3, 8, 3, stride=2)(torch.zeros(1, 3, 9, 9))\nx.stride()", (1, 8, 4, 4)),
        ("x = torch.zeros(2, 3)\nwhile False:\n    x = None\nx.stride()", (2, 3)),
        ("try:\n    x = torch.zeros(3)\nexcept RuntimeError:\n    raise\nx.stride()", (3,)),
        ("x = torch.zeros(3) if True else torch.zeros(4)\nx.stride()", (3,)),
        ("if __name__ == '__main__':\n    torch.zeros(1, 9).stride()", (1, 9)),
        ("from torch import zeros as z\nz(2, 2).stride()", (2, 2)),
        ("NAMES = ('a', 'b', 'c')\ntorch.zeros(NAMES.index('c'), NAMES.count('b')).stride()", (2, 1)),
        ("def f(n):\n    torch.tensor([(1, 2).index(i) for i in (n, n)]).stride()\n", (2,)),
        (
            "def f(n):\n    torch.tensor([[1, n].count(1), [1, n].index(n), 'ab'.find(n), 'ab'.index('b')]).stride()\n",
            (4,),
        ),
    ],
)
def test_shapes_reach_their_use(code: str, shape: tuple[int, ...]) -> None:
    assert probed(code)[0].concrete_shape == shape


def test_both_branches_of_an_unknown_condition_are_followed() -> None:
    code = "def f(flag):\n    x = torch.zeros(2) if flag else torch.zeros(3)\n    x.stride()\n"
    assert {facts.shape for facts in probed(code)} == {(2,), (3,)}


def test_one_condition_is_decided_alike_along_a_path() -> None:
    code = "def f(flag):\n    x = torch.zeros(2)\n    if flag:\n        x = torch.zeros(3)\n    if not flag:\n        x.stride()\n"
    assert {facts.shape for facts in probed(code)} == {(2,)}


@pytest.mark.parametrize(
    ("condition", "rank"),
    [("x.dim() == 4", 4), ("x.ndim == 3", 3), ("len(x.shape) == 2", 2)],
)
def test_conditions_refine_the_rank(condition: str, rank: int) -> None:
    code = f"def f(x: torch.Tensor):\n    if {condition}:\n        x.stride()\n"
    assert {facts.rank for facts in probed(code)} == {rank}


def test_conditions_refine_dtype_and_grad() -> None:
    code = "def f(x: torch.Tensor):\n    if x.dtype == torch.int64 and not x.requires_grad:\n        x.stride()\n"
    assert [(facts.dtype, facts.requires_grad) for facts in probed(code)] == [("int64", False)]


def test_an_assumed_size_of_one_is_kept() -> None:
    code = "def f(x: torch.Tensor):\n    n, c = x.shape\n    if c == 1:\n        x.stride()\n"
    shape = probed(code)[0].shape
    assert shape is not None
    assert shape[1] == 1


def test_grad_modes() -> None:
    code = """
w = nn.Parameter(torch.zeros(2))
(w * 2).stride()
with torch.no_grad():
    (w * 2).stride()
    with torch.enable_grad():
        (w * 2).stride()

@torch.inference_mode()
def f():
    (w * 2).stride()

f()
"""
    assert [facts.requires_grad for facts in probed(code)[:4]] == [True, False, True, False]


def test_what_depends_on_the_length_of_a_loop_is_not_known_after_it() -> None:
    code = "def f(items):\n    found = []\n    for item in items:\n        found.append(torch.zeros(2))\n    torch.stack(found).stride()\n"
    assert all(facts.concrete_shape is None for facts in probed(code))


def test_autocast_leaves_dtypes_open() -> None:
    code = "w = torch.zeros(2, 2)\nwith torch.autocast('cuda'):\n    (w @ w).stride()\n"
    assert probed(code)[0].dtype is None
    code = "w = torch.zeros(2, 2)\nwith torch.autocast('cpu'):\n    (w @ w).stride()\n    (w + w).stride()\n"
    assert [facts.dtype for facts in probed(code)[:2]] == ["bfloat16", None]


def test_attributes_that_other_methods_assign_are_not_known() -> None:
    code = """
class A:
    def __init__(self):
        self.x = torch.zeros(2)
        self.y = torch.zeros(3)

    def swap(self, x):
        self.x = x

    def use(self):
        self.y.stride()
        self.x.stride()
"""
    assert [facts.concrete_shape for facts in probed(code)] == [(3,), None]


@pytest.mark.parametrize(
    "code",
    [
        "def f(): return f()\nf()",
        "class A(A): pass\nA()",
        "x = [x for x in x]",
        "def f(*a, **k): return f(*a, **k)\nf(1, 2, z=3)",
        "while True:\n    pass",
        "x = 9 ** 9 ** 9\ny = 'a' * 10 ** 12",
        "lambda: (yield)",
        "del x, y[0]",
        "with open('f') as (a, b): pass",
        "match x:\n    case [1, *_]: pass",
        "async def f():\n    async with g() as h:\n        await h\n",
        "x: int\n(y := 3)",
        "global z",
        "class A:\n    x = property(lambda self: self.x)\nA().x",
        "torch.zeros(*[2, 3], **{'dtype': torch.int8}).view(-1, *()).stride()",
        "torch.zeros(2).expand(-1, -1).view(0, -1)[..., None, 5, 'a'].T.mT",
        "nn.Conv2d()(1)\nnn.Sequential(1, 2)(3)\nnn.Linear(3, 'x').to(4)",
        "torch.cat(5)\ntorch.stack([])\ntorch.zeros(-1, 'a')",
        "x = []\nx.append(x)\nx += [x]\nx[0] = x\nprint(x)\ntorch.stack(x).view(*x)",
        "d = {}\nd['d'] = d\nd.update(e=d)\nd.setdefault('f', [d])\nprint(d)\ntorch.zeros(2)[d]",
    ],
)
def test_odd_programs_do_no_harm(code: str) -> None:
    assert analyse(libcst.parse_module(HEAD + code), []).exhausted is None


_BASE = """
class Base:
    def __init__(self):
        self.n = 1
    def change(self):
        pass
"""


def test_what_a_derived_constructor_calls_is_no_later_change() -> None:
    code = """
class Derived(Base):
    def __init__(self):
        super().__init__()
        self.fill()
    def fill(self):
        self.x = torch.zeros(3)
    def use(self):
        self.x.stride()
"""
    assert [facts.shape for facts in probed(_BASE + code)] == [(3,)]


def test_a_change_counts_though_a_base_has_a_method_of_that_name() -> None:
    code = """
class Derived(Base):
    def __init__(self):
        super().__init__()
        self.x = torch.zeros(3)
    def change(self):
        self.x = torch.zeros(4)
    def use(self):
        self.x.stride()
"""
    assert [facts.shape for facts in probed(_BASE + code)] == [None]
