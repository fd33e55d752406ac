"""Between which numbers those of tensors are said to lie is where they lie when the program runs, and ends that are said to be
reached are."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import libcst
import pytest

from stridelint.linter.inference import number_ranges, roots
from stridelint.linter.inference.path import Broke, Continued, Finished, Path, Raised, Returned
from stridelint.linter.inference.program import Program
from stridelint.linter.inference.statements import execute
from stridelint.linter.inference.values import TensorValue
from stridelint.rules.contract import ranges
from stridelint.rules.contract.ranges import Range

torch: Any = pytest.importorskip("torch")

DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float32", "float16", "bool")
MADE = (
    "torch.full((2, 3), {n}, dtype=torch.{d})",
    "torch.zeros(2, 3, dtype=torch.{d})",
    "torch.ones_like({a})",
    "torch.full_like({a}, {n})",
    "{a}.new_full((2, 3), {n})",
    "torch.tensor([[{n}, {m}, {k}], [{m}, {n}, {m}]], dtype=torch.{d})",
    "torch.tensor([{n}, {m}, {k}])",
    "torch.arange({n}, {n} + 6, 2).view(1, 3)",
    "torch.arange({n}, {n} - 6, -1, dtype=torch.{d}).reshape(2, 3)",
    "torch.randint({n}, {n} + 9, (2, 3), dtype=torch.{d})",
    "torch.empty(2, 3, dtype=torch.{d})",
)
COMPUTED = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} * {a}", "{a} - {a}", "-{a}", "{a} ** 2", "{a} // 3", "{a} % 7", "{a} + {n}",
    "{n} - {a}", "{a} * {n}", "{a} & 15", "{a} | {b}", "{a} ^ 3", "{a} >> 1", "{a}.abs()", "{a}.clamp({n}, {n} + 5)",
    "{a}.clamp(max={n})", "torch.clamp_min({a}, {n})", "torch.maximum({a}, {b})", "torch.minimum({a}, {b})", "torch.max({a}, {b})",
    "{a}.amax()", "{a}.amin(0)", "{a}.max()", "{a}.min()", "torch.where({a} > {n}, {a}, {b})", "{a}.masked_fill({a} > {n}, {m})",
    "torch.cat([{a}, {b}])", "torch.stack([{a}, {b}])", "{a}.flip(0)", "{a}.roll(1, 0)", "{a}.relu()", "{a}.square()",
    "torch.add({a}, {b}, alpha={n})", "torch.sub({a}, {b}, alpha=2)", "torch.div({a}, 3, rounding_mode='trunc')",
    "torch.add({a}, {b}, out=torch.empty_like({a}))", "{a}.clone()", "{a}.to(torch.{d})", "{a}.byte()", "{a}.float()",
    "{a}.repeat_interleave(2, 0)", "{a}.index_select(0, torch.tensor([0]))", "{a}[torch.tensor([0])]", "{a}[{a} > {n}]",
    "{a}.float() / 2", "{a}.long().sum()",
)  # fmt: skip
VIEWED = (
    "{a}[0]", "{a}[..., 1:]", "{a}.t()", "{a}.reshape(-1)", "{a}.unsqueeze(0)", "{a}.expand_as({a})", "{a}.detach()", "{a}.data",
    "{a}.contiguous()", "{a}.view(torch.int8)", "{a}.select(-1, 1)", "{a}.expand(2, *{a}.shape)",
)  # fmt: skip
CHANGED = (
    "{a} += {b}", "{a} -= {n}", "{a} *= {n}", "{a} //= 2", "{a}.fill_({n})", "{a}.zero_()", "{a}.copy_({b})", "{a}[0] = {n}",
    "{a}[:] = {n}", "{a}[{a} > {n}] = {m}", "{a}[{a} > {n}] += {m}", "{a}[torch.tensor([0])] = {n}", "{a}[..., 0] += {n}",
    "{a}.clamp_({n}, {n} + 9)", "{a}.neg_()", "{a}.mul_({a})", "torch.add({a}, {b}, out={a})", "torch.mul({a}, {n}, out={b})",
    "torch.maximum({a}, {b}, out={b})", "{a}.masked_fill_({a} > {n}, {m})", "torch.zeros(2, 3, out={a})",
    "torch.relu_({a})", "torch.nn.functional.relu({a}, inplace=True)", "{a}.numpy()[...] = {n}", "torch.arange(3, out={a})",
    "for _ in range(3): {a} += {n}", "for _ in range(int({a}.reshape(-1)[0]) % 5): {a} += {n}", "for row in {a}: row += {n}",
    "if {a}.max() > {n}: {a} -= {m}", "while {a}.max() > 9: {a}.fill_({n} % 7)", "[{a}.add_({n}) for _ in range(int({b}.max()) % 3)]",
    "for each in filled({a}): {b} += each", "bump({a}, {n})", "keep({a})", "KEPT[0].fill_({n})", "run(lambda: {a}.fill_({n}))",
    "{a}.data = {b}", "torch._foreach_add_([{a}], {n})", "assert {a}.max() < 300", "{a}.resize_(1)", "{a}.set_({b})",
)  # fmt: skip
HELPERS = """\
import torch

