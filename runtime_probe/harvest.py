"""`stridelint probe harvest`: measure the operator table from the torch that is installed.

Every operator is measured in a child process of its own: some calls crash, and some write outside their tensors, which
must not disturb the others. The result depends on torch alone: same version, same bytes.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stridelint.rules.contract import operators
from stridelint.rules.contract.operators import FORMAT

_LIMIT_SECONDS = 120.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code (0 done, 2 usage error or torch missing)."""
    parser = argparse.ArgumentParser(
        prog="stridelint probe harvest", description="Measure the operator table from the installed torch."
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="where to write (default: standard output)")
    parser.add_argument("--device", default="cpu", help="device to measure on, such as cuda (default: cpu)")
    parser.add_argument("--jobs", metavar="N", type=int, default=2, help="operators measured at a time (default: 2)")
    parser.add_argument(
        "--diff",
        action="store_true",
        help="print what differs from the table that ships, instead of the table; exit status 1 if anything does",
    )
    parser.add_argument("--against", metavar="FILE", help="with --diff: compare with the table in this file")
    parser.add_argument("names", metavar="NAME", nargs="*", help="operators (default: all)")
    options = parser.parse_args(argv)
    try:
        import torch  # noqa: F401
    except ImportError:
        print("stridelint: the probe needs torch: pip install 'stridelint[probe]'", file=sys.stderr)
        return 2
    started = time.monotonic()
    if options.device != "cpu":
        # Asked in a child, for a process that has used CUDA cannot fork others that do.
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
        [(_, reason)] = in_children(1, lambda _: {"sum": float(_on(options.device).ones(2).sum())}, 1)
        if reason:
            print(f"stridelint probe: cannot measure on {options.device}: {reason}", file=sys.stderr)
            return 2
    document, failures = harvest(options.names, jobs=options.jobs, device=options.device)
    text = write(document)
    if options.output is not None:
        options.output.write_text(text, "utf-8")
    elif not options.diff:
        sys.stdout.write(text)
    rows = document["operators"]
    taking = sum(
        any(v.get("accepts_out", True) and v.get("measured", True) for v in row["variants"]) for row in rows.values()
    )
    print(
        f"{len(rows)} operators, {taking} take out=, {len(failures)} could not be measured, {time.monotonic() - started:.0f} s",
        file=sys.stderr,
    )
    for name, reason in sorted(failures.items()):
        print(f"  {name}: {reason}", file=sys.stderr)
    return _diff(options.against, document, options.names) if options.diff else 0


def _diff(path: str | None, new: dict[str, Any], names: Sequence[str]) -> int:
    """Print what differs from an earlier table; 1 if anything does."""
    from stridelint.runtime_probe.harvest_diff import differences

    try:
        old = operators.load(path) if path else operators.shipped()
    except (OSError, ValueError) as error:
        print(f"stridelint probe: cannot use {path}: {error}", file=sys.stderr)
        return 2
    old = dataclasses.replace(old, rows={name: row for name, row in old.rows.items() if not names or name in names})
    lines = differences(old, operators.read(new))
    for line in lines:
        print(line)
    tables = f"torch {old.torch} on {old.device} and torch {new['torch']} on {new['device']}"
    print(f"{len(lines)} differences between {tables}")
    return 1 if lines else 0


def _on(device: str) -> Any:
    """torch, making all tensors on a device."""
    import torch

    torch.set_default_device(device)
    return torch


def harvest(names: Sequence[str] = (), *, jobs: int = 2, device: str = "cpu") -> tuple[dict[str, Any], dict[str, str]]:
    """The table as a JSON document, and the operators that could not be measured with the reason.

    Args:
        names: operators to measure; empty means all.
        jobs: child processes at a time.
        device: where all tensors are made.
    """
    import torch

    from stridelint.runtime_probe import harvest_merge, harvest_operator, harvest_samples, harvest_targets
    from stridelint.runtime_probe.harvest_text import COMMON

    torch.set_num_threads(1)
    infos = harvest_samples.op_infos()
    chosen = [target for target in harvest_targets.targets() if not names or target.name in names]

    def work(index: int) -> dict[str, Any]:
        target = chosen[index]
        if device != "cpu":
            _on(device)
        calls = harvest_samples.samples(target, infos.get(target.name, []), device)
        return harvest_operator.measure(target, calls)

    gc.freeze()
    results = in_children(len(chosen), work, jobs)
    rows: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for target, (row, reason) in zip(chosen, results, strict=False):
        if row is None:
            failures[target.name] = reason
        elif target.is_function or any(variant.get("measured", True) for variant in row["variants"]):
            rows[target.name] = row
    document = {
        "format": FORMAT,
        "torch": torch.__version__.partition("+")[0],
        "device": device,
        "texts": COMMON,
        "defaults": harvest_merge.DEFAULTS,
        "operators": rows,
    }
    return document, failures


def write(document: dict[str, Any]) -> str:
    """JSON with one operator per line, names sorted."""
    head = {key: value for key, value in document.items() if key != "operators"}
    lines = [json.dumps(head, indent=1, sort_keys=True)[:-2] + ',\n "operators": {']
    rows = document["operators"]
    for index, name in enumerate(sorted(rows)):
        comma = "," if index + 1 < len(rows) else ""
        lines.append(f"  {json.dumps(name)}: {json.dumps(rows[name], sort_keys=True, separators=(',', ':'))}{comma}")
    return "\n".join([*lines, " }", "}"]) + "\n"


def in_children(
    count: int, work: Callable[[int], dict[str, Any]], jobs: int
) -> list[tuple[dict[str, Any] | None, str]]:
    """`work(i)` for each i in a forked process; (result, "") or (None, reason) in order."""
    results: list[tuple[dict[str, Any] | None, str]] = [(None, "not run")] * count
    waiting = list(range(count))[::-1]
    running: dict[int, tuple[int, int, float, bytearray]] = {}
    with selectors.DefaultSelector() as selector:
        while waiting or running:
            while waiting and len(running) < jobs:
                index = waiting.pop()
                child, pipe = _start(index, work)
                running[pipe] = (index, child, time.monotonic() + _LIMIT_SECONDS, bytearray())
                selector.register(pipe, selectors.EVENT_READ)
            for key, _ in selector.select(timeout=1.0):
                pipe = key.fd
                index, child, _, data = running[pipe]
                chunk = os.read(pipe, 1 << 16)
                data.extend(chunk)
                if not chunk:
                    selector.unregister(pipe)
                    results[index] = _finish(pipe, child, data)
                    del running[pipe]
            for _, child, deadline, _ in running.values():
                if time.monotonic() > deadline:
                    os.kill(child, signal.SIGKILL)
    return results


def _start(index: int, work: Callable[[int], dict[str, Any]]) -> tuple[int, int]:
    read, write_end = os.pipe()
    child = os.fork()
    if child:
        os.close(write_end)
        return child, read
    try:
        os.close(read)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            text = json.dumps([work(index), ""])
        except Exception as error:
            text = json.dumps([None, f"{type(error).__name__}: {error}"])
        with os.fdopen(write_end, "w") as stream:
            stream.write(text)
    finally:
        os._exit(0)


def _finish(pipe: int, child: int, data: bytearray) -> tuple[dict[str, Any] | None, str]:
    os.close(pipe)
    _, status = os.waitpid(child, 0)
    try:
        row, reason = json.loads(data)
    except ValueError:
        return None, f"the process ended with status {os.waitstatus_to_exitcode(status)}"
    return row, reason


if __name__ == "__main__":
    sys.exit(main())
