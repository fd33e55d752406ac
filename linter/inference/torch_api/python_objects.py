"""Objects of Python's library that carry settings and tensors: parsed arguments, namespaces, named tuples, enums, dicts with
defaults; and what its functions on functions do."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from stridelint.linter.inference import elements
from stridelint.linter.inference.attributes import find_method
from stridelint.linter.inference.dispatch import call_function, call_value
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.objects import Arguments, Class, Context, Function, Instance, TypeOf
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import NONE, Constant, Mapping, Sequence, TensorValue, Unknown, Value
from stridelint.rules.contract.answers import Confidence

PARSER, NAMESPACE, NAMED_TUPLE = "argparse.ArgumentParser", "argparse.Namespace", "collections.namedtuple"
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})
MAX_CALLS = 16


@function(PARSER)
def parser(call: Call) -> Value:
    """`argparse.ArgumentParser()`: collects the arguments' defaults."""
    return Instance(None, PARSER)


@function("types.SimpleNamespace", NAMESPACE)
def namespace(call: Call) -> Value:
    """`SimpleNamespace(size=3)`."""
    made = Instance(None, NAMESPACE)
    made.attributes.update(call.args.keywords)
    made.complete = not call.args.unknown_star
    return made


@function("builtins.type")
def type_(call: Call) -> Value:
    """`type(x)`."""
    value = call.get(0)
    known = isinstance(value, Instance) and len(call.args.positional) == 1
    return TypeOf(value.cls) if known and isinstance(value, Instance) and value.cls is not None else Unknown("type")


def parser_method(path: Path, receiver: Instance, name: str, args: Arguments) -> Value:
    """A method of a parser, or of a group of its arguments."""
    if name == "add_argument":
        _add_argument(path, receiver, args)
    elif name in ("add_argument_group", "add_mutually_exclusive_group"):
        return receiver
    elif name == "set_defaults":
        receiver.attributes.update(args.keywords)
    elif name in ("parse_args", "parse_known_args", "parse_intermixed_args"):
        path.weaken(Confidence.LIKELY)  # the arguments may be given otherwise
        parsed = Instance(None, NAMESPACE)
        parsed.attributes.update(receiver.attributes)
        parsed.complete = False
        return Sequence([parsed, Sequence(None, "list")]) if name == "parse_known_args" else parsed
    return NONE


def _add_argument(path: Path, receiver: Instance, args: Arguments) -> None:
    names = [each.value for each in args.positional if isinstance(each, Constant) and isinstance(each.value, str)]
    given = args.keywords.get("dest")
    if isinstance(given, Constant):
        names = [str(given.value)]
    if not names:
        return
    name = next((each for each in names if each.startswith("--")), names[0]).lstrip("-").replace("-", "_")
    action = args.keywords.get("action")
    default = args.keywords.get("default")
    flag = isinstance(action, Constant) and action.value in ("store_true", "store_false")
    receiver.attributes[name] = Unknown(name) if default is None or flag else default


@function(NAMED_TUPLE)
def named_tuple(call: Call) -> Value:
    """`namedtuple("Point", "x y")`: the class."""
    made = Instance(None, NAMED_TUPLE)
    fields = call.get(1, "field_names")
    if isinstance(fields, Constant) and isinstance(fields.value, str):
        made.config["fields"] = Constant(tuple(fields.value.replace(",", " ").split()))
    elif isinstance(fields, Sequence) and fields.items is not None:
        made.config["fields"] = Constant(tuple(each.value for each in fields.items if isinstance(each, Constant)))
    return made


def make_tuple(kind: Instance, args: Arguments) -> Value:
    """`Point(1, 2)` of a class that `namedtuple` made."""
    known = kind.config.get("fields")
    names = known.value if isinstance(known, Constant) else ()
    values = [args.get(index, name) for index, name in enumerate(names)]
    made = Sequence([Unknown("field") if each is None else each for each in values] if names else None)
    made.fields = tuple(names)
    return made


@function("collections.defaultdict")
def default_dict(call: Call) -> Value:
    """`defaultdict(factory)`."""
    made = Mapping(open=call.args.unknown_star)
    made.factory = call.get(0, "default_factory")
    other = call.get(1)
    if isinstance(other, Mapping):
        made.entries.update(other.entries)
    return made


def missing_entry(path: Path, owner: Mapping, key: object, node: cst.CSTNode) -> Value | None:
    """What a dict with defaults makes for a key that it does not hold yet."""
    if owner.factory is None or owner.open:
        return None
    made = call_value(path, node, owner.factory, Arguments())  # type: ignore[arg-type]  # a site, as good as a call's
    owner.entries[key] = made
    return made


