"""Tensors that carry a mask of the elements that count."""

from __future__ import annotations

from tl_core.masked.maskedtensor import binary as _binary
from tl_core.masked.maskedtensor import passthrough as _passthrough
from tl_core.masked.maskedtensor import reductions as _reductions
from tl_core.masked.maskedtensor import unary as _unary
from tl_core.masked.maskedtensor.core import MaskedTensor, is_masked_tensor
from tl_core.masked.maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]
