# ruff: noqa: UP045, SIM905, UP031, C416, SIM118 - TorchScript compiles these forms
"""`python record_archives.py`: writes the archives of this folder's tests, and what PyTorch computes with them.

It needs PyTorch 2.13, which no test does. The scripted programs call operators only: scripted modules of PyTorch would
put PyTorch's own code into the archives. Each archive is `archives/NAME.pt`; `archives/NAME.io.pt` has the arguments of
a call and its result.
"""

import enum
import io
import pathlib
import zipfile
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor, nn

FOLDER = pathlib.Path(__file__).parent / "archives"
List, Dict, Tuple = list, dict, tuple


def write(name, program, *arguments):
    copies = [a.clone() if isinstance(a, Tensor) else a for a in arguments]
    with torch.no_grad():
        result = program(*copies)
    if hasattr(result, "_fields"):
        result = tuple(result)
    buffer = io.BytesIO()
    torch.jit.save(program, buffer)
    with (
        zipfile.ZipFile(buffer) as source,
        zipfile.ZipFile(FOLDER / f"{name}.pt", "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for entry in source.namelist():
            _, _, path = entry.partition("/")
            if not path.endswith(".debug_pkl") and not path.startswith("traced_inputs"):
                target.writestr(f"{name}/{path}", source.read(entry))
    torch.save((arguments, result), FOLDER / f"{name}.io.pt")


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 6)
        self.b = nn.Linear(6, 2)

    def forward(self, x):
        hidden = torch.relu(torch.addmm(self.a.bias, x, self.a.weight.t()))
        return torch.addmm(self.b.bias, hidden, self.b.weight.t())


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell = getattr(nn, kind)(3, 4, 2, batch_first=True, bidirectional=kind == "GRU")

    def forward(self, x):
        return self.cell(x)[0][:, -1]


class Control(nn.Module):
    counts: Dict[str, int]

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 3))
        self.register_buffer("calls", torch.zeros(1))
        self.counts = {"a": 1, "bc": 2}
        self.names = ["a", "bc"]

    def forward(
        self, x: Tensor, n: int, other: Optional[Tensor] = None
    ) -> Tuple[Tensor, List[int], Dict[str, int], str]:
        sizes: List[int] = []
        for i in range(n):
            if i % 2 == 0:
                x = x @ self.w
            elif i == 3:
                continue
            else:
                x = torch.tanh(x)
            sizes.append(int(x.size(0)) + i)
            if float(x.abs().max()) > 1e6:
                break
        k = 0
        while k < 3:
            k += 1
        if other is not None:
            x = x + other
        self.calls += 1
        lengths = {name: len(name) + self.counts[name] for name in self.names}
        assert x.dim() == 2, "x must have two dimensions"
        return x, sizes, lengths, f"{k} of {n}, {n / 2}"


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@torch.jit.interface
class Unary(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Increment(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Kinds(nn.Module):
    unary: Unary

    def __init__(self):
        super().__init__()
        self.unary = Increment()
        self.color = Color.BLUE
        self.triple = (1, "a", 2.5)
        self.kind = torch.float64

    def forward(self, x: Tensor, values: List[int], table: Dict[str, float]):
        y = self.unary.forward(x)
        if self.color == Color.BLUE:
            y = y * 2
        words = "c-b-a".split("-")
        words.append("%s %d" % ("x", 3))
        words.sort()
        for i, v in enumerate(values):
            y = y + i * v
        a, b, c = self.triple
        keys = [key for key in table.keys()]
        grid = torch.zeros([2, 3], dtype=torch.int64)
        grid[0] = 7
        grid[:, 1:] += 2
        number = len(values) // 2 + len(values) % 3 + (5 / 2) + 2**3 + a + c
        del values[0]
        table["n"] = 1.0
        wide = x.to(self.kind).sum(dim=0, dtype=torch.float32)
        return y, words, wide, b, keys, grid, x[..., None, 0], number, values, table, x.shape, float("inf")


@torch.jit.script
class Pair:
    def __init__(self, a: Tensor, b: int):
        self.a = a
        self.b = b

    def total(self) -> Tensor:
        return self.a.sum() + self.b


class Named(NamedTuple):
    x: Tensor
    n: int


class Objects(nn.Module):
    def forward(self, x: Tensor, b: int):
        pair = Pair(x, b)
        pair.b += 1
        task = torch.jit.fork(torch.relu, x)
        return Named(torch.jit.wait(task), int(pair.total().item()))


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, x):
        hidden = x @ self.first.weight + self.first.bias
        return hidden @ self.second.weight + self.second.bias


class Level:
    def __init__(self, depth: Tensor):
        self.depth = depth

    def __enter__(self) -> Tensor:
        self.depth += 1
        return self.depth.clone()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.depth -= 1


class Regions(nn.Module):
    def forward(self, x: Tensor):
        level = Level(torch.zeros(1))
        with level as outer:
            x = x + outer
            if bool(x.sum() > 0):
                with level as inner:
                    x = x * inner
        return x, level.depth


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Shift(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([Shift(), Shift()])

    def forward(self, x: Tensor, index: int) -> Tensor:
        step: Step = self.steps[index]
        data, sizes = torch._VF._pack_padded_sequence(step.forward(x), torch.tensor([3, 1]), False)
        padded, lengths = torch._VF._pad_packed_sequence(data, sizes, False, 9.0, 4)
        return padded * lengths


def before(self, args: Tuple[Tensor, int]) -> Tuple[Tensor, int]:
    return args[0] * 2, args[1]


def after(self, args: Tuple[Tensor, int], result: Tensor) -> Tensor:
    return result + args[0].sum()


def with_hooks():
    module = Steps()
    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)
    return torch.jit.script(module)


def main():
    torch.manual_seed(0)
    FOLDER.mkdir(exist_ok=True)
    x = torch.randn(2, 4)
    write("perceptron_script", torch.jit.script(Perceptron()), x)
    write("perceptron_trace", torch.jit.trace(Perceptron(), (x,)), x)
    frozen = torch.jit.freeze(torch.jit.script(Perceptron().eval()))
    write("frozen", frozen, x)
    image = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Dropout(0.5), nn.LayerNorm(8), nn.Linear(8, 3)).eval()  # fmt: skip
    write("image_trace", torch.jit.trace(image, (torch.randn(2, 1, 4, 4),)), torch.randn(2, 1, 4, 4))
    write("lstm_trace", torch.jit.trace(Recurrent("LSTM"), (torch.randn(2, 5, 3),)), torch.randn(2, 5, 3))
    write("gru_trace", torch.jit.trace(Recurrent("GRU"), (torch.randn(2, 5, 3),)), torch.randn(2, 5, 3))
    layer = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True).eval()
    write(
        "transformer_trace",
        torch.jit.trace(layer, (torch.randn(2, 3, 4),), check_trace=False),
        torch.randn(2, 3, 4),
    )
    write("control", torch.jit.script(Control()), torch.randn(3, 3), 5)
    write("kinds", torch.jit.script(Kinds()), torch.arange(6.0).view(2, 3), [1, 2, 3], {"a": 1.0, "b": 2.0})
    write("objects", torch.jit.script(Objects()), torch.randn(3), 2)
    write("shared", torch.jit.script(Shared()), torch.randn(2, 3))
    write("regions", torch.jit.script(Regions()), torch.ones(3))
    write("hooks", with_hooks(), torch.arange(6.0).view(3, 2), 1)


if __name__ == "__main__":
    main()
