"""Times operators of one and two tensors on random inputs."""

from __future__ import annotations

from tl_utils.benchmark import BinaryOpFuzzer, Compare, Timer, UnaryOpFuzzer

UNARY, BINARY = ("abs", "exp", "sum"), ("add", "mul", "maximum")


def main(count: int = 3) -> None:
    """Prints a table a kind of operator.

    Example:
        >>> main(count=1)  # doctest: +SKIP
    """
    for fuzzer, names, arguments in ((UnaryOpFuzzer, UNARY, "x"), (BinaryOpFuzzer, BINARY, "x, y")):
        results = []
        for tensors, properties, _ in fuzzer(seed=0).take(count):
            for name in names:
                timer = Timer(
                    f"torch.{name}({arguments})", globals=tensors, label=f"op({arguments})", sub_label=name,
                    description=f"{properties['x']['numel']} elements",
                )  # fmt: skip
                results.append(timer.blocked_autorange(min_run_time=0.05))
        table = Compare(results)
        table.trim_significant_figures()
        table.print()


if __name__ == "__main__":
    main()
