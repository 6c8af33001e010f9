"""Times an operator on random inputs and shows the fastest and the slowest."""

from __future__ import annotations

from tl_utils.benchmark import BinaryOpFuzzer, Measurement, Timer


def main(count: int = 10) -> None:
    """Prints the measurements, sorted by the time an element takes.

    Example:
        >>> main(count=3)  # doctest: +SKIP
    """
    results: list[tuple[float, Measurement, str]] = []
    for tensors, properties, _ in BinaryOpFuzzer(seed=0).take(count):
        shape = str(tuple(tensors["x"].shape))
        timer = Timer("x + y", globals=tensors, label="add", description=shape)
        measured = timer.blocked_autorange(min_run_time=0.05)
        layout = "contiguous" if properties["x"]["is_contiguous"] else f"steps {properties['x']['steps']}"
        results.append((measured.median / properties["x"]["numel"], measured, layout))
    for per_element, measured, layout in sorted(results, key=lambda r: r[0]):
        print(f"{per_element * 1e9:8.3f} ns an element   {measured.description:<24} {layout}")


if __name__ == "__main__":
    main()