def enum_member(cls: Class, name: str, value: Value) -> Value:
    """`Mode.FAST` of an enum: an object with a value."""
    if isinstance(value, (Function, Instance)) or _ENUMS.isdisjoint(cls.externals()):
        return value
    member = Instance(None, "enum.member")
    member.attributes.update(value=value, name=Constant(name))
    cls.attributes[name] = member
    return member


@function("builtins.vars", "dataclasses.asdict")
def vars_(call: Call) -> Value:
    """`vars(args)`: the attributes by name."""
    owner = call.get(0)
    if not isinstance(owner, Instance):
        return Unknown("vars")
    return Mapping(dict(owner.attributes), open=not owner.complete)


@function("dataclasses.replace")
def replace(call: Call) -> Value:
    """`dataclasses.replace(config, lr=1)`."""
    owner = call.get(0, "obj")
    if not isinstance(owner, Instance):
        return Unknown("replace")
    made = Instance(owner.cls, owner.external)
    made.attributes.update({**owner.attributes, **call.args.keywords})
    made.complete = owner.complete
    return made


@function("functools.reduce")
def reduce(call: Call) -> Value:
    """`reduce(f, items, initial)`."""
    target, source = call.get(0, "function"), call.get(1, "iterable")
    items, exhaustive = items_of(call.path, source) if source is not None else ([], False)
    initial = call.get(2, "initial")
    if initial is not None:
        items = [initial, *items]
    if target is None or not items or not exhaustive or len(items) > MAX_CALLS:
        return Unknown("reduce")
    return _folded(call, target, items)


def _folded(call: Call, target: Value, items: list[Value]) -> Value:
    result = items[0]
    for each in items[1:]:
        result = call_value(call.path, call.node, target, Arguments([result, each]))  # type: ignore[arg-type]
    return result


@function("builtins.filter")
def filter_(call: Call) -> Value:
    """`filter(f, items)`: those of which f is known to be true, if it is known of all."""
    test, source = call.get(0), call.get(1)
    items, known = items_of(call.path, source) if source is not None else ([], False)
    if known and test is not None and isinstance(call.node, cst.Call):
        answers = [call.path.known_truth(call_value(call.path, call.node, test, Arguments([each]))) for each in items]
        if None not in answers:
            return Sequence([each for each, stays in zip(items, answers) if stays], "list")
    return Sequence(None, "list", elements.like(call.path, items))


@function("itertools.chain", "itertools.chain.from_iterable")
def chain(call: Call) -> Value:
    """`chain(a, b)`: the items of all."""
    parts = call.args.positional
    if call.name.endswith("from_iterable"):
        parts, known = items_of(call.path, parts[0]) if parts else ([], False)
        if not known:
            return Sequence(None)
    found: list[Value] = []
    for part in parts:
        items, exhaustive = items_of(call.path, part)
        if not exhaustive:
            return Sequence(None)
        found += items
    return Sequence(found, "list")


@function("contextlib.nullcontext")
def null_context(call: Call) -> Value:
    """`nullcontext(x)`: entering it gives x."""
    given = call.get(0, "enter_result") or NONE
    return Context(lambda body: body(given))


def apply_function(path: Path, node: cst.Call, cls: Class, args: Arguments) -> Value:
    """`MyFunction.apply(x)` of a torch.autograd.Function: its forward, whose results require grad where an input does."""
    context = Instance(cls)
    forward = find_method(context, "forward")
    if forward is None:
        return Unknown("apply")
    given = args if find_method(context, "setup_context") is not None else args.with_first(context)
    result = call_function(path, node, forward, given)
    wanted = [each.facts.requires_grad for each in args.positional if isinstance(each, TensorValue)]
    for each in result.items or [] if isinstance(result, Sequence) else [result]:
        if (
            isinstance(each, TensorValue)
            and path.grad_mode is not False
            and each.facts.kind in ("float", "complex", None)
        ):
            grad = True if True in wanted and path.grad_mode else False if all(w is False for w in wanted) else None
            each.facts = each.facts.but(requires_grad=grad, is_leaf=None)
    return result


def is_autograd_function(cls: Class) -> bool:
    """A subclass of torch.autograd.Function."""
    return any(name in ("torch.autograd.Function", "torch.autograd.function.Function") for name in cls.externals())


INSTANCE_CALLS: dict[str, Callable[[Instance, Arguments], Value]] = {NAMED_TUPLE: make_tuple}
