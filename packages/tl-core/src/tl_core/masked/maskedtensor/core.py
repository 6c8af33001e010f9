"""`MaskedTensor`: the elements, and a mask of those that count."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.rule_table import RuleTable
from tl_core.overrides import made_of_others
from tl_core.tensors.parameter import as_leaf

__all__ = ["MaskedTensor", "is_masked_tensor"]

_AnyTensor: Any = Tensor  # for what its type does not show
_LAYOUTS = (_C.strided, _C.sparse_coo, _C.sparse_csr)

# A rule is function(operator, args, kwargs), called with overrides off.
HANDLERS: RuleTable[Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = RuleTable("masked")


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether an object is a `MaskedTensor`.

    Example:
        >>> import tl_core as tl
        >>> is_masked_tensor(tl.zeros(2))
        False
    """
    return isinstance(obj, MaskedTensor)


def _tensors_match(
    a: Tensor, b: Tensor, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08
) -> bool:
    """Whether layouts, shapes, and elements agree: all of them equal, or close."""
    if a.layout != b.layout:
        raise ValueError(f"the layouts {a.layout} and {b.layout} cannot be compared")
    if a.shape != b.shape or (exact and a.dtype != b.dtype):
        return False
    if a.layout is not _C.strided:
        return _parts_match(a, b, exact, rtol, atol)
    return _C.equal(a, b) if exact else _C.allclose(a, b, rtol, atol, equal_nan=True)


def _parts_match(a: Any, b: Any, exact: bool, rtol: float, atol: float) -> bool:
    if a.layout is _C.sparse_coo:
        a, b = a.coalesce(), b.coalesce()
        indices = [(a.indices(), b.indices())]
    else:
        indices = [(a.crow_indices(), b.crow_indices()), (a.col_indices(), b.col_indices())]
    return all(_C.equal(i, j) for i, j in indices) and _tensors_match(
        a.values(), b.values(), exact, rtol, atol
    )


def _masks_match(a: Any, b: Any) -> bool:
    """Whether the masks of two masked tensors agree; one that has none agrees with all."""
    if is_masked_tensor(a) and is_masked_tensor(b):
        return a._masked_mask is b._masked_mask or _tensors_match(a._masked_mask, b._masked_mask)
    return True


def _check_layouts(data: Any, mask: Any) -> None:
    if data.layout != mask.layout:
        raise TypeError(f"data and mask must have the same layout, got {data.layout} and {mask.layout}")
    if data.layout not in _LAYOUTS:
        raise TypeError(f"data layout of {data.layout} is not supported")
    if data.layout is _C.sparse_coo and not _C.equal(data.coalesce().indices(), mask.coalesce().indices()):
        raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
    if data.layout is _C.sparse_csr and not (
        _C.equal(data.crow_indices(), mask.crow_indices())
        and _C.equal(data.col_indices(), mask.col_indices())
    ):
        raise ValueError(
            "data and mask are both sparse CSR tensors but do not share either crow or col indices."
        )


def check_parts(data: Any, mask: Any) -> None:
    """Raises unless a mask fits the data."""
    for name, t in (("data", data), ("mask", mask)):
        if not isinstance(t, Tensor) or is_masked_tensor(t):
            raise TypeError(f"{name} must be a Tensor, got {type(t).__name__}")
    if mask.dtype is not _C.bool:
        raise TypeError(f"mask must have dtype bool, got {mask.dtype}")
    if data.dtype.is_complex:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError(f"data.dim() must equal mask.dim(), got {data.dim()} and {mask.dim()}")
    if data.size() != mask.size():
        raise ValueError(
            f"data.size() must equal mask.size(), got {tuple(data.shape)} and {tuple(mask.shape)}"
        )
    _check_layouts(data, mask)


def as_masked(tensor: Tensor, mask: Tensor) -> MaskedTensor:
    """The tensor itself, a fresh one, from now on read as the data of a masked tensor."""
    if type(tensor) is Tensor:
        tensor.__class__ = MaskedTensor
    masked: Any = tensor
    masked._masked_mask = mask
    return masked


def plain(t: Tensor) -> Tensor:
    """The data of a masked tensor as a plain one, in the graph."""
    if t.layout is _C.strided:
        return _C._as_subclass(Tensor, t)
    before = _C._set_overrides_disabled(True)
    try:
        dense = t.coalesce() if t.layout is _C.sparse_coo else t
        return with_values(dense, dense.values())
    finally:
        _C._set_overrides_disabled(before)


def with_values(t: Any, values: Tensor) -> Tensor:
    """A sparse tensor with other elements at the same indices."""
    if t.layout is _C.sparse_coo:
        return _C._sparse_coo_tensor(t.indices(), values, tuple(t.shape), True)
    from tl_core.sparse import sparse_csr_tensor

    return sparse_csr_tensor(t.crow_indices(), t.col_indices(), values, tuple(t.shape))


def densify(t: Any) -> MaskedTensor:
    """The masked tensor in the layout `torch.strided`; itself if it is."""
    if t.layout is _C.strided:
        return t
    return as_masked(_raw(Tensor.to_dense, t), t._masked_mask.to_dense())


