"""Random inputs for operators of one sparse tensor."""

from __future__ import annotations

import tl_core
from tl_utils.benchmark.op_fuzzers import sizes, sparse_parameters
from tl_utils.benchmark.utils.fuzzer import Fuzzer
from tl_utils.benchmark.utils.sparse_fuzzer import FuzzedSparseTensor

__all__ = ["UnaryOpSparseFuzzer"]


class UnaryOpSparseFuzzer(Fuzzer):
    """Draws a sparse `x` of one to three dimensions.

    Args:
        seed: the seed of the random numbers. None means a random seed.
        dtype: the element type, by default float32.
        cuda: whether to allocate on the accelerator.

    Example:
        >>> tensors, _, _ = next(UnaryOpSparseFuzzer(seed=0).take(1))
        >>> tensors["x"].is_sparse
        True
    """

    def __init__(self, seed: int | None, dtype: tl_core.dtype | None = None, cuda: bool = False) -> None:
        x = FuzzedSparseTensor(
            "x", ("k0", "k1", "k2"), min_elements=1024, max_elements=sparse_parameters.MOST_ELEMENTS,
            dim_parameter="dim", sparse_dim="sparse_dim", density="density", coalesced="coalesced",
            dtype=dtype or tl_core.float32, cuda=cuda,
        )  # fmt: skip
        dim = sizes.dimensions({1: 0.3, 2: 0.4, 3: 0.3})
        largest = sparse_parameters.LARGEST
        super().__init__([dim, sizes.sizes(largest=largest), sparse_parameters.sparsity()], [x], seed=seed)
