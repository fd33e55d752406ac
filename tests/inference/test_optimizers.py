"""What an optimizer is said to keep of its parameters is what it keeps."""

from __future__ import annotations

from typing import Any

import libcst
import pytest

from stridelint.linter.inference import roots
from stridelint.linter.inference.objects import Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.statements import execute
from stridelint.linter.inference.torch_api import optimizers
from stridelint.linter.inference.values import Mapping, TensorValue

torch: Any = pytest.importorskip("torch")

OPTIONS = (
    "",
    "momentum=0.9",
    "momentum=0",
    "amsgrad=True",
    "centered=True",
    "centered=False",
    "momentum=0.5, centered=True",
)
MADE = [
    f"torch.optim.{name}(params, {options})"
    for name, known in optimizers._ASKED_FOR.items()
    for options in OPTIONS
    if all(part.split("=")[0] in [option for option, _, _ in known] for part in filter(None, options.split(", ")))
] + [f"torch.optim.{name}(params)" for name in optimizers._KEPT if name not in ("Muon", *optimizers._ASKED_FOR)]
MADE += [
    "torch.optim.SGD(params, 0.1, 0.9)",
    "torch.optim.RMSprop(params, 0.01, 0.99, 1e-8, 0, 0.9, True)",
    "torch.optim.Adam([{'params': params[:1]}, {'params': params[1:], 'lr': 0.1}], 0.1, (0.9, 0.99), 1e-8, 0, True)",
    "torch.optim.Muon([matrix])",
]
CODE = """\
import torch
net = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
matrix = torch.nn.Parameter(torch.rand(3, 4).t())
params = list(net.parameters())
optimizer = {made}
(net(torch.rand(2, 3, 6, 6)).sum() + matrix.sum()).backward()
optimizer.step()
"""


def state_of(code: str) -> Mapping:
    """What the reader knows of the optimizer's state when a module has run."""
    path = Path(Program(libcst.parse_module(code), [], 100_000))
    path.module_scope = scope = roots.module_scope(path.program, True)
    execute(path, scope, path.program.module.body)
    found = scope.values["optimizer"]
    assert isinstance(found, Instance)
    state = found.attributes["state"]
    assert isinstance(state, Mapping)
    return state


@pytest.mark.parametrize("made", MADE)
def test_state(made: str) -> None:
    code = CODE.format(made=made)
    names: dict[str, Any] = {}
    exec(code, names)
    real = [
        {name: (tuple(each.shape), each.stride(), str(each.dtype)) for name, each in state.items()}
        for state in names["optimizer"].state.values()
    ]
    kept = state_of(code)
    assert not kept.open
    told = []
    for state in kept.entries.values():
        assert isinstance(state, Mapping)
        tensors = {name: each.facts for name, each in state.entries.items() if isinstance(each, TensorValue)}
        told.append({name: (each.shape, each.strides, f"torch.{each.dtype}") for name, each in tensors.items()})
    assert told == real


@pytest.mark.parametrize(
    ("made", "then"),
    [
        ("torch.optim.SGD(params, momentum=float(input()))", "optimizer.step()"),
        ("torch.optim.Adam(unknown())", "optimizer.step()"),
        ("torch.optim.Adam(params)", "optimizer.load_state_dict(torch.load('x'))"),
    ],
)
def test_unknown_state(made: str, then: str) -> None:
    code = CODE.format(made=made) + then + "\n"
    state = state_of(code)
    assert state.open and not state.entries
