"""A training program in several files: what one of them makes channels_last is followed into the others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

TRAIN = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

from data import Images
from model import Net

def main():
    torch.manual_seed(0)
    to = "".join(["t", "o"])  # the reader cannot know
    model = getattr(Net(), to)(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(2):
        for images, labels in DataLoader(Images(), batch_size=4, num_workers=1):
            images = getattr(images, to)(memory_format=torch.channels_last)
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"{loss.item():.4f}")

if __name__ == "__main__":
    main()
"""
MODEL = """\
import torch.nn.functional as F
from torch import nn

class Norm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.norm = Norm(8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.norm(self.stem(x))
        x = x.masked_fill(x.abs() < 1e-6, 0.0)
        x = x + 1
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))
"""
DATA = """\
import torch

class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.rand(9, 9, 3, generator=torch.Generator().manual_seed(index)).permute(2, 0, 1), index % 3
"""


def test_a_layout_is_followed_through_files_layers_and_epochs(tmp_path: Path) -> None:
    for name, text in (("train.py", TRAIN), ("model.py", MODEL), ("data.py", DATA)):
        (tmp_path / name).write_text(text)
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    command = [sys.executable, "-m", "stridelint", "trace", "--format", "json", "--output", "r.json", "--", "train.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == (plain.stdout, plain.stderr)
    report = json.loads((tmp_path / "r.json").read_text())
    assert not report["failures"], report["failure"]
    (hazard,) = report["hazards"]
    assert (hazard["path"], hazard["line"], hazard["code"]) == ("model.py", 17, "TLC107")
    assert {"path": "train.py", "line": 15, "message": "'x' becomes channels_last here"} in hazard["notes"]
    assert report["layout"] == [{"path": "model.py", "line": 17, "column": 13, "operator": "masked_fill", "calls": 4}]
