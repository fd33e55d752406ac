"""Values with code behind them: functions, classes, their instances and methods, the contexts that code runs in; and the arguments of calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stridelint.linter.inference.values import External, Value

if TYPE_CHECKING:
    import libcst as cst

    from stridelint.linter.inference.scopes import Scope


@dataclass(frozen=True)
class Transform:
    """What runs a function in another way: "vmap", over the axes `argument` of its arguments, "grad", to differentiate with respect to the
    arguments of these numbers, or "compile", as one graph."""

    kind: str
    argument: Value | None = None


class Transformer(Value):
    """`torch.compile(fullgraph=True)`, to be called with a function."""

    def __init__(self, transform: Transform) -> None:
        self.transform = transform


class Function(Value):
    """A function or lambda of the file, with the scope it closes over.

    defaults: of parameters, as they were where it was defined; None where that is not known to have been read.
    """

    def __init__(self, node: cst.FunctionDef | cst.Lambda, scope: Scope, owner: Class | None = None) -> None:
        self.node = node
        self.scope = scope
        self.owner = owner
        self.decorated = False
        self.grad_mode: GradMode | None = None
        self.transforms: tuple[Transform, ...] = ()
        self.defaults: dict[str, Value] | None = None

    def copy(self) -> Function:
        """The same function, to be changed."""
        made = Function(self.node, self.scope, self.owner)
        made.decorated, made.grad_mode = self.decorated, self.grad_mode
        made.transforms, made.defaults = self.transforms, self.defaults
        return made


class Partial(Value):
    """functools.partial."""

    def __init__(self, target: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
        self.target, self.args, self.kwargs = target, args, kwargs


class Class(Value):
    """A class of the file. pending: names of its body that are being evaluated."""

    def __init__(self, node: cst.ClassDef, scope: Scope, bases: list[Value]) -> None:
        self.node = node
        self.scope = scope
        self.bases = bases
        self.attributes: dict[str, Value] = {}
        self.pending: set[str] = set()

    @property
    def name(self) -> str:
        """As written."""
        return self.node.name.value

    def linearized(self) -> list[Class]:
        """The class and its bases in this file, depth first."""
        found: list[Class] = [self]
        for base in self.bases:
            if isinstance(base, Class):
                found += [each for each in base.linearized() if each not in found]
        return found

    def externals(self) -> set[str]:
        """Dotted names of the bases that are not in this file."""
        return {base.dotted for cls in self.linearized() for base in cls.bases if isinstance(base, External)}

    def has_unknown_base(self) -> bool:
        """A base that could not be resolved."""
        return any(not isinstance(base, (Class, External)) for cls in self.linearized() for base in cls.bases)

    @property
    def is_module(self) -> bool:
        """A subclass of torch.nn.Module."""
        return any(name.startswith("torch.nn.") for name in self.externals())


class Instance(Value):
    """An object: of a class of the file, or (`cls` None) of an external class such as a torch.nn layer.

    hazy: attributes that may be something else by now. defaulted: those that rest on the default of a parameter.
    """

    def __init__(self, cls: Class | None, external: str = "") -> None:
        self.cls = cls
        self.external = external
        self.attributes: dict[str, Value] = {}
        self.config: dict[str, Value] = {}
        self.complete = True
        self.made_by: cst.CSTNode | None = None
        self.hazy: set[str] = set()
        self.defaulted: set[str] = set()
        self.transforms: tuple[Transform, ...] = ()

    @property
    def is_module(self) -> bool:
        """A torch.nn.Module."""
        return self.cls.is_module if self.cls is not None else self.external.startswith("torch.nn.")


class Context(Value):
    """What a function under @contextmanager returns.

    within: runs the function, and at its `yield` what it is given; that gets the value yielded.
    """

    def __init__(self, within: Callable[[Callable[[Value], None]], None]) -> None:
        self.within = within


class BoundMethod(Value):
    """`receiver.name`, to be called.

    function: the user's function it is, if any. beyond: for `super().name`, the external base class it belongs to.
    """

    def __init__(self, receiver: Value, name: str, function: Function | None = None, cls: Class | None = None) -> None:
        self.receiver = receiver
        self.name = name
        self.function = function
        self.cls = cls
        self.beyond = ""


class Super(Value):
    """`super()`: attribute look-up goes on after `cls`."""

    def __init__(self, instance: Value, cls: Class) -> None:
        self.instance = instance
        self.cls = cls


class TypeOf(Value):
    """`type(x)`, `x.__class__` of an object of a class of the file: that class, or one derived from it."""

    def __init__(self, cls: Class) -> None:
        self.cls = cls


class GradMode(Value):
    """A context manager or decorator that sets the grad mode (None: unknown); inference mode counts as off."""

    def __init__(self, enabled: bool | None, previous: bool | None = None) -> None:
        self.enabled = enabled
        self.previous = previous


@dataclass
class Arguments:
    """The evaluated arguments of a call, with the nodes they were written as.

    unknown_star: there are more, from a starred argument. defaulted: names whose value is a parameter's default.
    """

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    nodes: dict[int | str, cst.CSTNode] = field(default_factory=dict)
    unknown_star: bool = False
    defaulted: set[str] = field(default_factory=set)

    def get(self, index: int, *names: str) -> Value | None:
        """By position or keyword; None if not given."""
        if 0 <= index < len(self.positional):
            return self.positional[index]
        return next((self.keywords[name] for name in names if name in self.keywords), None)

    def rest(self, start: int) -> Arguments:
        """The arguments from position `start` on."""
        nodes = {
            (key - start if isinstance(key, int) else key): node
            for key, node in self.nodes.items()
            if not isinstance(key, int) or key >= start
        }
        return Arguments(self.positional[start:], self.keywords, nodes, self.unknown_star, self.defaulted)

    def with_first(self, value: Value, node: cst.CSTNode | None = None) -> Arguments:
        """The same with one more in front (a method's receiver)."""
        nodes: dict[int | str, cst.CSTNode] = {
            (key + 1 if isinstance(key, int) else key): each for key, each in self.nodes.items()
        }
        if node is not None:
            nodes[0] = node
        return Arguments([value, *self.positional], self.keywords, nodes, self.unknown_star, self.defaulted)
