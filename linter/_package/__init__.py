"""Finds tensor memory-layout and `out=` contract hazards in PyTorch code.

This folder is installed as the top package `stridelint`; `linter/`, `rules/` and `runtime_probe/` become its
subpackages (see `[tool.setuptools.package-dir]`), so that no generic name lands in a user's site-packages.
"""

__version__ = "0.1.0"
