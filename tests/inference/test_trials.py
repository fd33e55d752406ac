"""A call that ends a `try` is there to see whether it raises, if nothing uses its tensor afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import libcst
import pytest
from libcst.metadata import PositionProvider

from stridelint.linter.inference import analyse
from stridelint.rules.events import Site, TensorEvent
from stridelint.rules.rule import Finding, Rule

TRY = """import torch

def f(net, device):
    x = torch.zeros(2)
    try:
        {}
    {}
        print("no")
    {}
"""
CAUGHT = "except RuntimeError:"


@pytest.mark.parametrize(
    ("body", "clause", "after", "lines"),
    [
        (("x.to(torch.float16)", "x.to(torch.bfloat16)"), CAUGHT, "return None", []),
        (("x.to(device)", "return True"), CAUGHT, "return False", []),
        (("x.to(device)",), CAUGHT, "return net(x)", [6]),
        (("x.to(device)", "net(x)"), CAUGHT, "return None", [6]),
        (("x.to(device)", "return x"), CAUGHT, "return None", [6]),
        (("x.to(device)", "net.forward(x)"), CAUGHT, "return None", [6]),
        (("x.to(device)",), "finally:", "return None", [6]),
    ],
)
def test_calls_that_are_only_tried(body: tuple[str, ...], clause: str, after: str, lines: list[int]) -> None:
    found: list[int] = []
    module = libcst.MetadataWrapper(libcst.parse_module(TRY.format("\n        ".join(body), clause, after)))
    places = module.resolve(PositionProvider)

    class Probe(Rule):
        code, name, words, ops = "TLC999", "probe", (".to(",), frozenset({"to"})

        def check(self, event: TensorEvent) -> Iterator[Finding]:
            if isinstance(event.discarded_at, Site) and isinstance(event.discarded_at.node, libcst.CSTNode):
                found.append(places[event.discarded_at.node].start.line)
            return iter(())

    analyse(module.module, [Probe])
    assert sorted(set(found)) == lines
