"""The editor server: findings, hovers and fixes while the code is written, over the Language Server Protocol.

`wiring` speaks the protocol and keeps the documents; two `helper` processes do the work (`child`, `answers`), one for findings
and one for what somebody waits for, so that no file holds up the editor. `hovering` shows what the interpreter knows.
"""

from __future__ import annotations

import importlib.util

from stridelint.linter.config import ConfigError


def serve() -> int:
    """Serve on standard input and output until the client is done.

    Raises:
        ConfigError: the libraries for the protocol are missing.
    """
    if importlib.util.find_spec("pygls") is None or importlib.util.find_spec("lsprotocol") is None:
        raise ConfigError("the editor server needs pygls: pip install 'stridelint[lsp]'")
    from stridelint.linter.server.wiring import run

    return run()
