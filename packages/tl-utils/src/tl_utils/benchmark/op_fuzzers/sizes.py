"""Sizes that the fuzzers share: up to three dimensions, powers of two among them, not too small and not too large."""

from __future__ import annotations

from collections.abc import Iterable

from tl_utils.benchmark.utils.fuzzer import FuzzedParameter, ParameterAlias

SMALLEST, LARGEST = 16, 16 * 1024**2
MOST_ELEMENTS, MOST_BYTES = 32 * 1024**2, 2 * 1024**3
POWERS_OF_TWO = tuple(2**i for i in range(4, 25))


def equal(values: Iterable[object]) -> dict[object, float]:
    """The same probability for each value."""
    listed = list(values)
    return dict.fromkeys(listed, 1 / len(listed))


def dimensions(weights: dict[int, float]) -> FuzzedParameter:
    """The parameter of the number of dimensions."""
    return FuzzedParameter("dim", distribution=dict(weights), strict=True)


def sizes(prefix: str = "k", largest: int = LARGEST) -> list[FuzzedParameter]:
    """Three sizes: 80 % anything, small ones as often as large ones, and 20 % powers of two."""
    parameters = []
    for i in range(3):
        name = f"{prefix}{i}"
        powers = [n for n in POWERS_OF_TWO if n <= largest]
        parameters += [
            FuzzedParameter(f"{name}_any", SMALLEST, largest, "loguniform"),
            FuzzedParameter(f"{name}_pow2", distribution=equal(powers)),
            FuzzedParameter(
                name,
                distribution={ParameterAlias(f"{name}_any"): 0.8, ParameterAlias(f"{name}_pow2"): 0.2},
                strict=True,
            ),
        ]
    return parameters


def steps(tensor: str) -> list[FuzzedParameter]:
    """The step of each dimension of a tensor: mostly 1."""
    chances = {1: 0.8, 2: 0.06, 4: 0.06, 8: 0.04, 16: 0.04}
    return [FuzzedParameter(f"{tensor}_step_{i}", distribution=dict(chances)) for i in range(3)]
