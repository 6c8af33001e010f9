"""Compares ways to multiply by a diagonal matrix, by size and number of threads."""

from __future__ import annotations

import tl_core
from tl_utils.benchmark import Compare, Timer

STATEMENTS = {"matmul": "x @ d.diag()", "broadcast": "x * d", "einsum": "torch.einsum('ij,j->ij', x, d)"}


def main() -> None:
    """Prints the table.

    Example:
        >>> main()  # doctest: +SKIP
    """
    results = []
    for n in (8, 64, 256):
        values = {"x": tl_core.rand(n, n), "d": tl_core.rand(n)}
        for threads in (1, 2):
            for name, stmt in STATEMENTS.items():
                timer = Timer(
                    stmt, globals=values, label="scaled columns", sub_label=name, description=f"{n} x {n}",
                    num_threads=threads,
                )  # fmt: skip
                results.append(timer.blocked_autorange(min_run_time=0.05))
    table = Compare(results)
    table.trim_significant_figures()
    table.colorize()
    table.print()


if __name__ == "__main__":
    main()
