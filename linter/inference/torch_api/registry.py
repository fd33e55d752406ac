"""Where models of torch's functions and tensor methods are found.

A model is a function of a `Call`; it returns the value of the call and emits the events that rules listen to. What has no
model and is in the operator table is handled by `apply`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from stridelint.linter.inference.objects import Arguments
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import TensorValue, Value
from stridelint.rules.events import Form


@dataclass
class Call:
    """A call of a function (`receiver` None) or of a tensor's method."""

    path: Path
    node: cst.CSTNode
    name: str
    args: Arguments
    receiver: TensorValue | None = None
    form: Form = Form.FUNCTION

    def get(self, index: int, *names: str) -> Value | None:
        """An argument by position (the receiver does not count) or keyword."""
        return self.args.get(index, *names)

    @property
    def tensor(self) -> TensorValue:
        """The receiver."""
        assert self.receiver is not None
        return self.receiver


Model: TypeAlias = Callable[[Call], Value]

functions: dict[str, Model] = {}
methods: dict[str, Model] = {}


def function(*names: str) -> Callable[[Model], Model]:
    """Register the model of functions by dotted name."""

    def register(model: Model) -> Model:
        functions.update(dict.fromkeys(names, model))
        return model

    return register


def method(*names: str) -> Callable[[Model], Model]:
    """Register the model of tensor methods; `torch.<name>(tensor, ...)` is the same."""

    def register(model: Model) -> Model:
        methods.update(dict.fromkeys(names, model))
        return model

    return register
