"""Random programs that change state between calls: `python state_programs.py --count 2000 --seed 1`.

A program is the text of a module: global variables, classes, a network, a function and statements that run between
calls of the function. It runs twice, plainly and with the function compiled, and all that it can see is compared:
results, arguments, gradients, global variables, attributes, and which objects are the same.
"""

from __future__ import annotations

import argparse
import random
import sys
import textwrap
import traceback
import types
import warnings
from typing import Any

import tl_core as tl
import tl_nn as nn
from tl_compiler import compiler

PRELUDE = """
import collections, contextlib, dataclasses, enum, functools, math, types
factor, offset, flag, count, kind = 2.0, 1, True, 0, "add"
weight = tl.linspace(-1.0, 1.0, 4)
items, table, names, seen = [1.0, 2.0], {"scale": 0.5, "on": True}, ("relu", "tanh"), set()
queue = collections.deque(maxlen=3)
late = None
class Mode(enum.Enum):
    SUM, MEAN = 1, 2
mode = Mode.SUM
settings = types.SimpleNamespace(power=2, depth=1, net=None)
class Base:
    rate = 0.5
    calls = 0
    def scaled(self, t): return t * self.rate
class Thing(Base):
    def __init__(self):
        self.bias, self.kept, self.last, self.n = 0.5, [], None, 0
    @property
    def twice(self): return self.bias * 2
    @classmethod
    def of_class(cls, t): return t + cls.calls
    @staticmethod
    def plain(t): return t - 1
    def __call__(self, t): return t + self.bias
    def __len__(self): return len(self.kept) + 1
    def __getitem__(self, i): return self.kept[i] if i < len(self.kept) else 0.25
class Slotted:
    __slots__ = ("size", "tensor")
    def __init__(self): self.size, self.tensor = 1, tl.ones(4)
@dataclasses.dataclass
class Pair:
    first: object
    second: object = 3
Point = collections.namedtuple("Point", "x y")
thing, slotted, pair = Thing(), Slotted(), Pair(1.0, 2)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Tanh()])
        self.register_buffer("total", tl.zeros(4))
        self.gain = nn.Parameter(tl.ones(4))
        self.active, self.steps = True, 0
    def forward(self, t):
        t = self.linear(t) * self.gain
        if self.training: t = t + 0.5
        for layer in self.layers if self.active else (): t = layer(t)
        return t
net = Net()
def helper(t): return t * factor
def other_helper(t): return t - factor
def with_default(t, by=2, *, plus=0.0): return t * by + plus
deep = types.SimpleNamespace(a=types.SimpleNamespace(b={"c": [1.0, 2.0]}))
@functools.lru_cache
def cached(n): return n * factor
def counting(t):
    counting.calls += 1
    return t + counting.calls
counting.calls = 0
def generator_sum(values):
    def each():
        for v in values: yield v * 2
    return sum(each())
def maker():
    held, number, shared = tl.arange(4.0), 3, []
    def read(t): return t * number + held
    def write(t):
        nonlocal number
        number += 1
        return t + number
    def grow(t):
        shared.append(len(shared))
        return t + len(shared)
    def set_number(value):
        nonlocal number
        number = value
    def set_held(value):
        nonlocal held
        held = value
    return read, write, grow, set_number, set_held
read_cell, write_cell, grow_cell, set_number, set_held = maker()
part = functools.partial(with_default, by=3)
"""

