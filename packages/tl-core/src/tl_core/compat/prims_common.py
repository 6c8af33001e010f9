"""`torch._prims_common`: facts about element types, shapes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeAlias

import tl_core
from tl_core import Tensor, device, dtype, memory_format
from tl_core.tensors.strides import is_non_overlapping_and_dense as is_non_overlapping_and_dense

__path__: list[str] = []  # PyTorch has a module below it, `wrappers`, which the façade serves
__all__: list[str] = []

ShapeType: TypeAlias = Any
StrideType: TypeAlias = Any
DimsType: TypeAlias = Any
DimsSequenceType: TypeAlias = Any
NumberType: TypeAlias = type
Number = (bool, int, float, complex)
FloatLike = IntLike = BoolLike = Any
DeviceLikeType: TypeAlias = str | device | int
TensorLike = Tensor
TensorLikeType: TypeAlias = Tensor
TensorSequenceType: TypeAlias = Any
TensorOrNumberLikeType: TypeAlias = Any

_INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
_integer_dtypes = tuple(getattr(tl_core, name) for name in _INTEGERS)
_low_precision_dtypes = (tl_core.float16, tl_core.bfloat16, tl_core.complex32)
_REAL_OF = {
    tl_core.complex32: tl_core.float16,
    tl_core.complex64: tl_core.float32,
    tl_core.complex128: tl_core.float64,
}
_COMPLEX_OF = {
    tl_core.bfloat16: tl_core.complex64,
    tl_core.float16: tl_core.complex32,
    tl_core.float32: tl_core.complex64,
    tl_core.float64: tl_core.complex128,
}
_COMPUTED_IN = {
    tl_core.bfloat16: tl_core.float32,
    tl_core.float16: tl_core.float32,
    tl_core.complex32: tl_core.complex64,
}
_ORDERED = (bool, int, float, complex)


# ---- element types -------------------------------------------------------------------------------------------------
def is_boolean_dtype(dtype: dtype) -> bool:
    """Whether it is bool."""
    return dtype is tl_core.bool


def is_integer_dtype(dtype: dtype) -> bool:
    """Whether it is an integer type; bool is none."""
    return dtype in _integer_dtypes


def is_float_dtype(dtype: dtype) -> bool:
    """Whether it is a floating-point type."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: dtype) -> bool:
    """Whether it is a complex type."""
    return dtype.is_complex


def is_low_precision_dtype(dtype: dtype) -> bool:
    """Whether it has 16 bits a number."""
    return dtype in _low_precision_dtypes


def is_grad_dtype(dtype: dtype) -> bool:
    """Whether gradients may have this type."""
    return dtype.is_floating_point or dtype.is_complex


def corresponding_real_dtype(dtype: dtype) -> dtype:
    """The type of a complex type's parts."""
    return _REAL_OF[dtype]


def corresponding_complex_dtype(dtype: dtype) -> dtype:
    """The complex type whose parts have this type."""
    return _COMPLEX_OF[dtype]


def get_computation_dtype(dtype: dtype) -> dtype:
    """The type in which an operator on this one computes."""
    return _COMPUTED_IN.get(dtype, dtype)


def dtype_to_type(dtype: dtype) -> type:
    """Python's type of such numbers."""
    if is_boolean_dtype(dtype):
        return bool
    if is_integer_dtype(dtype):
        return int
    return complex if dtype.is_complex else float


def type_to_dtype(typ: type) -> dtype:
    """The element type that a Python number becomes."""
    if typ is bool:
        return tl_core.bool
    if typ is int:
        return tl_core.int64
    if typ is float:
        return tl_core.get_default_dtype()
    if typ is complex:
        return _COMPLEX_OF[tl_core.get_default_dtype()]
    raise ValueError(f"type_to_dtype(): expected bool, int, float or complex, got {typ}")


def get_higher_type(a: type, b: type) -> type:
    """Of two of Python's number types the wider one."""
    return max(a, b, key=_ORDERED.index)


