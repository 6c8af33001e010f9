"""Random programs whose state changes between two of their runs, which the replay must see.

A program is a text: a function of two tensors, and the state that it reads and writes. The text runs twice, in two
namespaces: as it is, and compiled. Random changes of the state come between the calls.
"""

from __future__ import annotations

import random
from typing import Any

import tl_core

PRELUDE = """
import collections, contextvars, random, threading, typing
import tl_core, tl_nn
from tl_nn import functional as F

OFFSET = 1
VAR = contextvars.ContextVar("VAR", default=2.0)
LOCAL = threading.local()
SETTINGS = {"gain": 2.0, "mode": "a"}
out = []

def scaled(v, k=1.5):
    return v * k

def summed(v, parts=(1, 2)):
    for part in parts:
        v = v + part
    return v

class Kind:
    factor = 1.5
    def apply(self, v):
        return v * self.factor

class Other(Kind):
    def apply(self, v):
        return v - self.factor

class Output:
    def __init__(self, loss, rest=None):
        self.loss, self.rest = loss, rest

class Point(typing.NamedTuple):
    z: object
    count: int = 1

class Mapping(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

class Slotted:
    __slots__ = ("gain",)
    def __init__(self, gain):
        self.gain = gain

class Lazy:
    def __init__(self):
        self.base = 2
    def __getattr__(self, name):
        if name.startswith("late"):
            return self.base
        raise AttributeError(name)
    @property
    def doubled(self):
        return self.base * 2

class Block(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = tl_nn.Linear(4, 4)
        self.drop = tl_nn.Dropout(0.5)
        self.norm = tl_nn.BatchNorm1d(4)
        self.scale = 1.0
        self.register_buffer("seen", tl_core.zeros(()))
    def forward(self, v):
        v = self.drop(self.lin(v)) * self.scale
        if self.training:
            self.seen.add_(1)
        return v

class Watching:
    # active during a block
    def __enter__(self):
        self.before, S.active = S.active, [2.0]
    def __exit__(self, *error):
        S.active = self.before

class State:
    pass

tl_core.manual_seed(7)
S = State()
S.scale, S.flag, S.count, S.name, S.fails = 2.0, True, 0, "scale", False
S.items, S.table, S.log, S.cache, S.names = [1, 2.5], {"a": 1, "b": 2}, [], {}, {"x", "y"}
S.w = tl_core.randn(4, 4)
S.buf = tl_core.zeros(4)
S.grids = [tl_core.ones(4), tl_core.full((4,), 2.0)]
S.obj, S.slot, S.lazy = Kind(), Slotted(3), Lazy()
S.block = Block()
S.model = tl_nn.Sequential(tl_nn.Linear(4, 4), tl_nn.Tanh(), tl_nn.Linear(4, 4))
S.opt = tl_nn.optim.Adam(S.model.parameters(), lr=0.01)
S.sgd = tl_nn.optim.SGD(S.model.parameters(), lr=0.01, momentum=0.9)
S.it = iter(range(1000))
S.hook = lambda m, a, r: r + 1
S.last = None
S.active = None
HELD = tl_core.full((4,), 3.0)
PAIR = (1, (S.buf, 2))

def make():
    inner = 3.0
    ticks = 0
    def change(value):
        nonlocal inner
        inner = value
    def call(x, y, k=1):
        nonlocal ticks
        z = x * 1.0
BODY
    return call, change
call, change = make()
"""