READS = r"""
x = x * factor
x = x + offset
x = x if flag else -x
x = x * weight
x = x + len(items)
x = x * items[0]
x = x + sum(items[1:])
x = x * table['scale'] if table.get('on') else x - 3
x = getattr(tl, names[0])(x)
x = x ** settings.power
x = thing.scaled(x)
x = x + thing.bias + thing.twice
x = thing(x)
x = Thing.of_class(x)
x = thing.plain(x)
x = x + slotted.size + slotted.tensor
x = helper(x)
x = with_default(x)
x = part(x)
x = read_cell(x)
x = net(x)
x = net.linear(x)
x = x + net.total
x = x.sum(0) if mode is Mode.SUM else x.mean(0)
x = x + len(thing) + thing[0]
x = x + (late if late is not None else 0.125)
x = x + count
x = x * n
x = x[: n] if n < len(x) else x
x = x + pair.first
x = x + y[0] if isinstance(y, list) else x + y['k'] if isinstance(y, dict) else x + y
x = x.to(tl.get_default_dtype())
x = x * 2 if tl.is_grad_enabled() else x * 3
x = x + math.sqrt(offset + 4)
x = functools.reduce(lambda a, b: a + b, items, x)
x = x + len(seen) + len(queue)
x = x.relu().tanh()
x = tl.where(x > 0, x, -x)
x = (lambda t: t * factor)(x)
x = [t * i for i, t in enumerate((x, x + 1))][1]
x = {'add': x + 1, 'mul': x * 2}[kind]
x = x + tl.zeros(4).add_(offset)
x = x @ x.T if x.dim() == 2 else x * x
x = x.reshape(-1)
x = x + sum(v for v in table.values())
x = x + hasattr(settings, 'extra')
x = x + (x.shape[0] if x.dim() else 1)
x = net.norm(x) if x.dim() == 2 and x.shape[-1] == 4 and len(x) > 1 else x
x = x + (settings.net.gain if settings.net is not None else 0)
x = helper(other_helper(x)) if flag else x
x = x + max(items)
x = x + (thing.maybe if hasattr(thing, 'maybe') else 0)
x = x * {**table}['scale']
a, *b = items; x = x + a + len(b)
x = x + getattr(settings, 'extra', 0)
x = x + isinstance(thing, Thing)
x = x + (thing == thing) + (weight is late)
x = x + Mode(1).value + len(names[0])
x = x.type(weight.dtype)
x = x + x.new_ones(()) * net.training
x = x + len(list(net.parameters()))
x = x + sum(p.sum() for p in net.parameters())
x = x + net.state_dict()['gain']
x = x + cached(n)
x = x + getattr(weight, 'tag', 0)
x = x * 2 if x.requires_grad else x
x = x * 2 if weight.requires_grad else x
x = dataclasses.replace(pair, first=2.0).first + x
x = functools.partial(thing.scaled)(x)
x = sorted([x.sum(), x.mean()], key=lambda t: 0)[0] + x
x = tl.stack([x, x]).sum(0)
x = x + sum(map(lambda v: v * 2, items))
def inner(t, acc=[]):\n    acc.append(1)\n    return t + len(acc)\nx = inner(x)
class Local:\n    value = n\nx = x + Local.value
x = x + types.SimpleNamespace(a=n).a
import math as m; x = x + m.pi
x = x + deep.a.b['c'][0]
x = x + sum(i * v for i, v in enumerate(items))
x = x + generator_sum(items)
x = x + (late is None)
x = x + sum(1 for name, p in net.named_parameters() if p.requires_grad)
x = x + Thing.rate + Thing().bias
x = x.to(weight.dtype).sum() + x
x = x + next(iter(table.values()))
x = x + len([k for k in table if k.startswith('s')])
x = x + (x.is_contiguous() + x.stride()[0]) if x.dim() else x
x = x + tl.tensor(n).item()
x = x * tl.tensor([1.0, n])[1].item()
x = x * float(tl.tensor(factor))
""".strip().splitlines()
WRITES = r"""
global count; count += 1
global late; late = x.detach()
global offset; offset = offset + n % 3
items.append(float(n))
items[0] = items[0] + 1
items.insert(0, 0.5)
table['scale'] = table['scale'] * 2
table['new%d' % (n % 2)] = n
table.pop('new0', None)
seen.add(n)
queue.append(n)
queue.appendleft(0.5)
thing.bias = thing.bias + 1
thing.kept.append(0.5)
thing.last = x.detach()
thing.fresh = n
Thing.calls += 1
Base.rate = Base.rate * 1.5
slotted.size += 1
slotted.tensor = x.detach().reshape(-1)[0]
settings.depth += 1
settings.extra = n
net.steps += 1
net.total += x.detach().sum()
net.active = not net.active
x = write_cell(x)
x = grow_cell(x)
set_number(n)
weight.mul_(1.5)
pair.second = Pair(n, [x.detach()])
setattr(thing, 'bias', 0.75)
thing.kept = list(thing.kept)
thing.last = items
pair.first = 1.5 if flag else 2.5
if isinstance(y, list): y.append(y[0])
if isinstance(y, dict): y['more'] = x.detach()
items.sort()
if isinstance(y, list): y[0] = y[0] + 1
net.train(not net.training)
late_local = thing.__dict__.setdefault('cache', {}); late_local[n] = n
items.extend([1.0]); del items[-1]
global kind; kind = 'mul' if kind == 'add' else 'add'
items.clear(); items.append(3.0)
weight.tag = n
x.tag = n; x = x + x.tag
table.setdefault('deep', n)
deep.a.b['c'][0] += 1
deep.a.b['c'].append(x.detach())
deep.a = types.SimpleNamespace(b={'c': [float(n)]})
del thing.bias; thing.bias = 0.25
try:\n    items.append(1.0)\n    x = x + len(items)\nfinally:\n    items.pop()
with contextlib.suppress(KeyError):\n    x = x + table['none']
items[:], seen_before = items[::-1], len(seen)
x = counting(x)
thing.last, thing.n = thing.n, n
thing.__dict__['direct'] = n
vars(settings)['direct'] = n
names_local = names; names_local += ('x',)
net.extra = x.detach()
net.register_buffer('fresh', x.detach().clone())
net.gain.data = net.gain.data * 2
weight.add_(1); x = x + weight
x[0] = 0 if not x.requires_grad else x[0]
queue.rotate(1); queue.extend([n])
seen.update({n, n + 1}); seen.discard(n)
items += [float(len(items))]
Thing.registry = getattr(Thing, 'registry', ()) + (n,)
""".strip().splitlines()
EFFECTS = r"""
print('call', n)
x = x * float(x.detach().sum() > 0)
x = x + 1 if bool(x.detach().sum() > 0) else x - 1
x = x + x.detach().reshape(-1)[0].item()
log.append(str(x.dtype))
tl.manual_seed(n); x = x + tl.rand(())
x = x + len(globals()) * 0
assert n >= 0
try:\n    x = x + tl.ones(99)\nexcept RuntimeError:\n    x = x + 7
for _ in range(n % 3): x = x + 1
while x.dim() < 2: x = x.unsqueeze(0)
with tl.no_grad(): x = x + x.detach()
y.add_(1) if isinstance(y, tl.Tensor) and not y.requires_grad else None
x = x.clone().mul_(2)
""".strip().splitlines()
RETURNS = r"""
x
x
x
(x, n)
[x, x + 1]
{'out': x, 'n': n}
Pair(x, n)
Point(x, [n])
(x, y)
(x, items)
thing
(x, x)
[[x], (n, None)]
x.shape
lambda t: t + n
collections.OrderedDict(a=x)
{n, 3}
(x, thing.last)
helper
(x, settings.__dict__)
""".strip().splitlines()
CHANGES = r"""
factor += 1
offset -= 1
flag = not flag
count = 7
kind = 'mul'
weight = weight + 1
weight.add_(1)
items.append(4.0)
items = [3.0, 1.0]
items[0] = 9.0
table['scale'] = 3.0
table['on'] = not table['on']
table = dict(table)
names = ('tanh',)
mode = Mode.MEAN
settings.power = 3
settings.extra = 1
Thing.calls = 5
Base.rate = 0.25
Thing.rate = 4.0
thing.bias = 2.0
thing.kept.append(1.0)
thing = Thing()
slotted.size = 4
slotted.tensor = tl.zeros(4)
helper, other_helper = other_helper, helper
set_number(9)
set_held(tl.ones(4))
net.eval()
net.train()
net.active = False
net.linear.weight.data.mul_(2)
net = Net()
net.layers[1] = nn.ReLU()
net.total.add_(1)
net.gain.requires_grad_(False)
with_default.__defaults__ = (5,)
part = functools.partial(with_default, by=7)
late = tl.ones(())
late = None
pair.first = 3.5
seen.clear()
queue.append(5)
tl.set_default_dtype(tl.float64)
tl.set_default_dtype(tl.float32)
Thing.plain = staticmethod(lambda t: t + 5)
Thing.scaled = lambda self, t: t - self.rate
settings.net = net
settings.net = None
del settings.net; settings.net = None
net.linear.bias = None
net.register_buffer('total', tl.ones(4))
helper.__code__ = other_helper.__code__
net.linear = nn.Linear(4, 4, bias=False)
net.layers.append(nn.Linear(4, 4))
net.forward = types.MethodType(lambda self, t: t * 3, net)
net.linear.register_forward_hook(lambda m, a, out: out + 1)
offset = 1.5
factor = 2
tl.set_grad_enabled(False)
tl.set_grad_enabled(True)
Thing.__call__ = lambda self, t: t * 9
thing.scaled = lambda t: t * 11
Thing.__getitem__ = lambda self, i: 8.0
Thing.maybe = 4
thing.maybe = 5
del thing.bias
thing.__class__ = Base
weight.tag = 3
weight.requires_grad_()
weight = weight.double()
net.requires_grad_(False)
items = tuple(items)
settings = types.SimpleNamespace(power=1, depth=2, net=None)
math = types.SimpleNamespace(sqrt=lambda v: 10.0, pi=3)
deep.a.b['c'] = [7.0]
deep.a.b = {'c': (2.0,)}
cached.cache_clear()
net.load_state_dict({k: v + 1 for k, v in net.state_dict().items()})
net.gain = nn.Parameter(tl.zeros(4))
net.double()
counting.calls = 5
generator_sum = sum
Thing = Base
pair = Pair(weight, [1])
functools = types.SimpleNamespace(reduce=lambda f, v, s: s, partial=lambda f: f)
""".strip().splitlines()
ARGUMENTS = r"""
(tl.linspace(-2, 2, 8).reshape(2, 4), tl.ones(4), 3)
(tl.linspace(-1, 3, 12).reshape(3, 4), tl.ones(4), 2)
(tl.linspace(-1, 3, 12).reshape(3, 4), [tl.ones(4), 2.0], 2)
(tl.linspace(0, 3, 8).reshape(2, 4), {'k': tl.ones(4)}, 5)
(tl.linspace(-2, 2, 8).reshape(2, 4).requires_grad_(), tl.ones(4), 3)
(tl.linspace(-2, 2, 8).reshape(4, 2).T, tl.ones(4), 3)
(tl.linspace(-2, 2, 8).double().reshape(2, 4), tl.ones(4), 4)
(tl.linspace(-2, 2, 20).reshape(5, 4), 1.5, 0)
(weight, weight, 1)
(tl.linspace(-2, 2, 4), tl.ones(1), 1)
(tl.zeros(0, 4), tl.ones(4), 2)
(tl.linspace(-2, 2, 8).reshape(2, 4), True, 3)
(net.total, [tl.ones(4)], 2)
""".strip().splitlines()


