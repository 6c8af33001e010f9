"""Learns to read handwritten digits: a convolutional network, trained on scikit-learn's 1,797 images of 8×8 pixels.

    tl examples digits --epochs 40 --plot curve.png

A fifth of the images is held out and only used to measure the accuracy. The same seed gives the same network. With
`--checkpoint DIR --resume` a training that was killed goes on where it was.
"""

import argparse
import sys
from typing import Any, NamedTuple

import tl
from tl import nn
from tl.examples._program import MissingExtra, Reached, command_line, draw, finish, need, positive, progress
from tl.examples._ranks import ALONE, Ranks
from tl.examples._resume import Batches, Checkpoints, add_options

__all__ = [
    "Curve",
    "Images",
    "MissingExtra",
    "accuracy",
    "arguments",
    "load",
    "main",
    "network",
    "split",
    "train",
]

GOOD = 0.985


class Images(NamedTuple):
    """Images of numbers from 0 to 1, and the digits they show."""

    pixels: tl.Tensor
    digits: tl.Tensor

    def __len__(self) -> int:
        return self.pixels.shape[0]

    def rows(self, indices: tl.Tensor) -> "Images":
        """The images with these indices."""
        return Images(self.pixels[indices], self.digits[indices])


class Curve(NamedTuple):
    """The loss and the accuracy after each epoch."""

    losses: list[float]
    accuracies: list[float]


class Standing:
    """The state of a training: batches, the record of losses and accuracies, and the checkpoints of both."""

    def __init__(
        self,
        options: argparse.Namespace,
        model: nn.Module,
        optimizer: Any,
        count: int,
        ranks: Ranks = ALONE,
        **parts: Any,
    ) -> None:
        self.ranks = ranks
        self.batches = Batches(count, options.batch_size, ranks)
        self.record: dict[str, Any] = {"losses": [], "accuracies": [], "total": 0.0}
        self.checkpoints = Checkpoints(options, model, optimizer, self.record, batches=self.batches, **parts)

    def finish(self) -> Curve:
        """Saves the last checkpoint and returns the curve."""
        self.checkpoints.finish()
        return Curve(self.record["losses"], self.record["accuracies"])


def load() -> Images:
    """All images, from the copy that comes with scikit-learn."""
    bunch = need("sklearn.datasets", "scikit-learn").load_digits()
    pixels = tl.from_numpy(bunch.images).to(tl.float32) / 16
    return Images(pixels.unsqueeze(1), tl.from_numpy(bunch.target).to(tl.int64))


def split(images: Images, held_out: float) -> tuple[Images, Images]:
    """The images to learn from, and those held out, drawn at random."""
    order = tl.randperm(len(images))
    count = int(len(images) * held_out)
    return images.rows(order[count:]), images.rows(order[:count])


def network(channels: int = 32, hidden: int = 128, dropout: float = 0.3) -> nn.Module:
    """Three convolutions and two poolings, then two layers. The result is a score for each of the ten digits.

    Args:
        channels: the channels of the convolutions.
        hidden: the units of the first layer.
        dropout: the probability of dropout.
    """
    return nn.Sequential(
        *convolution(1, channels),
        *convolution(channels, channels),
        nn.MaxPool2d(2),
        *convolution(channels, 2 * channels),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * channels * 4, hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, 10),
    )


def convolution(channels: int, out: int) -> list[nn.Module]:
    """Sums over 3×3 pixels, normalized over the batch, the negative ones cut off."""
    return [nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]


def learn_epoch(model: nn.Module, optimizer: Any, images: Images, standing: Standing) -> None:
    """One pass over all images in a new order, or the rest of a pass. Records the mean loss of an image."""
    measure, record = nn.CrossEntropyLoss(), standing.record
    model.train()
    for rows in standing.batches:
        batch = images.rows(rows)
        loss = measure(model(batch.pixels), batch.digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record["total"] += standing.ranks.mean(loss) * len(batch) * standing.ranks.size
        standing.checkpoints.step()
    record["losses"].append(record["total"] / len(images))
    record["total"] = 0.0


def accuracy(model: nn.Module, images: Images) -> float:
    """The share of images whose highest score is that of the digit they show."""
    model.eval()
    with tl.no_grad():
        guesses = model(images.pixels).argmax(1)
    return (guesses == images.digits).to(tl.float32).mean().item()


def train(model: nn.Module, learned: Images, held_out: Images, options: argparse.Namespace) -> Curve:
    """Trains a network, with a progress bar.

    Args:
        model: the network.
        learned: the images to learn from.
        held_out: the images to measure the accuracy on.
        options: the program's options.
    """
    optimizer = tl.optim.Adam(model.parameters(), lr=options.lr)
    standing = Standing(options, model, optimizer, len(learned))
    losses, accuracies = standing.record["losses"], standing.record["accuracies"]
    bar = progress(options.epochs, "epoch", options.quiet, first=len(accuracies))
    for epoch in bar:
        for group in optimizer.param_groups:
            group["lr"] = options.lr * (1 - epoch / options.epochs)
        learn_epoch(model, optimizer, learned, standing)
        accuracies.append(accuracy(model, held_out))
        bar.set_postfix(loss=f"{losses[-1]:.4f}", accuracy=f"{accuracies[-1]:.4f}")
    return standing.finish()


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line("digits", __doc__, f"the accuracy is at least {GOOD}")
    parser.add_argument("--epochs", type=positive, default=15, help="passes over all images (15)")
    parser.add_argument(
        "--lr", type=float, default=3e-3, help="rate of learning at the start; it falls to 0 (0.003)"
    )
    parser.add_argument("--batch-size", type=positive, default=64, help="images in a step (64)")
    add_options(parser)
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Trains a network with the options of the command line."""
    images = load()
    tl.manual_seed(options.seed)
    training, held_out = split(images, 0.2)
    curve = train(network(), training, held_out, options)
    if options.plot:
        falling, rising = (list(enumerate(values, 1)) for values in curve)
        draw(options.plot, "epoch", falling, rising, "accuracy on held-out images")
    reached = curve.accuracies[-1]
    return Reached(f"accuracy={reached:.4f}", "" if reached >= GOOD else f"an accuracy of at least {GOOD}")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
