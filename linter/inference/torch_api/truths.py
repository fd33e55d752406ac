"""What asks whether something holds: torch's own assertions, `all` and `any`."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference import demands, testing
from stridelint.linter.inference.path import Raised
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import FALSE, NONE, TRUE, Sequence, Unknown, Value

_CHECKS = ("_check", "_check_value", "_check_type", "_check_index", "_check_not_implemented", "_assert")


@function(*(f"torch.{name}" for name in _CHECKS))
def check(call: Call) -> Value:
    """`torch._check(condition, message)`: raises where it does not hold, as `assert` does."""
    condition, written = call.get(0, "cond", "condition"), call.args.nodes.get(0)
    if condition is None:
        return NONE
    if call.path.known_truth(condition) is False:
        if isinstance(written, cst.BaseExpression):
            demands.refused(call.path, call.node, written)
        raise Raised
    testing.assume(call.path, condition)
    return NONE


@function("builtins.all", "builtins.any")
def all_or_any(call: Call) -> Value:
    """`all(items)`, `any(items)`, decided by the first item that decides it."""
    given = call.get(0)
    if not isinstance(given, Sequence) or given.items is None:
        return Unknown(call.name)
    truths = [call.path.known_truth(each) for each in given.items]
    deciding = call.name == "builtins.any"
    if deciding in truths:
        return TRUE if deciding else FALSE
    return Unknown(call.name) if None in truths else FALSE if deciding else TRUE
