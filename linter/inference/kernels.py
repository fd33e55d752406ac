"""What registers kernels of custom operators: decorators and calls, found by their names.

What they say is evaluated, as names of operators are put together in many ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from stridelint.linter.inference import parameters
from stridelint.linter.inference.dispatch import evaluate
from stridelint.linter.inference.objects import Function, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import Constant, External, Sequence as Items, SizeValue, TensorValue, Value

LIBRARY = "torch.library.Library"
_REAL = frozenset({"custom_op", "triton_op", "register_kernel", "impl"})
_FAKE = frozenset({"register_fake", "impl_abstract", "_register_fake"})
_DEFINING = frozenset({"define", "custom_op", "triton_op"})


@dataclass(frozen=True)
class Kernel:
    """A function that computes an operator ("namespace::name"), or only tells what that would give."""

    operator: str
    function: Function
    is_fake: bool


@dataclass(frozen=True)
class Promise:
    """A fake kernel and a kernel of the same operator, and the types of their parameters as in a schema."""

    real: Function
    fake: Function
    types: tuple[str, ...]


@function(LIBRARY)
def library(call: Call) -> Value:
    """`torch.library.Library(namespace, kind)`: operators are registered with it."""
    made = Instance(None, LIBRARY)
    made.config["namespace"] = call.get(0, "ns") or Constant("")
    return made


def registered(statement: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.CSTNode]]:
    """The calls by which a statement registers something, with the function that gets decorated or the call's arguments."""
    if isinstance(statement, cst.FunctionDef):
        for each in statement.decorators:
            if _method(each.decorator) in _REAL | _FAKE:
                yield each.decorator, statement
    elif isinstance(statement, (cst.Expr, cst.Assign)) and isinstance(statement.value, cst.Call):
        call = statement.value
        if _method(call) in _REAL | _FAKE | _DEFINING:
            yield call, call
        elif isinstance(call.func, cst.Call) and _method(call.func) in _REAL | _FAKE:
            yield call.func, call


def _method(node: cst.CSTNode) -> str:
    callee = node.func if isinstance(node, cst.Call) else node
    return (
        callee.attr.value if isinstance(callee, cst.Attribute) else callee.value if isinstance(callee, cst.Name) else ""
    )


def promises(path: Path, scope: Scope, statements: Sequence[cst.CSTNode]) -> Iterator[Promise]:
    """The fake kernels that the statements register, each beside the kernels it stands for."""
    kernels: list[Kernel] = []
    schemas: dict[str, str] = {}
    for statement in statements:
        for written, holder in registered(statement):
            reader = _Reader(path, scope, written, {each.function.node: each.operator for each in kernels})
            schemas.update(reader.schema())
            kernels += reader.kernels(holder)
    for fake in kernels:
        for real in kernels:
            if fake.is_fake and not real.is_fake and fake.operator == real.operator:
                told = [_types_in(schemas.get(fake.operator, ""))]
                told += [_annotated(path, scope, each.function) for each in (real, fake)]
                types = next((each for each in told if "Tensor" in each), ("Tensor",))
                yield Promise(real.function, fake.function, types)


