"""Starts a trace in this process: at once if torch is imported, else when it is, so that nothing else changes until then."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from stridelint.runtime_probe.trace_frames import Frames
from stridelint.runtime_probe.trace_record import Recorder


class Tracer:
    """The mode of a trace, made when torch is there.

    recorder: keeps what is seen. folders: what is watched.
    """

    def __init__(self, recorder: Recorder, folders: Sequence[str]) -> None:
        self.recorder = recorder
        self._folders = folders
        self._mode: Any = None

    @property
    def mode(self) -> Any:
        """The torch function mode; the same each time."""
        if self._mode is None:
            from stridelint.runtime_probe.trace_mode import mode_of

            self._mode = mode_of(self.recorder, Frames(self._folders))
        return self._mode

    def start_with_torch(self) -> None:
        """Watch this thread from the moment that torch is imported, until the process ends."""
        if "torch" in sys.modules:
            self._enter(sys.modules["torch"])
        else:
            after_import("torch", self._enter)
        self.spare_compiled_code()

    def spare_compiled_code(self) -> None:
        """Keep out of what torch.compile compiles: it would compile the trace as well."""
        name = "torch._dynamo.eval_frame"
        if name in sys.modules:
            self._wrap(sys.modules[name])
        else:
            after_import(name, self._wrap)

    def _enter(self, torch: ModuleType) -> None:
        try:
            self.mode.__enter__()
        except Exception as error:
            self.recorder.failed(error)

    def _wrap(self, module: ModuleType) -> None:
        from stridelint.runtime_probe.trace_mode import suspended

        original = module._TorchDynamoContext.__call__
        mode_of = self

        @functools.wraps(original)
        def __call__(self: Any, function: Any) -> Any:
            compiled = original(self, function)
            if isinstance(compiled, type) or not hasattr(compiled, "__code__"):
                return compiled

            @functools.wraps(compiled)
            def untraced(*args: Any, **kwargs: Any) -> Any:
                with suspended(mode_of.mode):
                    return compiled(*args, **kwargs)

            return untraced

        module._TorchDynamoContext.__call__ = __call__


def after_import(name: str, then: Callable[[ModuleType], None]) -> None:
    """Call `then` with a module as soon as it has been imported."""
    sys.meta_path.insert(0, _Finder(name, then))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module as the others would, and is told when it has been executed."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.then = then

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> Any:
        """The spec that another finder gives, with a loader that calls back."""
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            spec: importlib.machinery.ModuleSpec | None = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    _call_back(spec, self.then)
                return spec
        return None


def _call_back(spec: importlib.machinery.ModuleSpec, then: Callable[[ModuleType], None]) -> None:
    loader = spec.loader
    assert loader is not None
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        then(module)

    loader.exec_module = exec_module  # type: ignore[method-assign]