class Program:
    """The text of a random program.

    Args:
        seed: decides it.
    """

    def __init__(self, seed: int) -> None:
        choose = random.Random(seed)
        body = choose.sample(READS, choose.randint(1, 5)) + choose.sample(
            WRITES, choose.choice((0, 0, 1, 1, 2))
        )
        body += choose.sample(EFFECTS, choose.choice((0, 0, 0, 1)))
        choose.shuffle(body)
        declared = sorted({text.split(";")[0][7:] for text in body if text.startswith("global ")})
        lines = [f"global {', '.join(declared)}"] if declared else []
        lines += [text.split("; ", 1)[1] if text.startswith("global ") else text for text in body]
        lines = "\n".join(lines).replace("\\n", "\n").split("\n")
        lines.append(f"return {choose.choice(RETURNS)}")
        form = choose.choice(("function", "function", "method", "closure", "forward"))
        code = textwrap.indent("\n".join(lines), "    ")
        head = {
            "function": "def f(x, y, n):\n",
            "method": "def method(self, x, y, n):\n    thing = self\n",
            "closure": "def outer():\n  def f(x, y, n):\n",
            "forward": "def forward(self, x, y, n):\n",
        }[form]
        tail = {
            "function": "",
            "method": "Thing.method = method\nf = thing.method\n",
            "closure": "  return f\nf = outer()\n",
            "forward": "Outer = type('Outer', (nn.Module,), {'forward': forward})\nf = Outer()\nf.inner = net\n",
        }[form]
        self.text = (
            PRELUDE + head + (textwrap.indent(code, "  ") if form == "closure" else code) + "\n" + tail
        )
        count = choose.randint(2, 6)
        same = choose.choice(ARGUMENTS)
        self.calls = [same if choose.random() < 0.7 else choose.choice(ARGUMENTS) for _ in range(count)]
        self.changes = [choose.sample(CHANGES, choose.choice((0, 1, 1, 2))) for _ in range(count)]
        self.backward = [choose.random() < 0.4 for _ in range(count)]

    def run(self, wrap: Any) -> list[Any]:
        """All that the program can see, call by call.

        Args:
            wrap: compiles the function, or returns it as it is.
        """
        tl.manual_seed(0)
        log: list[str] = []
        module = sys.modules["random_program"] = types.ModuleType("random_program")
        space = vars(module)
        space.update({"tl": tl, "nn": nn, "log": log, "print": _printer(log)})
        records: list[Any] = []
        try:
            exec(compile(self.text, "<program>", "exec"), space)
            space["f"] = wrap(space["f"])
            for call, changes, backward in zip(self.calls, self.changes, self.backward, strict=True):
                args = eval(call, space)
                records.append(_outcome(space["f"], args, backward))
                records.append(_snapshot((args, _state(space), list(log))))
                for change in changes:
                    try:
                        exec(change, space)
                    except Exception as error:  # as much part of what is compared as a result
                        records.append(f"{type(error).__name__}: {error}")
        finally:
            tl.set_default_dtype(tl.float32)
            tl.set_grad_enabled(True)
            sys.modules.pop("random_program", None)
        return records


