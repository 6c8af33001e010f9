"""A network that solves a differential equation: u'' = -u, u(0) = 0, u'(0) = 1, whose solution is the sine.

    tl examples pinn --steps 600

Derivatives of the network in its input come from grad of grad, for all points at once by vmap. The last line gives the
largest error of the solution, and how far a loop over the points is apart.
"""

import argparse
import sys

import tl
from tl import func, nn
from tl.examples._program import Reached, command_line, draw, finish, positive, progress

CLOSE, GOOD = 1e-4, 0.1
State = dict[str, tl.Tensor]


def network(width: int) -> nn.Module:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
    )


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line(
        "pinn", __doc__, f"the error is at most {GOOD}, and the residuals are those of the loop"
    )
    for name, value, meaning in (
        ("--steps", 800, "steps of the training"),
        ("--points", 64, "points in a step"),
        ("--width", 32, "numbers of a hidden layer"),
    ):
        parser.add_argument(name, type=positive, default=value, help=f"{meaning} ({value})")
    parser.add_argument("--lr", type=float, default=5e-3, help="rate of learning (0.005)")
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Does what the command line says."""
    tl.manual_seed(options.seed)
    model = network(options.width)
    state = {name: p.detach().clone() for name, p in model.named_parameters()}

    def u(s: State, t: tl.Tensor) -> tl.Tensor:
        return func.functional_call(model, s, (t.reshape(1),)).reshape(())

    du = func.grad(u, argnums=1)
    ddu = func.grad(du, argnums=1)

    def residual(s: State, t: tl.Tensor) -> tl.Tensor:
        return ddu(s, t) + u(s, t)

    residuals = func.vmap(residual, in_dims=(None, 0))
    zero = tl.zeros(())

    def loss(s: State, t: tl.Tensor) -> tl.Tensor:
        return residuals(s, t).square().mean() + u(s, zero).square() + (du(s, zero) - 1).square()

    points = tl.rand(options.points) * 4
    looped = tl.stack([residual(state, t) for t in points])
    apart = (residuals(state, points) - looped).abs().max().item()
    optimizer = tl.optim.Adam(state.values(), lr=options.lr)
    losses = []
    bar = progress(options.steps, "step", options.quiet)
    for step in bar:
        points = tl.rand(options.points) * 4
        gradient, value = func.grad_and_value(loss)(state, points)
        for name, p in state.items():
            p.grad = gradient[name]
        for group in optimizer.param_groups:
            group["lr"] = options.lr * (1 - step / options.steps)
        optimizer.step()
        losses.append((step + 1, value.item()))
        bar.set_postfix(loss=f"{losses[-1][1]:.5f}")
    grid = tl.linspace(0, 4, 101)
    error = (func.vmap(u, in_dims=(None, 0))(state, grid) - grid.sin()).abs().max().item()
    if options.plot:
        draw(options.plot, "step", losses, losses, "loss")
    figures = f"error={error:.4f} loss={losses[-1][1]:.2e} difference={apart:.1e}"
    good = apart < CLOSE and error <= GOOD
    return Reached(figures, "" if good else f"a difference below {CLOSE} and an error of at most {GOOD}")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
