"""Custom operators: what a kernel returns, beside what the fake kernel promises for the same tensors.

Both are run on tensors that are not row-major, then on row-major ones, and the event "fake_kernel" tells what they gave.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import libcst as cst

from stridelint.linter.inference import parameters, roots
from stridelint.linter.inference.bindings import flat_statements
from stridelint.linter.inference.calls import call_function
from stridelint.linter.inference.kernels import Promise, parameters_of, promises, registered
from stridelint.linter.inference.objects import Arguments, Function
from stridelint.linter.inference.path import Finished, Path, Raised
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.torch_api.emit import emit, operand
from stridelint.linter.inference.values import Number, Sequence as Items, SizeValue, TensorValue, Unknown, Value
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import strides_in_order
from stridelint.rules.events import Form
from stridelint.rules.forms.walking import names_in, walk

# Orders of axes in memory in which dense tensors come that are not row-major.
_ORDERS = ((0, 2, 3, 1), (0, 2, 3, 4, 1), (0, 2, 1), (1, 0))
STEPS = 2_000


def read_promises(program: Program) -> None:
    """All fake kernels of the module beside the kernels they stand for."""
    if not program.listens("fake_kernel"):
        return
    registering = [each for each in flat_statements(program.module.body) if any(registered(each))]
    if not registering:
        return

    def run(path: Path) -> None:
        scope = roots.module_scope(program, False)
        path.module_scope = scope
        with path.mute():
            found = list(promises(path, scope, registering))
        for promise in found:
            _compare(path, promise)

    roots.explore(program, run, steps=STEPS * len(registering), grad_mode=False)


def _compare(path: Path, promise: Promise) -> None:
    """Run both kernels on dense tensors of the first rank that both accept: first on such as are not row-major."""
    others: dict[str, Value] = {}
    accepted = 0
    for order in (*_ORDERS, *(tuple(range(len(order))) for order in _ORDERS)):
        if accepted not in (0, len(order)):
            continue
        shape = tuple(sizes.Size.fresh(name) for name in "nchwd"[: len(order)])
        facts = TensorFacts(shape, strides_in_order(shape, order), 0, requires_grad=False)
        path.unequal.update((*shape, sizes.product(shape)))  # to 0: nothing is told of what happens to empty tensors
        runs = []
        for kernel in (promise.real, promise.fake):
            with path.mute():
                given = _arguments(path, kernel, promise.types, facts, others)
                try:
                    made = call_function(path, None, _plain(kernel), given)
                except (Raised, Finished):
                    break
            runs.append((given, made.items or [] if isinstance(made, Items) else [made]))
        pairs = _emitted(path, promise, *runs) if len(runs) == 2 else []
        if any(path.facts(one).strides != path.facts(other).strides for one, other in pairs):
            return
        accepted = accepted or (len(order) if pairs else 0)


def _plain(kernel: Function) -> Function:
    plain = kernel.copy()
    plain.decorated = True
    return plain


def _arguments(
    path: Path, kernel: Function, types: tuple[str, ...], facts: TensorFacts, others: dict[str, Value]
) -> Arguments:
    """Tensors of these facts, and for what else there is the same values in both kernels."""
    args = Arguments()
    for param, kind in itertools.zip_longest(parameters_of(kernel), types[: len(parameters_of(kernel))], fillvalue=""):
        assert isinstance(param, cst.Param)
        name = param.name.value
        if kind == "Tensor":
            made = path.tensor(facts)
            made.name = name
            args.positional.append(made)
            continue
        if name not in others:
            value = parameters.argument(path, kernel.scope, param, args.defaulted)
            others[name] = (_of_type(kind, name) or value) if isinstance(value, Unknown) else value
        args.positional.append(others[name])
    return args


def _of_type(kind: str, name: str) -> Value | None:
    """A number of a schema's type."""
    if kind in ("int", "SymInt"):
        return SizeValue(sizes.Size.fresh(name))
    return Number("float") if kind == "float" else None


Run = tuple[Arguments, Sequence[Value]]


def _emitted(path: Path, promise: Promise, real: Run, fake: Run) -> list[tuple[TensorValue, TensorValue]]:
    """Tell of the tensors that were returned, and promised, where all is known of their layouts; which they are."""
    given, own = ([each for each in run[0].positional if isinstance(each, TensorValue)] for run in (real, fake))
    pairs = [
        (returned, promised)
        for returned, promised in zip(real[1], fake[1])
        if isinstance(returned, TensorValue)
        and isinstance(promised, TensorValue)
        and None not in (path.facts(returned).strides, path.facts(promised).strides)
        and path.facts(returned).storage not in [path.facts(each).storage for each in given]  # which torch refuses
    ]
    if not given or not own or len(real[1]) != len(fake[1]):
        return []
    name = promise.real.node.name.value if isinstance(promise.real.node, cst.FunctionDef) else "the kernel"
    for returned, promised in pairs:
        node = _made_at(promise.fake.node, promised)
        said = names_in(node)
        which = next((index for index, each in enumerate(own[: len(given)]) if each.name in said), 0)
        arguments: dict[str, object] = {
            "kernel": name,
            "returned": operand(path, returned),
            "input": operand(path, given[which]),
            "own": own[which].name or "",
        }
        emit(path, "fake_kernel", Form.FUNCTION, node, arguments, (operand(path, promised, node),))
    return pairs


def _made_at(fake: cst.FunctionDef | cst.Lambda, promised: TensorValue) -> cst.CSTNode:
    """The expression in a fake kernel that makes what it returns; else what it returns, or the whole of it."""
    inside = {id(each) for each in walk(fake.body)}
    made = next((where for _, where in reversed(promised.story) if id(where) in inside), None)
    if made is not None or isinstance(fake, cst.Lambda):
        return made or fake.body
    returned = [each.value for each in walk(fake.body, cst.Return) if isinstance(each, cst.Return)]
    return returned[0] if len(returned) == 1 and returned[0] is not None else fake