def _printer(log: list[str]) -> Any:
    return lambda *values: log.append(" ".join(map(str, values)))


def _state(space: dict[str, Any]) -> dict[str, Any]:
    cells = [cell.cell_contents for name in ("read_cell", "grow_cell") for cell in space[name].__closure__]
    modules = {name: (vars(space[name]), space[name].training) for name in ("net",)}
    values = {
        name: value for name, value in space.items() if not name.startswith("__") and name not in _FIXED
    }
    thing = space["Thing"]
    classes = thing.calls, space["Base"].rate
    gradients = [p.grad for p in space["net"].parameters()]
    return {"values": values, "cells": cells, "net": modules, "class": classes, "grad": gradients}


_FIXED = frozenset(
    ["tl", "nn", "log", "print", "f", "method", "outer", "forward", "Outer", "collections", "contextlib", "dataclasses",
     "enum", "functools", "math", "types"]
)  # fmt: skip


def _outcome(f: Any, args: Any, backward: bool) -> Any:
    try:
        out = f(*args)
        result = _snapshot((out, _identities(out, args)))
        leaf = args[0]
        if backward and isinstance(out, tl.Tensor) and out.requires_grad:
            out.sum().backward()
            result = result, _snapshot(leaf.grad if leaf.is_leaf else None)
        return result
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _identities(out: Any, args: Any) -> list[bool]:
    """Which parts of a result are the same object."""
    parts = [*(out if isinstance(out, (list, tuple)) else [out]), *args]
    return [a is b for i, a in enumerate(parts) for b in parts[:i] if isinstance(a, (tl.Tensor, list, dict))]


