"""From a real call to the event that rules judge: arguments by name, the facts of tensors, and how the code is written."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stridelint.rules.contract import operators
from stridelint.rules.contract.answers import Answer
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.events import Form, Note, Operand, Site, TensorEvent
from stridelint.runtime_probe.facts_of_tensor import facts_of
from stridelint.runtime_probe.trace_names import Called
from stridelint.runtime_probe.trace_source import Module, follower, statement_of

# Reading all numbers of a larger tensor, to see whether they are whole, would be felt.
_MOST_READ = 1 << 16
Story = tuple[Note, ...]


class Unseen(Exception):
    """A call that no event can be made of."""


@dataclass(slots=True)
class Written:
    """How the code writes a call.

    direct: `node` is the call of the operator itself, and not that of a module which makes it.
    """

    source: Module
    node: ast.AST | None
    line: int
    direct: bool

    def site(self, node: ast.AST | None = None) -> Site:
        """The site of a node, or of the whole call."""
        found = node or self.node
        return Site(found, getattr(found, "lineno", self.line), self.source.path)


@dataclass(slots=True)
class Call:
    """A call that is about to be made; what the tensors are is read at once, for the call may change them."""

    called: Called
    written: Written
    stories: Mapping[int, Story]
    arguments: dict[str, object] = field(default_factory=dict)
    out: object = None
    form: Form = Form.FUNCTION
    grad_mode: bool = True
    _tensors: dict[int, Operand] = field(default_factory=dict)
    _texts: dict[int, ast.AST] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        called: Called,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        written: Written,
        stories: Mapping[int, Story],
    ) -> Call:
        """Read a call. Raises Unseen."""
        import torch

        call = cls(called, written, stories, form=_form(called, written), grad_mode=torch.is_grad_enabled())
        call._name_operands(args, kwargs)
        values = list(args)
        if called.swapped and len(values) == 2:
            values.reverse()
        if called.op in ("getitem", "setitem"):
            del values[1]  # the index
        plain = [call._plain(value) for value in values]
        keywords = {name: call._plain(value) for name, value in kwargs.items() if name != "out"}
        call.out = call._plain(kwargs.get("out"))
        call.arguments = call._bound(plain, keywords)
        if called.op == "setitem":
            if isinstance(written.node, ast.AugAssign):
                raise Unseen("what was computed in place is stored where it is")
            call._store(args)
        return call

    def event(self, result: Any) -> TensorEvent:
        """The event, once the result is there (None if the call raised)."""
        import torch

        first = result[0] if isinstance(result, (tuple, list)) and result else result
        facts = facts_of(first) if isinstance(first, torch.Tensor) and is_plain(first) else TensorFacts()
        written = self.written
        statement = statement_of(written.source, written.node) if written.direct else None
        if self.called.op in ("flatten", "ravel"):
            self.arguments["shape"] = facts.shape
        return TensorEvent(
            self.called.op,
            self.form,
            self.arguments,
            tuple(_operands(self.arguments)),
            written.site(),
            self.out,
            facts,
            Answer.of(self.grad_mode),
            None if statement is None else written.site(statement),
            {name: written.site(node) for name, node in self._keywords().items()},
            wording=functools.partial(written.source.text, written.node),
            following=follower(written.source, written.node)
            if written.direct and self.called.op == "contiguous"
            else "",
        )

    def _keywords(self) -> dict[str, ast.AST]:
        node = self.written.node
        if not self.written.direct or not isinstance(node, ast.Call):
            return {}
        return {each.arg: each.value for each in node.keywords if each.arg is not None}

    def _name_operands(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Which node each argument is written as, by identity."""
        node = self.written.node
        parts: list[ast.AST] = []
        if isinstance(node, ast.Call):
            method = isinstance(node.func, ast.Attribute) and self.form in (Form.METHOD, Form.INPLACE)
            receiver = (
                [node.func.value] if method and isinstance(node.func, ast.Attribute) and self.written.direct else []
            )
            if not any(isinstance(each, ast.Starred) for each in node.args):
                parts = [*receiver, *node.args]
            if not self.written.direct and len(parts) > 1:
                return
            for name, value in self._keywords().items():
                if name in kwargs:
                    self._texts.setdefault(id(kwargs[name]), value)
        elif self.written.direct:
            parts = _operand_nodes(node)
        for part, value in zip(parts, args):
            inner = (
                part.elts if isinstance(part, (ast.Tuple, ast.List)) and isinstance(value, (tuple, list)) else [part]
            )
            values = value if isinstance(value, (tuple, list)) and inner != [part] else [value]
            for written, each in zip(inner, values):
                self._texts.setdefault(id(each), written)

    def _plain(self, value: Any) -> object:
        import torch

        if isinstance(value, torch.Tensor):
            return self._operand(value)
        if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
            return str(value).removeprefix("torch.")
        if isinstance(value, torch.device):
            return str(value)
        if isinstance(value, (tuple, list)):
            return tuple(self._plain(each) for each in value)
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return value
        raise Unseen(f"an argument is {type(value).__name__}")

    def _operand(self, tensor: Any) -> Operand:
        found = self._tensors.get(id(tensor))
        if found is None:
            text = functools.partial(self.written.source.text, self._texts.get(id(tensor)))
            story = self.stories.get(id(tensor), ())
            site = self.written.site(self._texts.get(id(tensor)))
            found = Operand(facts_of(tensor), text, story, site, whole=_is_whole(tensor, self.called.op))
            self._tensors[id(tensor)] = found
        return found

    def _bound(self, values: list[object], keywords: dict[str, object]) -> dict[str, object]:
        called = self.called
        if called.op in ("to", "type", "cuda", "cpu"):
            return _conversion(values, keywords)
        if called.spread is not None:
            return _by_name(called, values, keywords)
        operator = operators.lookup(called.op)
        if operator is None:
            return {f"#{index}": value for index, value in enumerate(values)} | keywords
        bound = operator.bind(values, keywords)
        if bound is None:
            raise Unseen("the arguments fit no signature")
        return bound

    def _store(self, args: Sequence[Any]) -> None:
        """The part of a tensor that `tensor[index] = value` writes to, where that is a view."""
        import torch

        target, index = args[0], args[1]
        parts = index if isinstance(index, tuple) else (index,)
        advanced = [each for each in parts if _is_advanced(each)]
        picks = bool(advanced)
        self.arguments["indexed"] = picks
        self.arguments["masked"] = picks and all(
            isinstance(each, torch.Tensor) and each.dtype is torch.bool for each in advanced
        )
        self.arguments["numbered"] = any(_holds_positions(each) for each in advanced)
        if picks and len(parts) == 1:
            self.arguments["region"] = self.arguments["input"]
        elif not picks:
            region = target.detach()[index]
            self.arguments["region"] = dataclasses.replace(
                self._operand(region), wording=self.written.source.text(_target(self.written.node))
            )


