"""The commands about rules: list, explain, start a new one, write their documentation; and the door to the probe."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stridelint.linter import documentation, local_rules
from stridelint.linter.config import ConfigError, suggestion
from stridelint.linter.telling import tell
from stridelint.rules.registry import FOLDERS, by_code
from stridelint.rules.rule import Rule

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def rules(options: argparse.Namespace) -> int:
    """List all rules, also those of the project's own."""
    states = _states(options)
    known = by_code().values()
    if options.format == "json":
        import json

        print(
            json.dumps(
                [
                    {
                        "code": rule.code,
                        "name": rule.name,
                        "severity": rule.severity.value,
                        "quiet": documentation.is_quiet(rule),
                        "summary": documentation.summary(rule),
                        "since": rule.since,
                        "until": rule.until,
                        "local": documentation.file_of(rule),
                        **states.get(rule.code, {}),
                    }
                    for rule in known
                ],
                indent=2,
            )
        )
        return 0
    width = max(len(rule.name) for rule in known)
    for rule in known:
        quiet = " (audits)" if documentation.is_quiet(rule) else ""
        told = [documentation.summary(rule), documentation.versions(rule)]
        if not states.get(rule.code, {}).get("on", True) and (rule.since or rule.until):
            told.append(f"Off: {states[rule.code]['why']}.")
        text = " ".join(each for each in told if each)
        print(f"{rule.code}  {rule.name:{width}}  {rule.severity.value + quiet:18} {text}")
    return 0


def _states(options: argparse.Namespace) -> dict[str, dict[str, object]]:
    """By code, whether a rule runs in the current folder, and why; makes the project's own rules known."""
    from stridelint.linter import config, selection

    if options.isolated:
        settings = config.Settings()
    elif options.config is not None:
        settings = config.read(options.config) or config.Settings()
    else:
        settings = config.find(".")
    for problem in selection.loaded(settings).problems:
        tell(str(problem))
    return {rule.code: {"on": choice.is_on, "why": choice.why} for rule, choice in selection.choices(settings)}


def explain(options: argparse.Namespace) -> int:
    """Print a rule's page."""
    if options.code.upper() not in by_code():
        _states(options)
    print(documentation.page(find(options.code)), end="")
    return 0


def find(written: str) -> type[Rule]:
    """The rule of a code or a name."""
    known = by_code()
    names = {rule.name: rule for rule in known.values()}
    rule = known.get(written.upper()) or names.get(written.lower())
    family = [code for code in sorted(known) if written and code.startswith(written.upper())]
    if rule is None and len(family) > 1:
        raise ConfigError(f"{written.upper()} is a family: {', '.join(family)}; explain one of them")
    if rule is None:
        raise ConfigError(f"unknown rule '{written}'{suggestion(written, [*known, *names])}")
    return rule


def docs(options: argparse.Namespace) -> int:
    """Write the pages of all rules, or only compare them; of the project's own rules into a folder of its own."""
    if options.local is None:
        root = _checkout()
        stale = documentation.write(root / "docs", check=options.check)
    else:
        from stridelint.linter import config, selection

        root, own = Path.cwd(), selection.loaded(config.find("."))
        for problem in own.problems:
            tell(str(problem))
        if not own.rules:
            raise ConfigError("there are no local rules: name them with local-rules in [tool.stridelint]")
        stale = documentation.write_local(root / options.local, own.rules, check=options.check)
    for path in stale:
        print(f"{'out of date' if options.check else 'wrote'}: {path.relative_to(root)}")
    return 1 if options.check and stale else 0


