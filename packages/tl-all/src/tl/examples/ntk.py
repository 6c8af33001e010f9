"""The empirical neural tangent kernel of a network, by Jacobians and by products with them, against a loop.

    tl examples ntk --points 12

The kernel of two inputs is the product of the Jacobians of the network in its parameters there. The last line gives how
long each way took and how far they are apart.
"""

import argparse
import sys
import time

import tl
from tl import func, nn
from tl.examples._program import Reached, command_line, finish, positive, progress

CLOSE = 1e-3
State = dict[str, tl.Tensor]


def network(width: int) -> nn.Module:
    """One hidden layer."""
    return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 3))


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line("ntk", __doc__, "all ways give the same kernel")
    for name, value, meaning in (("--points", 12, "inputs"), ("--width", 64, "numbers of the hidden layer")):
        parser.add_argument(name, type=positive, default=value, help=f"{meaning} ({value})")
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Does what the command line says."""
    tl.manual_seed(options.seed)
    model = network(options.width)
    state = {name: p.detach() for name, p in model.named_parameters()}
    x = tl.randn(options.points, 4)

    def f(s: State, a: tl.Tensor) -> tl.Tensor:
        return func.functional_call(model, s, (a,))

    def by_jacobians() -> tl.Tensor:
        jacobian = func.vmap(func.jacrev(f), (None, 0))(state, x)
        parts = [j.flatten(2) for j in jacobian.values()]
        return tl.stack([tl.einsum("nap,mbp->nmab", [j, j]) for j in parts]).sum(0)

    def by_products() -> tl.Tensor:
        def entry(a: tl.Tensor, b: tl.Tensor) -> tl.Tensor:
            _, pull = func.vjp(lambda s: f(s, a), state)
            push = lambda v: func.jvp(lambda s: f(s, b), (state,), pull(v))[1]  # noqa: E731
            return func.vmap(push)(tl.eye(3))

        return func.vmap(func.vmap(entry, (None, 0)), (0, None))(x, x)

    def by_loop() -> tl.Tensor:
        rows = []
        for a in progress(options.points, "input", options.quiet):
            leaves = [p.clone().requires_grad_() for p in state.values()]
            out = f(dict(zip(state, leaves, strict=True)), x[a])
            each = [tl.autograd.grad(out[k], leaves, retain_graph=True) for k in range(3)]
            rows.append(tl.stack([tl.cat([g.flatten() for g in grads if g is not None]) for grads in each]))
        jacobian = tl.stack(rows)
        return tl.einsum("nap,mbp->nmab", [jacobian, jacobian])

    kernels, seconds = {}, {}
    for name, way in (("jacobians", by_jacobians), ("products", by_products), ("loop", by_loop)):
        start = time.perf_counter()
        kernels[name] = way()
        seconds[name] = time.perf_counter() - start
    apart = max((k - kernels["loop"]).abs().max().item() for k in kernels.values())
    figures = " ".join(f"{name}_s={s:.4f}" for name, s in seconds.items()) + f" difference={apart:.1e}"
    return Reached(figures, "" if apart < CLOSE else f"a difference below {CLOSE}")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
