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
    made = padded_values(self, padding)
    if output_size is not None:
        made = _enlarged(made, tuple(output_size), padding)
    return made if out is None else out.resize_(made.shape).copy_(made)


def _enlarged(made: Tensor, size: tuple[int, ...], padding: float) -> Tensor:
    if len(size) != made.dim():
        raise RuntimeError(
            f"to_padded_tensor(): output_size must have {made.dim()} elements, got {list(size)}"
        )
    if any(wanted < n for wanted, n in zip(size, made.shape, strict=True)):
        raise RuntimeError(
            "Value in output_size is less than NestedTensor padded size. Truncation is not supported: got "
            f"{list(size)} for {list(made.shape)}"
        )
    widths = [n for d in reversed(range(made.dim())) for n in (0, size[d] - made.shape[d])]
    return _C.constant_pad_nd(made, widths, padding)