PURE = """
z = z * S.scale
z = z + OFFSET
z = z * inner
z = z @ S.w
z = scaled(z)
z = summed(z)
z = S.obj.apply(z)
z = z + Kind.factor
z = z * S.slot.gain
z = z + S.lazy.late_value + S.lazy.doubled
z = z * SETTINGS["gain"] + (1 if SETTINGS["mode"] == "a" else 2)
z = z.relu() if S.flag else z.sigmoid()
z = z + sum(S.items)
z = z + sum(float(i) for i in S.items)
z = z + S.table["a"] + S.table.get("c", 5)
z = z + len(S.names) + ("x" in S.names)
z = z + getattr(S, S.name)
z = z * (2 if isinstance(S.obj, Other) else 1)
z = z * (3 if type(S.obj) is Kind else 1)
z = z + y * k
z = z + (x is y)
z = z + y[0]
z = z + S.grids[0] * S.grids[-1]
z = z.view(-1).view(x.shape)
z = (z - z.mean(-1, keepdim=True)) / (z.std(-1, keepdim=True) + 1)
z = F.softmax(z, -1) + F.gelu(z)
z = F.layer_norm(z, (4,))
z = tl_core.cat([z[:, :2], z[:, 2:]], 1)
z = tl_core.stack([z, z]).sum(0)
z = z + (1 if tl_core.is_grad_enabled() else 2)
z = z + (1 if x.requires_grad else 2)
z = z + x.shape[0]
z = z + tl_core.zeros(4, dtype=tl_core.float32)
z = z.clone().add_(1)
z = z + S.block.seen
a, b = z.chunk(2, 1); z = tl_core.cat((b, a), -1)
z = z + max(S.items) + min(1, 2)
z = z + {n: v for n, v in sorted(S.table.items())}["b"]
z = z + [i * 2 for i in S.items][0]
z = z + sum(p * q for p, q in zip(S.items, reversed([1, 2])))
z = z + f"{S.count}{S.name}".count("1")
z = z + (lambda q: q * inner)(2)
if not S.items: z = z - 1
if S.last is not None: z = z + 1
if z.ndim == 2 and z.dtype == tl_core.float32: z = z * 2
for i, t in enumerate(S.grids): z = z + t * i
with tl_core.no_grad(): z = z + S.w.detach().sum()
with tl_core.no_grad(): z = z * 2
z = z + S.block.lin(z.detach())
z = S.model(z)
z = S.block(z)
z = S.block.norm(z)
z = F.dropout(z, 0.5, training=S.block.training)
z = z.to(tl_core.float64).to(tl_core.float32)
z = z.contiguous().reshape(4, -1).reshape(x.shape)
z = z.masked_fill(z > 1, 0.5)
z = tl_core.where(z > 0, z, y)
z = z.transpose(0, 1).contiguous().transpose(0, 1)
z = z.max(-1).values[:, None] + z
z = z + z.max(-1, keepdim=True)[0]
z = z * VAR.get()
z = z + VAR.get(3)
z = z * getattr(LOCAL, "gain", 2.0)
z = z * (2 if hasattr(x, "tag") else 3)
z = z + HELD
z = z + PAIR[1][0]
z = z[None, :, None][0, :, 0]
z = z + z[..., :2].sum() + z[-1] + z[:, tl_core.tensor([0, 0, 1, 2])]
S.active = [3.0]; z = z * S.active[0]; S.active = None
before = S.active; S.active = before or 2.0; z = z + (S.active is before); S.active = before
w = Watching(); w.__enter__(); z = z * S.active[0]; w.__exit__()
token = VAR.set(VAR.get() + 1); z = z * VAR.get(); VAR.reset(token)
kept = SETTINGS["mode"]; SETTINGS["mode"] = "c"; z = z + (SETTINGS["mode"] == "a"); SETTINGS["mode"] = kept
""".strip().splitlines()

BY_VALUE = """
if z.sum() > 0: z = z - 1
z = z * (z.max().item() > 1)
z = z + int(z.abs().max().item() * 2)
while z.abs().max() > 50: z = z / 2
z = z + len(z[z > 0])
z = z[z.isfinite()].sum() + z
z = z + z.nonzero().shape[0]
z = z + any(v > 0 for v in z[0])
z = z + (S.grids[0] in S.grids[:1])
z = z + float(z.sum() > 0)
if tl_core.equal(z, z.abs()): z = z * 3
z = z + bool((z > 0).any())
z = z + sum(1 for v in z[0].tolist() if v > 0)
""".strip().splitlines()