def _is_advanced(index: Any) -> bool:
    """An index that picks elements; a tensor of one integer stands for that integer."""
    import torch

    if not isinstance(index, torch.Tensor):
        return isinstance(index, list)
    return index.dim() > 0 or index.dtype in (torch.bool, torch.uint8)


def _holds_positions(index: Any) -> bool:
    """Whether these are integers, not truth values; torch takes uint8 for these."""
    import torch

    if isinstance(index, list):
        return bool(index) and all(isinstance(each, int) and not isinstance(each, bool) for each in index)
    return index.dtype not in (torch.bool, torch.uint8)


def is_plain(tensor: Any) -> bool:
    """A tensor with strides and memory of its own kind: no subclass, not sparse, and not made by a transform of functions."""
    import torch

    if type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter:
        return False
    return tensor.layout is torch.strided and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def _operands(value: object) -> list[Operand]:
    if isinstance(value, Operand):
        return [value]
    parts: Sequence[object] = (
        list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
    )
    found: list[Operand] = []
    for each in parts:
        found += [operand for operand in _operands(each) if not any(operand is other for other in found)]
    return found


def _form(called: Called, written: Written) -> Form:
    """Python's syntax reaches torch as a method."""
    if not written.direct or called.form is Form.FUNCTION:
        return called.form
    if isinstance(written.node, (ast.BinOp, ast.Compare, ast.UnaryOp)):
        return Form.OPERATOR
    return Form.INPLACE if isinstance(written.node, ast.AugAssign) and called.form is not Form.METHOD else called.form


