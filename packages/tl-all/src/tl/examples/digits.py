"""Learns to read handwritten digits: a small network, trained on scikit-learn's 1,797 images of 8×8 pixels.

    python -m tl.examples.digits --epochs 40 --plot curve.png

A fifth of the images is held out and only used to measure the accuracy. The same seed gives the same network.
"""

import argparse
import os
import sys
import time
from importlib import import_module
from typing import Any, NamedTuple

import tl
from tl import nn

GOOD = 0.97
INTERRUPTED = 130


class MissingExtra(Exception):
    """A package that only the examples need isn't installed."""


class Images(NamedTuple):
    """Images as rows of 64 numbers from 0 to 1, and the digits they show."""

    pixels: tl.Tensor
    digits: tl.Tensor

    def __len__(self) -> int:
        return self.pixels.shape[0]

    def rows(self, indices: tl.Tensor) -> "Images":
        return Images(self.pixels[indices], self.digits[indices])


class Curve(NamedTuple):
    """How the training went, a number for each epoch."""

    losses: list[float]
    accuracies: list[float]


def load() -> Images:
    """All images, from the copy that comes with scikit-learn."""
    bunch = need("sklearn.datasets", "scikit-learn").load_digits()
    return Images(tl.from_numpy(bunch.data).to(tl.float32) / 16, tl.from_numpy(bunch.target).to(tl.int64))


def need(module: str, package: str) -> Any:
    """Imports what only the examples need."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        text = f"this needs the package {package}, which is not installed: pip install 'tl-all[examples]'"
        raise MissingExtra(text) from error


def split(images: Images, held_out: float) -> tuple[Images, Images]:
    """The images to learn from, and those held out, drawn at random."""
    order = tl.randperm(len(images))
    count = int(len(images) * held_out)
    return images.rows(order[count:]), images.rows(order[:count])


def network(hidden: int = 256, dropout: float = 0.2) -> nn.Module:
    """Two hidden layers; the result is a score for each of the ten digits."""
    return nn.Sequential(
        nn.Linear(64, hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, 10),
    )


def learn_epoch(model: nn.Module, optimizer: Any, images: Images, batch_size: int) -> float:
    """One pass over all images in a new order; returns the mean loss of an image."""
    measure = nn.CrossEntropyLoss()
    order = tl.randperm(len(images))
    total = 0.0
    model.train()
    for start in range(0, len(images), batch_size):
        batch = images.rows(order[start : start + batch_size])
        loss = measure(model(batch.pixels), batch.digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / len(images)


def accuracy(model: nn.Module, images: Images) -> float:
    """The share of images whose highest score is that of the digit they show."""
    model.eval()
    with tl.no_grad():
        guesses = model(images.pixels).argmax(1)
    return (guesses == images.digits).to(tl.float32).mean().item()


def train(model: nn.Module, learned: Images, held_out: Images, options: argparse.Namespace) -> Curve:
    """Trains a network, with a bar that shows how far it is."""
    bar = need("tqdm", "tqdm").tqdm(range(options.epochs), unit="epoch", disable=options.quiet)
    optimizer = tl.optim.Adam(model.parameters(), lr=options.lr)
    curve = Curve([], [])
    for epoch in bar:
        for group in optimizer.param_groups:
            group["lr"] = options.lr * (1 - epoch / options.epochs)
        curve.losses.append(learn_epoch(model, optimizer, learned, options.batch_size))
        curve.accuracies.append(accuracy(model, held_out))
        bar.set_postfix(loss=f"{curve.losses[-1]:.4f}", accuracy=f"{curve.accuracies[-1]:.4f}")
    return curve


def draw(curve: Curve, path: str) -> None:
    """Writes the curve of the training to an image file."""
    need("matplotlib", "matplotlib").use("Agg")
    from matplotlib import pyplot

    figure, left = pyplot.subplots()
    right = left.twinx()
    epochs = range(1, len(curve.losses) + 1)
    left.plot(epochs, curve.losses, color="tab:blue", label="loss")
    right.plot(epochs, curve.accuracies, color="tab:orange", label="accuracy on held-out images")
    left.set(xlabel="epoch", ylabel="loss", yscale="log")
    right.set(ylabel="accuracy")
    figure.legend(loc="upper center", ncols=2)
    figure.savefig(path)
    pyplot.close(figure)


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tl.examples.digits", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--epochs", type=positive, default=30, help="passes over all images (30)")
    parser.add_argument("--seed", type=int, default=0, help="of all random choices (0)")
    parser.add_argument(
        "--lr", type=float, default=3e-3, help="rate of learning at the start; it falls to 0 (0.003)"
    )
    parser.add_argument("--batch-size", type=positive, default=64, help="images in a step (64)")
    parser.add_argument(
        "--plot", metavar="FILE.png", type=writable, help="draw loss and accuracy of each epoch"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--quickstart", action="store_true", help=f"fail if the accuracy is below {GOOD}")
    return parser


def positive(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, got {text!r}")
    return int(text)


def writable(path: str) -> str:
    """A file in a folder that is there."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"needs a folder that can be written to, got {folder!r}")
    return path


def run(options: argparse.Namespace) -> float:
    """Does what the command line says; returns the accuracy."""
    if options.plot:
        need("matplotlib", "matplotlib")
    images = load()
    tl.manual_seed(options.seed)
    learned, held_out = split(images, 0.2)
    curve = train(network(), learned, held_out, options)
    if options.plot:
        draw(curve, options.plot)
        print(f"curve: {options.plot}")
    return curve.accuracies[-1]


def report(reached: float, seconds: float, quickstart: bool) -> int:
    """Prints the last line; returns the exit code."""
    figures = f"accuracy={reached:.4f} seconds={seconds:.1f}"
    if not quickstart:
        print(figures)
    elif reached >= GOOD:
        print(f"quickstart ok: {figures}")
    else:
        print(f"quickstart failed: {figures}, expected an accuracy of at least {GOOD}")
        return 1
    return 0


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    options = arguments().parse_args(argv)
    start = time.perf_counter()
    try:
        reached = run(options)
    except MissingExtra as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    return report(reached, time.perf_counter() - start, options.quickstart)


if __name__ == "__main__":
    sys.exit(main())
