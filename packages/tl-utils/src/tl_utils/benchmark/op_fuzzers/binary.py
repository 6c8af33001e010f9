"""Random inputs for operators of two tensors."""

from __future__ import annotations

import tl_core
from tl_utils.benchmark.op_fuzzers import sizes
from tl_utils.benchmark.utils.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias

__all__ = ["BinaryOpFuzzer"]


class BinaryOpFuzzer(Fuzzer):
    """Draws `x` and `y` of one to three dimensions. In 80 % of cases they have one shape, else `y` is broadcast.

    Args:
        seed: the seed of the random numbers. None means a random seed.
        dtype: element type.
        cuda: whether to allocate on the accelerator.

    Example:
        >>> tensors, _, _ = next(BinaryOpFuzzer(seed=0).take(1))
        >>> (tensors["x"] + tensors["y"]).shape == tensors["x"].shape
        True
    """

    def __init__(self, seed: int | None, dtype: tl_core.dtype = tl_core.float32, cuda: bool = False) -> None:
        broadcast = [
            FuzzedParameter(f"y_k{i}", distribution={ParameterAlias(f"k{i}"): 0.8, 1: 0.2}, strict=True)
            for i in range(3)
        ]

        def tensor(name: str, size: tuple[str, ...], least: int | None) -> FuzzedTensor:
            steps = tuple(f"{name}_step_{i}" for i in range(3))
            return FuzzedTensor(
                name, size, steps, probability_contiguous=0.75, min_elements=least,
                max_elements=sizes.MOST_ELEMENTS, max_allocation_bytes=sizes.MOST_BYTES, dim_parameter="dim",
                dtype=dtype, cuda=cuda,
            )  # fmt: skip

        super().__init__(
            parameters=[
                sizes.dimensions({1: 0.3, 2: 0.4, 3: 0.3}),
                sizes.sizes(),
                broadcast,
                sizes.steps("x"),
                sizes.steps("y"),
                FuzzedParameter("random_value", 0, 2**32 - 1, "uniform"),
            ],
            tensors=[
                tensor("x", ("k0", "k1", "k2"), 4 * 1024),
                tensor("y", ("y_k0", "y_k1", "y_k2"), None),
            ],
            seed=seed,
        )
