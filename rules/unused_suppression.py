"""TLC902: about comments, not about tensors; `linter/suppress_unused.py` finds them."""

from __future__ import annotations

from stridelint.rules.rule import Invalid, Rule, Severity


class UnusedSuppression(Rule):
    """A comment that hides findings, where there are none.

    ## What it does
    Names each comment that is to hide a finding of stridelint and hides nothing: a code in `# noqa: TLC101`, or a comment of
    stridelint's own. It judges only rules that were run, so a code that is not selected, codes of other tools, and
    `# noqa` without codes are left alone. It also names codes and comments that stridelint does not know. In a file that is
    read alone (named itself, in a hook, in flake8) only callers in other files can tell what a function's comments are for:
    then these are reported only with `--min-confidence possible`.

    ## Why is this bad?
    It hides the next mistake on that line, and tells readers of a hazard that is not there.

    ## Example
    mask = x * 2  # noqa: TLC101

    ## Use instead
    mask = x * 2

    ## Confirmed by
    Nothing to confirm: no tensor is involved.

    ## Fix
    Takes the code out of the list, or the comment out of the line.
    """

    code = "TLC902"
    name = "unused-suppression"
    severity = Severity.WARNING
    words = ()
    quiet = True
    VALID = (
        """\
import torch

mask = torch.ones(2, 3, 4, 5)
x = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
y = mask * x  # noqa: TLC101
""",
        """\
import os  # noqa
import sys  # noqa: F401
""",
    )
    INVALID = (
        Invalid(
            """\
import torch

x = torch.ones(2, 3, 4, 5)
y = x * x  # noqa: E501, TLC101
z = x + y  # stridelint: ignore[argument-order-layout]
""",
            (
                (4, 26, "'TLC101' hides nothing here"),
                (5, 33, "'argument-order-layout' hides nothing here"),
            ),
            """\
import torch

x = torch.ones(2, 3, 4, 5)
y = x * x  # noqa: E501
z = x + y
""",
        ),
        Invalid(
            """\
x = 1  # stridelint: ignore[argument-order]
""",
            ((1, 29, "there is no rule 'argument-order'; did you mean 'argument-order-layout'?"),),
        ),
    )