def _raw(method: Any, self: Tensor, *args: Any) -> Any:
    before = _C._set_overrides_disabled(True)
    try:
        return method(self, *args)
    finally:
        _C._set_overrides_disabled(before)


class MaskedTensor(Tensor):
    """A tensor, and a mask that is true for the elements that count.

    The object is the tensor of the data, which autograd sees as it is. Reductions pass over elements that do not count;
    where none counts, the result does not either. Functions of two masked tensors need equal masks.

    Args:
        data: the elements, of a real type.
        mask: bool, of the same shape and layout.
        requires_grad: whether gradients are wanted.

    Raises:
        TypeError: `data` or `mask` is no tensor, or of a type or layout that cannot be.
        ValueError: the shapes, or the indices of sparse tensors, differ.

    Example:
        >>> import tl_core as tl
        >>> x = MaskedTensor(tl.tensor([1.0, 2.0, 3.0]), tl.tensor([True, False, True]))
        >>> x
        MaskedTensor(
          [  1.0000,       --,   3.0000]
        )
        >>> x.amax()
        MaskedTensor(  3.0000, True)
    """

    _masked_mask: Tensor

    @staticmethod
    def __new__(cls: Any, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        check_parts(data, mask)
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                "To avoid this, you can use data.detach().clone()",
                UserWarning,
                stacklevel=2,
            )
        result = as_masked(data.detach().clone(), mask.detach())
        return as_leaf(result, requires_grad)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "").partition(".")[0]  # of `add.Tensor` as of `add`
        if (code := made_of_others(func)) is not None:
            return code(*args, **(kwargs or {}))
        handler = HANDLERS.get(name)
        if handler is None:
            raise TypeError(
                f"no implementation found for 'torch._ops.aten.{name}.default' on MaskedTensor: get_data() and "
                "to_tensor(value) give dense tensors, which all operators take"
            )
        before = _C._set_overrides_disabled(True)
        try:
            return handler(func, args, kwargs or {})
        finally:
            _C._set_overrides_disabled(before)

    # ---- what it consists of ----
    def get_data(self) -> Tensor:
        """The elements, those that do not count among them."""
        return plain(self)

    def _data(self) -> Tensor:
        return plain(self)

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._masked_mask

    @property
    def _masked_data(self) -> Tensor:
        return plain(self)

    def to_tensor(self, value: Any) -> Tensor:
        """A dense tensor with `value` where elements do not count."""
        dense = densify(self)
        return _C.where(dense._masked_mask, plain(dense), value)

    def is_sparse_coo(self) -> bool:
        """Whether the layout is `torch.sparse_coo`."""
        return self.layout is _C.sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the layout is `torch.sparse_csr`."""
        return self.layout is _C.sparse_csr

    # ---- gradients ----
    @property
    def grad(self) -> Any:
        """The gradient that `backward` added up, with this tensor's mask."""
        return self.wrap_gradient(_raw(_AnyTensor.grad.__get__, self))

    @grad.setter
    def grad(self, value: Any) -> None:
        _raw(_AnyTensor.grad.__set__, self, value)

    def wrap_gradient(self, data: Tensor | None) -> Any:
        """What autograd hands out for this tensor's data, with its mask."""
        if data is None or type(data) is not Tensor:
            return data
        return as_masked(data, self._masked_mask)

    # ---- the rest of what does not go through operators ----
    def is_contiguous(self, memory_format: Any = _C.contiguous_format) -> bool:
        """Whether data and mask lie in memory in the order of their elements."""
        if self.layout is not _C.strided:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        return plain(self).is_contiguous() and self._masked_mask.is_contiguous()

    def _is_any_true(self) -> MaskedTensor:
        if self.dtype is not _C.bool:
            raise ValueError(f"_is_any_true(): expected a boolean tensor, got {self.dtype}")
        result = (plain(self) & self._masked_mask).any()
        return as_masked(result, _C.tensor(True))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from tl_core.masked.maskedtensor.printing import text

        return text(self)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def tolist(self) -> Any:
        """RuntimeError: lists have no masks."""
        raise RuntimeError("tolist() is not supported for MaskedTensor; get_data() and get_mask() have it")

    def numpy(self, *, force: bool = False) -> Any:
        """RuntimeError: `numpy.ma` has masks of the opposite meaning."""
        raise RuntimeError("numpy() is not supported for MaskedTensor; get_data() and get_mask() have it")

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (_rebuild, (plain(self.detach()), self._masked_mask, self.requires_grad))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy

        if id(self) not in memo:
            if not self.is_leaf:
                raise RuntimeError("only tensors that no operator made can be deeply copied: detach() first")
            mask = copy.deepcopy(self._masked_mask, memo)
            memo[id(self)] = _rebuild(copy.deepcopy(plain(self.detach()), memo), mask, self.requires_grad)
        return memo[id(self)]


def _rebuild(data: Tensor, mask: Tensor, requires_grad: bool) -> MaskedTensor:
    return MaskedTensor(data, mask, requires_grad)
