"""Trains a language model and decodes with it, eagerly and compiled, and compares seconds, bytes and bits.

    tl examples compiled --steps 20

RMSNorm, SwiGLU and Adam are written by hand, as chains of operators that `tl.compile` computes in groups. The training
compiles a whole step. The decoding compiles the model with `mode="reduce-overhead"`, which replays calls without
Python.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import tl
from tl import nn
from tl.examples._program import Reached, command_line, finish, positive, progress

F = nn.functional
BETAS, EPSILON = (0.9, 0.95), 1e-8
VOCABULARY = 256


class RMSNorm(nn.Module):
    """Root mean square normalization by its formula (Zhang and Sennrich, 2019).

    Args:
        width: the numbers of a token.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(tl.ones(width))

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.weight


class SwiGLU(nn.Module):
    """A layer with a swish gate (Shazeer, 2020).

    Args:
        width: the numbers of a token.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        gate = self.gate(x)
        return self.down(gate * tl.sigmoid(gate) * self.up(x))


class Block(nn.Module):
    """Causal attention and a gated layer, each added to its input.

    Args:
        width: the numbers of a token.
        heads: the heads of the attention.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_one, self.norm_two = RMSNorm(width), RMSNorm(width)
        self.inputs, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.layer = SwiGLU(width)

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        parts = self.inputs(self.norm_one(x)).unflatten(-1, (3, self.heads, -1))
        q, k, v = (part.transpose(1, 2) for part in parts.unbind(2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.layer(self.norm_two(x))


def network(width: int = 64, blocks: int = 2) -> nn.Module:
    """A language model.

    Args:
        width: the numbers of a token.
        blocks: the number of blocks.
    """
    layers = [Block(width, 4) for _ in range(blocks)]
    return nn.Sequential(
        nn.Embedding(VOCABULARY, width), *layers, RMSNorm(width), nn.Linear(width, VOCABULARY, bias=False)
    )


class Adam:
    """Adam by its formula (Kingma and Ba, 2015).

    Args:
        parameters: the parameters.
        lr: the rate of learning.
    """

    def __init__(self, parameters: list[tl.Tensor], lr: float) -> None:
        self.parameters, self.lr, self.steps = parameters, lr, 0
        self.means = [tl.zeros_like(p) for p in parameters]
        self.squares = [tl.zeros_like(p) for p in parameters]

    @tl.no_grad()
    def step(self) -> None:
        """Updates the parameters by their gradients, and drops the gradients."""
        self.steps += 1
        first, second = (1 - beta**self.steps for beta in BETAS)
        for p, mean, square in zip(self.parameters, self.means, self.squares, strict=True):
            assert p.grad is not None
            mean.copy_(BETAS[0] * mean + (1 - BETAS[0]) * p.grad)
            square.copy_(BETAS[1] * square + (1 - BETAS[1]) * p.grad * p.grad)
            p.sub_(self.lr * (mean / first) / ((square / second).sqrt() + EPSILON))
            p.grad = None


class Measured(NamedTuple):
    """The results of a run, its seconds and its bytes at the peak."""

    results: list[tl.Tensor]
    seconds: float
    nbytes: int


def measure(run: Callable[[], list[tl.Tensor]]) -> Measured:
    """Runs a function; the memory that was there before doesn't count.

    Args:
        run: the function, which returns its results.
    """
    before = tl.cpu.memory_allocated()
    tl.cpu.reset_peak_memory_stats()
    start = time.perf_counter()
    results = run()
    seconds = time.perf_counter() - start
    return Measured(results, seconds, tl.cpu.max_memory_allocated() - before)


def train(options: argparse.Namespace, compile_step: bool) -> Measured:
    """Trains a new model on random tokens.

    Args:
        options: the command line.
        compile_step: whether a step is compiled.

    Returns:
        The losses and the parameters.
    """
    tl.manual_seed(options.seed)
    model = network(options.width)
    optimizer = Adam(list(model.parameters()), 1e-3)
    tokens = tl.randint(0, VOCABULARY, (options.steps + 1, 8, 65))

    def step(batch: tl.Tensor) -> tl.Tensor:
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    function: Any = tl.compile(step) if compile_step else step
    function(tokens[-1])  # memory is allocated, programs are analyzed

    def run() -> list[tl.Tensor]:
        losses = [function(tokens[index]) for index in progress(options.steps, "step", options.quiet)]
        return [*losses, *model.parameters()]

    return measure(run)


def decode(options: argparse.Namespace, compile_model: bool) -> Measured:
    """Decodes tokens, each the likeliest one after a window of 32 tokens.

    Args:
        options: the command line.
        compile_model: whether the calls of the model are replayed.

    Returns:
        The tokens.
    """
    tl.manual_seed(options.seed)
    model = network(options.width).eval()
    function: Any = tl.compile(model, mode="reduce-overhead") if compile_model else model
    prompt = tl.randint(0, VOCABULARY, (1, 32))

    def tokens_after(window: tl.Tensor, count: int) -> tl.Tensor:
        for _ in range(count):
            following = function(window)[:, -1].argmax(-1, keepdim=True)
            window = tl.cat([window[:, 1:], following], 1)
        return window

    with tl.no_grad():
        tokens_after(prompt, 8)
        return measure(lambda: [tokens_after(prompt, options.tokens)])


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line("compiled", __doc__, "both ways have equal bits")
    parser.add_argument("--steps", type=positive, default=20, help="steps of the training (20)")
    parser.add_argument("--tokens", type=positive, default=64, help="tokens to decode (64)")
    parser.add_argument("--width", type=positive, default=64, help="numbers of a token, a multiple of 4 (64)")
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Does what the command line says."""
    figures, equal = [], True
    for name, work in (("training", train), ("decoding", decode)):
        eager, compiled = work(options, False), work(options, True)
        equal &= all(map(tl.equal, eager.results, compiled.results))
        figures.append(f"{name}: seconds {eager.seconds:.2f} -> {compiled.seconds:.2f}")
        figures.append(f"MB {eager.nbytes / 1e6:.1f} -> {compiled.nbytes / 1e6:.1f}")
    return Reached(" ".join([*figures, f"equal={equal}"]), "" if equal else "equal=True")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
