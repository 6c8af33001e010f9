"""Parameters that the sparse fuzzers share."""

from __future__ import annotations

from tl_utils.benchmark.utils.fuzzer import FuzzedParameter

LARGEST = 4096  # of a size: the indices of all sparse dimensions are drawn without repetition
MOST_ELEMENTS = 4 * 1024**2


def sparsity() -> list[FuzzedParameter]:
    """The parameters of sparse dimensions, density, and coalesced indices."""
    return [
        FuzzedParameter("sparse_dim", distribution={1: 0.4, 2: 0.4, 3: 0.2}, strict=True),
        FuzzedParameter("density", distribution={0.1: 0.4, 0.05: 0.3, 0.01: 0.3}),
        FuzzedParameter("coalesced", distribution={True: 0.5, False: 0.5}),
        FuzzedParameter("random_value", 0, 2**32 - 1, "uniform"),
    ]
