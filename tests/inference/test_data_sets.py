"""With what the `__getitem__` of a class is called, when nothing but the class tells it."""

from __future__ import annotations

import libcst
import pytest

from stridelint.linter.inference import analyse
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import all_rules

CLASS = """import torch
import torchvision
from torch.utils import data
from torch.utils.data import Dataset as Samples

class Held({base}):
    def __init__(self):
        self.rows = torch.zeros(4, 3, 5)

    def {name}(self, {index}):
        return self.rows[index].t().view(-1)
"""


def confidences(base: str, index: str = "index", name: str = "__getitem__") -> list[Confidence]:
    module = libcst.parse_module(CLASS.format(base=base, index=index, name=name))
    return [each.confidence for each in analyse(module, all_rules()).findings if each.rule.code == "TLC104"]


@pytest.mark.parametrize(
    "base",
    [
        "data.Dataset",
        "Samples",
        "Samples[torch.Tensor]",
        "torch.utils.data.TensorDataset",
        "torchvision.datasets.VisionDataset",
    ],
)
def test_the_index_of_a_data_set_is_mostly_a_number(base: str) -> None:
    assert confidences(base) == [Confidence.LIKELY]
    assert confidences(base, "index, /") == [Confidence.LIKELY]


@pytest.mark.parametrize("base", ["object", "data.IterableDataset", "data.Sampler", "torch.nn.Module", "Unheard"])
def test_others_are_indexed_with_anything(base: str) -> None:
    assert confidences(base) == []


def test_other_methods_and_annotations() -> None:
    assert confidences("Samples", name="pick") == []
    assert confidences("Samples", "index: slice") == []
    assert confidences("Samples", "index: int") == [Confidence.CERTAIN]
    assert confidences("Samples", "index, more") == []
