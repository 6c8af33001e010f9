"""Element types as PyTorch's former exporter numbered and named them."""

from __future__ import annotations

import enum
from typing import Any

import tl_core

from .dtypes import DTYPE_OF_ONNX, ONNX_OF_DTYPE
from .errors import OnnxExporterError
from .options import TensorProtoDataType

__all__ = ["JitScalarType"]

# (member, scalar name, name of `type()`, dtype)
_ROWS = (
    ("UINT8", "Byte", "uint8_t", "uint8"),
    ("INT8", "Char", "int8_t", "int8"),
    ("INT16", "Short", "int16_t", "int16"),
    ("INT", "Int", "int", "int32"),
    ("INT64", "Long", "int64_t", "int64"),
    ("HALF", "Half", "half", "float16"),
    ("FLOAT", "Float", "float", "float32"),
    ("DOUBLE", "Double", "double", "float64"),
    ("COMPLEX32", "ComplexHalf", "complex32", "complex32"),
    ("COMPLEX64", "ComplexFloat", "complex64", "complex64"),
    ("COMPLEX128", "ComplexDouble", "complex128", "complex128"),
    ("BOOL", "Bool", "bool", "bool"),
    ("QINT8", "QInt8", "qint8", "qint8"),
    ("QUINT8", "QUInt8", "quint8", "quint8"),
    ("QINT32", "QInt32", "qint32", "qint32"),
    ("BFLOAT16", "BFloat16", "bfloat16", "bfloat16"),
    ("FLOAT8E5M2", "Float8E5M2", "float8_e5m2", "float8_e5m2"),
    ("FLOAT8E4M3FN", "Float8E4M3FN", "float8_e4m3fn", "float8_e4m3fn"),
    ("FLOAT8E5M2FNUZ", "Float8E5M2FNUZ", "float8_e5m2fnuz", "float8_e5m2fnuz"),
    ("FLOAT8E4M3FNUZ", "Float8E4M3FNUZ", "float8_e4m3fnuz", "float8_e4m3fnuz"),
    ("UNDEFINED", "Undefined", "undefined", ""),
)
_ONNX_OF_QUANTIZED = {"qint8": "INT8", "quint8": "UINT8", "qint32": "INT32"}


class JitScalarType(enum.IntEnum):
    """An element type by its number in PyTorch.

    Example:
        >>> JitScalarType.from_dtype(tl_core.float32).scalar_name(), JitScalarType.FLOAT.onnx_type().name
        ('Float', 'FLOAT')
    """

    UINT8 = 0
    INT8 = 1
    INT16 = 2
    INT = 3
    INT64 = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX32 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    FLOAT8E5M2 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E5M2FNUZ = 18
    FLOAT8E4M3FNUZ = 19
    UNDEFINED = 20

    @classmethod
    def from_dtype(cls, dtype: Any) -> JitScalarType:
        """The member of an element type.

        Args:
            dtype: the element type.

        Raises:
            OnnxExporterError: there is no such member.
        """
        name = str(dtype).removeprefix("torch.")
        for member, _, _, own in _ROWS:
            if own == name and own:
                return cls[member]
        raise OnnxExporterError(f"JitScalarType.from_dtype(): no member has the dtype {dtype}")

    @classmethod
    def from_onnx_type(cls, onnx_type: Any) -> JitScalarType:
        """The member of one of ONNX's element types.

        Args:
            onnx_type: the number of the element type.

        Raises:
            OnnxExporterError: there is no such member.
        """
        dtype = DTYPE_OF_ONNX.get(int(onnx_type)) if onnx_type is not None else None
        if dtype is None:
            raise OnnxExporterError(f"JitScalarType.from_onnx_type(): no member has the type {onnx_type}")
        return cls.from_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any, default: Any = None) -> JitScalarType:
        """The member of the element type of a value of a graph, tensor or number.

        Args:
            value: the value.
            default: the result for values without an element type.

        Raises:
            OnnxExporterError: the value has no element type, and there is no default.
        """
        if isinstance(value, tl_core.Tensor):
            return cls.from_dtype(value.dtype)
        onnx_type = getattr(value, "dtype", None)
        if onnx_type is not None and int(onnx_type) in DTYPE_OF_ONNX:
            return cls.from_onnx_type(onnx_type)
        if isinstance(value, (bool, int, float)):
            return cls.BOOL if isinstance(value, bool) else cls.INT64 if isinstance(value, int) else cls.FLOAT
        if default is not None:
            result: JitScalarType = default
            return result
        raise OnnxExporterError(f"JitScalarType.from_value(): {value!r} has no element type")

    def scalar_name(self) -> str:
        """The name of the number type: `Float`."""
        return _ROW_OF[self][1]

    def torch_name(self) -> str:
        """The name of the type of C: `float`."""
        return _ROW_OF[self][2]

    def dtype(self) -> Any:
        """The element type.

        Raises:
            OnnxExporterError: there is none.
        """
        name = _ROW_OF[self][3]
        if not name or not hasattr(tl_core, name):
            raise OnnxExporterError(f"JitScalarType.{self.name} has no dtype")
        return getattr(tl_core, name)

    def onnx_type(self) -> TensorProtoDataType:
        """ONNX's element type.

        Raises:
            OnnxExporterError: ONNX has none.
        """
        name = _ROW_OF[self][3]
        if name in _ONNX_OF_QUANTIZED:
            return TensorProtoDataType[_ONNX_OF_QUANTIZED[name]]
        number = ONNX_OF_DTYPE.get(getattr(tl_core, name)) if name and hasattr(tl_core, name) else None
        if number is None:
            raise OnnxExporterError(f"JitScalarType.{self.name} has no element type in ONNX")
        return TensorProtoDataType(number)

    def onnx_compatible(self) -> bool:
        """Whether ONNX has the element type."""
        try:
            self.onnx_type()
        except OnnxExporterError:
            return False
        return True


_ROW_OF = {JitScalarType[row[0]]: row for row in _ROWS}
