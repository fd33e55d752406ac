"""Files that the cache takes for settled, and where it keeps what came of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stridelint.linter import config

Run = Callable[..., Any]
Known = Callable[..., tuple[int, Any]]
BAD = "import torch\n\n\ndef f(x):\n    return x.view(1)\n"
GOOD = "import torch\n\n\ndef f(x):\n    return x.kept(1)\n"
OLD = time.time() - 1000


def configure(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.stridelint]\n{text}\n")
    config.forget()


def write(path: Path, text: str, changed: float = OLD) -> None:
    """A file that was last changed long ago, so that its times are trusted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (changed, changed))


def the_cache(project: Path) -> Path:
    (path,) = (project / ".stridelint_cache").glob("outcomes-*.json")
    return path
