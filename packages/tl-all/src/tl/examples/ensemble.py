"""Several networks trained at once, by vmap over their stacked parameters, against a loop over the networks.

    tl examples ensemble --models 8

Every operator runs once for all networks. The last line gives the loss of the mean prediction beside the mean loss of
a network, the time of a step beside that of a loop, and how far the two are apart.
"""

import argparse
import sys
import time

import tl
from tl import func, nn
from tl.examples._program import Reached, command_line, draw, finish, positive, progress

CLOSE = 1e-4
State = dict[str, tl.Tensor]


def curve(count: int) -> tuple[tl.Tensor, tl.Tensor]:
    """Noisy points of a curve."""
    x = tl.rand(count, 1) * 6 - 3
    return x, (2 * x).sin() * (0.3 * x).exp() + 0.1 * tl.randn(count, 1)


def network(width: int) -> nn.Module:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
    )


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line(
        "ensemble", __doc__, "the networks are those of the loop, and their mean is better than they"
    )
    for name, value, meaning in (
        ("--steps", 200, "steps of the training"),
        ("--models", 8, "networks"),
        ("--samples", 128, "points"),
        ("--width", 32, "numbers of a hidden layer"),
    ):
        parser.add_argument(name, type=positive, default=value, help=f"{meaning} ({value})")
    parser.add_argument("--lr", type=float, default=0.05, help="rate of learning (0.05)")
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Does what the command line says."""
    tl.manual_seed(options.seed)
    models = [network(options.width) for _ in range(options.models)]
    x, y = curve(options.samples)
    base = models[0]

    def loss(state: State) -> tl.Tensor:
        return (func.functional_call(base, state, (x,)) - y).square().mean()

    def step(state: State) -> tuple[State, tl.Tensor]:
        gradient, value = func.grad_and_value(loss)(state)
        return {name: p - options.lr * gradient[name] for name, p in state.items()}, value

    stacked = {name: p.detach() for name, p in func.stack_module_state(models)[0].items()}
    single = [{name: p.detach() for name, p in m.named_parameters()} for m in models]
    together = func.vmap(step)
    start = time.perf_counter()
    looped = [step(state)[0] for state in single]
    loop_seconds = time.perf_counter() - start
    start = time.perf_counter()
    after, _ = together(stacked)
    seconds = time.perf_counter() - start
    apart = max((after[name][i] - s[name]).abs().max().item() for i, s in enumerate(looped) for name in s)
    losses = []
    bar = progress(options.steps, "step", options.quiet)
    for number in bar:
        stacked, values = together(stacked)
        losses.append((number + 1, values.mean().item()))
        bar.set_postfix(loss=f"{losses[-1][1]:.4f}")
    predicted = func.vmap(lambda state: func.functional_call(base, state, (x,)))(stacked)
    mean_loss = (predicted.mean(0) - y).square().mean().item()
    each = (predicted - y).square().mean((1, 2)).mean().item()
    if options.plot:
        draw(options.plot, "step", losses, losses, "mean loss of a network")
    figures = (
        f"ensemble_loss={mean_loss:.4f} network_loss={each:.4f} vmap_s={seconds:.4f} loop_s={loop_seconds:.4f} "
        f"difference={apart:.1e}"
    )
    good = apart < CLOSE and mean_loss <= each
    return Reached(
        figures, "" if good else f"a difference below {CLOSE} and ensemble_loss at most network_loss"
    )


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
