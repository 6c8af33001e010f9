"""Random inputs for operators of two sparse tensors."""

from __future__ import annotations

import tl_core
from tl_utils.benchmark.op_fuzzers import sizes, sparse_parameters
from tl_utils.benchmark.utils.fuzzer import Fuzzer
from tl_utils.benchmark.utils.sparse_fuzzer import FuzzedSparseTensor

__all__ = ["BinaryOpSparseFuzzer"]


class BinaryOpSparseFuzzer(Fuzzer):
    """Draws sparse `x` and `y` of one shape with one to three dimensions.

    Args:
        seed: the seed of the random numbers. None means a random seed.
        dtype: element type.
        cuda: whether to allocate on the accelerator.

    Example:
        >>> tensors, _, _ = next(BinaryOpSparseFuzzer(seed=0).take(1))
        >>> (tensors["x"] + tensors["y"]).is_sparse
        True
    """

    def __init__(self, seed: int | None, dtype: tl_core.dtype = tl_core.float32, cuda: bool = False) -> None:
        tensors = [
            FuzzedSparseTensor(
                name, ("k0", "k1", "k2"), min_elements=1024, max_elements=sparse_parameters.MOST_ELEMENTS,
                dim_parameter="dim", sparse_dim="sparse_dim", density="density", coalesced="coalesced",
                dtype=dtype, cuda=cuda,
            )
            for name in ("x", "y")
        ]  # fmt: skip
        dim = sizes.dimensions({1: 0.3, 2: 0.4, 3: 0.3})
        largest = sparse_parameters.LARGEST
        super().__init__(
            [dim, sizes.sizes(largest=largest), sparse_parameters.sparsity()], tensors, seed=seed
        )
