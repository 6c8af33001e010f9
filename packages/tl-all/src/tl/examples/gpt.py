"""Trains a character GPT on the text of Python's own standard library, and lets it write.

    tl examples gpt --steps 2000 --plot curve.png
    tl run --nproc-per-node 2 -m tl.examples.gpt --ddp
    tl run --nproc-per-node 4 -m tl.examples.gpt --heads 4 --layers 4 --pp 2 --schedule zbv --tp 2

Files chosen by a hash of their names are held out and only used to measure the loss, in nats a character. A table that
counts which character follows three others is measured on the same text. The same seed gives the same model.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tl
from tl import nn
from tl.examples import corpus
from tl.examples._cuts import Cut, add_cuts, sizes_of
from tl.examples._program import (
    Reached,
    board,
    command_line,
    draw,
    finish,
    positive,
    progress,
    trace_steps,
    writable,
)
from tl.examples._ranks import ALONE, Ranks, add_ddp, join_ranks
from tl.examples._resume import Checkpoints, add_options

F = nn.functional
GOOD = 1.45
BEGUN = 2.2  # a loss after a minute of training on a slow machine
AHEAD_OF_TABLE = 0.1
PRECISIONS = ("highest", "high", "medium")  # of products of float32


class Attention(nn.Module):
    """Causal self-attention with rotated positions: Su et al., RoFormer, 2021.

    Args:
        width: the size of a position's vector.
        heads: the number of heads, which divides it.
        context: the longest text that is looked at, in characters.
    """

    def __init__(self, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.size = width // heads
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        turns = 10000.0 ** -(tl.arange(0, width // heads, 2) / (width // heads))
        angles = tl.arange(context).unsqueeze(1) * turns
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def rotate(self, x: tl.Tensor) -> tl.Tensor:
        """The rotary embedding: pairs of channels, rotated by an angle for each position."""
        cos, sin = self.cos[: x.shape[-2]], self.sin[: x.shape[-2]]
        one, two = x.chunk(2, -1)
        return tl.cat([one * cos - two * sin, one * sin + two * cos], -1)

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        batch, length, _ = x.shape
        # Head by head: a process with some of the rows of `project` has whole heads.
        parts = self.project(x).view(batch, length, -1, 3, self.size).permute(3, 0, 2, 1, 4)
        query, key, value = parts.unbind(0)
        mixed = F.scaled_dot_product_attention(self.rotate(query), self.rotate(key), value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class Block(nn.Module):
    """Attention, then two layers at each position; both add to what comes in.

    Args:
        width: the size of a position's vector.
        heads: the number of heads, which divides it.
        context: the longest text that is looked at, in characters.
    """

    def __init__(self, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(width)
        self.attention = Attention(width, heads, context)
        self.between = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        x = x + self.attention(self.before(x))
        return x + self.down(F.gelu(self.up(self.between(x))))


class GPT(nn.Module):
    """Scores for the next character at each position of (batch, length) characters: Radford et al., 2018.

    Args:
        symbols: the number of different characters.
        width: the size of a position's vector.
        heads: the number of heads, which divides it.
        layers: the number of layers.
        context: the longest text that is looked at, in characters.
    """

    def __init__(self, symbols: int, width: int, heads: int, layers: int, context: int) -> None:
        super().__init__()
        self.context = context
        self.embed = nn.Embedding(symbols, width)
        self.blocks = nn.Sequential(*(Block(width, heads, context) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, symbols, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                deep = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if deep else 0.02)

    def forward(self, text: tl.Tensor) -> tl.Tensor:
        return self.head(self.norm(self.blocks(self.embed(text))))


def groups(model: nn.Module) -> list[dict[str, object]]:
    """Matrices shrink a little in every step; biases and norms don't."""
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]


def rate(step: int, share: float, top: float, warm: int = 100) -> float:
    """The rate of learning: it rises, then falls to 0.

    Args:
        step: the number of the step.
        share: the share of the training before this step, from 0 to 1.
        top: the highest rate.
        warm: the steps in which it rises.
    """
    return top * min(1.0, (step + 1) / warm) * (1 - share)


def share_of(options: argparse.Namespace, step: int, seconds: float) -> float:
    """The share of the training before a step: of the steps, or of the seconds with `--seconds`.

    Args:
        options: the program's options.
        step: the number of the step.
        seconds: the time of the steps so far.
    """
    return max(step / options.steps, seconds / options.seconds if options.seconds else 0.0)


def is_over(options: argparse.Namespace, share: float, held_out: list[tuple[float, float]]) -> bool:
    """Whether a training ends before its last step: its seconds are over, or a quickstart has the loss it expects.

    Args:
        options: the program's options.
        share: the share of the training before the next step.
        held_out: the losses of the held-out text so far.
    """
    return share >= 1 or (options.quickstart and bool(held_out) and held_out[-1][1] <= GOOD - 0.02)


