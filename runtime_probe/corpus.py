"""Write fixtures/layout_corpus.csv: layouts with the bits that a real PyTorch reports for them.

The engine is checked against the file without PyTorch; `python -m stridelint.runtime_probe.corpus fixtures/layout_corpus.csv`
measures it again.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from stridelint.runtime_probe.verify_draw import Draw, load_torch

COLUMNS = (
    "shape", "strides", "is_contiguous", "is_contiguous_channels_last", "is_contiguous_channels_last_3d",
    "channels_last_strides_2d", "channels_last_strides_3d", "non_overlapping_and_dense", "suggest_memory_format",
)  # fmt: skip


def tensors(torch: Any) -> Iterator[Any]:
    """The corpus: chosen layouts, every small shape as row-major and channels-last, and random ones of every rank."""
    yield torch.empty_strided((1, 1, 3, 4), (24, 24, 4, 1))
    last = {4: torch.channels_last, 5: torch.channels_last_3d}
    yield torch.empty(2, 1, 4, 5).to(memory_format=last[4])
    for rank in range(7):
        for size in (0, 1, 2):
            yield torch.empty((size,) * rank)
        yield torch.empty(tuple(range(2, 2 + rank)))
    images: list[tuple[int, ...]] = [
        (2, 3, 4, 5), (1, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 1), (2, 3, 1, 5), (2, 3, 4, 1), (1, 1, 1, 1), (2, 0, 4, 5),
        (0, 3, 4, 5), (2, 3, 2, 4, 5), (1, 3, 2, 4, 5), (2, 1, 2, 4, 5), (2, 3, 1, 1, 1), (1, 1, 1, 1, 1), (0, 3, 2, 4, 5),
    ]  # fmt: skip
    for shape in images:
        rank = len(shape)
        made = torch.empty(shape)
        kept = torch.empty(shape, memory_format=last[rank])
        yield from (made, kept, made.to(memory_format=last[rank]), kept.contiguous(), kept.relu(), kept + 1)
        for base in (made, kept):
            yield from (base[:1], base[:, :2], base[:, :1], base[..., ::2], base[..., :1], base[:, :, :1], base[1:])
            yield from (base.transpose(0, 1), base.transpose(1, -1), base.transpose(-1, -2), base.flip(1))
            if shape[0]:
                yield base.select(0, 0).unsqueeze(0)
    repeated: list[tuple[int, ...]] = [(3, 1, 5), (2, 1, 1, 5), (1, 3, 1, 1), (1, 1, 2, 1, 3)]
    for shape in repeated:
        yield torch.empty(shape).expand([4 if size == 1 else size for size in shape])
        yield torch.empty(shape).expand(2, *shape)
    for order in itertools.permutations(range(4)):
        yield torch.empty(2, 3, 4, 5).permute(order)
        yield torch.empty(1, 2, 1, 3).permute(order)
    image = torch.empty(4, 5, 3)
    yield from (image.permute(2, 0, 1).unsqueeze(0), image[None].permute(0, 3, 1, 2))
    draw = Draw(torch, 0)
    for rank in range(7):
        for _ in range(12 + 12 * (rank in (4, 5))):
            yield draw.tensor(draw.shape(rank))


def row(torch: Any, tensor: Any) -> tuple[str, ...]:
    """What PyTorch says about one layout, in the order of COLUMNS."""
    formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
    like = [bool(torch.ops.aten.is_strides_like_format(tensor, one)) for one in formats[1:]]
    bits = [tensor.is_contiguous(memory_format=one) for one in formats] + like
    bits.append(bool(torch.ops.aten.is_non_overlapping_and_dense(tensor)))
    kept = torch.empty(0).resize_as_(tensor, memory_format=torch.preserve_format)
    suggested = "channels_last" if like[0] else "channels_last_3d" if like[1] else "contiguous_format"
    made = torch.empty(tuple(tensor.shape), memory_format=getattr(torch, suggested))
    if kept.stride() != made.stride():
        raise AssertionError(f"{tuple(tensor.shape)} {tensor.stride()} does not suggest {suggested}")
    shape, strides = (" ".join(map(str, dims)) for dims in (tensor.shape, tensor.stride()))
    return (shape, strides, *(str(int(bit)) for bit in bits), suggested)


def _by_rank(one: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    return len(one[0].split()), one


def main(argv: Sequence[str] | None = None) -> int:
    """Write the corpus to the file named by the only argument."""
    (path,) = sys.argv[1:] if argv is None else argv
    torch = load_torch()
    rows = sorted({row(torch, tensor) for tensor in tensors(torch)}, key=_by_rank)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
