"""The bare tree of a module equals LibCST's own in all that code means."""

from __future__ import annotations

import ast
import importlib.util
from functools import partial
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from stridelint.linter import screen, source
from stridelint.linter.deep import run_deep
from stridelint.linter.inference.bare_nodes import Unsupported
from stridelint.linter.inference.bare_tree import BareTree
from stridelint.rules.forms.walking import fields_of, walk

ROOT = Path(__file__).parent.parent.parent
# What only tells how code is written, or what the other fields tell as well.
NOT_MEANT = {
    "posonly_ind", "equal", "colon", "type_parameters", "first_colon", "second_colon", "encoding", "default_indent",
    "default_newline", "has_trailing_newline", "star_arg_comma", "separator",
}  # fmt: skip
EVERYTHING = '''
from __future__ import annotations
import a.b, c as d
from . import e
from ..f.g import h as i, j
from k import *
@dec(1)
async def f(p, /, q: int = 2, *args, r, s=3, **kw) -> "x":
    """Doc."""
    global g1, g2
    async with u as v, w: pass
    async for y in z:
        await t
    else:
        return
    nonlocal n
class C(B, *m, metaclass=M, **o):
    x: int = 1
    y: str
try:
    raise E from F
except (G, H) as err:
    del a1
    del a2, (a3, a4)
except I: pass
except: raise
else: ...
finally:
    assert t, "m"
try:
    pass
except* J as star: pass
while a < b <= c != d is not e not in f: break
if (q := 3): continue
elif not x: pass
else:
    if y: z
for i, (j, *k) in l: pass
x[1], x[1, ], x[(1, 2)], x[1:2, ::3, ...], x[*y], x[a, b:c]
f(*a, b=1, *c, **d)(1 if x else 2)
[*p, q], {r, *s}, {t: u, **v}, (), (w,), {}
lambda: 0, lambda x, *y, z=1, **w: (yield)
[a async for a in b if c if d for e in f], {k: v for k, v in g}, {h for h in i}, (j for j in k)
f"a{b!r:>{c}}" "d" 'e', b"f" b"g", "h" "i", 1_000, 0x1F, 1.5e3, 2j, True, None
-a ** ~b @ +c // d % e << f >> g & h | i ^ j and k or l or m
x += 1; y @= 2; z //= 3
def gen():
    yield
    yield from a
    x = yield b
'''


MATCH = """
match x, y:
    case 1 | "a" | a.b | -1 | None: pass
    case [1, *_] | [a, *rest, _] as b if c: pass
    case (h, i): pass
    case {"k": {2: d}, **others}: pass
    case {}: pass
    case torch.Size(e, 2, k=f, g=[3]): pass
    case other: pass
    case _:
        pass
"""


def meaning(node: cst.CSTNode) -> object:
    """Of a literal what it stands for: the bare tree writes it in its own way."""
    if isinstance(node, cst.FormattedString):
        return "formatted"
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        return "formatted" if node.evaluated_value is None else ("text", node.evaluated_value)
    if isinstance(node, (cst.Integer, cst.Float, cst.Imaginary)):
        return ast.literal_eval(node.value)
    return None


def outline(part: Any) -> Any:
    """A tree as nested tuples: kinds of nodes, and their fields that hold code."""
    if isinstance(part, (list, tuple)):
        found: list[Any] = []
        for each in part:
            # `a; b` on one line and a body behind the colon are ways of writing.
            small = isinstance(each, cst.SimpleStatementLine)
            found += [("line", outline(one)) for one in each.body] if small else [outline(each)]
        return found
    if not isinstance(part, cst.CSTNode):
        return None if part in ("", None) or isinstance(part, cst.MaybeSentinel) else part
    known = meaning(part)
    if known is not None:
        return known
    if isinstance(part, cst.SimpleStatementSuite):
        return "IndentedBlock", [("body", [("line", outline(one)) for one in part.body])]
    names = [name for name in fields_of(type(part)) if name not in NOT_MEANT]
    fields = [(name, outline(getattr(part, name))) for name in names]
    kind = "MatchList" if isinstance(part, cst.MatchTuple) else type(part).__name__  # `(a, b)` and `[a, b]` match alike
    return kind, [(name, value) for name, value in fields if value not in (None, [])]


def assert_alike(text: str) -> None:
    expected, made = cst.parse_module(text), BareTree(screen.parse(text)).module
    assert outline(made.body) == outline(expected.body)


@pytest.mark.skipif(not hasattr(ast, "TryStar"), reason="except* needs Python 3.11")
def test_all_syntax() -> None:
    assert_alike(EVERYTHING)


def test_what_is_left_to_libcst() -> None:
    with pytest.raises(Unsupported, match="the constant inf"):
        BareTree(screen.parse("x = 1e999"))


def test_match() -> None:
    assert_alike(MATCH)


def real_files() -> list[Path]:
    spec = importlib.util.find_spec("torch")
    torch = sorted(Path(spec.origin).parent.rglob("*.py"))[::150] if spec is not None and spec.origin else []
    return [*sorted((ROOT / "fixtures").rglob("*.py"))[::12], *sorted((ROOT / "linter").rglob("*.py"))[::5], *torch]


def test_real_files() -> None:
    for path in real_files():
        text = source.read(str(path)).text
        try:
            BareTree(screen.parse(text))
        except Unsupported:
            continue
        run_deep(partial(assert_alike, text))


def test_texts() -> None:
    tree = screen.parse("y = f(x [0],  k = 'a')\n")
    bare = BareTree(tree)
    line = bare.module.body[0]
    assert isinstance(line, cst.SimpleStatementLine)
    assign = line.body[0]
    assert isinstance(assign, cst.Assign)
    assert bare.source(assign.value) == "f(x[0], k='a')"
    assert bare.source(assign) == "y = f(x[0], k='a')"


def test_bodies_are_left_out() -> None:
    tree = screen.parse("def f():\n    a\n    b\n\n\ndef g():\n    c\n")
    assert outline(BareTree(tree, {tree.body[0]}).module.body) == outline(
        cst.parse_module("def f():\n    return __unknown__\n\n\ndef g():\n    c\n").body
    )


@pytest.mark.parametrize(
    "text", ["é = f(\n  'é', x, # é\n\n)\n", "a = [\r\n 'x\x0cy', 1\r\n]", "if x:\r  y = f(1,\r  2)"]
)
def test_expressions_are_written_as_they_stand(text: str) -> None:
    tree = screen.parse(text)
    bare = BareTree(tree, text=text)
    (node,) = (each for each in walk(bare.module, cst.Call, cst.List))
    origin = bare.origin(node)
    assert isinstance(origin, ast.expr)
    assert bare.written(node) == "\n".join(source.lines(ast.get_source_segment(text, origin) or ""))
