"""Records that are made by the ten thousand while code is read.

`dataclass(frozen=True)` fills each field through `object.__setattr__`, which takes four times as long as assigning it. These are frozen
to the type checker only, and hashed by their fields like frozen ones.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool, slots: bool = False, eq: bool = True):
        """As `dataclasses.dataclass`, but that nothing keeps code from writing to the fields of frozen ones at run time."""
        return dataclasses.dataclass(slots=slots, eq=eq, unsafe_hash=frozen and eq)


__all__ = ["record"]
