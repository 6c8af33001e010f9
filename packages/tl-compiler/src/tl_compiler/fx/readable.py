"""What `print_readable` says beside the code: sizes of values, and the lines of the program that they come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import tl_core

if TYPE_CHECKING:
    from .node import Node

__all__ = ["describe", "dtype_abbrs", "origin_comment"]

_SHORT = {
    "bfloat16": "bf16",
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
    "complex32": "c32",
    "complex64": "c64",
    "complex128": "c128",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bool": "b8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}
dtype_abbrs = {getattr(tl_core, name): short for name, short in _SHORT.items() if hasattr(tl_core, name)}

_FRAME = re.compile(r'^\s*File "(.+)", line (\d+), in (.+)$')


def _sizes(values: Any) -> str:
    return ", ".join(str(v) for v in values)


def describe(node: Node, include_stride: bool = False, include_device: bool = False) -> str:
    """The dtype and sizes of a node's value, as far as `meta` says.

    Args:
        node: the node.
        include_stride, include_device: whether strides and the device are said too.

    Returns:
        A text such as `f32[2, 3]`; nothing if they are unknown.
    """
    for key in ("val", "tensor_meta"):
        if key in node.meta:
            return _describe_value(node.meta[key], include_stride, include_device)
    return ""


def _describe_value(value: Any, include_stride: bool, include_device: bool) -> str:
    if isinstance(value, (list, tuple)) and not hasattr(value, "stride"):
        return ""
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        name = type(value).__name__
        return f"{name}({value})" if name in ("SymInt", "SymFloat", "SymBool") else ""
    stride = value.stride() if callable(value.stride) else value.stride
    text = f"{dtype_abbrs.get(value.dtype, str(value.dtype))}[{_sizes(value.shape)}]"
    text += f"[{_sizes(stride)}]" if include_stride else ""
    return text + (str(value.device) if include_device and hasattr(value, "device") else "")


def origin_comment(node: Node, before: str, additional_meta: tuple[str, ...] = ()) -> str:
    """The line of the program that a node comes from.

    Args:
        node: the node.
        before: the comment of the node before it.
        additional_meta: further entries of `meta` to say.

    Returns:
        The comment; the one before where nothing is known that is new.
    """
    extra = "".join(f" {key}: {node.meta[key]}" for key in additional_meta if key in node.meta)
    if not node.stack_trace:
        return f"No stacktrace found for following nodes{extra}"
    lines = node.stack_trace.strip().split("\n")
    for i in range(len(lines) - 1, -1, -1):
        match = _FRAME.match(lines[i])
        if match:
            file, number, name = match.groups()
            code = lines[i + 1].strip() if i + 1 < len(lines) else ""
            return f"File: {file}:{number} in {name}, code: {code}{extra}"
    return before + extra
