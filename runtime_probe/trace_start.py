"""Starts a trace in this process: at once if torch is imported, else when it is, so that nothing else changes until then."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from stridelint.runtime_probe import trace_mode
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
            self._mode = trace_mode.mode_of(self.recorder, Frames(self._folders))
        return self._mode

    def enter(self) -> bool:
        """Watch this thread from now on; False where that fails, or where torch is not imported yet."""
        if "torch" not in sys.modules:
            return False
        try:
            self.mode.__enter__()
        except Exception as error:
            self.recorder.failed(error)
            return False
        return True

    def leave(self) -> None:
        """Watch no longer, whatever modes the program has left on the stack."""
        trace_mode.remove(self.mode)

    def start_with_torch(self) -> None:
        """Watch this thread from the moment that torch is imported, until the process ends."""
        if not self.enter():
            after_import("torch", self._entered)
        self.spare_compiled_code()

    def spare_compiled_code(self) -> None:
        """Keep out of what torch.compile compiles: it would compile the trace as well."""
        name = "torch._dynamo.eval_frame"
        if name in sys.modules:
            self._wrap(sys.modules[name])
        else:
            after_import(name, self._wrap)

    def _entered(self, torch: ModuleType) -> None:
        self.enter()

    def _wrap(self, module: ModuleType) -> None:
        original = module._TorchDynamoContext.__call__
        tracer = self

        @functools.wraps(original)
        def __call__(self: Any, function: Any) -> Any:
            compiled = original(self, function)
            if isinstance(compiled, type) or not hasattr(compiled, "__code__"):
                return compiled

            @functools.wraps(compiled)
            def untraced(*args: Any, **kwargs: Any) -> Any:
                with trace_mode.suspended(tracer.mode):
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
