"""Tensors some of whose elements do not count: functions that take a mask, and `MaskedTensor`, which has one.

>>> import tl_core as tl
>>> x, mask = tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([[True, False], [True, True]])
>>> sum(x, 1, mask=mask)
tensor([1., 7.])
>>> masked_tensor(x, mask).sum(0)
MaskedTensor(
  [  4.0000,   4.0000]
)
"""

from __future__ import annotations

from tl_core.masked.maskedtensor import (
    MaskedTensor,
    as_masked_tensor,
    is_masked_tensor,
    masked_tensor,
)
from tl_core.masked.operations import _combine_input_and_mask as _combine_input_and_mask
from tl_core.masked.operations import _input_mask as _input_mask
from tl_core.masked.operations import _output_mask as _output_mask
from tl_core.masked.operations import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,  # noqa: A004
    var,
)

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
