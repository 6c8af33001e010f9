"""Names for annotations: what functions take and return.

>>> from tl_core.types import Number
>>> Number
int | float | bool
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from tl_core._C import Tensor
from tl_core._C import device as _device
from tl_core._C import dtype as _dtype
from tl_core._C import layout as _layout
from tl_core.storage import TypedStorage, UntypedStorage
from tl_core.tensors.size import Size

__all__ = ["Device", "FileLike", "Number", "Storage"]

_bool, _int, _float, _complex, _str = (
    builtins.bool,
    builtins.int,
    builtins.float,
    builtins.complex,
    builtins.str,
)

Number: TypeAlias = builtins.int | builtins.float | builtins.bool
"""A Python number that isn't complex."""

Device: TypeAlias = _device | builtins.str | builtins.int | None
"""What names a device: itself, its name, the index of an accelerator, or None for the current one."""

FileLike: TypeAlias = builtins.str | os.PathLike[builtins.str] | IO[builtins.bytes]
"""A path or a file that is open for bytes."""

Storage: TypeAlias = UntypedStorage | TypedStorage
"""The memory of tensors, as bytes or as elements."""

PySymType: TypeAlias = builtins.int | builtins.float | builtins.bool
IntLikeType: TypeAlias = builtins.int
FloatLikeType: TypeAlias = builtins.float
BoolLikeType: TypeAlias = builtins.bool
py_sym_types = (int, float, bool)

_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]
_symsize: TypeAlias = Size | Sequence[builtins.int]
_dispatchkey: TypeAlias = builtins.str
_qscheme: TypeAlias = Any
_Number: TypeAlias = Number
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | Any
# under the names that programs import from here
_types = (_device, _dtype, _layout)
