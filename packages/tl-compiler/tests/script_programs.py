# ruff: noqa: UP006, UP035, UP045 - TorchScript compiles these forms
"""Programs to script: functions and modules with control flow, each with arguments of a call."""

import enum
from typing import Dict, List, NamedTuple, Optional, Tuple

import tl_compiler.jit
import tl_core as tl
import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F

jit = tl_compiler.jit


class Counting(nn.Module):
    counts: Dict[str, int]

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(tl.ones(4, 4) / 3)
        self.counts = {"a": 1, "bc": 2}
        self.names = ["a", "bc"]

    def forward(self, x, n: int, more: Optional[Tensor] = None) -> Tuple[Tensor, List[int], Dict[str, int]]:
        sizes: List[int] = []
        for i in range(n):
            if i % 2 == 0:
                x = x @ self.w
            elif i == 3:
                continue
            else:
                x = tl.tanh(x)
            sizes.append(int(x.size(0)) + i)
            if float(x.abs().max()) > 1e6:
                break
        k = 0
        while k < 3:
            k += 1
        if more is not None:
            x = x + more
        table = {name: len(name) + self.counts[name] + k for name in self.names}
        assert x.dim() == 2, "x has two dimensions"
        return x, sizes, table


def beams(x: Tensor, k: int):
    values, indices = tl.topk(x, k, dim=-1)
    out: List[Tensor] = []
    for v, i in zip(values.unbind(0), indices.unbind(0)):
        out.append(tl.where(v > 0, v, -v) * i.to(v.dtype))
    return tl.stack(out), f"k={k}"


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class Pair(nn.Module):
    def forward(self, x):
        return {"y": x * 2, "z": x.sum()}


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Small() for _ in range(3)])
        self.table = nn.ModuleDict({"p": nn.Linear(4, 8), "q": nn.Linear(4, 8)})
        self.pair = Pair()

    def forward(self, x, flag: bool = True):
        for part in self.parts:
            x = F.pad(part(x), (0, 4))
        y = x[..., :4]
        for layer in self.table.values():
            y = layer(y)[:, 0:4]
        result = self.pair(y)
        if flag:
            result["y"][:, 0] = 0.0
        return result["y"], result["z"], [i for i, _ in enumerate(self.parts)]

    @jit.export
    def other(self, x: Tensor):
        return self.forward(x, False)


def leaves_early(x: Tensor, n: int):
    if n > 3:
        return x + 1
    elif n < 0:
        raise ValueError("negative")
    for i in range(n):
        if i == 2:
            return x * i
    return x


def texts(s: str, words: List[str]):
    parts, joined = s.split(","), ", ".join(words)
    return (
        parts,
        joined.upper(),
        len(s),
        s[1],
        "a" in s,
        s.replace("a", "b"),
        "%s-%d" % (s, 3),  # noqa: UP031
        s.startswith("a"),
    )


def numbers(a: int, b: float):
    extremes = max(a, 3), min(b, 2.0), abs(b)
    return (
        a // 2,
        a % 3,
        a / 2,
        b * a,
        -a,
        extremes,
        int(b),
        float(a),
        a == 3 and b > 1.0,
        a < b or not (a > 2),
    )


def lists(a: List[int], table: Dict[str, int]):
    b = a[1:]
    b.append(4)
    b[0] = 9
    doubled = [x * 2 for x in b if x > 2]
    total = 0
    for i, v in enumerate(doubled):
        total += i * v
    for key in table:
        total += table[key]
    return b, doubled, sorted(doubled), total, table.get("q", 7), "x" in table, len(table), a + b, a[-1]


def maybe(x: Optional[Tensor], y: Tensor):
    if x is None:
        x = tl.zeros_like(y)
    return x + y, x if x is not None and x.dim() > 0 else y


def parts(x: Tensor, i: Tensor):
    y = x.clone()
    y[0] = 1.0
    y[:, 1:] += 2
    y[i] = 0.0
    y[..., -1] *= 3
    return y, x[i], x[:, None], x[0, 1], x[i, 1], x[x > 0], y.shape, y.shape[0]


class Point(NamedTuple):
    location: Tensor
    weight: int


def named(x: Tensor):
    point = Point(x * 2, weight=3)
    return point.location + point.weight, point.weight


class Record:
    def __init__(self, a: Tensor, b: int):
        self.a = a
        self.b = b

    def total(self) -> Tensor:
        return self.a.sum() + self.b


def records(x: Tensor, b: int):
    record = Record(x, b)
    record.b += 1
    return record.total()


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def colors(n: int):
    color = Color.RED
    if n > 2:
        color = Color.BLUE
    return color == Color.BLUE, color.value


class Tasks(nn.Module):
    def forward(self, x):
        task = jit.fork(tl.relu, x)
        return jit.wait(task) + 1


class Losses(nn.Module):
    def __init__(self):
        super().__init__()
        self.entropy, self.square = nn.CrossEntropyLoss(), nn.MSELoss()

    def forward(self, x, target):
        return self.entropy(x, target), self.square(x, x * 2)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.embedding, self.drop = nn.BatchNorm1d(4), nn.Embedding(10, 4), nn.Dropout(0.5)
        self.groups, self.up = nn.GroupNorm(2, 4), nn.ConvTranspose2d(4, 4, 3)

    def forward(self, i):
        x = self.drop(self.norm(self.embedding(i).transpose(1, 2)))
        x = self.up(self.groups(x).unsqueeze(-1))
        return F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)


def ramp(*shape):
    count = 1
    for n in shape:
        count *= n
    return (tl.arange(count).reshape(shape) - count / 2) / count


PROGRAMS = {
    "counting": (Counting, lambda: (ramp(3, 4), 5)),
    "beams": (lambda: beams, lambda: (ramp(3, 6), 2)),
    "holder": (Holder, lambda: (ramp(3, 8),)),
    "leaves_early": (lambda: leaves_early, lambda: (ramp(2), 3)),
    "texts": (lambda: texts, lambda: ("abc,d", ["x", "y"])),
    "numbers": (lambda: numbers, lambda: (7, 2.5)),
    "lists": (lambda: lists, lambda: ([1, 2, 3], {"a": 1})),
    "maybe": (lambda: maybe, lambda: (None, ramp(3))),
    "parts": (lambda: parts, lambda: (ramp(3, 4), tl.tensor([0, 2]))),
    "named": (lambda: named, lambda: (ramp(3),)),
    "records": (lambda: records, lambda: (ramp(3), 2)),
    "colors": (lambda: colors, lambda: (3,)),
    "tasks": (Tasks, lambda: (ramp(3),)),
    "losses": (Losses, lambda: (ramp(3, 4), tl.tensor([1, 2, 0]))),
    "layers": (Layers, lambda: (tl.arange(10).reshape(2, 5),)),
}
