"""Trains a character LSTM on the text of Python's own standard library: the GPT's corpus, another kind of network.

    tl examples lstm --steps 1500

Its state goes on from one stretch of a text to the next. The last line gives the loss of held-out files in nats a
character, beside that of a table that counts which character follows three others.
"""

import argparse
import sys
import time
from typing import Any

import tl
from tl import nn
from tl.examples import corpus
from tl.examples._program import Reached, command_line, draw, finish, positive, progress
from tl.examples._resume import Checkpoints, add_options

F = nn.functional
GOOD = 1.75
State = tuple[tl.Tensor, tl.Tensor]


class Reader(nn.Module):
    """Scores for the next character after each of (batch, length) characters, and the state to go on with.

    Args:
        symbols: the number of different characters.
        width: the size of a position's vector.
        layers: the number of layers.
    """

    def __init__(self, symbols: int, width: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, symbols)

    def forward(self, text: tl.Tensor, state: State | None = None) -> tuple[tl.Tensor, State]:
        states, state = self.lstm(self.embed(text), state)
        return self.head(states), state


def streams(text: tl.Tensor, count: int) -> tl.Tensor:
    """The text cut into equal streams, (count, length)."""
    length = len(text) // count
    return text[: count * length].view(count, length)


def loss_of(model: Reader, text: tl.Tensor, length: int, count: int = 16, stretches: int = 24) -> float:
    """The mean loss of a character of the text's streams.

    Args:
        model: the network.
        text: the characters, as indices.
        length: the characters of a stretch.
        count: how many characters are written, or streams read.
        stretches: how many stretches are measured at most.
    """
    rows, state, total = streams(text, count), None, 0.0
    stretches = min(stretches, (rows.shape[1] - 1) // length)
    with tl.no_grad():
        for k in range(stretches):
            stretch = rows[:, k * length : (k + 1) * length + 1]
            scores, state = model(stretch[:, :-1], state)
            total += F.cross_entropy(scores.flatten(0, 1), stretch[:, 1:].flatten()).item()
    return total / stretches


def train(model: Reader, texts: corpus.Corpus, options: argparse.Namespace) -> tuple[list, list, float]:
    """Trains the model; returns its losses, those of held-out text, and characters a second.

    Args:
        model: the network.
        texts: the texts to learn from and to measure on.
        options: the program's options.
    """
    optimizer = tl.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.01)
    rows, length = streams(texts.learned, options.batch_size), options.length
    windows = (rows.shape[1] - 1) // length
    begin = [tl.zeros(options.layers, options.batch_size, options.width) for _ in range(2)]
    record: dict[str, Any] = {"state": begin, "learned": [], "held_out": [], "seconds": 0.0}
    checkpoints = Checkpoints(options, model, optimizer, record)
    bar = progress(options.steps, "step", options.quiet, first=checkpoints.steps)
    for step in bar:
        start = time.perf_counter()
        at = step % windows * length
        stretch = rows[:, at : at + length + 1]
        for group in optimizer.param_groups:
            group["lr"] = options.lr * (1 - step / options.steps)
        scores, state = model(stretch[:, :-1], tuple(record["state"]))
        record["state"] = [part.detach() for part in state]
        loss = F.cross_entropy(scores.flatten(0, 1), stretch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        record["seconds"] += time.perf_counter() - start
        if step % 10 == 9:
            record["learned"].append((step + 1, loss.item()))
            bar.set_postfix(loss=f"{record['learned'][-1][1]:.3f}")
        if step % 250 == 249:
            record["held_out"].append((step + 1, loss_of(model, texts.held_out, length, stretches=4)))
        checkpoints.step()
    checkpoints.finish()
    return record["learned"], record["held_out"], rows.shape[0] * length * options.steps / record["seconds"]


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line("lstm", __doc__, f"the loss is at most {GOOD}")
    for name, value, meaning in (
        ("--steps", 1500, "steps of the training"),
        ("--batch-size", 32, "streams of text"),
        ("--length", 64, "characters of a stream in a step"),
        ("--layers", 2, "layers"),
        ("--width", 256, "numbers of a state"),
    ):
        parser.add_argument(name, type=positive, default=value, help=f"{meaning} ({value})")
    parser.add_argument(
        "--lr", type=float, default=4e-3, help="rate of learning at the start; it falls to 0 (0.004)"
    )
    add_options(parser)
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Does what the command line says."""
    texts = corpus.read()
    tl.manual_seed(options.seed)
    model = Reader(len(corpus.SYMBOLS), options.width, options.layers)
    losses, held_out, speed = train(model, texts, options)
    if options.plot:
        draw(options.plot, "step", losses, held_out, "loss of held-out text")
    loss = loss_of(model, texts.held_out, options.length)
    figures = f"val_loss={loss:.4f} ngram={corpus.table_loss(texts):.4f} tokens_per_s={speed:.0f}"
    return Reached(figures, "" if loss <= GOOD else f"val_loss at most {GOOD}")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
