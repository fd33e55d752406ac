"""numpy's random numbers."""

from __future__ import annotations

import libcst as cst

from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.operators import number_kind
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.numpy_dtypes import numpy_dtype
from stridelint.linter.inference.torch_api.numpy_factories import array, listed
from stridelint.linter.inference.torch_api.registry import Call, function
from stridelint.linter.inference.values import (
    ArrayValue,
    Number,
    Sequence,
    SizeValue,
    Unknown,
    Value,
    as_dim,
    as_dims,
    as_sizes,
    is_none,
)
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dims

GENERATOR = "numpy.random.Generator"
# Where the size stands among the arguments; before it are numbers, or arrays, of a distribution.
_FLOATS = {
    "random": 0, "random_sample": 0, "standard_normal": 0, "standard_exponential": 0, "exponential": 1, "rayleigh": 1,
    "standard_gamma": 1, "uniform": 2, "normal": 2, "lognormal": 2, "laplace": 2, "logistic": 2, "gamma": 2, "beta": 2,
}  # fmt: skip
_INTEGERS = {"poisson": 1, "geometric": 1, "binomial": 2}
_CHOOSING = ("choice", "permutation")
# Of a generator these are told the dtype, behind the size.
_TOLD = frozenset({"random", "standard_normal", "standard_exponential"})


@function("numpy.random.default_rng", "numpy.random.RandomState")
def generator(call: Call) -> Value:
    """A random generator."""
    return Instance(None, GENERATOR)


@function(*(f"numpy.random.{name}" for name in (*_FLOATS, *_INTEGERS, "rand", "randn", "randint", *_CHOOSING)))
def drawn(call: Call) -> Value:
    """Random numbers of numpy's own generator."""
    return _drawn(call, call.name.removeprefix("numpy.random."))


def generator_method(path: Path, node: cst.CSTNode, name: str, args: Arguments) -> Value:
    """A method of a random generator."""
    return _drawn(Call(path, node, name, args), name)


def _drawn(call: Call, name: str) -> Value:
    if name in ("rand", "randn"):
        if not call.args.positional and not call.args.unknown_star:
            return Number("float", True)
        return array(None if call.args.unknown_star else as_sizes(Sequence(call.args.positional)), "float64", call)
    if name in ("integers", "randint"):
        return _integers(call)
    if name in _CHOOSING:
        return _chosen(call, name)
    place = _FLOATS.get(name, _INTEGERS.get(name))
    if place is None or call.args.unknown_star:
        return Unknown(name)
    asked = call.get(1, "dtype") if name in _TOLD else None
    dtype = "int64" if name in _INTEGERS else "float64" if asked is None else numpy_dtype(asked)
    size = call.get(place, "size")
    if not is_none(size):
        return array(_shape(size), dtype, call)
    given = [*call.args.positional, *call.args.keywords.values()]
    if any(isinstance(each, ArrayValue) for each in given):
        return array(None, dtype, call)
    if any(number_kind(each) is None for each in call.args.positional):
        return Unknown(name)
    return SizeValue(sizes.Size.fresh("int")) if name in _INTEGERS else Number("float", True)


def _integers(call: Call) -> Value:
    """Whole numbers; a single one is Python's own only from numpy's own generator."""
    asked, size = call.get(3, "dtype"), call.get(2, "size")
    if is_none(size):
        return Unknown("integer")
    return array(_shape(size), "int64" if asked is None else numpy_dtype(asked), call)


def _chosen(call: Call, name: str) -> Value:
    """`choice(a, size)`, `permutation(a)`: numbers of a list or an array, or those below one that is told."""
    given, size = call.get(0, "a", "x"), call.get(1, "size")
    count = as_dim(given)
    if given is None or call.args.unknown_star or (name == "choice" and is_none(size)):
        return Unknown(name)
    if isinstance(given, Sequence):
        length, dtype = listed(call.path, given)
        rank = None if length is None else len(length)
    elif isinstance(given, ArrayValue):
        length, dtype, rank = given.facts.shape, given.facts.dtype, given.facts.rank
    elif count is not None or number_kind(given) == "integer":
        length, dtype, rank = None if count is None else (count,), "int64", 1
    else:
        return Unknown(name)
    return array(None if rank != 1 else length if name == "permutation" else _shape(size), dtype, call)


def _shape(size: Value | None) -> Dims | None:
    number = as_dim(size)
    return (number,) if number is not None else as_dims(size)
