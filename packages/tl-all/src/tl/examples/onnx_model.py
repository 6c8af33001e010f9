"""Exports a residual network and a small Llama to ONNX, and compares the ONNX models with tl.

    tl examples onnx_model --folder models

Both models have a dynamic batch, and the Llama has a dynamic length. The comparison runs each model at two sizes, in
onnxruntime if it is installed, and otherwise in the reference evaluator of the package onnx.
"""

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tl
from tl import nn
from tl.examples import resnet
from tl.examples._program import MissingExtra, Reached, command_line, finish, positive, progress

F = nn.functional
CLOSE = 1e-4


class Attention(nn.Module):
    """Causal attention with rotary positions, in which several heads share their keys and values.

    Args:
        width: the numbers of a token.
        heads: the heads of the queries.
        groups: the heads of the keys and values.
    """

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.keys_values = nn.Linear(width, 2 * groups * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        rates = 10000.0 ** (-tl.arange(0, self.size, 2) / self.size)
        self.register_buffer("rates", rates, persistent=False)

    def rotate(self, x: tl.Tensor) -> tl.Tensor:
        """Turns pairs of numbers by angles that grow with the position."""
        angles = tl.outer(tl.arange(x.shape[2]), self.rates)
        cos, sin = tl.cat([angles, angles], -1).cos(), tl.cat([angles, angles], -1).sin()
        first, second = x.chunk(2, -1)
        return x * cos + tl.cat([-second, first], -1) * sin

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        batch, length, width = x.shape
        q = self.query(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k, v = self.keys_values(x).view(batch, length, 2 * self.groups, self.size).transpose(1, 2).chunk(2, 1)
        q, k = self.rotate(q), self.rotate(k)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a gated layer, each added to its input.

    Args:
        width: the numbers of a token.
        heads: the heads of the queries.
        groups: the heads of the keys and values.
    """

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.norm_one, self.attention = nn.RMSNorm(width), Attention(width, heads, groups)
        self.norm_two = nn.RMSNorm(width)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        x = x + self.attention(self.norm_one(x))
        y = self.norm_two(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def llama(vocabulary: int = 64, width: int = 32, blocks: int = 2) -> nn.Module:
    """A language model with the parts of Llama (Touvron et al., 2023).

    Args:
        vocabulary: the number of tokens.
        width: the numbers of a token.
        blocks: the number of blocks.
    """
    return nn.Sequential(
        nn.Embedding(vocabulary, width),
        *(Block(width, 4, 2) for _ in range(blocks)),
        nn.RMSNorm(width),
        nn.Linear(width, vocabulary, bias=False),
    )


def export(model: nn.Module, x: tl.Tensor, sizes: dict[int, str], path: Path) -> Any:
    """Exports a model and writes it to a file.

    Args:
        model: the model.
        x: the example input.
        sizes: the names of the dynamic dimensions.
        path: the path of the file.
    """
    return tl.onnx.export(model.eval(), (x,), path, input_names=["input"], dynamic_shapes=({**sizes},))


def difference(program: Any, model: nn.Module, x: tl.Tensor) -> float:
    """The largest difference between an ONNX model and its original."""
    run = program if find_spec("onnxruntime") else program.call_reference
    with tl.no_grad():
        return float((run(x)[0] - model(x)).abs().max())


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line("onnx_model", __doc__, "both models agree")
    parser.add_argument("--folder", help="keep the files in this folder")
    parser.add_argument("--width", type=positive, default=8, help="channels of the residual network (8)")
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Does what the command line says."""
    if not find_spec("onnxscript"):
        raise MissingExtra(
            "this needs the package onnxscript, which is not installed: pip install 'tl-all[onnx]'"
        )
    tl.manual_seed(options.seed)
    images, tokens = tl.rand(4, 1, 16, 16), tl.randint(0, 64, (4, 8))
    cases = (
        ("resnet", resnet.network(options.width), {0: "batch"}, (images, images[:1])),
        ("llama", llama(), {0: "batch", 1: "length"}, (tokens, tokens[:3, :5])),
    )
    figures, worst = [], 0.0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        steps = progress(len(cases), "model", options.quiet)
        for (name, model, sizes, inputs), _ in zip(cases, steps, strict=True):
            program = export(model, inputs[0], sizes, folder / f"{name}.onnx")
            apart = max(difference(program, model, x) for x in inputs)
            worst = max(worst, apart)
            figures.append(f"{name}: nodes={len(program.model.graph)} difference={apart:.1e}")
    return Reached(" ".join(figures), "" if worst < CLOSE else f"differences below {CLOSE}")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
