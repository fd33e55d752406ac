"""How the dtype of an operator's result follows from the promoted dtype of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stridelint.rules.contract.dtypes import DTYPES, complex_of, kind_of, real_of


def _if_not_floating(dtype: str, default: str) -> str:
    return default if kind_of(dtype) in ("bool", "integer") else dtype


def _sum(dtype: str, _: str) -> str:
    return _if_not_floating(dtype, "int64")


def _bool_or_uint8(dtype: str, _: str) -> str:
    return "uint8" if dtype == "uint8" else "bool"


def _widest(dtype: str, _: str) -> str:
    return "complex128" if kind_of(dtype) == "complex" else "float64"


# Each rule maps (promoted dtype, default dtype) to the result's dtype.
RULES: Mapping[str, Callable[[str, str], str | None]] = {
    "promote": lambda dtype, _: dtype,
    "int_to_float": _if_not_floating,
    "default_float": lambda _, default: default,
    "to_real": lambda dtype, _: real_of(dtype),
    "int_to_float_to_real": lambda dtype, default: real_of(_if_not_floating(dtype, default)),
    "to_complex": lambda dtype, default: complex_of(_if_not_floating(dtype, default)),
    "sum": _sum,
    "bool_to_int64": lambda dtype, _: "int64" if dtype == "bool" else dtype,
    "bool_or_uint8": _bool_or_uint8,
    "float64_or_complex128": _widest,
}


def apply_rule(rule: str, promoted: str, default: str = "float32") -> str | None:
    """The result's dtype; None for a dtype the rule does not cover.

    `rule` is a key of `RULES`, a dtype (whatever the inputs), or a map written "bool>int64 float32>float32".
    """
    if rule in DTYPES:
        return rule
    if rule in RULES:
        return RULES[rule](promoted, default)
    for pair in rule.split():
        source, _, result = pair.partition(">")
        if source == promoted:
            return result
    return None