EFFECTS = """
S.count += 1
S.log.append(float(S.count))
S.buf.add_(z.detach().mean(0))
S.buf.mul_(0.5)
z = z + S.buf
S.last = z.detach()
S.cache[S.count] = z.detach().sum()
out.append(S.name)
ticks += 1; z = z + ticks
z = z + random.random()
z = z + tl_core.rand(4)
z = z + next(S.it)
S.table["d"] = S.table.get("d", 0) + 1
S.items = [*S.items]
S.names.add(str(k))
y.add_(1)
y[0].mul_(2)
y[:, 1] = 3.0
S.w.data.mul_(0.5)
if S.fails: raise ValueError("fails")
z = z @ (S.w if not S.fails else S.w[:2])
try: z = z @ (S.w if not S.fails else S.w[:2])\\nexcept RuntimeError: z = z + 1
S.grids.append(S.grids[0]) if len(S.grids) < 4 else None
scaled.__defaults__ = (S.scale,)
Kind.factor = Kind.factor + 0.5
globals()["OFFSET"] = 4
setattr(S, "scale", S.scale + 1)
S.block.scale = S.block.scale + 1.0
S.block.eval() if S.count % 2 else S.block.train()
VAR.set(VAR.get() + 1)
S.active = None if S.active else [1.0]
with Watching(): y.add_(S.active[0])
LOCAL.gain = getattr(LOCAL, "gain", 1.0) + 1
""".strip().splitlines()

STEPS = """
S.opt.zero_grad(); S.model(x.detach()).pow(2).mean().backward(); S.opt.step()
S.sgd.zero_grad(); l = S.model(x.detach()).pow(2).mean(); l.backward(); S.sgd.step(); z = z + l.detach()
S.model(x.detach()).sum().backward()
for p in S.model.parameters(): p.grad = None
tl_nn.utils.clip_grad_norm_(S.model.parameters(), 1.0)
""".strip().splitlines()

CHANGES = """
S.scale = random.choice([1.0, 2.0, 3.0])
S.flag = not S.flag
OFFSET = random.choice([1, 2, 1.5])
change(random.choice([2.0, 3.0]))
S.items.append(random.choice([1, 2]))
S.items[0] = random.choice([0, 4])
S.items.clear()
S.table["a"] = random.choice([1, 7])
S.table["c"] = 8
S.table.pop("c", None)
S.names.add("z")
S.name = random.choice(["scale", "count"])
SETTINGS["gain"] = random.choice([1.0, 2.0])
SETTINGS["mode"] = "b"
S.w.mul_(1.5)
S.w = tl_core.randn(4, 4)
S.w = S.w.t()
S.w.data = tl_core.randn(4, 4)
S.buf.zero_()
S.buf = tl_core.ones(4)
S.grids[0] = tl_core.full((4,), 3.0)
S.grids.reverse()
S.obj = random.choice([Kind, Other])()
S.obj.__class__ = Other
S.obj.factor = 4.0
Kind.factor = random.choice([1.5, 2.5])
Kind.apply = lambda self, v: v + self.factor
S.slot.gain = random.choice([3, 4])
S.lazy.base = random.choice([2, 5])
S.lazy.late_value = 9
Lazy.doubled = property(lambda self: self.base * 3)
scaled = lambda v, k=2.5: v * k
scaled.__defaults__ = (random.choice([1.5, 3.5]),)
summed.__code__ = (lambda v, parts=(1, 2): v - parts[0]).__code__
S.block.train(random.choice([True, False]))
S.block.scale = random.choice([1.0, 2.0])
S.block.lin.weight.data.mul_(0.5)
S.block.lin.bias = None
S.block.lin = tl_nn.Linear(4, 4)
S.block.norm.momentum = random.choice([0.1, 0.5])
S.block.register_forward_hook(S.hook)
S.block._forward_hooks.clear()
S.model[0] = tl_nn.Linear(4, 4)
S.model.append(tl_nn.ReLU())
S.model[0].weight.requires_grad_(random.choice([True, False]))
for p in S.model.parameters(): p.grad = None
for p in S.model.parameters(): p.grad = tl_core.ones_like(p)
S.opt.param_groups[0]["lr"] = random.choice([0.01, 0.1])
S.model[0].weight.register_hook(lambda g: g * 2)
tl_nn.functional.gelu, KEPT = (lambda v: v * 2), tl_nn.functional.gelu
S.fails = not S.fails
S.count = 10
S.last = None
S.hook = lambda m, a, r: r * 2
S.block.forward = lambda v: v + 1
S.block.__dict__.pop("forward", None)
len = (lambda v: 3)
globals().pop("len", None)
del S.flag; S.flag = True
VAR.set(random.choice([2.0, 3.0]))
LOCAL.gain = random.choice([2.0, 3.0])
HELD = S.buf
HELD = tl_core.ones(4)
PAIR = (1, (HELD, 2))
S.active = random.choice([None, [1.0]])
S.active = [5.0]
""".strip().splitlines()


