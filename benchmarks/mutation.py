"""Makes odd programs out of real ones: what `reliability.py` feeds to the linter.

    seeds = mutation.seeds_of(paths)                      # short pieces of real code that speak of tensors
    program = mutation.program(seeds, random.Random(7))   # bytes; mostly Python, mostly about tensors, never sensible

Most changes are made to the syntax tree, so that what comes out is still Python and reaches the interpreter; some are made to
the text, where it may stop being Python or even text.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.odd_code import ODD_EXPRESSIONS, ODD_STATEMENTS

MAX_LINES = 60
_WORDS = re.compile(
    r"\bout=|memory_format|channels_last|\.view\(|\.contiguous\(|is_contiguous|stride|\.copy_\(|as_strided|\.expand|"
    r"resize_|set_\(|no_grad|torch\.\w+\(|empty_like|permute|transpose|reshape|\.t\(\)|\w+_\("
)

# What tokens stand for each other in the text.
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|[^\w\s]", re.ASCII)
_SPELLINGS = ("é", "变量", "ſ", "ﬁ", "𝐱", "x́", "µ", "Ω")


class Seeds(NamedTuple):
    """Pieces of programs, and what they are made of, as text."""

    pieces: list[str]
    expressions: list[str]
    statements: list[str]
    names: list[str]
    attributes: list[str]
    keywords: list[str]


def seeds_of(paths: Iterable[Path], most: int = 1500) -> Seeds:
    """Short pieces of these files: whole ones, and functions with the imports of their file; `most` of each kind."""
    whole: set[str] = set()
    parts: set[str] = set()
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
        except (OSError, ValueError, SyntaxError, RecursionError):
            continue
        if text.count("\n") > MAX_LINES:
            parts.update(_parts(tree))
        elif _WORDS.search(text):
            whole.add(text)
    rng = random.Random(0)
    return _made_of([piece for kind in (whole, parts) for piece in rng.sample(sorted(kind), min(most, len(kind)))])


def _parts(tree: ast.Module) -> Iterator[str]:
    imports = "import torch\n" + "".join(
        f"{ast.unparse(each)}\n"
        for each in tree.body
        if isinstance(each, (ast.Import, ast.ImportFrom)) and "torch" in ast.unparse(each)
    )
    for each in ast.walk(tree):
        if isinstance(each, (ast.FunctionDef, ast.ClassDef)) and (each.end_lineno or 0) - each.lineno < 45:
            code = ast.unparse(each)
            if _WORDS.search(code):
                yield imports + code + "\n"


def _made_of(pieces: list[str]) -> Seeds:
    found: list[set[str]] = [set(), set(), set(), set(), set()]
    expressions, statements, names, attributes, keywords = found
    for piece in pieces:
        for node in ast.walk(ast.parse(piece)):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                attributes.add(node.attr)
            elif isinstance(node, ast.keyword) and node.arg:
                keywords.add(node.arg)
            if isinstance(node, ast.Call):
                text = ast.unparse(node)
                if len(text) < 80 and _WORDS.search(text):
                    expressions.add(text)
            elif isinstance(node, ast.stmt):
                text = ast.unparse(node)
                if len(text) < 200 and _WORDS.search(text):
                    statements.add(text)
    odd = [each.replace("\\n", "\n") for each in ODD_STATEMENTS.strip().split("\n")]
    kept = [sorted(each) for each in found]
    return Seeds(pieces, kept[0] + ODD_EXPRESSIONS.strip().split("\n") * 20, kept[1] + odd * 20, *kept[2:])


def program(seeds: Seeds, rng: random.Random) -> bytes:
    """A program of at most about `MAX_LINES` lines."""
    text = rng.choice(seeds.pieces)
    if rng.random() < 0.85:
        text = _grown(text, seeds, rng)
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        start = rng.randrange(len(lines) - MAX_LINES) if rng.random() < 0.1 else 0
        text = "\n".join(lines[start : start + MAX_LINES])
    while rng.random() < 0.25:
        text = rng.choice(_DAMAGES)(text, rng)
    data = text.encode("utf-8", "surrogatepass")
    while rng.random() < 0.04:
        data = rng.choice(_BYTES)(data, rng)
    return data


def _grown(text: str, seeds: Seeds, rng: random.Random) -> str:
    """The text after some changes to its tree."""
    tree = ast.parse(text)
    for _ in range(rng.choice((1, 1, 2, 3, 5, 8, 13))):
        try:
            _changed(tree, seeds, rng)
            changed = ast.unparse(tree) + "\n"
            tree, text = ast.parse(changed), changed
        except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError):
            tree = ast.parse(text)  # not Python: another change
    return text


def _changed(tree: ast.Module, seeds: Seeds, rng: random.Random) -> None:
    bodies = [
        body
        for node in ast.walk(tree)
        for field in ("body", "orelse", "finalbody")
        if isinstance(body := getattr(node, field, None), list) and body and isinstance(body[0], ast.stmt)
    ]
    if bodies and rng.random() < 0.45:
        _statement_changed(rng.choice(bodies), rng.choice(bodies), seeds, rng)
        return
    places = [
        (node, field, index)
        for node in ast.walk(tree)
        for field, value in ast.iter_fields(node)
        for index, each in (enumerate(value) if isinstance(value, list) else [(-1, value)])
        if isinstance(each, (ast.expr, ast.keyword, ast.operator, ast.cmpop, ast.arg))
    ]
    if not places:
        return
    node, field, index = rng.choice(places)
    held = getattr(node, field)
    old = held if index < 0 else held[index]
    new = _part_changed(old, seeds, rng)
    if isinstance(node, ast.Call) and field == "args" and rng.random() < 0.15:
        rng.shuffle(held)
    if index < 0:
        setattr(node, field, new)
    else:
        held[index] = new


def _statement_changed(body: list[ast.stmt], other: list[ast.stmt], seeds: Seeds, rng: random.Random) -> None:
    index, kind = rng.randrange(len(body)), rng.randrange(6)
    if kind == 0 and len(body) > 1:
        del body[index]
    elif kind == 1:
        body.insert(index, copy.deepcopy(rng.choice(other)))
    elif kind == 2:
        there = rng.randrange(len(other))
        body[index], other[there] = other[there], body[index]
    elif kind == 3:
        body[index:] = _statements(rng.choice(seeds.statements), seeds, rng, body[index:])
    else:
        body[index:index] = _statements(rng.choice(seeds.statements), seeds, rng)


def _statements(text: str, seeds: Seeds, rng: random.Random, inner: list[ast.stmt] | None = None) -> list[ast.stmt]:
    """The statements of a fragment, with others where it says so."""
    while re.search(r"^ *@$", text, re.MULTILINE):
        others = [each for each in rng.sample(seeds.statements, 5) if "@" not in each]
        filler = "\n".join(map(ast.unparse, inner)) if inner else rng.choice(others or ["pass"])
        match = re.search(r"^( *)@$", text, re.MULTILINE)
        assert match is not None
        text = text[: match.start()] + "\n".join(match[1] + each for each in filler.split("\n")) + text[match.end() :]
        inner = None
    return ast.parse(text).body


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _part_changed(old: ast.AST, seeds: Seeds, rng: random.Random) -> ast.AST:
    """Another expression, operator, keyword or parameter."""
    if isinstance(old, ast.operator):
        return rng.choice(ast.operator.__subclasses__())()
    if isinstance(old, ast.cmpop):
        return rng.choice(ast.cmpop.__subclasses__())()
    if isinstance(old, ast.arg):
        old.arg = rng.choice((*seeds.names, "self", "out", "x"))
        return old
    if isinstance(old, ast.keyword):
        old.arg = rng.choice((None, "out", "memory_format", "dim", rng.choice(seeds.keywords)))
        return old
    assert isinstance(old, ast.expr)
    if isinstance(old, ast.Name) and rng.random() < 0.4:
        old.id = rng.choice((*rng.sample(seeds.names, 2), "x", "y", "torch", "self"))
        return old
    if isinstance(old, ast.Attribute) and rng.random() < 0.6:
        old.attr = rng.choice(seeds.attributes)
        return old
    if isinstance(old, ast.Constant) and rng.random() < 0.4:
        old.value = rng.choice((0, 1, -1, 2, 3, 7, 10**20, True, None, "", "cuda", "out", b"", 0.5, ...))
        return old
    if isinstance(old, ast.Call) and rng.random() < 0.5:
        return _call_changed(old, seeds, rng)
    if isinstance(getattr(old, "ctx", None), (ast.Store, ast.Del)):
        return _expression(rng.choice(("x", "x[0]", "x.data", "self.weight", "(x, *y)", "x[..., 1:]")))
    if rng.random() < 0.3:
        return _wrapped(old, rng)
    return _expression(rng.choice(seeds.expressions))


def _call_changed(call: ast.Call, seeds: Seeds, rng: random.Random) -> ast.expr:
    kind = rng.randrange(6)
    if kind == 0:
        call.keywords.append(ast.keyword("out", _expression(rng.choice(seeds.expressions))))
    elif kind == 1 and call.args:
        at = rng.randrange(len(call.args))
        call.args[at] = ast.Starred(call.args[at], ast.Load())
    elif kind == 2 and call.args:
        call.keywords.append(ast.keyword(rng.choice(seeds.keywords), call.args.pop()))
    elif kind == 3:
        call.args.append(_expression(rng.choice(seeds.expressions)))
    elif kind == 4:
        call.args, call.keywords = [], []
    else:
        method = rng.choice(seeds.attributes)
        return ast.Call(ast.Attribute(call, method, ast.Load()), [], [])
    return call


def _wrapped(old: ast.expr, rng: random.Random) -> ast.expr:
    text = ast.unparse(old)
    form = rng.choice(
        (
            "({} if x else {})", "[{}][0]", "(lambda x=1: {})()", "(w := {})", "[{} for _ in range(2)]", "f'{{{}}}'", "({}, {})[1]",
            "{{'k': {}}}['k']", "torch.add({}, 1)", "({}).contiguous()", "({}).to(memory_format=torch.channels_last)", "-({})",
            "({}).detach().t()", "torch.empty_like({})", "({})[0]", "({} or {})", "torch.mul({}, {}, out={})", "({}).expand(3, -1)",
        )
    )  # fmt: skip
    for _ in range(rng.choice((1, 1, 1, 2, 40))):
        if len(text) > 500:
            break
        text = (
            form.replace("{}", text.replace("{", "{{").replace("}", "}}") if form.startswith("f'") else text)
            .replace("{{", "{")
            .replace("}}", "}")
        )
    return _expression(text)


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _token_swapped(text: str, rng: random.Random) -> str:
    found = list(_TOKEN.finditer(text))
    if len(found) < 2:
        return text
    one, other = rng.choice(found), rng.choice(found)
    return text[: one.start()] + other.group() + text[one.end() :]


def _inserted(fragments: Iterable[str]) -> Callable[[str, random.Random], str]:
    chosen = tuple(fragments)

    def insert(text: str, rng: random.Random) -> str:
        at = rng.randrange(len(text) + 1)
        return text[:at] + rng.choice(chosen) + text[at:]

    return insert


def _line_changed(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(8)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at] = lines[at] + rng.choice(
            (
                "  # noqa",
                "  # noqa: TLC",
                "  # type: ignore  # noqa:TLC101,TLC301",
                " \\",
                ";",
                "; x = 1;",
                "  # \x1b[31m",
            )
        )
    elif kind == 2:
        lines[at] = rng.choice(("\t", " ", "    ", "\x0c", "\u3000", "")) + lines[at]
    elif kind == 3:
        lines[at] = "\x0c" + lines[at]
    elif kind == 4:
        lines.insert(
            at,
            rng.choice(
                ("# stridelint: off", "# stridelint: on", "# stridelint: noqa", "\x0c", "#" * 5000, "", "'''", "\\")
            ),
        )
    elif kind == 5:
        lines[at] = lines[at].replace(",", ",\n", 2).replace("(", "(  # (\n", 1)
    elif kind == 6:
        lines[at] = lines[at] + " + x" * rng.choice((1, 90, 1200))
    else:
        opening = rng.choice("([{-~")
        lines[at] = f"x = {opening * rng.choice((3, 60, 120, 1500))}x"
    return "\n".join(lines)


def _renamed(text: str, rng: random.Random) -> str:
    names = sorted(
        set(re.findall(r"\b[a-z]\w*\b", text))
        - {"torch", "def", "return", "import", "self", "class", "for", "in", "if"}
    )
    return re.sub(rf"\b{rng.choice(names)}\b", rng.choice(_SPELLINGS), text) if names else text


def _line_ends(text: str, rng: random.Random) -> str:
    if rng.random() < 0.5:
        return text.replace("\n", rng.choice(("\r\n", "\r")))
    return "".join(each + rng.choice(("\n", "\r\n", "\r")) for each in text.split("\n"))


_DAMAGES: tuple[Callable[[str, random.Random], str], ...] = (
    _cut, _token_swapped, _token_swapped, _line_changed, _line_changed, _line_changed, _renamed, _line_ends,
    _inserted("\0\x0c\x0b\x1b\x85\ufeff\u2028\u202e\u200b\ud800 \t\r\\'\"#()[]{}:;,.@=*"),
    _inserted((" await ", " lambda: ", ":=", "**", "->", " not ", "'''", 'f"{x', "async ", "match x:\n")),
    _inserted(("type X[T] = T\n", "def f[T: int](x: T): pass\n", "class C[*T, **P]: pass\n", "print x\n")),
)  # fmt: skip
_CODINGS = (
    "latin-1", "cp1252", "utf-7", "utf-16", "rot13", "hex", "x", "utf-8-sig", "euc-jp", "idna", "punycode", "unicode_escape",
    "raw_unicode_escape", "mbcs", "undefined",
)  # fmt: skip


def _bytes_inserted(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((b"\xff", b"\0", b"\xed\xa0\x80", b"\xc3", b"\x80", b"\xef\xbb\xbf")) + data[at:]


def _in_front(data: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", *(f"# coding: {each}\n".encode() for each in _CODINGS))) + data


_BYTES = (_bytes_inserted, _in_front)
