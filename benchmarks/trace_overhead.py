"""What a trace costs: processor time of a training step with and without it, and memory over many steps.

    python benchmarks/trace_overhead.py --steps 100 --small-steps 100000

Traced and plain steps take turns in one process, so that other work on the machine slows both alike. The small step has
few operators on tiny tensors, some of a new size each time: the worst case for the trace's memory.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stridelint.rules.registry import all_rules
from stridelint.runtime_probe.trace_record import Recorder
from stridelint.runtime_probe.trace_rules import judging
from stridelint.runtime_probe.trace_start import Tracer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60, help="training steps of each kind (default: 60)")
    parser.add_argument("--small-steps", type=int, default=100_000, help="steps of the memory test (default: 100000)")
    parser.add_argument("--size", type=int, default=32, help="height and width of an image (default: 32)")
    parser.add_argument("--batch", type=int, default=4, help="images in a batch (default: 4)")
    parser.add_argument("--channels-last", action="store_true", help="train in channels_last")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    recorder = Recorder(judging(rule.code for rule in all_rules()))
    tracer = Tracer(recorder, [str(Path(__file__).parent)])
    step = training_step(options.size, options.batch, options.channels_last)
    plain, traced = compare(step, tracer.mode, options.steps)
    calls = sum(spot.rest + sum(kept.count for kept in spot.kinds.values()) for spot in recorder.spots)
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}, one thread")
    print(
        f"step of {options.batch} images of {options.size}x{options.size}: plain {plain * 1e3:.2f} ms, traced {traced * 1e3:.2f} ms "
        f"of processor time: {traced / plain:.2f} times"
    )
    print(
        f"{calls} calls seen in {options.steps + 5} traced steps, at {len(recorder.spots)} places; {recorder.judged} judged"
    )
    if options.small_steps:
        remember(tracer.mode, options.small_steps, recorder)
    if recorder.failures:
        sys.exit(f"the trace failed {recorder.failures} times: {recorder.failure}")


def training_step(size: int, batch: int, channels_last: bool) -> Callable[[], None]:
    """Forward, backward and SGD of a small CNN."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 32), (32, 64)):
        blocks += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    images, labels = torch.rand(batch, 3, size, size), torch.randint(10, (batch,))
    if channels_last:
        model, images = model.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


def compare(step: Callable[[], None], mode: Any, steps: int) -> tuple[float, float]:
    """The median processor time of a step without and with the trace, in seconds."""
    for _ in range(5):
        step()
        with mode:
            step()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(steps):
        for index in (0, 1):
            start = time.process_time()
            if index:
                with mode:
                    step()
            else:
                step()
            times[index].append(time.process_time() - start)
    plain, traced = (sorted(each)[len(each) // 2] for each in times)
    return plain, traced


def remember(mode: Any, steps: int, recorder: Recorder) -> None:
    """Memory that Python holds, and that the process holds at most, after many small steps."""
    import torch

    weight = torch.rand(4, 3, 1, 1).to(memory_format=torch.channels_last)
    seen = []
    tracemalloc.start()
    before = len(recorder.spots)
    for index in range(steps):
        with mode:
            images = torch.rand(1, 3, 2, 2 + index % 5000).to(memory_format=torch.channels_last)
            hidden = torch.nn.functional.conv2d(images, weight).relu() + index
            hidden = hidden.masked_fill(hidden > 0.5, 0.0)
            hidden.view(4, -1)
        if index in (steps // 10, steps - 1):
            seen.append((tracemalloc.get_traced_memory()[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
    tracemalloc.stop()
    (early, early_peak), (late, late_peak) = seen
    print(
        f"{steps} small steps at {len(recorder.spots) - before} places: Python holds {(late - early) / 1024:+.0f} KiB since step "
        f"{steps // 10}, the process at its peak {late_peak - early_peak:+d} KiB"
    )


if __name__ == "__main__":
    main()
