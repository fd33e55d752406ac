"""Notebooks as JSON, made of the text of their cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stridelint.linter.notebook import program

ROOT = Path(__file__).parents[2]
CONVERTED = "a = torch.ones(2, 3, 4, 5)\nb = a.to(memory_format=torch.channels_last)"


def cell(text: str, kind: str = "code", **metadata: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": metadata, "source": text.splitlines(keepends=True), **shown}


def notebook(*cells: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    made = [cell(each) if isinstance(each, str) else each for each in cells]
    return {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


def read(*cells: str | dict[str, Any], **more: Any) -> program.Program:
    return program.read(json.dumps(notebook(*cells, **more)).encode())


def write(path: Path, *cells: str | dict[str, Any], indent: int | None = 1, **more: Any) -> str:
    text = json.dumps(notebook(*cells, **more), indent=indent) + "\n"
    path.write_text(text)
    return text
