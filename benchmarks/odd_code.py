"""Fragments of code that is seldom written, for `mutation.py`."""

from __future__ import annotations

# Fragments, one expression a line.
ODD_EXPRESSIONS = r"""
(y := x)
(x := x.view(-1), *x)
[*x, *[*y]]
{**kw, 'a': x}
(yield)
(yield x)
(yield from x)
(await x)
lambda a=x, /, *b, c=(x := 1), **d: (a, b, c, d)
(lambda: x)()
[x for x in x if x for x in x]
[y async for y in x]
{x: x for x in range(3)}
(x for x in x)
f"{x!r:>{y}}{f'{x}'}"
f"{x=}" "b" 'c'
b"\x00\xff"
"\ud800"
"\x1b[31m"
...
None
True
NotImplemented
0
-1
10**30
2**63
0xFFFFFFFFFFFFFFFFFFFFFFFF
1_000_000
1e400
-0.0
1e-320
1j
float('nan')
''
()
[]
{}
x[...]
x[None, ..., ::-1, 1:2:3]
x[()]
x[x]
x[:, [0, 1], x > 0]
x[1][2][3]
x.T.H.mT
x.data.data.grad
not x
~x
-x
x @ x @ x
x // 0
x % y << 3
x if x else y
x < y < x
x is not None
x in (x, y)
x and y or x
torch.empty(0)
torch.empty((2, -1))
torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
torch.empty(2, 3, 4, 5, memory_format=torch.channels_last_3d)
torch.zeros(10**9, 10**9, 10**9)
torch.rand(1, 1, 1, 1, 1, 1, 1, 1, 1)
torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
torch.rand(*x.shape)
torch.rand(x.shape[0], -x.size(1))
torch.as_strided(x, (2, 2), (0, 0), 7)
torch.arange(0, 10, 0)
torch.arange(5)[::2]
torch.tensor([[1, [2]], 3])
torch.tensor([[]] * 5)
torch.stack([x] * 100000)
torch.cat([])
torch.cat([x, y], dim=-9)
torch.einsum('ij,jk,...->', x, y)
torch.einsum('i j', x)
torch.broadcast_tensors(x, y)[7]
torch.max(x, dim=0, out=(x, y))
torch.max(x, 1, out=[x])
torch.add(x, y, alpha=2, out=x[..., 0])
torch.mm(x, y, out=x)
torch.sum(x, out=y.t())
torch.where(x, y)
torch.linalg.svd(x, out=(x, y, x))
torch.split(x, [1, 2, 3])[1]
x.view(-1, -1)
x.view(torch.float64)
x.view(x.size())
x.view(*x.shape[:-2], -1)
x.expand(-1, 7, 3, 4).add_(1)
x.permute(0, 0, 1)
x.permute(*range(x.dim()))
x.transpose(5, -7).contiguous()
x.unflatten(0, (-1, 0))
x.reshape(())
x.unfold(0, 0, 0)
x.to(x)
x.to('cuda:0', torch.half, True, memory_format=torch.preserve_format)
x.to(memory_format=torch.channels_last, out=x)
x.is_contiguous(memory_format=torch.channels_last)
x.stride()[1] == 1
x.copy_(y, non_blocking=True)
x.set_(y)
x.resize_(0)
x.requires_grad_().add_(1)
x.numpy().T
x.squeeze().unsqueeze(-1).flatten()
x.new_empty((1,))
x.type(torch.LongTensor)
torch.Tensor.view(x, 2)
torch.nn.Conv2d(3, 0, 1)(x)
torch.nn.Conv2d(**kw).to(memory_format=torch.channels_last)(x)
torch.nn.Sequential(*[torch.nn.Conv2d(3, 3, 3)] * 50)(x)
torch.nn.functional.pad(x, (1,) * 9)
torch.vmap(torch.add)(x, out=y)
torch.compile(lambda x: x.view(-1))(x)
getattr(torch, 'add')(x, y)
getattr(x, name)(y, out=x)
torch
torch.channels_last
self
super().forward(x)
type(x)(x)
globals()['x']
"""
# The same for statements; `@` stands for one more, indented.
ODD_STATEMENTS = r"""
x = y = z = x
x, *y = x
(x, [y, *x]), z = x, y
x[0], x.grad = y, x
x: torch.Tensor = y
x: "torch.Tensor"
x += x
x[0] -= 1
x.data *= y
x @= x.t()
x <<= 2
del x
del x[0], y.grad
global x
nonlocal x
import torch as x
from torch import *
from . import x
from torch.nn import functional as F
import torch, torch.nn as nn
pass
return x
return
return x, *y
raise
raise x from y
assert x.is_contiguous(), f"{x}"
assert x.shape == (2, 3) and x.stride() == (3, 1)
assert not x.requires_grad
break
continue
yield x
await x
exec("x = 1")
if x.dim() == 4:\n    @
if x:\n    @\nelif y:\n    @\nelse:\n    @
while True:\n    @
while x is not None:\n    @\nelse:\n    @
for x in x:\n    @
for i, (x, *y) in enumerate(zip(x, y)):\n    @
for shape in [(2, 3), (2, 3, 4), ()]:\n    @
for _ in range(10**9):\n    @
async for x in y:\n    @
with torch.no_grad():\n    @
with torch.inference_mode(False), torch.autocast('cuda'):\n    @
with x as (y, z), open(x) as x:\n    @
async with x as y:\n    @
try:\n    @\nexcept (A, B) as x:\n    @\nelse:\n    @\nfinally:\n    @
try:\n    @\nfinally:\n    return x
try:\n    @\nexcept* ValueError:\n    pass
match x:\n    case torch.Tensor(shape=[a, *b]) if a:\n        @\n    case {'a': 1, **x} | [1, 2] | None:\n        @\n    case _:\n        @
def f(x, /, y=x, *args, z: int = 1, **kw) -> x:\n    @
def f(x):\n    return f(f(x.view(-1)))
def x(x):\n    nonlocal x\n    @
async def g(x, *, out=None):\n    @
@torch.no_grad()\n@x.y[0](lambda: 1)\ndef h(self, x, out=None):\n    @
class C(torch.nn.Module, metaclass=x):\n    @
class C(C):\n    def forward(self, x):\n        return self(x)\n    __call__ = forward
class C:\n    x = torch.rand(2, 3, 4, 5)\n    def __enter__(self): return self.x\n    def __getattr__(self, x): return self
@property\ndef x(self):\n    return self.x
@staticmethod\ndef s(x=[]):\n    @
def test_x():\n    @
"""
