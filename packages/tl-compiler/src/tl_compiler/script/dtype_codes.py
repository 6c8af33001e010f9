"""The integers for element types, layouts and memory formats in the code of archives."""

from __future__ import annotations

from typing import Any

import tl_core

__all__ = ["DTYPES", "LAYOUTS", "MEMORY_FORMATS", "code_of", "dtype_of", "layout_of", "memory_format_of"]

_NAMES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
    8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 12: "qint8", 13: "quint8", 14: "qint32",
    15: "bfloat16", 16: "quint4x2", 17: "quint2x4", 23: "float8_e5m2", 24: "float8_e4m3fn", 25: "float8_e5m2fnuz",
    26: "float8_e4m3fnuz", 27: "uint16", 28: "uint32", 29: "uint64",
}  # fmt: skip
DTYPES: dict[int, Any] = {
    code: getattr(tl_core, name) for code, name in _NAMES.items() if hasattr(tl_core, name)
}
_LAYOUT_NAMES = {0: "strided", 1: "sparse_coo", 2: "sparse_csr", 3: "_mkldnn", 4: "sparse_csc", 5: "sparse_bsr",
                 6: "sparse_bsc", 7: "jagged"}  # fmt: skip
LAYOUTS: dict[int, Any] = {
    code: getattr(tl_core, n) for code, n in _LAYOUT_NAMES.items() if hasattr(tl_core, n)
}
MEMORY_FORMATS: dict[int, Any] = {
    0: tl_core.contiguous_format, 1: tl_core.preserve_format, 2: tl_core.channels_last, 3: tl_core.channels_last_3d,
}  # fmt: skip
_CODES = {value: code for table in (DTYPES, LAYOUTS, MEMORY_FORMATS) for code, value in table.items()}


def _read(table: dict[int, Any], noun: str, code: Any) -> Any:
    if type(code) is not int:
        return code
    if code not in table:
        raise RuntimeError(f"{code} is the number of no {noun} that tl has")
    return table[code]


def dtype_of(code: Any) -> Any:
    """Returns the element type of a number. Other values are returned unchanged.

    Raises:
        RuntimeError: no element type has this number.

    Example:
        >>> dtype_of(6), dtype_of(None)
        (torch.float32, None)
    """
    return _read(DTYPES, "element type", code)


def layout_of(code: Any) -> Any:
    """Returns the layout of a number. Other values are returned unchanged.

    Raises:
        RuntimeError: no layout has this number.

    Example:
        >>> layout_of(0)
        torch.strided
    """
    return _read(LAYOUTS, "layout", code)


def memory_format_of(code: Any) -> Any:
    """Returns the memory format of a number. Other values are returned unchanged.

    Raises:
        RuntimeError: no memory format has this number.

    Example:
        >>> memory_format_of(2)
        torch.channels_last
    """
    return _read(MEMORY_FORMATS, "memory format", code)


def code_of(value: Any) -> int:
    """Returns the number of an element type, layout or memory format.

    Example:
        >>> import tl_core
        >>> code_of(tl_core.int64)
        4
    """
    return _CODES[value]