def _operand_nodes(node: ast.AST | None) -> list[ast.AST]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return [node.left, node.comparators[0]]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        target = _target(node)
        index = [target.slice] if isinstance(target, ast.Subscript) else []
        receiver = [target.value] if isinstance(target, ast.Subscript) else []
        return [*receiver, *index, *([node.value] if node.value is not None else [])]
    return [node.value] if isinstance(node, ast.Subscript) else []


def _target(node: ast.AST | None) -> ast.AST | None:
    if isinstance(node, ast.Assign):
        return next((each for each in node.targets if isinstance(each, ast.Subscript)), None)
    return node.target if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else node


def _conversion(values: list[object], keywords: dict[str, object]) -> dict[str, object]:
    """`.to(...)` takes a dtype, a device or a tensor in any place."""
    bound: dict[str, object] = {"input": values[0]}
    for name, value in [*(("", value) for value in values[1:]), *keywords.items()]:
        if isinstance(value, Operand):
            bound |= {"dtype": value.facts.dtype, "device": value.facts.device}
        elif name in ("dtype", "memory_format", "device") and value is not None:
            bound[name] = f"cuda:{value}" if isinstance(value, int) else value
        elif isinstance(value, str):
            bound["device" if value.partition(":")[0] in _DEVICES else "dtype"] = value
    return bound


_DEVICES = frozenset("cpu cuda meta mps xpu hpu xla mtia privateuseone ipu vulkan".split())
_FORMATS = {"contiguous": "contiguous_format", "clone": "preserve_format", "is_contiguous": "contiguous_format"}
_CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32", "long": "int64",
    "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
}  # fmt: skip


def _by_name(called: Called, values: list[object], keywords: dict[str, object]) -> dict[str, object]:
    """The arguments of a method that the table does not have."""
    bound: dict[str, object] = {"input": values[0]} if values else {}
    rest = values[1:]
    for name in called.spread or ():
        if not rest:
            break
        if name.startswith("*"):
            first = rest[0]
            bound[name[1:]] = first if isinstance(first, (tuple, str)) else tuple(rest)
            rest = []
        else:
            bound[name] = rest.pop(0)
    bound |= keywords
    if called.op == "view" and isinstance(bound.get("shape"), str):
        bound["dtype"] = bound.pop("shape")
    if called.op in _FORMATS:
        bound.setdefault("memory_format", _FORMATS[called.op])
    if called.op in _CASTS:
        bound["dtype"] = _CASTS[called.op]
    other = bound.get("other", bound.get("the_template"))
    if called.op in ("view_as", "reshape_as", "resize_as_") and isinstance(other, Operand):
        bound["shape" if called.op != "resize_as_" else "size"] = other.facts.shape
    return bound


def _is_whole(tensor: Any, op: str) -> bool:
    """Whether a tensor that is stored holds whole numbers only."""
    if op not in ("setitem", "copy_") or tensor.device.type != "cpu" or tensor.numel() > _MOST_READ:
        return False
    if not tensor.dtype.is_floating_point:
        return not tensor.dtype.is_complex
    values = tensor.detach()
    return bool((values == values.trunc()).all())
