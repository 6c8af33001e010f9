"""Times Fourier transforms of sizes with small prime factors, and of any."""

from __future__ import annotations

from tl_utils.benchmark import Compare, SpectralOpFuzzer, Timer

TRANSFORMS = ("fftn", "rfftn")


def main(count: int = 3) -> None:
    """Prints a table.

    Example:
        >>> main(count=1)  # doctest: +SKIP
    """
    results = []
    for share, kind in ((1.0, "regular"), (0.0, "any")):
        for tensors, _, _ in SpectralOpFuzzer(seed=0, probability_regular=share).take(count):
            for name in TRANSFORMS:
                timer = Timer(
                    f"torch.fft.{name}(x)", globals=tensors, label=f"{kind} sizes", sub_label=name,
                    description=str(tuple(tensors["x"].shape)),
                )  # fmt: skip
                results.append(timer.blocked_autorange(min_run_time=0.05))
    Compare(results).print()


if __name__ == "__main__":
    main()
