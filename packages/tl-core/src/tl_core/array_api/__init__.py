"""The Array API standard 2024.12 (https://data-apis.org/array-api/2024.12): its functions, by its names and rules.

Tensors are the arrays. Where the standard and PyTorch's manual say the same, a function is tl's own; where they differ,
as in the promotion of arrays without dimensions, in keywords and in what reductions return, the standard holds here.

>>> import tl_core
>>> xp = tl_core.ones(2).__array_namespace__()
>>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
tensor([4, 6])
"""

from math import e, inf, nan, pi

from tl_core._C import (
    bool,  # noqa: A004
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

from . import creation, elementwise, fft, linalg, manipulation, promotion, reductions, searching
from .creation import *
from .elementwise import *
from .info import NamespaceInfo
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import *
from .promotion import astype, can_cast, finfo, iinfo, isdtype, result_type
from .reductions import *
from .searching import *

newaxis = None
__array_api_version__ = "2024.12"
__all__ = [
    *("__array_api_version__", "__array_namespace_info__", "fft", "linalg"),
    *("bool", "complex64", "complex128", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "e", "inf", "nan", "newaxis", "pi"),
    *("matmul", "matrix_transpose", "tensordot", "vecdot"),
    *("astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"),
    *(name for part in (creation, elementwise, manipulation, reductions, searching) for name in part.__all__),
]


def __array_namespace_info__() -> NamespaceInfo:
    """What a program may ask about tl: its types, devices and abilities."""
    return NamespaceInfo()
