"""Names of CUDA and their names in HIP. None are kept here: ROCm's own `hipify-perl` has them."""

from typing import Any

__all__ = ["CUDA_TO_HIP_MAPPINGS"]

CUDA_TO_HIP_MAPPINGS: list[dict[str, Any]] = []
