"""Random inputs for Fourier transforms."""

from __future__ import annotations

import tl_core
from tl_utils.benchmark.op_fuzzers import sizes
from tl_utils.benchmark.utils.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias

__all__ = ["SpectralOpFuzzer"]

_LEAST, _MOST = 16, 16 * 1024


def power_range(upper_bound: int, base: int) -> tuple[int, ...]:
    """The powers of `base` up to `upper_bound`.

    Example:
        >>> power_range(30, 3)
        (1, 3, 9, 27)
    """
    powers = [1]
    while powers[-1] * base <= upper_bound:
        powers.append(powers[-1] * base)
    return tuple(powers)


def _regular(most: int) -> list[int]:
    """The products of powers of 2, 3 and 5 up to a number: the sizes that transform quickly."""
    products = (
        a * b * c for a in power_range(most, 2) for b in power_range(most, 3) for c in power_range(most, 5)
    )
    return sorted({n for n in products if _LEAST <= n <= most})


class SpectralOpFuzzer(Fuzzer):
    """Draws `x` of one to three dimensions, whose sizes have no prime factors but 2, 3 and 5, or anything.

    Args:
        seed: of the random numbers.
        dtype: element type.
        cuda: whether to allocate on the accelerator.
        probability_regular: how often sizes have small prime factors only.

    Example:
        >>> tensors, _, parameters = next(SpectralOpFuzzer(seed=0).take(1))
        >>> tensors["x"].dim() == parameters["ndim"]
        True
    """

    def __init__(self, *, seed: int, dtype: tl_core.dtype = tl_core.float64, cuda: bool = False,
                 probability_regular: float = 1.0) -> None:  # fmt: skip
        regular = sizes.equal(_regular(_MOST))
        lengths = []
        for i in range(3):
            chances = {ParameterAlias(f"k{i}_regular"): probability_regular,
                       ParameterAlias(f"k{i}_any"): 1.0 - probability_regular}  # fmt: skip
            lengths += [
                FuzzedParameter(f"k{i}_any", _LEAST, _MOST, "loguniform"),
                FuzzedParameter(f"k{i}_regular", distribution=dict(regular)),
                FuzzedParameter(f"k{i}", distribution=chances, strict=True),
            ]
        super().__init__(
            parameters=[
                FuzzedParameter("ndim", distribution={1: 0.3, 2: 0.4, 3: 0.3}, strict=True),
                lengths,
                [FuzzedParameter(f"step_{i}", distribution={1: 0.8, 2: 0.12, 4: 0.08}) for i in range(3)],
            ],
            tensors=[
                FuzzedTensor(
                    "x", ("k0", "k1", "k2"), ("step_0", "step_1", "step_2"), probability_contiguous=0.75,
                    min_elements=_LEAST**2, max_elements=sizes.MOST_ELEMENTS // 4,
                    max_allocation_bytes=sizes.MOST_BYTES, dim_parameter="ndim", dtype=dtype, cuda=cuda,
                )
            ],
            seed=seed,
        )  # fmt: skip
