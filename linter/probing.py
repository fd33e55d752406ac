"""`check --probe`: the door from findings to verdicts. The probe itself is another part of the package, loaded by name."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterable
from typing import Any

from stridelint.linter.config import ConfigError
from stridelint.linter.findings import Reported, Verdict

NO_TORCH = "the probe needs torch: pip install 'stridelint[probe]'"


class Prober:
    """Replays findings in a child process, which starts while the files are still read.

    Raises ConfigError where torch or the device is missing.
    """

    def __init__(self, device: str) -> None:
        if importlib.util.find_spec("torch") is None:
            raise ConfigError(NO_TORCH)
        self._module: Any = importlib.import_module("stridelint.runtime_probe.probe")
        self._probe: Any = self._module.Probe(device)

    def __enter__(self) -> Prober:
        return self

    def __exit__(self, *_: object) -> None:
        self._probe.close()

    def verdicts(self, findings: Iterable[Reported]) -> tuple[Reported, ...]:
        """The findings with their verdicts."""
        try:
            self._probe.wait()
            return tuple(finding._replace(probe=self._verdict(finding)) for finding in findings)
        except self._module.ProbeError as error:
            raise ConfigError(str(error)) from None

    def _verdict(self, finding: Reported) -> Verdict:
        return Verdict(**self._probe.verdict(json.loads(finding.witness)))