def get_higher_dtype(a: Any, b: Any) -> dtype | None:
    """The type to which two types, tensors or numbers are promoted by kind and width."""
    kinds = [_dtype_of(x) for x in (a, b) if x is not None]
    return None if not kinds else kinds[0] if len(kinds) == 1 else tl_core.promote_types(*kinds)


def _dtype_of(x: Any) -> dtype:
    if isinstance(x, dtype):
        return x
    return x.dtype if isinstance(x, Tensor) else type_to_dtype(type(x))


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """How an elementwise function's result follows from its inputs' types."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


REDUCTION_OUTPUT_TYPE_KIND = Enum(
    "REDUCTION_OUTPUT_TYPE_KIND", "SAME COMPLEX_TO_FLOAT KEEP_PROMOTED_TYPE ALWAYS_BOOL"
)


def elementwise_dtypes(
    *_args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND
) -> tuple[dtype, dtype]:
    """The types in which an elementwise function of tensors and numbers computes, and of its result."""
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND
    promoted = _promote([a for a in _args if a is not None])
    if type_promotion_kind is kind.ALWAYS_BOOL:
        return get_computation_dtype(promoted), tl_core.bool
    if type_promotion_kind is kind.INT_TO_FLOAT and (
        is_integer_dtype(promoted) or is_boolean_dtype(promoted)
    ):
        promoted = tl_core.get_default_dtype()
    if type_promotion_kind is kind.BOOL_TO_LONG and is_boolean_dtype(promoted):
        promoted = tl_core.int64
    result = promoted
    if type_promotion_kind is kind.COMPLEX_TO_FLOAT and promoted.is_complex:
        result = corresponding_real_dtype(promoted)
    computed = promoted if type_promotion_kind is kind.NO_OPMATH else get_computation_dtype(promoted)
    return computed, result


def _promote(args: Sequence[Any]) -> dtype:
    """By the core's own rules, two at a time: zero-dimensional tensors stand in for what was promoted so far."""
    if not args:
        raise ValueError("elementwise_dtypes(): there are no arguments to infer a type from")
    ranked = sorted(
        args, key=lambda a: (isinstance(a, Tensor), isinstance(a, Tensor) and a.dim() > 0), reverse=True
    )
    if len(ranked) == 1:
        return _dtype_of(ranked[0])
    common = ranked[0]
    for other in ranked[1:]:
        kind = tl_core.result_type(common, other)
        shape = () if not isinstance(common, Tensor) or common.dim() == 0 else (1,)
        common = tl_core.empty(shape, dtype=kind, device="meta")
    return common.dtype


# ---- shapes and strides --------------------------------------------------------------------------------------------
def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension from 0 on; IndexError for one that isn't there. A scalar counts as having one where `wrap_scalar`."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0 and not wrap_scalar:
        raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
    n = max(rank, 1)
    if not -n <= idx < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {idx})"
        )
    return idx % n


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """`canonicalize_dim` of one dimension or of each."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, d, wrap_scalar) for d in indices)


def reduction_dims(shape: Sequence[int], dims: Sequence[int] | None) -> tuple[int, ...]:
    """The dimensions a reduction goes over: all for None; RuntimeError for one named twice."""
    axes = tuple(range(len(shape))) if dims is None else canonicalize_dims(len(shape), tuple(dims))
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"duplicate value in the list of dims: {tuple(dims or ())}")
    return axes


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a dense tensor; column by column within matrices where not `row_major`."""
    strides, step = [], 1
    for n in reversed(tuple(shape)):
        strides.append(step)
        step *= max(n, 1)
    strides.reverse()
    if not row_major and len(shape) > 1:
        strides[-2:] = [1, max(shape[-2], 1)]
    return tuple(strides)


def compute_required_storage_length(shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> int:
    """How many elements a storage needs to hold a tensor."""
    if any(n == 0 for n in shape):
        return 0
    return storage_offset + 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))


