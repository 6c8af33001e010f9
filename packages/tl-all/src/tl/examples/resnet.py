"""Trains a small residual network on scikit-learn's handwritten digits, enlarged to 16×16 pixels.

    tl examples resnet --epochs 12
    tl run --nproc-per-node 2 -m tl.examples.resnet --ddp

He et al., Deep Residual Learning, 2016: blocks whose two convolutions are added to what comes in, with batch
normalization; each stage halves the image and doubles the channels.
"""

import argparse
import sys
from typing import Any

import tl
from tl import nn
from tl.examples import digits
from tl.examples._program import Reached, command_line, draw, finish, positive, progress
from tl.examples._ranks import ALONE, Ranks, add_ddp, join_ranks
from tl.examples._resume import add_options

F = nn.functional
GOOD = 0.985


class Residual(nn.Module):
    """Two convolutions added to the input, which is brought to their shape if need be.

    Args:
        channels: the channels of the input.
        out: the channels of the output.
        stride: the distance of the kernel's positions in the first convolution.
    """

    def __init__(self, channels: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.one = nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)
        self.norm_one = nn.BatchNorm2d(out)
        self.two = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.norm_two = nn.BatchNorm2d(out)
        same = stride == 1 and channels == out
        self.short = nn.Identity() if same else nn.Conv2d(channels, out, 1, stride, bias=False)

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        y = F.relu(self.norm_one(self.one(x)))
        return F.relu(self.norm_two(self.two(y)) + self.short(x))


def network(width: int = 16) -> nn.Module:
    """Eight layers with weights: a convolution, three blocks, and a layer for the ten scores."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        Residual(width, width),
        Residual(width, 2 * width, stride=2),
        Residual(2 * width, 4 * width, stride=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, 10),
    )


def enlarged(images: digits.Images) -> digits.Images:
    """The images with twice as many pixels each way."""
    pixels = F.interpolate(images.pixels, scale_factor=2, mode="bilinear", align_corners=False)
    return digits.Images(pixels, images.digits)


def train(
    model: nn.Module,
    learned: digits.Images,
    held_out: digits.Images,
    options: argparse.Namespace,
    ranks: Ranks = ALONE,
) -> digits.Curve:
    """Trains a network, with a progress bar.

    Args:
        model: the network.
        learned: the images to learn from.
        held_out: the images to measure the accuracy on.
        options: the program's options.
        ranks: the processes that learn together.
    """
    copies = ranks.copies(model)
    optimizer: Any = tl.optim.SGD(
        model.parameters(), lr=options.lr, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    schedule = tl.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs)
    standing = digits.Standing(options, model, optimizer, len(learned), ranks, schedule=schedule)
    losses, accuracies = standing.record["losses"], standing.record["accuracies"]
    bar = progress(options.epochs, "epoch", options.quiet, first=len(accuracies))
    for _ in bar:
        digits.learn_epoch(copies, optimizer, learned, standing)
        accuracies.append(digits.accuracy(model, held_out))
        schedule.step()
        bar.set_postfix(loss=f"{losses[-1]:.4f}", accuracy=f"{accuracies[-1]:.4f}")
    return standing.finish()


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line("resnet", __doc__, f"the accuracy is at least {GOOD}")
    parser.add_argument("--epochs", type=positive, default=12, help="passes over all images (12)")
    parser.add_argument("--batch-size", type=positive, default=32, help="images in a step (32)")
    parser.add_argument("--lr", type=float, default=0.05, help="rate of learning at the start (0.05)")
    add_options(parser)
    add_ddp(parser)
    return parser


def run(options: argparse.Namespace, ranks: Ranks = ALONE) -> Reached:
    """Trains a network with the options of the command line."""
    images = enlarged(digits.load())
    tl.manual_seed(options.seed)
    training, held_out = digits.split(images, 0.2)
    curve = train(network(), training, held_out, options, ranks)
    if options.plot:
        falling, rising = (list(enumerate(values, 1)) for values in curve)
        draw(options.plot, "epoch", falling, rising, "accuracy on held-out images")
    reached = curve.accuracies[-1]
    return Reached(f"accuracy={reached:.4f}", "" if reached >= GOOD else f"an accuracy of at least {GOOD}")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    options = arguments().parse_args(argv)
    with join_ranks(options) as ranks:
        return finish(lambda options: run(options, ranks), options)


if __name__ == "__main__":
    sys.exit(main())