KEPT = [torch.full((2, 3), 7, dtype=torch.uint8)]

def filled(buffer):
    for number in range(3):
        buffer.fill_(number)
        yield buffer

def bump(tensor, by):
    view = tensor[0]
    view += by

def keep(tensor):
    KEPT[0] = tensor

def run(function):
    function()
"""


def program(chosen: random.Random) -> list[str]:
    lines, names = (
        ["x = torch.full((2, 3), 100, dtype=torch.uint8)", "y = torch.tensor([[1, 2, 3], [4, 5, 6]])"],
        ["x", "y"],
    )
    for _ in range(chosen.randint(2, 9)):
        forms = chosen.choice((MADE, COMPUTED, COMPUTED, VIEWED, CHANGED, CHANGED))
        n, m, k = (chosen.choice((0, 1, 2, 3, 5, 100, 200, -1, -7)) for _ in range(3))
        line = chosen.choice(forms).format(
            a=chosen.choice(names), b=chosen.choice(names), n=n, m=m, k=k, d=chosen.choice(DTYPES)
        )
        if forms is not CHANGED:
            name = chosen.choice("xyzvw")
            names += [name] if name not in names else []
            line = f"{name} = {line}"
        lines.append(line)
    return lines


def run_for_real(lines: list[str], seed: int) -> tuple[dict[str, Any], int]:
    """What the names are in the end, and how many lines run without an error; the others are left out."""
    torch.manual_seed(seed)
    names: dict[str, Any] = {}
    exec(HELPERS, names)
    for count, line in enumerate(lines):
        before = {name: value.clone() for name, value in names.items() if isinstance(value, torch.Tensor)}
        try:
            exec(line, names)
        except Exception:
            return before, count
    return names, len(lines)


def told(code: str) -> dict[str, Range]:
    """Between which numbers the tensors of a script lie in the end, as far as that is known, by name."""
    module = libcst.parse_module(code)
    path = Path(Program(module, [], 100_000))
    path.module_scope = scope = roots.module_scope(path.program, True)
    with contextlib.suppress(Raised, Returned, Finished, Broke, Continued):
        execute(path, scope, module.body)
    found = {name: value for name, value in scope.values.items() if isinstance(value, TensorValue)}
    known = {name: number_ranges.of(path, path.facts(value)) for name, value in found.items()}
    return {name: numbers for name, numbers in known.items() if numbers is not None}


@pytest.mark.filterwarnings("ignore")
def test_random_programs() -> None:
    chosen = random.Random(1)
    known = reached = 0
    for seed in range(600):
        lines = program(chosen)
        real, count = run_for_real(lines, seed)
        code = HELPERS + "\n".join(lines[:count]) + "\n"
        for name, numbers in told(code).items():
            tensor = real.get(name)
            if tensor is None or not tensor.numel() or name == "KEPT":
                continue
            least, most = tensor.min().item(), tensor.max().item()
            assert numbers.low <= least and most <= numbers.high, f"{code}\n{name}: {numbers}, {tensor}"
            assert not numbers.has_low or least == numbers.low, f"{code}\n{name}: {numbers}, {tensor}"
            assert not numbers.has_high or most == numbers.high, f"{code}\n{name}: {numbers}, {tensor}"
            known += 1
            reached += numbers.has_low and numbers.has_high
    assert known > 600 and reached > 300


NUMBERS = (-300, -128, -2, -1, 0, 1, 2, 3, 127, 128, 255, 256, 70000)


@pytest.mark.parametrize(
    "dtype", ("uint8", "int8", "int16", "int32", "int64", "bool", "float16", "bfloat16", "float32")
)
def test_what_a_dtype_holds(dtype: str) -> None:
    for number in NUMBERS:
        real = int(torch.tensor(number).to(getattr(torch, dtype)).long())
        fits = ranges.held(ranges.one(number), dtype) is not None
        assert not fits or real == number
        if not dtype.startswith(("float", "bfloat", "bool")):
            assert fits is (real == number) and (ranges.overflow(ranges.one(number), dtype) is None) is fits
