"""`stridelint probe FINDINGS.json`: verdicts on the findings of an earlier `check --format json`."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from stridelint.runtime_probe.probe import DEVICES, Probe, ProbeError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 where findings fail, 2 where the file or the probe cannot be used."""
    parser = argparse.ArgumentParser(
        prog="stridelint probe FINDINGS.json", description="Replay findings of `check --format json` on real tensors."
    )
    parser.add_argument(
        "findings", metavar="FINDINGS.json", help="what `check --format json` wrote; - for standard input"
    )
    parser.add_argument("--device", choices=DEVICES, default="auto", help="auto (default) takes a GPU if there is one")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--fail-on", choices=("any", "confirmed"), default="any", help="which findings make the exit status 1"
    )
    options = parser.parse_args(argv)
    try:
        document = _read(options.findings)
        with Probe(options.device) as probe:
            probe.wait()
            for finding in document["findings"]:
                finding["probe"] = probe.verdict(finding["witness"])
    except (ProbeError, ValueError) as error:
        print(f"stridelint: {error}", file=sys.stderr)
        return 2
    if options.format == "json":
        print(json.dumps(document, indent=2))
    else:
        _print(document["findings"])
    failing = [each for each in document["findings"] if options.fail_on in ("any", each["probe"]["verdict"])]
    return 1 if failing else 0


def _read(path: str) -> dict[str, Any]:
    if path == "-":
        text = sys.stdin.read()
    else:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error.strerror}") from None
    try:
        document = json.loads(text)
        complete = all(isinstance(each["witness"], dict) and each["path"] for each in document["findings"])
    except (ValueError, KeyError, TypeError):
        complete = False
    if not complete:
        raise ValueError(f"{path} is no report of `stridelint check --format json` with witnesses")
    found: dict[str, Any] = document
    return found


def _print(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        probe = finding["probe"]
        cell = f"cell {finding['cell']}:" if "cell" in finding else ""
        place = f"{finding['path']}:{cell}{finding['line']}:{finding['column']}"
        print(f"{place}: {finding['code']} [{finding['name']}] {finding['message']}")
        told = probe["observed"] if probe["verdict"] == "confirmed" else probe["reason"]
        print(f"    probe: {probe['verdict']} on {probe['device']}, torch {probe['torch']}: {told}")
    counts = Counter(finding["probe"]["verdict"] for finding in findings)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in ("confirmed", "refuted", "inconclusive"))
    print(f"{len(findings)} finding{'s' * (len(findings) != 1)}: {kinds}.")


if __name__ == "__main__":
    sys.exit(main())