def source(rng: random.Random) -> str:
    """The text of a program."""
    pools = [(PURE, 6), (BY_VALUE, 1), (EFFECTS, 1), (STEPS, 1)]
    allowed = rng.choice(
        [(PURE,), (PURE,), (PURE, BY_VALUE), (PURE, EFFECTS), (PURE, STEPS), (PURE, BY_VALUE, EFFECTS, STEPS)]
    )
    lines = []
    for pool, most in pools:
        if any(pool is each for each in allowed):
            lines += [rng.choice(pool) for _ in range(rng.randint(1, most))]
    rng.shuffle(lines)
    result = rng.choice(
        ["z", "(z, x)", "[z, z]", "{'z': z, 'y': y}", "z.sum()", "(z, 1, 'a', S.count)", "None", "z.detach()",
         "Output(z.sum(), [z, S.count])", "Point(z)", "Mapping(z=z, y=[y, z])", "(z, S.table, S.grids)",
         "Output(z.detach().sum().item(), Output(z, Point(x)))", "z.max(-1)"]
    )  # fmt: skip
    body = "\n".join("        " + line.replace("\\n", "\n        ") for line in [*lines, f"return {result}"])
    return PRELUDE.replace("BODY", body)


class Copy:
    """A program in a namespace of its own."""

    def __init__(self, text: str, compiled: bool, mode: str | None = None) -> None:
        self.names: dict[str, Any] = {"__name__": "replay_program"}
        exec(compile(text, f"<program {hash(text) % 10_000}>", "exec"), self.names)
        if compiled:
            from tl_compiler.compiler import compile as tl_compile

            self.names["call"] = tl_compile(self.names["call"], mode=mode)

    def change(self, line: str) -> None:
        """Runs a line that changes the state."""
        kept = tl_core.is_grad_enabled()
        tl_core.set_grad_enabled(False)
        try:
            exec(line, self.names)
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError):
            pass  # the state has no such part any more, in both copies
        finally:
            tl_core.set_grad_enabled(kept)

    def call(self, plan: dict[str, Any]) -> tuple[str, Any]:
        """Calls the function: ("result", …) or ("error", …)."""
        tl_core.manual_seed(plan["seed"])
        random.seed(plan["seed"])
        x = tl_core.randn(plan["rows"], 4).to(plan["dtype"]).requires_grad_(plan["grad"])
        y = {
            "new": tl_core.randn(plan["rows"], 4),
            "same": x.detach() if plan["grad"] else x,
            "held": self.names["S"].buf,
            "global": self.names["HELD"],
        }[plan["y"]]
        args = (x, y, *plan["rest"])
        with tl_core.set_grad_enabled(plan["mode"]):
            try:
                result = "result", self.names["call"](*args)
            except (
                ValueError,
                RuntimeError,
                TypeError,
                IndexError,
                StopIteration,
                AttributeError,
                KeyError,
            ) as error:
                result = "error", (type(error), str(error))
        return (*result, x, y, tl_core.is_grad_enabled())

    def state(self) -> Any:
        """All of the state, as values."""
        state = self.names["S"]
        kept = {
            name: value
            for name, value in vars(state).items()
            if name not in ("hook", "it", "opt", "sgd", "obj", "slot", "lazy", "block", "model")
        }
        modules = [
            dict(state.block.state_dict()),
            dict(state.model.state_dict()),
            [p.grad for p in state.model.parameters()],
        ]
        return [
            kept,
            modules,
            self.names["out"],
            self.names["OFFSET"],
            self.names["Kind"].factor,
            vars(state.obj),
            state.slot.gain,
            state.block.training,
            state.block.scale,
            tl_core.get_rng_state(),
            random.getstate(),
        ]


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal bit by bit."""
    if type(a).__name__ in ("Output", "Point", "Mapping"):  # each namespace has its own
        if type(a).__name__ != type(b).__name__:
            return False
        attributes = [dict(getattr(x, "__dict__", {})) for x in (a, b)]
        items = [
            list(x.items() if isinstance(x, dict) else x if isinstance(x, tuple) else ()) for x in (a, b)
        ]
        return same(*attributes) and same(*items)
    if type(a) is not type(b):
        return False
    if isinstance(a, tl_core.Tensor):
        facts = [(t.shape, t.stride(), t.dtype, t.requires_grad, t.is_leaf) for t in (a, b)]
        if facts[0] != facts[1]:
            return False
        a, b = a.detach().reshape(-1), b.detach().reshape(-1)
        return a.numel() == 0 or tl_core.equal(a.view(tl_core.uint8), b.view(tl_core.uint8))
    if isinstance(a, dict):
        return list(map(str, a)) == list(map(str, b)) and all(
            same(v, w) for v, w in zip(a.values(), b.values(), strict=True)
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or a != a


def plan(rng: random.Random) -> dict[str, Any]:
    """The arguments of a call."""
    usual = rng.random() < 0.8
    return {
        "seed": rng.randrange(1000),
        "rows": 3 if usual else rng.choice([3, 4]),
        "dtype": tl_core.float32 if usual else rng.choice([tl_core.float32, tl_core.float64]),
        "grad": False if usual else rng.random() < 0.5,
        "y": "new" if usual else rng.choice(["new", "same", "held", "global"]),
        "rest": () if usual else rng.choice([(), (2,), (1.0,), (True,)]),
        "mode": True if usual else rng.random() < 0.5,
    }


def check(seed: int, calls: int = 9) -> tuple[str | None, int]:
    """Runs a program both ways: what differs, or None, and how many tapes there are."""
    rng = random.Random(seed)
    text = source(rng)
    mode = rng.choice(["reduce-overhead", "reduce-overhead", None])  # None: after three calls that are equal
    calls = calls if mode else 2 * calls
    eager, compiled = Copy(text, False), Copy(text, True, mode)
    gelu = tl_core.nn.functional.gelu if hasattr(tl_core, "nn") else None
    import tl_nn

    gelu = tl_nn.functional.gelu
    history = []
    try:
        for number in range(calls):
            if number > 2 or rng.random() < 0.2:
                for _ in range(rng.choice([0, 0, 1, 1, 2])):
                    line, chance = rng.choice(CHANGES), rng.randrange(1000)
                    history.append(line)
                    for copy in (eager, compiled):
                        tl_nn.functional.gelu = gelu if "gelu" in line else tl_nn.functional.gelu
                        random.seed(chance)
                        tl_core.manual_seed(chance)
                        copy.change(line)
            p = plan(rng)
            history.append(p)
            a, b = eager.call(p), compiled.call(p)
            if not same(a, b):
                return f"call {number}: {a} is not {b}\n{history}\n{text}", 0
            if not same(eager.state(), compiled.state()):
                return (
                    f"state after call {number}: {eager.state()} is not {compiled.state()}\n{history}\n{text}",
                    0,
                )
    finally:
        tl_nn.functional.gelu = gelu
    return None, len(compiled.names["call"].get_compiled().replays.tapes)