def _snapshot(x: Any, within: tuple[int, ...] = ()) -> Any:
    """A copy of an object that `==` compares bit by bit."""
    if isinstance(x, tl.Tensor):
        bits = x.detach().contiguous().flatten().view(tl.uint8).tolist() if x.numel() else []
        return "tensor", tuple(x.shape), x.stride(), str(x.dtype), x.requires_grad, bits
    if id(x) in within or len(within) > 12:
        return "again"
    within = (*within, id(x))
    if isinstance(x, dict):
        x = {
            k: v for k, v in x.items() if "hooks" not in str(k)
        }  # numbers of hooks count on from program to program
        return type(x).__name__, [(repr(k), _snapshot(v, within)) for k, v in x.items()]
    if isinstance(x, (set, frozenset)):
        return type(x).__name__, sorted(map(repr, x))
    if isinstance(x, (list, tuple)) or type(x).__name__ == "deque":
        return type(x).__name__, [_snapshot(v, within) for v in x]
    if type(x).__name__ == "Slotted":
        return "Slotted", _snapshot((x.size, x.tensor), within)
    if isinstance(x, (int, float, str, type(None))):
        return type(x).__name__, repr(x)
    if isinstance(x, nn.Module):
        return type(x).__name__, _snapshot(vars(x), within)
    if callable(x):
        return getattr(x, "__qualname__", type(x).__name__)
    return type(x).__name__, _snapshot(getattr(x, "__dict__", None), within)


