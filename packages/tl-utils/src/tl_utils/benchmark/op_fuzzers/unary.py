"""Random inputs for operators of one tensor."""

from __future__ import annotations

import tl_core
from tl_utils.benchmark.op_fuzzers import sizes
from tl_utils.benchmark.utils.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer

__all__ = ["UnaryOpFuzzer"]


class UnaryOpFuzzer(Fuzzer):
    """Draws `x` of one to three dimensions, contiguous or not.

    Args:
        seed: the seed of the random numbers. None means a random seed.
        dtype: element type.
        cuda: whether to allocate on the accelerator.

    Example:
        >>> tensors, _, parameters = next(UnaryOpFuzzer(seed=0).take(1))
        >>> tensors["x"].dim() == parameters["dim"]
        True
    """

    def __init__(self, seed: int | None, dtype: tl_core.dtype = tl_core.float32, cuda: bool = False) -> None:
        super().__init__(
            parameters=[
                sizes.dimensions({1: 0.3, 2: 0.4, 3: 0.3}),
                sizes.sizes(),
                sizes.steps("x"),
                FuzzedParameter("random_value", 0, 2**32 - 1, "uniform"),
            ],
            tensors=[
                FuzzedTensor(
                    "x", ("k0", "k1", "k2"), ("x_step_0", "x_step_1", "x_step_2"), probability_contiguous=0.75,
                    min_elements=4 * 1024, max_elements=sizes.MOST_ELEMENTS, max_allocation_bytes=sizes.MOST_BYTES,
                    dim_parameter="dim", dtype=dtype, cuda=cuda,
                )
            ],
            seed=seed,
        )  # fmt: skip
