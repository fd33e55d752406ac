"""What a screen knows of containers, of the parts of results, and of what makes new tensors."""

from __future__ import annotations

import ast

import pytest
import torch

from stridelint.rules.inplace.inplace_lower_kind import InplaceLowerKind
from stridelint.rules.inplace.silent_store_cast import SilentStoreCast
from stridelint.rules.layout.lost_write import LostWrite
from stridelint.rules.layout.view_of_incompatible_strides import ViewOfIncompatibleStrides
from stridelint.rules.rule import Rule
from stridelint.rules.screening import Nodes


def may_fire(rule: type[Rule], text: str) -> bool:
    """Whether a rule's places let code pass."""
    return bool(rule.places(Nodes(ast.parse(f"import torch\n{text}\n"))))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(data):\n    d = dict(data)\n    for key in keys:\n        d[key] = x.long() * 0.5", False),
        ("def f(d):\n    for key in keys:\n        d[key] = 0.5", True),
        ("def f(d):\n    d = dict(d)\n    d[key] = 0.5", True),
        ("def f(d: int):\n    rows = [None] * 3 + [0]\n    rows[i] = 0.5", False),
        ("def f():\n    rows = [0] * 3\n    rows[i][0] = 0.5", True),
        ("def f(other):\n    rows, n = [], 1\n    rows[i] = 0.5", True),
        ("def f():\n    rows = []\n    for rows in table:\n        rows[i] = 0.5", True),
        ("def f():\n    rows = []\n    with open(p) as rows:\n        rows[i] = 0.5", True),
        ("def f():\n    rows = []\n    rows += x\n    rows[i] = 0.5", True),
        ("def f(x):\n    rows = {}\n    match x:\n        case Box(inner=rows):\n            rows[i] = 0.5", True),
        ("try:\n    from table import rows\nexcept ImportError:\n    rows = {}\nrows[i] = 0.5", True),
        ("rows = {}\ndef f():\n    global rows\n    rows = x\ndef g():\n    rows[i] = 0.5", True),
        ("rows = {}\ndef g():\n    rows[i] = 0.5", False),
        ("def dict(x):\n    return x\ndef f():\n    rows = dict(x)\n    rows[i] = 0.5", True),
        ("def f(model, new):\n    new = model.state_dict()\n    new[f'{block}.weight'] = 0.5", False),
        ("def f(model, prefix):\n    state = model.state_dict()\n    state[prefix] = 0.5", False),
        ("def f(new, old):\n    new[old + '.weight'] = 0.5\n    key = 'layer%d' % old\n    new[key] = 0.5", False),
        ("def f(new, old):\n    key = 'layer%d' % old\n    for key in old:\n        new[key] = 0.5", True),
        ("def f(new, old):\n    new[old + 1] = 0.5", True),
        ("def f():\n    image = np.zeros((3, 4), dtype=np.int64)\n    image[mask] = 0.5", False),
        ("def f():\n    image = torch.zeros((3, 4), dtype=torch.int64)\n    image[mask] = 0.5", True),
    ],
)
def test_dicts_and_lists_hold_any_value(text: str, found: bool) -> None:
    """Only where all that the name is bound to is one."""
    nodes = Nodes(ast.parse(text))
    stores = [
        (target, unit)
        for node, unit in nodes.bindings
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript)
    ]
    target, unit = max(stores, key=lambda store: store[0].lineno)
    assert nodes.certain.stores_elsewhere(target, unit) is not found


@pytest.mark.parametrize(("made", "found"), [("dict(x)", False), ("x.long()", True)])
def test_no_dict_is_an_integer_tensor(made: str, found: bool) -> None:
    text = f"def f(x):\n    held = {made}\n    held[x.argmax()] = 0.5"
    assert may_fire(SilentStoreCast, text) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(d):\n    d[mask][0] = 1", True),
        ("def f(d):\n    held = dict(d)\n    held[mask][0] = 1", False),
        ("def f(d):\n    held = dict(d)\n    held[name][mask][0] = 1", True),
    ],
)
def test_what_a_dict_holds_is_not_lost(text: str, found: bool) -> None:
    assert may_fire(LostWrite, text) is found


FLOAT_AND_MASK = "    return x.mean(1), x > 0\n"
ROWS_AND_COLUMNS = "    return torch.zeros(3, 4), x.t()\n"