_TEMPLATE = '''\
"""{code}: {words}."""

from __future__ import annotations

from collections.abc import Iterator

from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer
from stridelint.rules.events import TensorEvent
from stridelint.rules.findings import found, quoted
from stridelint.rules.rule import Finding, Invalid, Rule, Severity


class {class_name}(Rule):
    """One sentence that says what the hazard is.

    What it does:
        Which code is reported, and when it is not.

    Why is this bad?
        What torch does with it.

    Example:
        bad

    Use instead:
        good

    Confirmed by:
        What the probe runs and compares.
    """

    code = "{code}"
    name = "{name}"
    severity = Severity.WARNING
    words = ("relu",)
    ops = frozenset({{"relu"}})

    VALID = (
        """\\
import torch

y = torch.relu(torch.ones(2, 3))
""",
    )
    INVALID = (
        Invalid(
            """\\
import torch

x = torch.ones(2, 3).t()
y = torch.relu(x)
""",
            ((4, 5, "message about 'x'"),),
        ),
    )

    def check(self, event: TensorEvent) -> Iterator[Finding]:
        """Judge one call."""
        for operand in event.tensors:
            judgement = questions.is_contiguous(operand.facts)  # an answer, and how sure it is
            if judgement.answer is Answer.NO:
                message = f"message about {{quoted(operand)}}"
                yield found(self, event, message, confidence=judgement.confidence, about=(operand,))
'''


def new_rule(options: argparse.Namespace) -> int:
    """Write the file of a new rule."""
    code, name = options.code.upper(), options.name
    if options.local is None and not re.fullmatch(r"TLC[1-4]\d\d", code):
        raise ConfigError(f"'{options.code}' is no code for a rule: TLC, a family from 1 to 4, two digits")
    if options.local is not None and (not local_rules.CODE.fullmatch(code) or "TLC".startswith(code[:-3])):
        raise ConfigError(
            f"'{options.code}' is no code for a local rule: one to three letters, not TLC, and three digits (LOC001)"
        )
    if not local_rules.NAME.fullmatch(name):
        raise ConfigError(f"'{name}' is no name for a rule: words in lower case with '-' between them")
    if options.local is not None:
        local_rules.load((os.path.abspath(options.local),) if os.path.isdir(options.local) else ())
    for rule in by_code().values():
        if code == rule.code or name == rule.name:
            raise ConfigError(f"{rule.code} {rule.name} exists already")
    file = name.replace("-", "_") + ".py"
    path = (
        _checkout() / "rules" / FOLDERS[int(code[3]) - 1] / file
        if options.local is None
        else Path(options.local) / file
    )
    if path.exists():
        raise ConfigError(f"{path} exists already")
    class_name = "".join(word.capitalize() for word in name.split("-"))
    text = _TEMPLATE.format(code=code, name=name, words=name.replace("-", " "), class_name=class_name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}")
    if options.local is not None:
        print(
            f'next: replace the example in it; stridelint test-rules {path}; local-rules = ["{path.parent.as_posix()}"]'
        )
        return 0
    print(f"next: replace the example in it; add {code} to CHANGELOG.md; pytest -k {code}; stridelint docs")
    return 0


def _checkout() -> Path:
    """The folder of the source tree this runs from."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "pyproject.toml").is_file():
        raise ConfigError("this command works in a checkout of stridelint only (pip install -e .)")
    return root


_PROBES = {
    "FINDINGS.json": "replay the findings of `check --format json` on real tensors; - for standard input",
    "verify": "compare the model of strides and dtypes with torch on random cases",
    "harvest": "measure what torch's operators do with out=, as a table for `check --operators`",
}


def probe(arguments: Sequence[str]) -> int:
    """Hand the remaining arguments to a command of the runtime probe; a report of findings is replayed."""
    usage = "usage: stridelint probe {" + ",".join(_PROBES) + "} ..."
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage, file=sys.stdout if arguments else sys.stderr)
        for name, text in _PROBES.items():
            print(f"  {name:14} {text}", file=sys.stdout if arguments else sys.stderr)
        print("All of them need torch and have a --help of their own.", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    name, *rest = arguments
    if name.startswith("-") or Path(name).is_file() or name.endswith(".json"):
        name, rest = "replay_command", list(arguments)
    elif name not in _PROBES:
        raise ConfigError(f"unknown command 'probe {name}'{suggestion(name, _PROBES)} ({usage})")
    import importlib

    try:
        return int(importlib.import_module(f"stridelint.runtime_probe.{name}").main(rest) or 0)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ConfigError("the probe needs torch: pip install 'stridelint[probe]'") from None
