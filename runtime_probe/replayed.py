"""One call of a witness, ready to be made: on its own tensors, on separate copies of them, with and without out=."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stridelint.rules import documents
from stridelint.rules.events import Form
from stridelint.runtime_probe import build, operate
from stridelint.runtime_probe.operate import Outcome


@dataclass
class Tensors:
    """The real tensors of a call: all of them, and as its arguments and out."""

    every: list[Any]
    arguments: dict[str, Any]
    out: Any

    @property
    def outs(self) -> list[Any]:
        """The out tensors."""
        return list(self.out) if isinstance(self.out, tuple) else [] if self.out is None else [self.out]


@dataclass
class Call:
    """A call by its document.

    device: where its tensors are built. fake: they are fake tensors, since a device that it names is missing.
    """

    document: Mapping[str, Any]
    device: str
    fake: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def op(self) -> str:
        """The operator."""
        return str(self.document["op"])

    @property
    def form(self) -> Form:
        """How it is written."""
        return Form(self.document["form"])

    def made(self, seed: int = 0) -> Tensors:
        """Its tensors, anew."""
        positions = {
            value["tensor"]
            for name, value in self.document["arguments"].items()
            if name in build.POSITIONS and _is_tensor(value)
        }
        return self.bound(build.tensors(self.document["tensors"], self.device, seed, frozenset(positions), self.fake))

    def bound(self, every: list[Any]) -> Tensors:
        """Arguments and out made of these tensors."""
        arguments = {
            name: self._on_device(name, documents.value_of(value, every))
            for name, value in self.document["arguments"].items()
        }
        return Tensors(every, arguments, documents.value_of(self.document["out"], every))

    def _on_device(self, name: str, value: Any) -> Any:
        return self.device if name == "device" and isinstance(value, str) and self.device != "any" else value

    def separate(self, tensors: Tensors) -> Tensors:
        """The same numbers in tensors that share no memory."""
        return self.bound([copied(tensor) for tensor in tensors.every])

    def run(self, tensors: Tensors, *, out: bool = True, form: Form | None = None) -> Outcome:
        """Make the call."""
        given = tensors.out if out else None
        return operate.attempt(
            lambda: operate.run(self.op, form or self.form, tensors.arguments, given), bool(self.document["grad_mode"])
        )


def _is_tensor(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"tensor"}


def copied(tensor: Any) -> Any:
    """A copy with the strides of the tensor where it is dense, recording gradients as it does."""
    copy = tensor.detach().clone()
    return copy.requires_grad_() if tensor.requires_grad else copy


def memory_of(tensor: Any) -> Any:
    """All of the memory that a tensor lies in, as one row."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return build.at(tensor.detach(), (count,), (1,), 0)


def prepared(document: Mapping[str, Any], device: str) -> Call:
    """The call on a device: on fake tensors if it names devices that are not here."""
    import torch

    named = {str(each.get("device", "cpu")) for each in document["tensors"]}
    asked = document["arguments"].get("device")
    named |= {asked} if isinstance(asked, str) else set()
    named |= {"cuda"} if document["op"] == "cuda" else set()
    kinds = {name.partition(":")[0] for name in named}
    if len(kinds) < 2 and document["op"] != "cuda":
        return Call(document, device)
    here = {"cpu", "meta"} | ({"cuda"} if torch.cuda.is_available() else set())
    return Call(document, "any", fake=not kinds <= here)


@contextlib.contextmanager
def mode(call: Call) -> Iterator[None]:
    """What a call runs under."""
    if not call.fake:
        yield
        return
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        yield
