"""Matrices of which two of every four neighbours are zero: the values that are left, and where they stand."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.rule_table import RuleTable
from tl_core.overrides import made_of_others

__all__ = [
    "SparseSemiStructuredTensor",
    "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS",
    "to_sparse_semi_structured",
]

SEMI_STRUCTURED: RuleTable[Any] = RuleTable("semi-structured")
_rule = SEMI_STRUCTURED.rule


class _Constraint(NamedTuple):
    rows: int  # what the number of rows is a multiple of
    columns: int
    meta: Any  # the type in which positions are packed
    limit: int  # how many of `group` neighbours may be other than zero
    group: int


_CONSTRAINTS = {
    _C.float16: _Constraint(64, 64, _C.int16, 2, 4),
    _C.bfloat16: _Constraint(64, 64, _C.int16, 2, 4),
    _C.int8: _Constraint(128, 128, _C.int32, 2, 4),
    _C.float32: _Constraint(32, 32, _C.int16, 1, 2),
}


class SparseSemiStructuredTensor(Tensor):
    """A matrix of which half of each group of neighbours in a row is zero (2:4; 1:2 of float32), stored without it.

    `values()` are the elements that are kept, half as many columns; `indices()` their positions in the groups of four,
    two bits each, packed into integers. `mm`, `matmul`, `addmm`, `linear`, `t`, `detach`, `to_dense` and conversions of
    the type take it; others refuse.

    Example:
        >>> import tl_core as tl
        >>> a = tl.tensor([0.0, 0.0, 1.0, 1.0]).tile((64, 16)).half()
        >>> sparse = tl.sparse.to_sparse_semi_structured(a)
        >>> sparse.values().shape, sparse.indices().shape
        (torch.Size([64, 32]), torch.Size([64, 4]))
        >>> bool((sparse @ tl.ones(64, 2).half() == 32).all())
        True
    """

    _FORCE_CUTLASS: ClassVar[bool] = False
    _nonzeros: Tensor
    _packed: Tensor
    _transposed: bool

    @staticmethod
    def _of(
        values: Tensor, packed: Tensor, shape: tuple[int, int], transposed: bool
    ) -> SparseSemiStructuredTensor:
        # One element stands for all of them: the tensor has the shape, and no memory for it.
        shell = values.new_zeros(()).expand(shape[::-1] if transposed else shape)
        tensor: SparseSemiStructuredTensor = _C._make_subclass(SparseSemiStructuredTensor, shell)
        tensor._nonzeros, tensor._packed, tensor._transposed = values, packed, transposed
        return tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name == "__get__":
            return super().__torch_function__(func, types, args, kwargs)
        if (code := made_of_others(func)) is not None:
            return code(*args, **(kwargs or {}))
        handler = SEMI_STRUCTURED.get(name)
        if handler is None:
            raise NotImplementedError(
                f"SparseSemiStructuredTensor only supports a specific set of operations, can't perform requested op "
                f"({name}); to_dense() makes a tensor that all operators take"
            )
        return handler(*args, **(kwargs or {}))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return (
            f"SparseSemiStructuredTensor(shape={tuple(self.shape)}, transposed={self._transposed}, "
            f"values={self._nonzeros}, metadata={self._packed})"
        )

    def values(self) -> Tensor:
        """The elements that are kept, (rows, columns / 2)."""
        return self._nonzeros

    def indices(self) -> Tensor:
        """Their positions in the groups of four, two bits each, packed from the lowest bits on."""
        return self._packed


class _OfGpu(SparseSemiStructuredTensor):
    """A form that a library multiplies on a GPU."""

    BACKEND: ClassVar[str]

    @classmethod
    def from_dense(cls, original_tensor: Any) -> Any:
        """Raises NotImplementedError.

        Args:
            original_tensor: the matrix.
        """
        raise NotImplementedError(
            f"{cls.__name__}: {cls.BACKEND} needs a GPU; torch.sparse.to_sparse_semi_structured computes on the CPU"
        )


class SparseSemiStructuredTensorCUTLASS(_OfGpu):
    """The form that CUTLASS multiplies on a GPU. No tensor on the CPU has this class.

    Example:
        >>> SparseSemiStructuredTensorCUTLASS.BACKEND
        'cutlass'
    """

    BACKEND: ClassVar[str] = "cutlass"


class SparseSemiStructuredTensorCUSPARSELT(_OfGpu):
    """The form that cuSPARSELt multiplies on a GPU. No tensor on the CPU has this class.

    Example:
        >>> SparseSemiStructuredTensorCUSPARSELT.BACKEND
        'cusparselt'
    """

    BACKEND: ClassVar[str] = "cusparselt"


def to_sparse_semi_structured(
    original_tensor: Tensor, transposed: bool = False
) -> SparseSemiStructuredTensor:
    """The matrix without the two zeros of every four neighbours in a row; of float32 the one of two.

    Args:
        original_tensor: a matrix of float16, bfloat16 (both sizes multiples of 64), int8 (of 128) or float32 (of 32).
        transposed: deprecated; `t()` of the result does the same.

    Returns:
        The compressed matrix.

    Raises:
        RuntimeError: for another type or size, or if a group has more elements that are not zero.

    Example:
        >>> import tl_core as tl
        >>> a = tl.tensor([0.0, 0.0, 1.0, 1.0]).tile((64, 16)).half()
        >>> bool((tl.sparse.to_sparse_semi_structured(a).to_dense() == a).all())
        True
    """
    x = original_tensor.detach()
    rule = _check(x)
    rows, columns = x.shape
    groups = x.reshape(rows, columns // 4, 4)
    nonzero = groups != 0
    within = nonzero.reshape(rows, columns // rule.group, rule.group).sum(-1)
    if bool((within > rule.limit).any()):
        raise RuntimeError(
            f"to_sparse_semi_structured: more than {rule.limit} of {rule.group} neighbours in a row are not zero"
        )
    # The kept ones first, in order; where there are fewer, zeros fill up to two.
    order = _C.argsort((~nonzero).to(_C.int8), dim=-1, stable=True)[..., :2].sort(-1)[0]
    if rule.group == 2:
        order = _C.stack([nonzero[..., 1].to(_C.int64), 2 + nonzero[..., 3].to(_C.int64)], -1)
    values = groups.gather(-1, order).reshape(rows, columns // 2)
    result: Any = SparseSemiStructuredTensor._of(values, _pack(order, rule.meta), (rows, columns), False)
    return result.t() if transposed else result


def _check(x: Tensor) -> _Constraint:
    if x.layout is not _C.strided:
        raise RuntimeError(f"Error original_tensor.layout = {x.layout} is not supported! Only strided is")
    if x.dim() != 2:
        raise RuntimeError(
            f"Error original_tensor.dim = {x.dim()} is not supported! Only 2d tensors are currently supported."
        )
    rule = _CONSTRAINTS.get(x.dtype)
    if rule is None:
        raise RuntimeError(
            f"Error original_tensor.dtype {x.dtype} is not a supported dtype: {list(_CONSTRAINTS)}"
        )
    rows, columns = x.shape
    if rows < rule.rows or rows % rule.rows or columns < rule.columns or columns % rule.columns:
        raise RuntimeError(
            f"Error original_tensor.shape {tuple(x.shape)} is not supported! Both dimensions must be larger or "
            f"equal than and a multiple of ({rule.rows}, {rule.columns})"
        )
    return rule


def _pack(order: Tensor, dtype: Any) -> Tensor:
    bits = 16 if dtype is _C.int16 else 32
    fields = order.reshape(order.shape[0], -1, bits // 2)
    weights = 4 ** _C.arange(bits // 2)
    packed = (fields * weights).sum(-1)
    return _C.where(packed >= 1 << (bits - 1), packed - (1 << bits), packed).to(dtype)


def _columns(x: SparseSemiStructuredTensor) -> Tensor:
    """The column of each kept element, (rows, columns / 2)."""
    bits = 16 if x._packed.dtype is _C.int16 else 32
    wide = x._packed.to(_C.int64) & ((1 << bits) - 1)
    fields = _C.bitwise_right_shift(wide.unsqueeze(-1), 2 * _C.arange(bits // 2)) & 3
    order = fields.reshape(x._nonzeros.shape[0], -1, 2)
    return (order + 4 * _C.arange(order.shape[1]).view(-1, 1)).reshape(x._nonzeros.shape)


def _base_shape(x: SparseSemiStructuredTensor) -> tuple[int, int]:
    return (x._nonzeros.shape[0], x._nonzeros.shape[1] * 2)


@_rule("to_dense")
def _to_dense(x: SparseSemiStructuredTensor, *rest: Any) -> Tensor:
    dense = x._nonzeros.new_zeros(_base_shape(x)).scatter(1, _columns(x), x._nonzeros)
    return dense.t() if x._transposed else dense


@_rule("t")
def _flip(x: SparseSemiStructuredTensor) -> SparseSemiStructuredTensor:
    return SparseSemiStructuredTensor._of(x._nonzeros, x._packed, _base_shape(x), not x._transposed)


@_rule("detach", "contiguous")
def _same(x: SparseSemiStructuredTensor) -> SparseSemiStructuredTensor:
    return SparseSemiStructuredTensor._of(x._nonzeros, x._packed, _base_shape(x), x._transposed)


def _is_compressed(x: Any) -> bool:
    return isinstance(x, SparseSemiStructuredTensor)


@_rule("mm")
def _mm(a: Any, b: Any) -> Tensor:
    if _is_compressed(a) and _is_compressed(b):
        raise NotImplementedError(
            "SparseSemiStructuredTensor: only one factor of a product may be compressed"
        )
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({tuple(a.shape)} and {tuple(b.shape)})"
        )
    if a.dtype is not b.dtype:
        raise NotImplementedError(
            f"SparseSemiStructuredTensor: expected both factors of one type, got {a.dtype} and {b.dtype}"
        )
    if not _is_compressed(a):
        return _mm(_flip(b), a.t()).t()
    rows, half = a._nonzeros.shape
    offsets = _C.arange(rows + 1) * half
    columns, values = _columns(a).reshape(-1), a._nonzeros.reshape(-1)
    if a._transposed:
        return _C._csr_mm_transposed(offsets, columns, values, b, half * 2)
    return _C._csr_mm(offsets, columns, values, b)


@_rule("matmul", "__matmul__")
def _matmul(a: Any, b: Any) -> Tensor:
    if a.dim() == 2 and b.dim() == 1:
        return _mm(a, b.unsqueeze(1)).squeeze(1)
    if a.dim() > 2 and b.dim() == 2 and _is_compressed(b):
        return _mm(a.reshape(math.prod(a.shape[:-1]), a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[1])
    return _mm(a, b)


@_rule("addmm")
def _addmm(x: Tensor, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return x * beta + _mm(a, b) * alpha


@_rule("linear")
def _linear(x: Any, weight: Any, bias: Any = None) -> Tensor:
    product = _matmul(x, _flip(weight) if _is_compressed(weight) else weight.t())
    return product if bias is None else product + bias


@_rule("to")
def _to(x: SparseSemiStructuredTensor, *args: Any, **kwargs: Any) -> SparseSemiStructuredTensor:
    values = x._nonzeros.to(*args, **kwargs)
    if values.dtype not in _CONSTRAINTS:
        raise RuntimeError(f"SparseSemiStructuredTensor: {values.dtype} is not a supported dtype")
    return SparseSemiStructuredTensor._of(values, x._packed, _base_shape(x), x._transposed)


_rule("values")(SparseSemiStructuredTensor.values)
_rule("indices")(SparseSemiStructuredTensor.indices)
_rule("__repr__")(SparseSemiStructuredTensor.__repr__)
_rule("__rmatmul__")(lambda a, b: _matmul(b, a))
_rule("size")(lambda x, *dim: x.shape[dim[0]] if dim else x.shape)
_rule("dim")(lambda x: 2)
_rule("requires_grad_")(lambda x, on=True: x)
_rule("is_floating_point")(lambda x: x._nonzeros.is_floating_point())
_rule("is_complex")(lambda x: False)
_rule("clone")(
    lambda x, **kwargs: SparseSemiStructuredTensor._of(
        x._nonzeros.clone(), x._packed.clone(), _base_shape(x), x._transposed
    )
)