def is_contiguous(a: Tensor) -> bool:
    """Whether the strides are those of a fresh tensor."""
    return a.is_contiguous()


def is_contiguous_for_memory_format(a: Tensor, *, memory_format: memory_format) -> bool:
    """Whether the elements lie in that order."""
    return a.is_contiguous(memory_format=memory_format)


def suggest_memory_format(x: Tensor) -> memory_format:
    """The order of dimensions that a tensor's strides have."""
    for rank, form in ((4, tl_core.channels_last), (5, tl_core.channels_last_3d)):
        if x.dim() == rank and not x.is_contiguous() and x.is_contiguous(memory_format=form):
            return form
    return tl_core.contiguous_format


def is_same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are equal."""
    return tuple(a) == tuple(b)


def mask_tensor(mask: Tensor, t: Tensor) -> Tensor:
    """The tensor where the mask is True, zero elsewhere."""
    return t.logical_and(mask) if t.dtype is tl_core.bool else tl_core.where(mask, t, 0)


def set_correction(unbiased: bool | None = None, correction: float | None = None) -> float:
    """What `std` and `var` take from the number of elements: by default 1; RuntimeError where both are given."""
    if unbiased is not None and correction is not None:
        raise RuntimeError("cannot specify both correction and unbiased arguments")
    value = correction if correction is not None else 1.0 if unbiased is not False else 0.0
    if value < 0:
        raise ValueError("correction argument should be non-negative")
    return value


def check(b: bool, s: Any, exc_type: type[Exception] = RuntimeError) -> None:
    """Raises the exception with the text that `s()` gives unless the condition holds."""
    if not b:
        raise exc_type(s())


# ---- two tensors ---------------------------------------------------------------------------------------------------
def check_significant_strides(
    a: Tensor, b: Tensor, *, only_cuda: bool = False, allow_rhs_unbacked: bool = False
) -> tuple[bool, int | None]:
    """Whether the strides are equal where they matter, and the first dimension in which they aren't."""
    if a.numel() == 0 or (only_cuda and a.device.type != "cuda"):
        return True, None
    for d, (n, x, y) in enumerate(zip(a.shape, a.stride(), b.stride(), strict=True)):
        if n > 1 and x != y:
            return False, d
    return True, None


def compare_tensor_meta(
    a: Tensor, b: Tensor, check_sizes: bool = True, check_strides: bool = False, check_conj: bool = True
) -> None:
    """Raises AssertionError or RuntimeError where two tensors differ in shape, type, device, strides or marks."""
    if check_sizes and not is_same_shape(a.shape, b.shape):
        raise AssertionError(f"Shapes {a.shape} and {b.shape} are not equal!")
    if a.dtype != b.dtype:
        raise AssertionError(f"Dtypes {a.dtype} and {b.dtype} are not equal!")
    if a.device != b.device:
        raise AssertionError(f"Devices {a.device} and {b.device} are not equal!")
    if check_strides:
        same, d = check_significant_strides(a, b)
        if not same:
            raise RuntimeError(
                f"Stride mismatch! Strides are {a.stride()} and {b.stride()} (mismatched at {d})!"
            )
        if a.storage_offset() != b.storage_offset():
            raise RuntimeError(
                f"Storage offset mismatch! They are {a.storage_offset()} and {b.storage_offset()}!"
            )
    if check_conj and a.is_conj() != b.is_conj():
        raise RuntimeError(f"Conj mismatch! is_conj is set to {a.is_conj()} and {b.is_conj()}")
    if a.is_neg() != b.is_neg():
        raise RuntimeError(f"Neg mismatch! is_neg is set to {a.is_neg()} and {b.is_neg()}")


def is_contiguous_or_false(a: Tensor) -> bool:
    """`is_contiguous`, where a size that isn't known doesn't make a program ask for it."""
    return is_contiguous(a)
