"""`stridelint probe verify`: fuzz the engine against a real PyTorch."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

from stridelint.runtime_probe import verify_checks, verify_operators, verify_views
from stridelint.runtime_probe.verify_draw import Draw, Report, load_torch

Check: TypeAlias = Callable[[Draw, Report], None]


def _table(draw: Draw, report: Report) -> None:
    """The operator table; its modules need torch when they are imported."""
    from stridelint.runtime_probe import verify_table

    verify_table.table(draw, report)


CHECKS: tuple[Check, ...] = (
    verify_checks.predicates,
    verify_checks.copied,
    verify_checks.iterated,
    verify_checks.mixed,
    verify_checks.joined,
    verify_checks.reshaped,
    verify_views.axes,
    verify_views.as_dtype,
    verify_views.overlaps,
    verify_operators.general_shapes,
    verify_operators.convolutions,
    verify_operators.spatial_shapes,
    verify_operators.layouts,
    _table,
)


def fuzz(cases: int, seed: int, device: str = "cpu", checks: Sequence[Check] = CHECKS) -> Report:
    """Compare engine and torch in this process until `cases` checks are made."""
    torch = load_torch()
    draw = Draw(torch, seed, device)
    report = Report()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        while report.total < cases:
            for check in checks:
                check(draw, report)
    finally:
        torch.set_num_threads(threads)
    return report


def verify(cases: int, seed: int, device: str = "cpu", processes: int = 2) -> Report:
    """Compare engine and torch on random calls.

    Args:
        cases: how many checks to make at least.
        seed: of the first process; the others follow from it.
        device: where the tensors live.
        processes: how many share the work; few cases are done in this process.

    Raises:
        RuntimeError: PyTorch is not installed.
    """
    load_torch()
    if processes < 2 or cases < 20_000:
        return fuzz(cases, seed, device)
    report = Report()
    jobs = [(cases // processes + 1, seed * processes + index, device) for index in range(processes)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for part in pool.starmap(fuzz, jobs):
            report.add(part)
    return report


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 where anything disagrees, 2 without PyTorch."""
    parser = argparse.ArgumentParser(
        prog="stridelint probe verify", description="Fuzz the layout engine against PyTorch."
    )
    parser.add_argument("--cases", type=int, default=100_000, help="number of checks (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random calls (default %(default)s)")
    parser.add_argument("--device", default="cpu", help="device of the tensors (default %(default)s)")
    options = parser.parse_args(argv)
    try:
        report = verify(options.cases, options.seed, options.device)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"torch {load_torch().__version__}, {options.device}, seed {options.seed}")
    print(report.text())
    return 1 if report.mismatches.total() else 0


if __name__ == "__main__":
    sys.exit(main())
