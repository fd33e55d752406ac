"""Which names code binds: of a statement, an assignment's target, an import; and which statements at the top of a module do."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from stridelint.linter.inference import refilled, registries
from stridelint.rules.forms.walking import walk

CAPTURES = (cst.MatchAs, cst.MatchStar, cst.MatchMapping)


@dataclass(frozen=True)
class Binding:
    """A top-level statement that binds a name."""

    kind: str  # "import", "function", "class", "assign", "other"
    node: cst.CSTNode
    dotted: str = ""


class ModuleIndex:
    """Which top-level statements bind which names."""

    def __init__(self, module: cst.Module, path: str = "", package: str = "") -> None:
        """path, package: where the module lies, and against which package its imports are resolved."""
        self.path = path
        self.package = package
        self.stars: list[str] = []
        self.bindings: dict[str, list[Binding]] = {}
        self._module = module
        for statement in flat_statements(module.body):
            self._add(statement)

    @functools.cached_property
    def fillers(self) -> dict[str, registries.Fillers]:
        """By name of a container: the statements that fill it."""
        return registries.fillers_of(list(flat_statements(self._module.body)))

    @functools.cached_property
    def filled_in_functions(self) -> set[str]:
        """Names of containers that functions store items in."""
        return refilled.names_in_functions(self._module)

    def _add(self, statement: cst.CSTNode) -> None:
        if isinstance(statement, cst.FunctionDef):
            self._bind(statement.name.value, Binding("function", statement))
        elif isinstance(statement, cst.ClassDef):
            self._bind(statement.name.value, Binding("class", statement))
        elif isinstance(statement, (cst.Import, cst.ImportFrom)):
            if isinstance(statement, cst.ImportFrom) and isinstance(statement.names, cst.ImportStar):
                self.stars.append(imported_module(statement))
            for name, dotted in imported_names(statement):
                self._bind(name, Binding("import", statement, dotted))
        elif isinstance(statement, cst.Assign):
            for target in statement.targets:
                for name in target_names(target.target):
                    self._bind(name, Binding("assign", statement))
        elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
            for name in target_names(statement.target):
                self._bind(name, Binding("assign", statement))
        else:
            for each in _binding_parts(statement):
                for name in bound_names(each):
                    self._bind(name, Binding("other", statement))

    def _bind(self, name: str, binding: Binding) -> None:
        self.bindings.setdefault(name, []).append(binding)

    def find(self, name: str) -> Binding | None:
        """The one statement that decides a name: the only one, or the import among alternatives."""
        found = self.bindings.get(name, [])
        imports = [binding for binding in found if binding.kind == "import"]
        if (
            imports
            and len({binding.dotted for binding in imports}) == 1
            and all(b.kind in ("import", "assign") for b in found)
        ):
            return imports[0]
        if found and all(binding.kind in ("function", "class") for binding in found):
            return found[-1]
        return found[0] if len(found) == 1 and found[0].kind != "other" else None


def _binding_parts(statement: cst.CSTNode) -> list[cst.CSTNode]:
    """What in a statement, besides the blocks in it, may bind names."""
    if isinstance(statement, cst.With):
        return [*statement.items]
    if isinstance(statement, (cst.Try, cst.TryStar)):
        return [*statement.handlers]
    if isinstance(statement, cst.Match):
        return [each for case in statement.cases for each in walk(case.pattern, *CAPTURES)]
    if isinstance(statement, (cst.If, cst.While)):
        return [*walk(statement.test, cst.NamedExpr)]
    return [statement]


def flat_statements(body: Sequence[cst.BaseStatement | cst.BaseSmallStatement]) -> Iterator[cst.CSTNode]:
    """Small and compound statements in order, looking into top-level if / try / with / for, not into functions."""
    for statement in body:
        if type(statement) is cst.SimpleStatementLine:
            yield from statement.body
            continue
        yield statement
        if type(statement) is cst.FunctionDef or type(statement) is cst.ClassDef:
            continue
        for block in blocks_of(statement):
            yield from flat_statements(block.body)


def blocks_of(statement: cst.CSTNode) -> list[cst.BaseSuite]:
    """The suites of a compound statement."""
    found = []
    for name in ("body", "orelse", "finalbody"):
        part = getattr(statement, name, None)
        if isinstance(part, cst.BaseSuite):
            found.append(part)
        elif isinstance(part, cst.If):
            found += blocks_of(part)
        elif isinstance(part, (cst.Else, cst.Finally)):
            found.append(part.body)
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        found.append(part.body)
    return found


def imported_names(statement: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """(local name, dotted name) pairs of an import statement."""
    if isinstance(statement, cst.Import):
        for alias in statement.names:
            dotted = dotted_name(alias.name)
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                yield alias.asname.name.value, dotted
            else:
                first = dotted.split(".")[0]
                yield first, first
        return
    if isinstance(statement.names, cst.ImportStar):
        return
    prefix = imported_module(statement)
    for alias in statement.names:
        name = dotted_name(alias.name)
        local = (
            alias.asname.name.value if alias.asname is not None and isinstance(alias.asname.name, cst.Name) else name
        )
        yield local, f"{prefix}{'' if prefix.endswith('.') or not prefix else '.'}{name}"


def imported_module(statement: cst.ImportFrom) -> str:
    """The module that `from module import ...` names, with its leading dots."""
    return "." * len(statement.relative) + (dotted_name(statement.module) if statement.module is not None else "")


def dotted_name(node: cst.CSTNode) -> str:
    """ "a.b.c" for nested attributes of a name; "" for anything else."""
    if type(node) is cst.Name:
        return node.value
    if type(node) is cst.Attribute:
        prefix = dotted_name(node.value)
        return f"{prefix}.{node.attr.value}" if prefix else ""
    return ""


def target_names(target: cst.CSTNode) -> Iterator[str]:
    """The plain names an assignment target binds."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from target_names(element.value)
    elif isinstance(target, cst.StarredElement):
        yield from target_names(target.value)


_BINDING = frozenset(
    {
        cst.Assign, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr, cst.Del, cst.WithItem, cst.ExceptHandler,
        cst.ExceptStarHandler, cst.MatchAs, cst.MatchStar, cst.MatchMapping, cst.Import, cst.ImportFrom, cst.FunctionDef,
        cst.ClassDef,
    }
)  # fmt: skip


def bound_names(node: cst.CSTNode) -> Iterator[str]:
    """The plain names that a node itself binds, or deletes; not those that nodes in it do."""
    if type(node) not in _BINDING:
        return
    if isinstance(node, cst.Assign):
        for each in node.targets:
            yield from target_names(each.target)
    elif isinstance(node, (cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr, cst.Del)):
        yield from target_names(node.target)
    elif isinstance(node, (cst.WithItem, cst.ExceptHandler, cst.ExceptStarHandler)):
        named = node.asname if isinstance(node, cst.WithItem) else node.name
        yield from () if named is None else target_names(named.name)
    elif isinstance(node, (cst.MatchAs, cst.MatchStar)):
        yield from () if node.name is None else target_names(node.name)
    elif isinstance(node, cst.MatchMapping):
        yield from () if node.rest is None else target_names(node.rest)
    elif isinstance(node, (cst.Import, cst.ImportFrom)):
        for name, _ in imported_names(node):
            yield name
    elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        yield node.name.value