def difference(seed: int, backend: Any = "eager", **options: Any) -> str | None:
    """How a program differs when its function is compiled; None: it doesn't.

    Args:
        seed: decides the program.
        backend, options: what `compile` gets.
    """
    program = Program(seed)
    compiler.reset()
    expected = program.run(lambda f: f)
    compiled = program.run(lambda f: compiler.compile(f, backend=backend, **options))
    for i, (a, b) in enumerate(zip(expected, compiled, strict=False)):
        if a != b:
            text = program.text[len(PRELUDE) :]
            return f"seed {seed}, entry {i}:\n{text}\n{program.calls}\n{program.changes}\n{_first(a, b)}"
    return (
        None
        if len(expected) == len(compiled)
        else f"seed {seed}: {len(expected)} and {len(compiled)} entries"
    )


def _first(a: Any, b: Any, path: str = "") -> str:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        for i, (u, v) in enumerate(zip(a, b, strict=True)):
            if u != v:
                return _first(u, v, f"{path}.{i}")
    return f"{path}: {str(a)[:300]} != {str(b)[:300]}"


def main() -> None:
    """Runs programs and prints their differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--dynamic", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    graphs: list[int] = []
    compiler.backends.register_backend(lambda gm, examples: graphs.append(1) or gm.forward, name="counted")
    failures = 0
    settings = {"dynamic": True} if options.dynamic else {}
    for seed in range(options.seed, options.seed + options.count):
        try:
            text = difference(seed, "counted" if options.backend == "eager" else options.backend, **settings)
        except Exception:
            text = f"seed {seed}\n{traceback.format_exc()}"
        if text is not None:
            failures += 1
            print(text, flush=True)
    print(f"{options.count} programs, {len(graphs)} graphs, {failures} differences")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
