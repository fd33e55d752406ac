"""Where reading starts: the module's body, each function on its own, each test; and how their paths are explored."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import libcst as cst

from stridelint.linter.inference import definitions, parameters
from stridelint.linter.inference.attributes import ClassBody
from stridelint.linter.inference.bindings import flat_statements
from stridelint.linter.inference.calls import call_function
from stridelint.linter.inference.objects import Arguments, Class, Function
from stridelint.linter.inference.path import Broke, BudgetExhausted, Continued, Finished, Path, Raised, Returned
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.scopes import ModuleScope, Scope, make_class
from stridelint.linter.inference.statements import execute
from stridelint.linter.inference.values import Constant

MAX_PATHS = 4
# Of those, how many turn a decision for something less than a word of a rule.
MAX_SIDE_PATHS = 1
ROOT_STEPS = 3_000
LEADING_PATHS = 2
LEADING_STEPS = 1_000
MODULE_STEPS = 60_000


def explore(
    program: Program, run: Callable[[Path], None], *, steps: int, grad_mode: bool | None, paths: int = MAX_PATHS
) -> None:
    """Run a root along different paths: each decision of a path is turned once, nearest to the start first,
    but those that lead to a word of a rule before all others. At last all that is left to chance happens the other way."""
    waiting: deque[tuple[bool, ...]] = deque([()])
    first: deque[tuple[bool, ...]] = deque()
    seen: set[tuple[bool, ...]] = {()}
    leading, met_chance = 0, False
    program.root_steps = steps
    for number in range(paths):
        if not first and (not waiting or number - leading > MAX_SIDE_PATHS):
            break
        leading += bool(first)
        prefix = (first or waiting).popleft()
        path = Path(program, prefix, grad_mode)
        if not _ends(path, run):
            return
        met_chance |= path.met_chance
        for position in range(len(prefix), len(path.taken)):
            if not path.turnable[position]:
                continue
            turned = (*path.taken[:position], not path.taken[position])
            if turned not in seen:
                seen.add(turned)
                (first if path.turnable[position] > 1 else waiting).append(turned)
    if met_chance:
        _ends(Path(program, grad_mode=grad_mode, otherwise=True), run)


def _ends(path: Path, run: Callable[[Path], None]) -> bool:
    """Run a root along one path; False where the steps for it run out."""
    try:
        run(path)
    except (Returned, Raised, Finished, Broke, Continued):
        pass
    except BudgetExhausted:
        if path.program.steps < 0:
            raise
        return False
    finally:
        path.close()
    return True


def module_scope(program: Program, main: bool) -> ModuleScope:
    """A fresh scope of the module's names."""
    scope = ModuleScope(program, program.index)
    scope.values["__name__"] = Constant("__main__" if main else "module")
    scope.values["__file__"] = Constant("file.py")
    return scope


def read_module(program: Program) -> None:
    """The module's body as a script, `if __name__ == "__main__"` included."""

    def run(path: Path) -> None:
        scope = module_scope(program, True)
        path.module_scope = scope
        execute(path, scope, program.module.body)

    explore(program, run, steps=MODULE_STEPS, grad_mode=True, paths=8)


def read_definition(program: Program, node: cst.FunctionDef, owner: cst.ClassDef | None) -> None:
    """What a function's `def` evaluates, if a word of a rule is in it."""
    if not any(program.tells(each) > 1 or program.telling is None for each in definitions.expressions_of(node)):
        return

    def run(path: Path) -> None:
        scope: Scope = module_scope(program, False)
        assert isinstance(scope, ModuleScope)
        path.module_scope = scope
        if owner is not None:
            scope = ClassBody(class_of(path, scope, owner))
        definitions.of_function(path, scope, node)

    explore(program, run, steps=LEADING_STEPS, grad_mode=True, paths=LEADING_PATHS)


def class_of(path: Path, scope: ModuleScope, owner: cst.ClassDef) -> Class:
    """The class that a statement of the module defines."""
    found = scope.get(path, owner.name.value)
    return found if isinstance(found, Class) and found.node is owner else make_class(path, scope, owner)


def functions_of(program: Program) -> Iterator[tuple[cst.FunctionDef, cst.ClassDef | None]]:
    """All functions of the module and methods of its classes."""
    for statement in flat_statements(program.module.body):
        if isinstance(statement, cst.FunctionDef):
            yield statement, None
        elif isinstance(statement, cst.ClassDef):
            for member in statement.body.body:
                if isinstance(member, cst.FunctionDef):
                    yield member, statement


def read_function(
    program: Program, node: cst.FunctionDef, owner: cst.ClassDef | None, *, thorough: bool = True
) -> None:
    """A function on its own, with arguments about which only names, annotations and defaults tell something.

    thorough: follow all its branches; else only a few, for what it passes on to others.
    """

    def run(path: Path) -> None:
        scope = module_scope(program, False)
        path.module_scope = scope
        function, args = (
            parameters.function(path, scope, node)
            if owner is None
            else parameters.method(path, scope, node, class_of(path, scope, owner))
        )
        path.numbers.clear()  # other methods may have changed what an object is made with
        call_root(path, function, args)

    in_constructor = node.name.value in ("__init__", "reset_parameters")
    steps, paths = (ROOT_STEPS, MAX_PATHS) if thorough else (LEADING_STEPS, LEADING_PATHS)
    explore(program, run, steps=steps, grad_mode=True if in_constructor else None, paths=paths)


def call_root(path: Path, function: Function, args: Arguments) -> None:
    """Call a function whose parameters may stand for defaults: findings that rest on those are only likely."""
    function.decorated = True  # what is read is the body, whatever decorators make of it for others
    call_function(path, None, function, args)