class _Reader:
    """What one call says that registers a kernel. known: operators of functions that were registered before."""

    def __init__(self, path: Path, scope: Scope, node: cst.BaseExpression, known: dict[cst.CSTNode, str]) -> None:
        self.path, self.scope, self.node, self.known = path, scope, node, known
        self.method = _method(node)
        self.args = list(node.args) if isinstance(node, cst.Call) else []
        callee = node.func if isinstance(node, cst.Call) else node
        owner = evaluate(path, scope, callee.value) if isinstance(callee, cst.Attribute) else None
        self.owner = None if isinstance(owner, External) else owner

    def value(self, index: int, name: str = "") -> Value | None:
        """An argument by position or keyword."""
        positional = [each.value for each in self.args if each.keyword is None and not each.star]
        named = [each.value for each in self.args if each.keyword is not None and each.keyword.value == name]
        found = (positional[index : index + 1] or named)[:1]
        return evaluate(self.path, self.scope, found[0]) if found else None

    def operator(self) -> str:
        """The operator's name with its namespace; "" if it is not known."""
        if isinstance(self.owner, Instance):
            return _qualified(self.owner, self.value(0))
        if isinstance(self.owner, Function):
            return self.known.get(self.owner.node, "")
        first = self.value(0, "qualname")
        if isinstance(first, Instance):
            return _qualified(first, self.value(1))
        if isinstance(first, Function):
            return self.known.get(first.node, "")
        if isinstance(first, External) and first.dotted.startswith("torch.ops."):
            return "::".join(first.dotted.split(".")[2:4])
        return _text(first).removesuffix(".default") if "::" in _text(first) else ""

    def is_fake(self) -> bool | None:
        """Whether only shapes and strides are computed; None for what is no kernel."""
        if self.method != "impl":
            return self.method in _FAKE
        by_library = isinstance(self.owner, Instance) or isinstance(self.value(0), Instance)
        key = self.value(2, "dispatch_key") if by_library else self.value(1, "types")
        keys = key.items or [] if isinstance(key, Items) else [] if key is None else [key]
        names = [_text(each).lower() for each in keys]
        if not names or "" in names or any(name.startswith(("auto", "compositeimplicit")) for name in names):
            return None
        return names == ["meta"]

    def kernels(self, holder: cst.CSTNode) -> Iterator[Kernel]:
        """What is registered: the decorated function, or the one among the arguments."""
        operator, is_fake = self.operator(), self.is_fake()
        if not operator or is_fake is None or (self.method == "define"):
            return
        if isinstance(holder, cst.FunctionDef):
            yield Kernel(operator, Function(holder, self.scope), is_fake)
        elif isinstance(holder, cst.Call):
            for each in holder.args:
                value = evaluate(self.path, self.scope, each.value)
                if isinstance(value, Function):
                    yield Kernel(operator, value, is_fake)

    def schema(self) -> dict[str, str]:
        """The operator's schema, by its name."""
        if self.method not in _DEFINING:
            return {}
        if isinstance(self.owner, Instance):
            text = _text(self.value(0))
            return {_qualified(self.owner, Constant(text.partition("(")[0])): text}
        text = _text(self.value(1 if self.method == "define" else len(self.args), "schema"))
        return {self.operator(): text} if text else {}


def _qualified(library: Instance, name: Value | None) -> str:
    space = _text(library.config.get("namespace"))
    own = _text(name).removesuffix(".default")
    return own if "::" in own else f"{space}::{own}" if space and own and library.external == LIBRARY else ""


def _text(value: Value | None) -> str:
    return value.value if isinstance(value, Constant) and isinstance(value.value, str) else ""


def _types_in(schema: str) -> tuple[str, ...]:
    """The types of parameters in "name(Tensor x, int n) -> Tensor"."""
    listed = re.search(r"\((.*)\)\s*->", re.sub(r"\([a-z]!?( -> \*)?\)", "", schema))
    return tuple(each.split()[0] for each in listed[1].split(",") if each.split()) if listed is not None else ()


def _annotated(path: Path, scope: Scope, function: Function) -> tuple[str, ...]:
    """The types that the annotations of parameters name, "" where they name none of a schema's."""
    found = []
    for each in parameters_of(function):
        with path.mute():
            value = (
                None
                if each.annotation is None
                else parameters.from_annotation(path, scope, each.annotation.annotation, each.name.value)
            )
        found.append("Tensor" if isinstance(value, TensorValue) else "int" if isinstance(value, SizeValue) else "")
    return tuple(found)


def parameters_of(function: Function) -> list[cst.Param]:
    """Those that can be given by position."""
    return [*function.node.params.posonly_params, *function.node.params.params]
