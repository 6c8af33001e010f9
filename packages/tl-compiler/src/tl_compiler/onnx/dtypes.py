"""Element types of tl and the numbers of ONNX's element types."""

from __future__ import annotations

import tl_core

from .options import TensorProtoDataType as Onnx

__all__ = ["DTYPE_OF_ONNX", "ONNX_OF_DTYPE", "STORED_BITS", "onnx_dtype"]

_PAIRS = (
    ("float32", Onnx.FLOAT),
    ("uint8", Onnx.UINT8),
    ("int8", Onnx.INT8),
    ("uint16", Onnx.UINT16),
    ("int16", Onnx.INT16),
    ("int32", Onnx.INT32),
    ("int64", Onnx.INT64),
    ("bool", Onnx.BOOL),
    ("float16", Onnx.FLOAT16),
    ("float64", Onnx.DOUBLE),
    ("uint32", Onnx.UINT32),
    ("uint64", Onnx.UINT64),
    ("complex64", Onnx.COMPLEX64),
    ("complex128", Onnx.COMPLEX128),
    ("bfloat16", Onnx.BFLOAT16),
    ("float8_e4m3fn", Onnx.FLOAT8E4M3FN),
    ("float8_e4m3fnuz", Onnx.FLOAT8E4M3FNUZ),
    ("float8_e5m2", Onnx.FLOAT8E5M2),
    ("float8_e5m2fnuz", Onnx.FLOAT8E5M2FNUZ),
    ("float8_e8m0fnu", Onnx.FLOAT8E8M0),
)
ONNX_OF_DTYPE: dict[tl_core.dtype, int] = {
    getattr(tl_core, name): int(number) for name, number in _PAIRS if hasattr(tl_core, name)
}
DTYPE_OF_ONNX: dict[int, tl_core.dtype] = {number: dtype for dtype, number in ONNX_OF_DTYPE.items()}

# Element types that numpy lacks, with an integer of the same width.
STORED_BITS: dict[tl_core.dtype, tl_core.dtype] = {
    dtype: tl_core.int16 if dtype == tl_core.bfloat16 else tl_core.uint8
    for dtype in ONNX_OF_DTYPE
    if dtype == tl_core.bfloat16 or str(dtype).startswith("torch.float8")
}


def onnx_dtype(dtype: tl_core.dtype) -> int:
    """The number of ONNX's element type.

    Args:
        dtype: the element type.

    Raises:
        ValueError: ONNX lacks the element type.

    Example:
        >>> onnx_dtype(tl_core.bfloat16)
        16
    """
    try:
        return ONNX_OF_DTYPE[dtype]
    except KeyError:
        raise ValueError(f"ONNX has no element type for {dtype}") from None