def batches(
    text: tl.Tensor, steps: int, size: int, length: int, ranks: Ranks = ALONE
) -> Iterator[tuple[tl.Tensor, tl.Tensor]]:
    """Stretches of the text from random positions, and the same a character further.

    Args:
        text: the characters, as indices.
        steps: the number of steps.
        size: the samples of a batch of one process.
        length: the characters of a stretch.
        ranks: the processes that learn from a batch together.
    """
    window = tl.arange(length + 1)
    for _ in range(steps):
        starts = ranks.share(tl.randint(len(text) - length, (size * ranks.size,)))
        stretch = text[starts.unsqueeze(1) + window]
        yield stretch[:, :-1], stretch[:, 1:]


def loss_of(model: GPT, text: tl.Tensor, windows: int = 160) -> float:
    """The mean loss of a character that has at least half a context before it, over the whole text.

    Args:
        model: the network.
        text: the characters, as indices.
        windows: how many stretches are measured at most.
    """
    model.eval()
    length, half = model.context, model.context // 2
    total = 0.0
    with tl.no_grad():
        for first in range(0, windows, 16):
            starts = [(len(text) - length - 1) * i // windows for i in range(first, min(first + 16, windows))]
            stretch = tl.stack([text[s : s + length + 1] for s in starts])
            scores, follow = model(stretch[:, :-1])[:, half:], stretch[:, 1 + half :]
            total += F.cross_entropy(scores.flatten(0, 1), follow.flatten()).item() * len(starts)
    model.train()
    return total / windows


def write(model: GPT, start: str, count: int, temperature: float = 0.7) -> str:
    """Text that goes on from the start.

    Args:
        model: the network.
        start: the text so far.
        count: how many characters are written, or streams read.
        temperature: the divisor of the scores: the lower, the likelier the likeliest.
    """
    model.eval()
    text = corpus.encode(start).unsqueeze(0)
    with tl.no_grad():
        for _ in range(count):
            scores = model(text[:, -model.context :])[:, -1] / temperature
            noise = -(-tl.rand_like(scores).log()).log()  # Gumbel's: the largest sum is drawn as softmax says
            text = tl.cat([text, (scores + noise).argmax(-1, keepdim=True)], 1)
    model.train()
    return corpus.decode(text[0])


Note = Callable[[str, float, int], None]
Learner = Callable[[tl.Tensor, tl.Tensor], tl.Tensor]


def nothing(*of: Any) -> None:
    """Does nothing."""


class Training(NamedTuple):
    """The losses of a training as points (step, loss), and its speed.

    Args:
        learned: the losses of the batches.
        held_out: the losses of the held-out text.
        speed: characters a second.
    """

    learned: list[tuple[float, float]]
    held_out: list[tuple[float, float]]
    speed: float


def learner(model: GPT, options: argparse.Namespace, ranks: Ranks, cut: Cut | None) -> Learner:
    """A function that computes the gradients of a batch and cuts their norm; it returns the loss.

    Args:
        model: the network.
        options: the program's options.
        ranks: the processes that learn together.
        cut: the network among processes.
    """
    mixed = tl.autocast("cpu", enabled=options.precision == "mixed")
    if cut is not None:
        return lambda text, follow: cut.learn(text, follow, mixed)
    copies = ranks.copies(model)

    def learn(text: tl.Tensor, follow: tl.Tensor) -> tl.Tensor:
        with mixed:
            loss = F.cross_entropy(copies(text).flatten(0, 1), follow.flatten())
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        return loss

    return learn


def train(model: GPT, texts: corpus.Corpus, options: argparse.Namespace, note: Note = nothing,
          stepped: Callable[[], None] = nothing, ranks: Ranks = ALONE, cut: Cut | None = None) -> Training:  # fmt: skip
    """Trains the model, with a progress bar.

    Args:
        model: the network.
        texts: the texts to learn from and to measure on.
        options: the program's options.
        note: called with name, value and step of each loss.
        stepped: called after each step.
        ranks: the processes that learn together.
        cut: the network among processes; `model` is then the part of this one.
    """
    together = cut is None  # tensors of a cut network have several classes
    optimizer = tl.optim.AdamW(
        groups(model), lr=options.lr, betas=(0.9, 0.99), foreach=None if together else False
    )
    record: dict[str, Any] = {"learned": [], "held_out": [], "seconds": 0.0}
    checkpoints = Checkpoints(options, model, optimizer, record)
    losses, held_out, first = record["learned"], record["held_out"], checkpoints.steps
    learn, mean = learner(model, options, ranks, cut), ranks.mean if cut is None else cut.mean
    size = ranks.size if together else 1
    bar = progress(options.steps, "step", options.quiet, first=first)
    steps = first
    of = ranks if together else ALONE  # a cut network divides the batch itself
    stretches = batches(texts.learned, options.steps - first, options.batch_size, model.context, of)
    for step, (text, follow) in zip(bar, stretches):
        share = share_of(options, step, record["seconds"])
        if is_over(options, share, held_out):
            break
        start, steps = time.perf_counter(), step + 1
        for group in optimizer.param_groups:
            group["lr"] = rate(step, share, options.lr)
        loss = learn(text, follow)
        optimizer.step()
        record["seconds"] += time.perf_counter() - start
        stepped()
        if step % 10 == 9:
            losses.append((step + 1, mean(loss)))
            note("loss/learned", losses[-1][1], step + 1)
            speed = (step + 1) * text.numel() * size / record["seconds"]
            bar.set_postfix(loss=f"{losses[-1][1]:.3f}", tokens_per_s=f"{speed:.0f}")
        if step % 250 == 249:
            held_out.append((step + 1, loss_of(assemble(model, options, cut), texts.held_out, 32)))
            note("loss/held_out", held_out[-1][1], step + 1)
        checkpoints.step()
    checkpoints.finish()
    read = steps * options.batch_size * size * model.context
    return Training(losses, held_out, read / record["seconds"])


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    expected = f"the loss is at most {GOOD} and {AHEAD_OF_TABLE} below the table's, or {BEGUN} with --seconds"
    parser = command_line("gpt", __doc__, expected)
    for name, value, meaning in (
        ("--steps", 2000, "steps of the training"),
        ("--batch-size", 12, "stretches of text in a step"),
        ("--context", 128, "characters the model sees"),
        ("--layers", 3, "blocks"),
        ("--heads", 5, "heads of attention"),
        ("--width", 160, "numbers a character becomes; a multiple of twice the heads"),
        ("--sample", 400, "characters to write at the end"),
    ):
        parser.add_argument(name, type=positive, default=value, help=f"{meaning} ({value})")
    parser.add_argument("--lr", type=float, default=4e-3, help="largest rate of learning (0.004)")
    seconds = (
        "end after this time of training, also before the last step; the rate of learning falls with the time"
    )
    parser.add_argument("--seconds", type=positive, help=seconds)
    precision = "of the products, where the processor has tiles for them; mixed: in bfloat16 anywhere (high)"
    parser.add_argument("--precision", choices=(*PRECISIONS, "mixed"), default="high", help=precision)
    parser.add_argument("--tensorboard", metavar="FOLDER", help="write the losses for TensorBoard")
    traced = "write a trace of the second to the sixth step, for Perfetto; compressed if it ends with .gz"
    parser.add_argument("--profile", metavar="FILE.json", type=writable, help=traced)
    add_options(parser)
    add_ddp(parser)
    add_cuts(parser)
    return parser


def build(options: argparse.Namespace) -> GPT:
    """A network of the options' sizes."""
    return GPT(len(corpus.SYMBOLS), options.width, options.heads, options.layers, options.context)


def assemble(model: GPT, options: argparse.Namespace, cut: Cut | None) -> GPT:
    """The network with all parameters, also if it is cut.

    Args:
        model: the network, or the part of this process.
        options: the program's options.
        cut: the network among processes.
    """
    if cut is None:
        return model
    with tl.random.fork_rng():  # the parameters that a new network draws are none of the training's numbers
        return cut.assemble(lambda: build(options))


def run(options: argparse.Namespace, ranks: Ranks = ALONE) -> Reached:
    """Trains a model with the options of the command line."""
    texts = corpus.read()
    print(f"{len(texts.learned):,} characters to learn from, {len(texts.held_out):,} held out")
    tl.manual_seed(options.seed)
    if options.precision in PRECISIONS:
        tl.set_float32_matmul_precision(options.precision)
    model = build(options)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    sizes = sizes_of(options, ranks.size)
    cut = None if sizes is None else Cut(model, sizes, options.schedule, options.microbatches)
    with board(options.tensorboard) as note, trace_steps(options.profile) as stepped:
        training = train(model, texts, options, note, stepped, ranks, cut)
    model = assemble(model, options, cut)
    if options.plot:
        draw(options.plot, "step", training.learned, training.held_out, "loss of held-out text")
    loss, table = loss_of(model, texts.held_out), corpus.table_loss(texts)
    print(write(model, "def ", options.sample))
    figures = f"val_loss={loss:.4f} ngram={table:.4f} tokens_per_s={training.speed:.0f}"
    if options.seconds:
        return Reached(figures, "" if loss <= BEGUN else f"val_loss at most {BEGUN}")
    good = loss <= GOOD and loss <= table - AHEAD_OF_TABLE
    return Reached(figures, "" if good else f"val_loss at most {GOOD} and {AHEAD_OF_TABLE} below ngram")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    options = arguments().parse_args(argv)
    with join_ranks(options) as ranks:
        return finish(lambda options: run(options, ranks), options)


if __name__ == "__main__":
    sys.exit(main())
