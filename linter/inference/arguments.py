"""The arguments of a call: evaluated where it stands, and bound to the parameters of the function that it calls."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.dispatch import evaluate
from stridelint.linter.inference.iteration import items_of
from stridelint.linter.inference.objects import Arguments, Function
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.scopes import Scope
from stridelint.linter.inference.values import Mapping, Sequence, Unknown, Value


def evaluate_arguments(path: Path, scope: Scope, node: cst.Call) -> Arguments:
    """The arguments of a call; starred ones are spread where their items are known."""
    args = Arguments()
    for arg in node.args:
        value = evaluate(path, scope, arg.value)
        if arg.star == "*":
            items, exhaustive = items_of(path, value)
            if exhaustive and not args.unknown_star:
                args.positional += items
            else:
                args.unknown_star = True
        elif arg.star == "**":
            if isinstance(value, Mapping):
                args.keywords.update({key: each for key, each in value.entries.items() if isinstance(key, str)})
                args.unknown_star |= value.open
            else:
                args.unknown_star = True
        elif arg.keyword is not None:
            args.keywords[arg.keyword.value] = value
            args.nodes[arg.keyword.value] = arg.value
        else:
            args.nodes[len(args.positional)] = arg.value
            args.positional.append(value)
    return args


def bind(path: Path, scope: Scope, function: Function, args: Arguments) -> bool:
    """Put arguments into a function's scope; False where they do not fit."""
    params = function.node.params
    if function.owner is not None and args.positional:
        scope.receiver = args.positional[0]
    names = [*params.posonly_params, *params.params]
    rest = list(args.positional)
    keywords = dict(args.keywords)
    for param in names:
        name = param.name.value
        if rest:
            scope.values[name] = rest.pop(0)
        elif name in keywords:
            scope.values[name] = keywords.pop(name)
        elif args.unknown_star:
            scope.values[name] = Unknown(name)
        elif param.default is not None:
            scope.values[name] = _default(path, function, param)
        else:
            return False
    for param in params.kwonly_params:
        name = param.name.value
        if name in keywords:
            scope.values[name] = keywords.pop(name)
        elif args.unknown_star or param.default is None:
            scope.values[name] = Unknown(name)
        else:
            scope.values[name] = _default(path, function, param)
    if type(params.star_arg) is cst.Param:
        scope.values[params.star_arg.name.value] = Sequence(None if args.unknown_star else rest, "tuple")
    elif rest:
        return False
    if params.star_kwarg is not None:
        entries: dict[object, Value] = dict(keywords.items())
        scope.values[params.star_kwarg.name.value] = Mapping(entries, open=args.unknown_star)
    elif keywords:
        return False
    return True


def _default(path: Path, function: Function, param: cst.Param) -> Value:
    """The default of a parameter, which was evaluated where the function was defined."""
    if function.defaults is not None and param.name.value in function.defaults:
        return function.defaults[param.name.value]
    assert param.default is not None
    with path.mute(), path.grad(True):
        return evaluate(path, function.scope, param.default)