@pytest.mark.parametrize(
    ("function", "use", "found"),
    [
        ("def f(x):\n", "first, second = f(x)\n    first", False),
        ("def f(x):\n", "first, second = f(x)\n    second", True),
        ("def f(x):\n", "f(x)[0]", False),
        ("def f(x):\n", "f(x)[-1]", True),
        ("def f(x):\n", "first, *rest = f(x)\n    rest", True),
        ("def f(x):\n", "*rest, first = f(x)\n    rest", True),
        ("def f(x):\n", "both = f(x)\n    both", True),
        ("def f(x):\n", "first, second = g(x)\n    second", True),
        ("def f(x):\n", "for pair, other in f(x):\n        pair.view(-1)\n        pair", True),
        ("def f(x):\n", "(first, last), second = f(x), 1\n    last", True),
        ("@swapped\ndef f(x):\n", "first, second = f(x)\n    first", True),
        ("def f(x):\n    yield 1, 2\n", "first, second = f(x)\n    first", True),
        ("def f(x):\n    if x:\n        return other(x), f(x)[1]\n", "first, second = f(x)\n    second", True),
        (
            "class Model:\n  def f(x):\n    return *x.t(), 1\n  def f(x):\n",
            "first, second = self.f(1)\n    first",
            True,
        ),
        ("class Model:\n  def f(x):\n", "first, second = self.f(1)\n    first", False),
        ("class Model:\n  def f(x):\n", "first, second = self.f(1)\n    second", True),
    ],
)
def test_parts_of_what_functions_return(function: str, use: str, found: bool) -> None:
    """A function that returns a tuple tells which part is which, unless something comes between."""
    after = "def g(x):\n    return f(x)\ndef h(self, x):\n    "
    assert may_fire(ViewOfIncompatibleStrides, f"{function}{ROWS_AND_COLUMNS}{after}{use}.view(-1)") is found
    if "pair" not in use and "x.t()" not in function:
        text = f"{function}{FLOAT_AND_MASK}{after}{use}[i] = 0.5"
        assert may_fire(SilentStoreCast, text) is found


@pytest.mark.parametrize("use", ["with Held() as one:\n    one", "for one in Held():\n    one", "Held()(3)"])
def test_what_an_object_gives_that_is_entered_or_looped_over(use: str) -> None:
    """Also where its class has no constructor."""
    methods = "".join(
        f"    def {name}(self):\n        self.kept = MADE\n        return self.kept\n"
        for name in ("__enter__", "__iter__", "__call__")
    )
    text = f"class Held:\n{methods}{use}"
    assert may_fire(ViewOfIncompatibleStrides, text.replace("MADE", "x.t()") + ".view(-1)")
    assert may_fire(InplaceLowerKind, text.replace("MADE", "x.long()") + ".add_(0.5)")


def fails(made: str) -> bool:
    """Whether torch refuses to view a tensor that is made so."""
    try:
        eval(f"{made}.view(-1)", {"torch": torch, "x": torch.rand(3, 4).t(), "nn": torch.nn})
    except RuntimeError:
        return True
    return False


@pytest.mark.parametrize(
    "made",
    [
        *("torch.tensor(x)", "torch.tensor([[1, 2], [3, 4]])", "x.new_tensor(x)", "x.new_tensor([[1, 2], [3, 4]])"),
        *(f"x.new_{kind}(x.shape)" for kind in ("zeros", "ones", "empty")),
        "x.new_full(x.shape, 1.0)",
        *("nn.utils.rnn.pad_sequence([x, x], batch_first=True)", "nn.utils.rnn.pad_sequence([x, x])"),
    ],
)
@pytest.mark.filterwarnings("ignore:To copy construct")
def test_new_tensors_are_row_major_but_for_copies(made: str) -> None:
    """What torch refuses is chosen, and what it makes row-major is not."""
    code = f"def f():\n    x = y.t()\n    z = {made}\n    return z.view(-1)"
    assert may_fire(ViewOfIncompatibleStrides, code) is fails(made)


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("pad_sequence(xs, batch_first=True)", False),
        ("pad_packed_sequence(xs, batch_first=True)[0]", True),
        ("torch.nn.LSTM(3, 4, batch_first=True)(xs)[0]", True),
        ("layer(xs.batch_first)", True),
    ],
)
def test_recurrent_layers_with_the_batch_first(made: str, found: bool) -> None:
    assert may_fire(ViewOfIncompatibleStrides, f"def f(xs):\n    {made}.view(-1)") is found
