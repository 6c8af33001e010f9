"""Between jagged nested tensors and dense ones that are filled up."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.reductions import padded_values
from tl_core.nested.tensor import JAGGED, NestedTensor

__all__: list[str] = []


@JAGGED.of("to_padded_tensor")
def to_padded(self: NestedTensor, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """The components as a dense tensor of one length, filled up with `padding`."""
    padded = padded_values(self, padding)
    if output_size is not None:
        padded = _enlarge(padded, tuple(output_size), padding)
    return padded if out is None else out.resize_(padded.shape).copy_(padded)


def _enlarge(padded: Tensor, size: tuple[int, ...], padding: float) -> Tensor:
    if len(size) != padded.dim():
        raise RuntimeError(
            f"to_padded_tensor(): output_size must have {padded.dim()} elements, got {list(size)}"
        )
    if any(target < n for target, n in zip(size, padded.shape, strict=True)):
        raise RuntimeError(
            "Value in output_size is less than NestedTensor padded size. Truncation is not supported: got "
            f"{list(size)} for {list(padded.shape)}"
        )
    widths = [n for d in reversed(range(padded.dim())) for n in (0, size[d] - padded.shape[d])]
    return _C.constant_pad_nd(padded, widths, padding)
