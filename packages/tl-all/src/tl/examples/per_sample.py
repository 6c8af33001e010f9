"""Gradients of every single sample of a batch, by vmap of grad, against a loop over the samples.

    tl examples per_sample --steps 30

It trains a small network privately: each sample's gradient is clipped before the mean is taken and noise added. The
last line gives the loss, the time of a step beside that of a loop, and how far the two gradients are apart.
"""

import argparse
import sys
import time
from typing import Any

import tl
from tl import func, nn
from tl.examples._program import Reached, command_line, draw, finish, positive, progress

F = nn.functional
CLOSE = 1e-4


def samples(count: int) -> tuple[tl.Tensor, tl.Tensor]:
    """Points of a plane and to which of two interleaved spirals each belongs."""
    label = tl.randint(0, 2, (count,))
    radius = tl.rand(count) * 2
    angle = radius * 2 + label * tl.pi
    return tl.stack([radius * angle.cos(), radius * angle.sin()], 1) + 0.05 * tl.randn(count, 2), label


def network(width: int) -> nn.Module:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
    )


def loss_of_one(model: nn.Module, parameters: dict[str, tl.Tensor], x: tl.Tensor, y: tl.Tensor) -> tl.Tensor:
    """The loss of a single sample, as a function of the parameters.

    Args:
        model: the network.
        parameters: the parameters, by name.
        x: the inputs.
        y: the targets.
    """
    scores = func.functional_call(model, parameters, (x.unsqueeze(0),))
    return F.cross_entropy(scores, y.unsqueeze(0))


def by_loop(
    gradient: Any, parameters: dict[str, tl.Tensor], x: tl.Tensor, y: tl.Tensor
) -> dict[str, tl.Tensor]:
    """The same gradients, one sample after the other.

    Args:
        gradient: the function that gives a sample's gradients.
        parameters: the parameters, by name.
        x: the inputs.
        y: the targets.
    """
    gradients = [gradient(parameters, a, b) for a, b in zip(x, y, strict=True)]
    return {name: tl.stack([g[name] for g in gradients]) for name in parameters}


def private_mean(gradients: dict[str, tl.Tensor], clip: float, noise: float) -> dict[str, tl.Tensor]:
    """The mean of the samples' gradients, none longer than `clip`, with noise.

    Args:
        gradients: the gradients of each sample, by parameter.
        clip: the longest norm allowed.
        noise: the standard deviation of the noise, as a multiple of `clip`.
    """
    count = next(iter(gradients.values())).shape[0]
    squares = tl.stack([g.flatten(1).square().sum(1) for g in gradients.values()])
    scale = (clip / (squares.sum(0).sqrt() + 1e-6)).clamp(max=1.0)
    clipped = {name: tl.einsum("n,n...->...", [scale, g]) for name, g in gradients.items()}
    return {name: (g + noise * clip * tl.randn_like(g)) / count for name, g in clipped.items()}


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line("per_sample", __doc__, "the gradients are those of the loop")
    for name, value, meaning in (
        ("--steps", 60, "steps of the training"),
        ("--samples", 128, "samples in a step"),
        ("--width", 32, "numbers of a hidden layer"),
    ):
        parser.add_argument(name, type=positive, default=value, help=f"{meaning} ({value})")
    parser.add_argument("--lr", type=float, default=0.5, help="rate of learning (0.5)")
    parser.add_argument(
        "--noise", type=float, default=0.1, help="noise, as a share of the longest gradient (0.1)"
    )
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Does what the command line says."""
    tl.manual_seed(options.seed)
    model = network(options.width)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    gradient = func.grad(lambda p, x, y: loss_of_one(model, p, x, y))
    batched = func.vmap(gradient, in_dims=(None, 0, 0))
    x, y = samples(options.samples)
    start = time.perf_counter()
    looped = by_loop(gradient, parameters, x, y)
    loop_seconds = time.perf_counter() - start
    start = time.perf_counter()
    gradients = batched(parameters, x, y)
    seconds = time.perf_counter() - start
    apart = max((gradients[name] - looped[name]).abs().max().item() for name in parameters)
    losses = []
    bar = progress(options.steps, "step", options.quiet)
    for step in bar:
        x, y = samples(options.samples)
        mean = private_mean(batched(parameters, x, y), 1.0, options.noise)
        parameters = {name: p - options.lr * mean[name] for name, p in parameters.items()}
        losses.append((step + 1, F.cross_entropy(func.functional_call(model, parameters, (x,)), y).item()))
        bar.set_postfix(loss=f"{losses[-1][1]:.3f}")
    if options.plot:
        draw(options.plot, "step", losses, losses, "loss")
    figures = (
        f"loss={losses[-1][1]:.4f} first_loss={losses[0][1]:.4f} vmap_s={seconds:.4f} loop_s={loop_seconds:.4f} "
        f"difference={apart:.1e}"
    )
    good = apart < CLOSE and losses[-1][1] < losses[0][1]
    return Reached(figures, "" if good else f"a difference below {CLOSE} and a falling loss")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
