"""Numbers in the code cost neither time nor memory, however large they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

HUGE = "1" + "0" * 20  # more than an index can be
EXPRESSIONS = """\
2 ** 10 ** 9
1 << 10 ** 12
'a' * 10 ** 12
[x] * 10 ** 12
f"{'a':>{10 ** 12}}"
'%1000000000000d' % 1
float(10 ** 400)
int(1e400)
range(HUGE)
list(range(-HUGE, HUGE, 7))
reversed(range(HUGE))
enumerate(range(HUGE))
zip(range(HUGE), range(HUGE))
[i for i in range(HUGE)]
{i: x for i in range(10 ** 9)}
sorted(range(10 ** 9))
sum(range(10 ** 12))
math.factorial(10 ** 7)
pow(3, 10 ** 10)
torch.rand(10 ** 9).unbind(0)
torch.rand(10 ** 9).chunk(10 ** 9)
torch.rand(10 ** 12).split(1)
torch.rand(10 ** 12).tensor_split(10 ** 12)
torch.rand(5).repeat(*[2] * 10 ** 7)
torch.rand([2] * 10 ** 6)
torch.rand(HUGE)[::HUGE]
torch.zeros(2, 3).expand(*[5] * 10 ** 5)
torch.zeros(2, 3)[(None,) * 10 ** 6]
torch.stack([x] * 10 ** 7)
torch.meshgrid(*[x] * 10 ** 5)
torch.empty(2 ** 61 - 1).view(-1, 3)
torch.empty(998244359987710471).view(1000000007, -1)
torch.empty(10 ** 6).as_strided((10 ** 6, 10 ** 6), (1, 1)).add_(1)
torch.nn.Sequential(*[torch.nn.ReLU()] * 10 ** 6)(x)
torch.einsum('i,' * 10 ** 6, x)
x.flatten(0, HUGE).unsqueeze(HUGE)
x.transpose(HUGE, -HUGE)
x.shape[HUGE:]
x[:HUGE:HUGE]
[[[[x] * 100] * 100] * 100] * 100
""".replace("HUGE", HUGE).splitlines()
STATEMENTS = """\
if x.dim() == 1000000000: x.t()
if x.ndim == 1000000: x.t()
assert x.dim() == HUGE
if len(x.shape) == 100000000: x.t()
assert len(x.shape) == HUGE
if x.ndim in (1000000000, 4): x.t()
assert x.shape == (2,) * 10 ** 7
assert x.size(1000000000) == x.shape[HUGE]
a, *b = range(HUGE)
for i in range(HUGE): x = x.t()
while x.dim() < 1000000000: x = x.unsqueeze(0)
""".replace("HUGE", HUGE).splitlines()
# In a process of its own, which has three gigabytes and two minutes.
CHECK = """
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
except ImportError:
    pass
from stridelint.linter import engine, source
from stridelint.linter.config import Settings
from stridelint.linter.selection import select
from stridelint.rules.contract.answers import Confidence
for line in sys.stdin:
    code = f"import math\\nimport torch\\ndef f(x):\\n    {line}    return torch.rand(3, 4).t().view(-1)\\nf(torch.rand(2, 3))\\n"
    outcome = engine.check(source.from_bytes("x.py", code.encode()), select(Settings(min_confidence=Confidence.POSSIBLE)))
    print([each.line for each in outcome.findings if each.code == "TLC104"], *outcome.skipped)
"""


@pytest.mark.parametrize(
    "lines", [[f"y = {each}" for each in EXPRESSIONS], STATEMENTS], ids=["expressions", "statements"]
)
def test_what_follows_is_read(lines: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHECK],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.stderr == ""
    told = result.stdout.splitlines()
    found = {line: each for line, each in zip(lines, told, strict=True) if each not in ("[5]", "[]")}
    assert not found
    # A contradiction ends a path, as it would end the program; everything else is passed.
    assert sum(each == "[5]" for each in told) > 0.8 * len(lines)
