"""TLC901: about the run, not about tensors; the engine reports it."""

from __future__ import annotations

from stridelint.rules.rule import Rule, Severity


class CouldNotAnalyse(Rule):
    """A file that could not be analysed, or not to its end.

    ## What it does
    Names each file that was skipped, with the reason: it cannot be read or decoded, is not valid Python, is too large or
    too deeply nested, LibCST or a rule failed on it, its step budget ran out, or the configuration of its folder is wrong.

    ## Why is this bad?
    Hazards in such a file stay unseen. The run goes on, other files are not affected, and the exit status does not change.

    ## Example
    images.to(memory_format=torch.channels_last

    ## Use instead
    images = images.to(memory_format=torch.channels_last)

    ## Confirmed by
    Nothing to confirm: no tensor is involved.
    """

    code = "TLC901"
    name = "could-not-analyse"
    severity = Severity.NOTE
    words = ()
