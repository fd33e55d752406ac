"""What is known of torch's versions: which rows of the operator table hold for another version than the one measured.

The operators were measured on torch 2.1.2 and on 2.13.0. 394 of the 407 records that both have are identical, and so are all
layouts of results. In which version in between the others changed was not measured, so that for a version on the other side of
such a change nothing is said of these operators.
"""

from __future__ import annotations

# They differ in what dtypes they take or promote (addcmul, addcdiv, addmv, lerp, logsumexp, square), in overlapping memory
# (cross), in what they do with tensors that require grad (aminmax, linalg.eigvals, nanmean, narrow_copy); histc.
CHANGED = frozenset(
    """addcdiv addcmul addmv aminmax cross histc lerp linalg.eigvals logsumexp nanmean narrow_copy square""".split()
)
OLDEST, NEWEST = (2, 1), (2, 13)  # measured; the changes lie between


def version(text: str) -> tuple[int, int]:
    """The first two numbers of a version: (2, 13) for "2.13.0+cpu"."""
    major, minor = text.partition("+")[0].split(".")[:2]
    return int(major), int(minor)


def holds(name: str, measured: str, target: tuple[int, int]) -> bool:
    """Whether what was measured of an operator on one torch is so in another version, as far as is known."""
    if name not in CHANGED:
        return True
    older, newer = sorted((version(measured), target))
    return older == newer or newer <= OLDEST or older >= NEWEST
