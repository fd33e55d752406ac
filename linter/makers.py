"""Which functions that a file imports from others of the project may make an unusual tensor, by the text of those files.

So that few other files need to be parsed: the names, and what hands them on (`from .sub import batch` in an `__init__.py`), are looked for
in the bytes. What was asked is kept with the project (`Asked.makers`): an outcome in the cache holds as long as the answers stay the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from stridelint.linter import source

if TYPE_CHECKING:
    import ast

    from stridelint.linter.project import Project


class Names(NamedTuple):
    """The names that a file's top-level imports bring in from the project's own modules.

    makers: those of functions that may make a tensor which is not the usual row-major float one. converting: those of them
    that speak of channels_last.
    """

    every: frozenset[str]
    makers: frozenset[str]
    converting: frozenset[str]


def imported_names(project: Project, tree: ast.Module, path: str) -> Names:
    """What a file imports from other files of the project."""
    import ast

    from stridelint.linter.inference.imports import absolute

    package = project.package(path)
    found, makers, converting = set(), set(), set()

    def judge(name: str, origin: str, function: str) -> None:
        if _makes_unusual(project, origin, function):
            makers.add(name)
            if _makes_unusual(project, origin, function + CONVERTS):
                converting.add(name)

    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            module = absolute("." * node.level + (node.module or ""), package)
            origin = project.find(module, path)
            for alias in node.names:
                name = alias.asname or alias.name
                inner = project.find(f"{module}.{alias.name}", path)
                if origin or inner:
                    found.add(name)
                if inner:
                    for function in _taken_from(tree, name):
                        judge(name, inner, function)
                elif origin:
                    judge(name, origin, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                origin = project.find(alias.name, path)
                name = alias.asname or alias.name.partition(".")[0]
                if origin:
                    found.add(name)
                    for function in _taken_from(tree, alias.asname or alias.name):
                        judge(name, origin, function)
    return Names(frozenset(found), frozenset(makers), frozenset(converting))


def _taken_from(tree: ast.Module, module: str) -> set[str]:
    """The attributes of a module, as it is called in a file, that are used there."""
    import ast

    *outer, last = module.split(".")
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value
            if isinstance(owner, ast.Name) and not outer and owner.id == last:
                found.add(node.attr)
            elif isinstance(owner, ast.Attribute) and outer and owner.attr == last and ast.unparse(owner) == module:
                found.add(node.attr)
    return found


def may_get_converted(project: Project, data: bytes, path: str) -> bool:
    """Whether a file, by its text, imports a function of the project that speaks of channels_last."""
    from stridelint.linter.inference.imports import absolute

    package = project.package(path)
    for module, names in _FROM.findall(data):
        dotted = absolute(_text(module), package)
        origin = project.find(dotted, path)
        for there, name in _ALIAS.findall(names):
            inner = project.find(f"{dotted}.{_text(there)}", path)
            if inner and _hands_on_converted(project, inner, data, name or there):
                return True
            if origin and not inner and _makes_unusual(project, origin, _text(there) + CONVERTS):
                return True
    for listed in _IMPORT.findall(data):
        for there, name in _MODULE.findall(listed):
            origin = project.find(_text(there), path)
            if origin and _hands_on_converted(project, origin, data, name or there):
                return True
    return False


def _hands_on_converted(project: Project, origin: str, data: bytes, name: bytes) -> bool:
    """Whether a file uses a function, of a module that it calls `name`, that speaks of channels_last."""
    used = set(re.findall(rb"\b" + re.escape(name) + rb"\.(\w+)", data))
    return any(_makes_unusual(project, origin, _text(each) + CONVERTS) for each in sorted(used))


# What a function that makes an unusual tensor is written with.
_UNUSUAL = (
    rb"channels_last|permute|transpose|expand|\b(?:bool|u?int8|int16|int32|int64|long|short|half|double|float64|float16|bfloat16"
    rb"|complex64|cfloat|requires_grad\w*|arange|randint|randperm|one_hot|\w+Tensor)\b"
)


_DEFINED = re.compile(rb"def (\w+)\(")
_IMPORT = re.compile(rb"^import[ \t]+([^\n#]+)", re.MULTILINE)
_MODULE = re.compile(rb"([.\w]+)(?:[ \t]+as[ \t]+(\w+))?")
_ALIAS = re.compile(rb"(\w+|\*)(?:[ \t]+as[ \t]+(\w+))?")
_FROM = re.compile(rb"^from[ \t]+([.\w]+)[ \t]+import\b[ \t]*(\([^)]*\)|[^\n]*)", re.MULTILINE)
# Behind the name of a function among the makers of a file (`makers_in`): it speaks of channels_last.
CONVERTS = " channels_last"
# Imports through which a name is looked for, as those in an `__init__.py`.
MAX_REEXPORTS = 4


# Whether a file has a maker of some name itself; or else from where it may have it: a dotted module and the name there.
Origin: TypeAlias = "bool | list[list[str]]"


def _makes_unusual(project: Project, path: str, name: str, depth: int = MAX_REEXPORTS) -> bool:
    """Whether a file defines a function of this name, and some unusual tensor; or imports it from one that does."""
    from stridelint.linter.inference.imports import absolute

    makers = makers_in(path)
    origin = _origin_of(name, makers)
    if project.asked is not None:
        project.asked.makers.setdefault(path, (makers.digest, {}))[1][name] = origin
    if isinstance(origin, bool):
        return origin
    return depth > 0 and any(
        (inner := project.find(absolute(module, project.package(path)), path)) is not None
        and _makes_unusual(project, inner, there, depth - 1)
        for module, there in origin
    )


def _origin_of(name: str, makers: Makers) -> Origin:
    plain, converts = (name.removesuffix(CONVERTS), CONVERTS) if name.endswith(CONVERTS) else (name, "")
    if name in makers.names or plain in makers.defined:
        return name in makers.names
    return [
        [module, (there or plain) + converts]
        for module, there in makers.imports.get(plain, makers.imports.get("*", ()))
    ] or False


class Makers(NamedTuple):
    """What a file, by its text, has for others.

    names: of its functions, if it makes an unusual tensor, and of those that speak of channels_last, with CONVERTS. defined: all its
    functions. imports: of a name that it imports, the modules and the names there; those of `*` under that.
    """

    digest: str = ""
    names: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()
    imports: Mapping[str, Sequence[tuple[str, str]]] = {}


def makers_in(path: str) -> Makers:
    """What a file has for others; nothing if it cannot be read."""
    state = source.state_of(path)
    return Makers() if state is None else _makers_in(path, *state)


@functools.lru_cache(maxsize=1024)
def _makers_in(path: str, changed: int, size: int) -> Makers:
    try:
        data = source.read(path).data
    except source.Unreadable:
        return Makers()
    defined = {_text(name) for name in _DEFINED.findall(data)}
    makers = set(defined) if re.search(_UNUSUAL, data) else set()
    if makers and b"channels_last" in data:
        parts = _DEFINED.split(data)[1:]
        makers |= {_text(name) + CONVERTS for name, body in zip(parts[::2], parts[1::2]) if b"channels_last" in body}
    return Makers(source.digest(data), frozenset(makers), frozenset(defined), _imports_of(data))


def _imports_of(data: bytes) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for module, names in _FROM.findall(data):
        for there, name in _ALIAS.findall(re.sub(rb"#[^\n]*", b"", names)):
            star = there == b"*"
            found.setdefault("*" if star else _text(name or there), []).append(
                (_text(module), "" if star else _text(there))
            )
    return found


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def same(path: str, names: Mapping[str, Origin]) -> bool:
    """Whether a file would answer alike what was asked of these names."""
    makers = makers_in(path)
    return all(_origin_of(name, makers) == known for name, known in names.items())
