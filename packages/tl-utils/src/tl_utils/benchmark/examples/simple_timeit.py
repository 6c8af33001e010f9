"""Times one statement in three ways."""

from __future__ import annotations

import tl_core
from tl_utils.benchmark import Timer


def main() -> None:
    """Prints the measurements.

    Example:
        >>> main()  # doctest: +SKIP
    """
    timer = Timer(
        stmt="x + y",
        globals={"x": tl_core.ones((4, 8)), "y": tl_core.ones((1, 8))},
        label="broadcasting add (4x8)",
    )
    for measurement in (timer.timeit(1000), timer.blocked_autorange(), timer.adaptive_autorange()):
        print(f"{measurement}\n")


if __name__ == "__main__":
    main()
