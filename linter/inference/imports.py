"""Names that come from other modules of the project under check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from stridelint.linter.inference.values import External, TensorValue, Unknown, Value
from stridelint.rules.contract.facts import TensorFacts

if TYPE_CHECKING:
    import libcst as cst

    from stridelint.linter.inference.objects import Arguments
    from stridelint.linter.inference.path import Path

# Modules that reading one file may bring in.
MAX_MODULES = 40
# Packages whose functions the reader knows by name: when torch itself is checked, its own code is not followed instead.
MODELLED = frozenset({"torch", "numpy"})


@dataclass(frozen=True)
class Imported:
    """A module of the project: its tree, how its nodes are written, and the package against which its own imports are resolved."""

    path: str
    package: str
    module: cst.Module
    source: Callable[[cst.CSTNode], str]


class Imports(Protocol):
    """Where modules are looked up."""

    def load(self, dotted: str, importer: str) -> Imported | None:
        """The module of an absolute dotted name, as the file `importer` sees it; None if the project has none."""
        ...


def absolute(dotted: str, package: str) -> str:
    """A relative name ("..helpers.pad") made absolute; unchanged where the package is not known."""
    if not dotted.startswith("."):
        return dotted
    name = dotted.lstrip(".")
    level = len(dotted) - len(name)
    parts = package.split(".") if package else []
    if level > len(parts):
        return dotted
    return ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])


def imported(path: Path, dotted: str, importer: str) -> Value | None:
    """What a dotted name stands for that is bound in a module of the project; None for all others."""
    owner, _, name = dotted.rpartition(".")
    if not owner or path.program.imports is None or dotted.partition(".")[0] in MODELLED:
        return None
    scope = path.module(owner, importer)
    found = None if scope is None else scope.get(path, name)
    return None if isinstance(found, External) and found.dotted == dotted else found


def tells(args: Arguments) -> bool:
    """Whether a function of another file is followed: it gets no tensor, or one that is not the usual row-major float tensor.

    With ordinary arguments nothing happens that reading the function on its own would not show.
    """
    values = [*args.positional, *args.keywords.values()]
    tensors = [value.facts for value in values if isinstance(value, TensorValue)]
    if not tensors:
        return not any(isinstance(value, Unknown) for value in values)
    return any(_is_unusual(facts) for facts in tensors)


def _is_unusual(facts: TensorFacts) -> bool:
    moved = facts.strides is not None and (facts.strides[-1:] not in ((), (1,)) or 0 in facts.strides)
    return moved or facts.kind in ("bool", "integer", "complex") or facts.requires_grad is True
