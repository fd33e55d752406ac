"""Times `stridelint check` against `flake8 --select F` on one package, in one run.

    python benchmarks/compare_flake8.py [FOLDER] [--rounds N] [--at-most RATIO]

FOLDER is the installed torch package unless given. Both run with their default number of processes and no cache; each
round runs both, so that a busy machine disturbs both, and the best round of each counts. Also timed: the start-up of
`stridelint check` on a file without torch, against that of Python alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

STRIDELINT = (sys.executable, "-m", "stridelint", "check", "--isolated", "--no-cache", "--exit-zero")
FLAKE8 = (sys.executable, "-m", "flake8", "--isolated", "--select", "F", "--exit-zero", "--disable-noqa")


def seconds(command: Sequence[str]) -> float:
    start = time.perf_counter()
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{run.stderr}")
    return time.perf_counter() - start


def installed_torch() -> str | None:
    spec = importlib.util.find_spec("torch")
    return str(Path(spec.origin).parent) if spec is not None and spec.origin else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=installed_torch())
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--at-most", type=float, help="exit 1 if the ratio is larger")
    options = parser.parse_args()
    if options.folder is None:
        parser.error("torch is not installed: name a folder")
    files = sorted(Path(options.folder).rglob("*.py"))
    print(f"{options.folder}: {len(files):,} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB")

    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(seconds([*STRIDELINT, options.folder]))
        theirs.append(seconds([*FLAKE8, options.folder]))
    ratio = min(ours) / min(theirs)
    print(f"stridelint check    {min(ours):8.2f} s")
    print(f"flake8 --select F   {min(theirs):8.2f} s")
    print(f"ratio               {ratio:8.3f}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "without_torch.py"
        path.write_text("import os\n\n\ndef view(x):\n    return x.view(-1)\n")
        bare = min(seconds([sys.executable, "-c", "pass"]) for _ in range(15))
        start = min(seconds([*STRIDELINT, str(path)]) for _ in range(15))
    print(f"start-up            {1000 * (start - bare):8.1f} ms on a file without torch, over Python's {1000 * bare:.1f} ms")
    return int(options.at_most is not None and ratio > options.at_most)


if __name__ == "__main__":
    sys.exit(main())
