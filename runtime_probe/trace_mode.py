"""The torch function mode of a trace: what runs at every call of torch, and so does as little as it can.

A call that was seen before, at its place and with tensors of its kind, costs a look at the frames above it, the tensors'
strides, and two look-ups. Only the first of a kind is read in full (`trace_events`) and judged (`trace_record`).
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from stridelint.rules.contract.layout import RANK_OF
from stridelint.rules.events import Note
from stridelint.runtime_probe.facts_of_tensor import storage_of
from stridelint.runtime_probe.trace_events import Call, Story, Unseen, Written, is_plain
from stridelint.runtime_probe.trace_frames import OTHER, THROUGH, Frames, stand_in
from stridelint.runtime_probe.trace_names import Called, called
from stridelint.runtime_probe.trace_record import MOST_KINDS, Kept, Recorder, Spot
from stridelint.runtime_probe.trace_source import module, node_at, whole_call

# Code that is made anew all the time (`exec` in a loop) is not remembered for ever.
_MOST_CALLERS = 100_000
_FORMATS = {rank: name for name, rank in RANK_OF.items()}
_CONVERSIONS = frozenset({"to", "contiguous", "clone"})
_PERMUTING = frozenset("permute transpose t movedim moveaxis swapaxes swapdims".split())
# Operators whose whole arguments are sizes or positions of axes; of other numbers only the type is looked at.
_BY_SIZE = frozenset("view reshape view_as reshape_as resize_ flatten permute transpose".split())


def mode_of(recorder: Recorder, frames: Frames) -> Any:
    """The mode, as a context manager; imports torch."""
    import torch
    from torch.overrides import TorchFunctionMode, handle_torch_function

    tensor, parameter = torch.Tensor, torch.nn.Parameter
    handing = handle_torch_function.__code__
    is_grad_enabled = torch.is_grad_enabled
    known: dict[Any, Called | None] = {}
    callers: dict[tuple[int, int], Callable[..., Any]] = {}
    spots: dict[tuple[int, int, str], Spot] = {}
    kinds = frames.kinds
    getframe = sys._getframe
    stories = _Stories()

    def signature(values: Any, by_size: bool) -> list[Any]:
        found: list[Any] = []
        for value in values:
            of = type(value)
            if of is tensor or of is parameter:
                found += (value.dtype, value.shape, value.stride(), value.requires_grad)
            elif of is tuple or of is list:
                found.append(tuple(signature(value, by_size)) if len(value) < 17 else of)
            elif of is int:
                found.append(value if by_size else of)
            elif of is float:
                found.append(value.is_integer())
            elif of is str or of is torch.dtype or of is torch.memory_format or of is bool:
                found.append(value)
            else:
                found.append(of)
        return found

    def aliasing(args: Any, out: Any) -> Any:
        """How out lies to the operands: the place of each in memory, relative to out's."""
        first = out[0] if type(out) in (tuple, list) and out else out
        if type(first) is not tensor or first.is_meta:
            return None
        start, memory = first.data_ptr(), first.untyped_storage().data_ptr()
        return tuple(
            each.data_ptr() - start if each.untyped_storage().data_ptr() == memory else None
            for each in args
            if type(each) is tensor and not each.is_meta
        )

    def shares(one: Any, other: Any) -> bool:
        return not one.is_meta and storage_of(one) == storage_of(other)

    class Trace(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
        """Watches calls of torch in this thread."""

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            frame = getframe(1)
            if frame.f_code is handing:
                # A function of torch that is written in Python has come here by itself; its caller makes the call.
                frame = frame.f_back.f_back  # type: ignore[union-attr, assignment]
            code = frame.f_code
            key = (id(code), frame.f_lasti)
            call = callers.get(key)
            if call is None:
                call = stand_in(frame)
                if len(callers) < _MOST_CALLERS:
                    callers[key] = frames.kept(code, call)
            if kwargs is None:
                kwargs = {}
            try:
                operator = known[function]
            except (KeyError, TypeError):
                operator = _known(function)
            if operator is None:
                return call(function, args, kwargs)
            direct = True
            while True:
                kind = kinds.get(id(code))
                if kind is None:
                    kind = frames.kind(code)
                if kind is not THROUGH:
                    break
                direct = False
                above = frame.f_back
                if above is None:
                    return call(function, args, kwargs)
                frame, code = above, above.f_code
            if kind is OTHER:
                return call(function, args, kwargs)
            try:
                where = (id(code), frame.f_lasti, operator.op)
                spot = spots.get(where)
                if spot is None:
                    spot = spots[where] = _new_spot(frame, operator, direct)
                found = signature(args, operator.op in _BY_SIZE)
                if kwargs:
                    found += kwargs
                    found += signature(kwargs.values(), False)
                    if "out" in kwargs:
                        found += (is_grad_enabled(), aliasing(args, kwargs["out"]))
                sign = tuple(found)
                kept = spot.kinds.get(sign)
            except Exception as error:
                recorder.failed(error)
                return call(function, args, kwargs)
            if kept is None:
                if len(spot.kinds) >= MOST_KINDS:
                    spot.rest += 1
                    return call(function, args, kwargs)
                kept = spot.kinds[sign] = Kept()
                kept.count = 1
                return self._first(kept, spot, operator, call, function, args, kwargs, frame, direct)
            kept.count += 1
            if kept.step is None:
                return call(function, args, kwargs)
            result = call(function, args, kwargs)
            stories.continued(args, kept.step, result)
            return result

        def _first(
            self,
            kept: Kept,
            spot: Spot,
            operator: Called,
            call: Callable[..., Any],
            function: Any,
            args: Any,
            kwargs: Mapping[str, Any],
            frame: FrameType,
            direct: bool,
        ) -> Any:
            """The first call of a kind is read, made and judged."""
            read = None
            try:
                source = module(frame.f_code.co_filename)
                node = node_at(source, frame.f_code, frame.f_lasti, frame.f_lineno, getattr(function, "__name__", ""))
                written = Written(source, whole_call(source, node), frame.f_lineno, direct)
                with torch._C.DisableTorchFunction():
                    if all(map(is_plain, _flat((args, tuple(kwargs.values()))))):
                        read = Call.of(operator, args, kwargs, written, stories)
            except Unseen:
                pass
            except Exception as error:
                recorder.failed(error)
            try:
                result = call(function, args, kwargs)
            except BaseException as error:
                if read is not None and isinstance(error, Exception):
                    self._judge(spot, read, None, error)
                raise
            if read is not None:
                self._judge(spot, read, result, None)
                self._look(kept, operator, read, args, result)
            return result

        def _judge(self, spot: Spot, read: Call, result: Any, error: Exception | None) -> None:
            try:
                with torch._C.DisableTorchFunction():
                    spot.called = True
                    recorder.judge(spot, read, result, error)
            except Exception as failure:
                recorder.failed(failure)

        def _look(self, kept: Kept, operator: Called, read: Call, args: Any, result: Any) -> None:
            """Whether the layout changes here, and what is to be told of the result."""
            try:
                with torch._C.DisableTorchFunction():
                    first = result[0] if isinstance(result, (tuple, list)) and result else result
                    if not isinstance(first, tensor) or not is_plain(first) or read.form.value == "inplace":
                        return
                    sources = [each for each in _flat(args) if _is_only(each, channels_last=True)]
                    # A view has the memory of its base; that it reads as row-major is what it is made for.
                    same = [each for each in sources if each.dim() == first.dim() and not shares(each, first)]
                    kept.drops = bool(same) and read.out is None and _is_only(first, channels_last=False)
                    name = _FORMATS.get(first.dim())
                    site = read.written.site()
                    asked = read.arguments.get("memory_format")
                    if operator.op in _CONVERSIONS and asked in ("channels_last", "channels_last_3d"):
                        kept.step = (Note(site, f"becomes {asked} here"),)
                    elif operator.op in _PERMUTING:
                        kept.step = (Note(site, "is permuted here"),)
                    elif any(id(each) in stories for each in _flat(args)):
                        kept.step = ()
                    elif not sources and _is_only(first, channels_last=True):
                        kept.step = (Note(site, f"becomes {name} here"),)
                    if kept.step is not None:
                        stories.continued(args, kept.step, result)
            except Exception as failure:
                recorder.failed(failure)

    def _known(function: Any) -> Called | None:
        try:
            found = called(function)
        except Exception as error:
            recorder.failed(error)
            found = None
        try:
            if len(known) < 10_000:
                known[function] = found
        except TypeError:
            pass
        return found

    def _new_spot(frame: FrameType, operator: Called, direct: bool) -> Spot:
        code = frames.kept(frame.f_code, frame.f_code)
        source = module(code.co_filename)
        node = node_at(source, code, frame.f_lasti, frame.f_lineno, operator.op)
        return recorder.spot(source.place(whole_call(source, node), frame.f_lineno), operator.op)

    def _flat(values: Any) -> Iterator[Any]:
        for each in values:
            if isinstance(each, tensor):
                yield each
            elif type(each) in (tuple, list):
                yield from _flat(each)

    def _is_only(each: Any, *, channels_last: bool) -> bool:
        """In one of the two formats and not in both."""
        if each.dim() not in _FORMATS:
            return False
        wanted = getattr(torch, _FORMATS[each.dim()])
        one, other = each.is_contiguous(memory_format=wanted), each.is_contiguous()
        return bool(one and not other) if channels_last else bool(other and not one)

    return Trace()


class _Stories(Mapping[int, Story]):
    """What is told of tensors, by identity, as long as they live."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[Any, Story]] = {}

    def __getitem__(self, identity: int) -> Story:
        return self._told[identity][1]

    def __iter__(self) -> Iterator[int]:
        return iter(self._told)

    def __len__(self) -> int:
        return len(self._told)

    def __contains__(self, identity: object) -> bool:
        return identity in self._told

    def continued(self, args: Any, step: Story, result: Any) -> None:
        """A result's story is that of the first operand that has one, with a step more."""
        first = result[0] if isinstance(result, (tuple, list)) and result else result
        told: Story = ()
        for each in args:
            parts = each if type(each) in (tuple, list) else (each,)
            before = next((self._told[id(part)] for part in parts if id(part) in self._told), None)
            if before is not None:
                told = before[1]
                break
        story = (*told[-3:], *step)
        if not story:
            return
        identity, table = id(first), self._told
        table[identity] = (weakref.ref(first, lambda _: table.pop(identity, None)), story)


@contextmanager
def suspended(mode: Any) -> Iterator[None]:
    """Takes the mode from torch's stack for a while, wherever in it it is."""
    at = remove(mode)
    try:
        yield
    finally:
        if at is not None:
            now = _stack()
            _restack([*now[:at], mode, *now[at:]])


def remove(mode: Any) -> int | None:
    """Take the mode from torch's stack; where in it it was."""
    before = _stack()
    at = next((index for index, each in enumerate(before) if each is mode), None)
    if at is not None:
        _restack([*before[:at], *before[at + 1 :]])
    return at


def _stack() -> list[Any]:
    import torch

    return [torch._C._get_function_stack_at(index) for index in range(torch._C._len_torch_function_stack())]


def _restack(stack: list[Any]) -> None:
    import torch

    for _ in _stack():
        torch._C._pop_torch_function_stack()
    for each in stack:
        torch._C._push_on_torch_function_stack(each)
