"""Learning to learn: parameters from which one step of gradient descent fits a sine wave (Finn et al., 2017).

    tl examples maml --steps 300

The gradient of what a step inside reached is taken through that step: grad of vmap of grad. The last line gives the
loss after one step on waves not seen before, that without the step, and how far a loop over the tasks is apart.
"""

import argparse
import sys

import tl
from tl import func, nn
from tl.examples._program import Reached, command_line, draw, finish, positive, progress

CLOSE = 1e-4
State = dict[str, tl.Tensor]


def network(width: int) -> nn.Module:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
    )


def waves(tasks: int, points: int) -> tuple[tl.Tensor, tl.Tensor]:
    """Points of sine waves of random height and phase, (tasks, points, 1)."""
    height, phase = tl.rand(tasks, 1, 1) * 4 + 1, tl.rand(tasks, 1, 1) * tl.pi
    x = tl.rand(tasks, points, 1) * 10 - 5
    return x, height * (x + phase).sin()


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line("maml", __doc__, "a step helps, and the gradient is that of the loop")
    for name, value, meaning in (
        ("--steps", 300, "steps of the training"),
        ("--tasks", 16, "waves in a step"),
        ("--points", 10, "points of a wave to learn from"),
        ("--width", 40, "numbers of a hidden layer"),
    ):
        parser.add_argument(name, type=positive, default=value, help=f"{meaning} ({value})")
    parser.add_argument("--inner", type=float, default=0.02, help="rate of the step inside (0.02)")
    parser.add_argument("--lr", type=float, default=2e-3, help="rate of learning (0.002)")
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Does what the command line says."""
    tl.manual_seed(options.seed)
    model = network(options.width)
    state = {name: p.detach().clone() for name, p in model.named_parameters()}

    def loss(s: State, x: tl.Tensor, y: tl.Tensor) -> tl.Tensor:
        return (func.functional_call(model, s, (x,)) - y).square().mean()

    def adapt(s: State, x: tl.Tensor, y: tl.Tensor) -> State:
        gradient = func.grad(loss)(s, x, y)
        return {name: p - options.inner * gradient[name] for name, p in s.items()}

    def task(s: State, x: tl.Tensor, y: tl.Tensor, x2: tl.Tensor, y2: tl.Tensor) -> tl.Tensor:
        return loss(adapt(s, x, y), x2, y2)

    tasks = func.vmap(task, in_dims=(None, 0, 0, 0, 0))

    def draw_tasks() -> tuple[tl.Tensor, ...]:
        x, y = waves(options.tasks, 2 * options.points)
        return (*(t[:, : options.points] for t in (x, y)), *(t[:, options.points :] for t in (x, y)))

    data = draw_tasks()
    gradients = func.grad(lambda s: tasks(s, *data).mean())(state)
    each = [func.grad(task)(state, *(t[i] for t in data)) for i in range(options.tasks)]
    apart = max((gradients[n] - tl.stack([g[n] for g in each]).mean(0)).abs().max().item() for n in state)
    optimizer = tl.optim.Adam(state.values(), lr=options.lr)
    losses = []
    bar = progress(options.steps, "step", options.quiet)
    for number in bar:
        data = draw_tasks()
        gradient, value = func.grad_and_value(lambda s, d=data: tasks(s, *d).mean())(state)
        for name, p in state.items():
            p.grad = gradient[name]
        optimizer.step()
        losses.append((number + 1, value.item()))
        bar.set_postfix(loss=f"{losses[-1][1]:.3f}")
    tl.manual_seed(options.seed + 1)
    data = draw_tasks()
    after = tasks(state, *data).mean().item()
    before = func.vmap(loss, in_dims=(None, 0, 0))(state, *data[2:]).mean().item()
    if options.plot:
        draw(options.plot, "step", losses, losses, "loss after a step")
    figures = f"loss_after_step={after:.4f} loss_before={before:.4f} difference={apart:.1e}"
    good = apart < CLOSE and after < before
    return Reached(
        figures, "" if good else f"a difference below {CLOSE} and loss_after_step below loss_before"
    )


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
