"""Random tensors of every layout, and the count of what agreed: the ground on which `verify` compares engine and torch."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# Dtypes that eager CPU operators compute with.
DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "complex32", "complex64", "complex128",
)  # fmt: skip
_BUFFER_ELEMENTS = 60_000


def load_torch() -> Any:
    """The torch module; RuntimeError with the way out where it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise RuntimeError("stridelint: the probe needs torch: pip install 'stridelint[probe]'") from error
    return torch


@dataclass
class Report:
    """Checks and mismatches by kind; for each kind the smallest example that disagrees, and calls that torch refused."""

    checks: Counter[str] = field(default_factory=Counter)
    mismatches: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[int, str]] = field(default_factory=dict)

    def record(self, kind: str, predicted: object, actual: object, *example: object) -> None:
        """Compare one prediction; `example` is what the call was made on."""
        self.checks[kind] += 1
        if predicted != actual:
            self.mismatches[kind] += 1
            text = f"{', '.join(map(str, example))}: engine {predicted}, torch {actual}"
            if kind not in self.examples or len(text) < self.examples[kind][0]:
                self.examples[kind] = (len(text), text)

    def add(self, other: Report) -> None:
        """Take over the counts of another process."""
        self.checks += other.checks
        self.mismatches += other.mismatches
        for kind, example in other.examples.items():
            self.examples[kind] = min(example, self.examples.get(kind, example))

    @property
    def total(self) -> int:
        """Number of checks."""
        return sum(self.checks.values())

    def text(self) -> str:
        """One line per kind, and the smallest example of each kind that disagrees."""
        lines = [
            f"{kind:<34}{count:>9} checks {self.mismatches[kind]:>6} mismatches"
            for kind, count in sorted(self.checks.items())
        ]
        lines += [f"smallest mismatch of {kind}: {text}" for kind, (_, text) in sorted(self.examples.items())]
        lines.append(f"{self.total} checks, {sum(self.mismatches.values())} mismatches")
        return "\n".join(lines)


class Draw:
    """A source of random shapes and tensors on one device, reproducible by its seed."""

    def __init__(self, torch: Any, seed: int, device: str = "cpu") -> None:
        self.torch = torch
        self.random = random.Random(seed)
        self.device = device
        self._buffers: dict[str, Any] = {}

    def buffer(self, dtype: str) -> Any:
        """Memory of a dtype that tensors are cut from."""
        if dtype not in self._buffers:
            made = self.torch.ones(_BUFFER_ELEMENTS, dtype=self.torch.float32, device=self.device)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "ComplexHalf support is experimental"
                self._buffers[dtype] = made.to(getattr(self.torch, dtype))
        return self._buffers[dtype]

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self.random.random() < probability

    def shape(self, rank: int | None = None, sizes: tuple[int, ...] = (0, 1, 1, 2, 2, 2, 3, 3, 4)) -> tuple[int, ...]:
        """A shape of rank 0 to 6 with at most 256 elements."""
        if rank is None:
            rank = self.random.choice((0, 1, 2, 2, 3, 3, 4, 4, 4, 4, 5, 5, 6))
        while True:
            shape = tuple(self.random.choice(sizes) for _ in range(rank))
            count = 1
            for size in shape:
                count *= size
            if count <= 256:
                return shape

    def strides(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Strides of any kind: row-major, channels-last, permuted, with gaps, expanded, odd ones on size-1 axes."""
        rank = len(shape)
        order = list(range(rank))
        style = self.random.random()
        if style < 0.35 and rank in (4, 5):
            order = [0, *range(2, rank), 1]
        elif style > 0.6:
            self.random.shuffle(order)
        strides = [0] * rank
        running = 1
        gaps = self.chance(0.3)
        for axis in reversed(order):
            strides[axis] = running
            running *= max(shape[axis] + (self.random.choice((0, 0, 1)) if gaps else 0), 1)
            if gaps and self.chance(0.1):
                running *= 2
        if self.chance(0.12):
            strides = [0 if self.chance(0.3) else stride for stride in strides]
        if self.chance(0.25):
            odd = (0, 1, 2, 3, 7, running, *strides)
            strides = [self.random.choice(odd) if size == 1 else stride for stride, size in zip(strides, shape)]
        if self.chance(0.02):
            strides = [self.random.choice((1, 2, 3, 4, 6)) for _ in shape]
        return tuple(strides)

    def tensor(self, shape: tuple[int, ...] | None = None, dtype: str = "float32") -> Any:
        """A tensor of a shape (or any) with random strides and sometimes an offset."""
        if shape is None:
            shape = self.shape()
        buffer = self.buffer(dtype)
        while True:
            strides = self.strides(shape)
            offset = self.random.choice((0, 0, 0, 1, 2, 5, 8))
            if offset + 1 + sum(stride * max(size - 1, 0) for stride, size in zip(strides, shape)) <= _BUFFER_ELEMENTS:
                return buffer.as_strided(shape, strides, offset)

    def broadcastable(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts with another one, mostly the same."""
        if self.chance(0.5):
            return shape
        cut = self.random.randrange(len(shape) + 1) if self.chance(0.5) else 0
        return tuple(1 if self.chance(0.3) else size for size in shape[cut:])


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or None where torch refuses it."""
    try:
        return call()
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
        return None
