"""Nested tensors of the layout `torch.jagged`."""

from __future__ import annotations

import functools
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.dims import wrap
from tl_core.nested.handlers import Handlers, is_dense, plain
from tl_core.nested.nested_int import NestedInt
from tl_core.nested.printing import jagged_text
from tl_core.nested.ragged import Ragged
from tl_core.tensors.parameter import as_leaf
from tl_core.tensors.size import Size

__all__ = ["JAGGED", "NestedTensor", "as_nested", "raw", "view_of_values"]

JAGGED = Handlers("jagged", "nested tensors of the layout torch.jagged")

_AnyTensor: Any = Tensor  # for what its type does not show
_raw_is_contiguous = Tensor.is_contiguous


def as_nested(tensor: Tensor, ragged: Ragged, ragged_idx: int) -> NestedTensor:
    """The tensor itself, a fresh one, from now on read as the values of a nested tensor.

    Args:
        tensor: the values.
        ragged: the offsets.
        ragged_idx: the dimension that differs in size.
    """
    if type(tensor) is Tensor:
        tensor.__class__ = NestedTensor
    elif hasattr(tensor, "fake_mode"):
        kind: Any = type(tensor)
        tensor.__class__ = _class_of_fakes(kind)
    nested: Any = tensor
    nested._ragged, nested._ragged_idx = ragged, ragged_idx
    return nested


@functools.cache
def _class_of_fakes(kind: type) -> type:
    """The class of a nested tensor that is the fake of its values.

    Args:
        kind: the class of the fake.
    """
    return type("FakeNestedTensor", (NestedTensor, kind), {"__module__": __name__})


def view_of_values(values: Tensor, ragged: Ragged, ragged_idx: int = 1) -> NestedTensor:
    """A nested tensor on the memory of `values`; gradients flow to them.

    Args:
        values: the elements of all components, one after the other.
        ragged: the offsets.
        ragged_idx: the dimension that differs in size.
    """
    if not is_dense(values):
        values = plain(values)
    return as_nested(values.view(values.shape), ragged, ragged_idx)


class NestedTensor(Tensor):
    """A batch of tensors that differ in the size of one dimension, in one piece of memory.

    The object is the tensor of its values, which autograd and operators see as it is, read with another shape:
    `(B, j1, D)` for values of `(sum of lengths, D)`. `nested_tensor`, `as_nested_tensor`,
    `nested_tensor_from_jagged`, `narrow` and `masked_select` make it.

    Args:
        values: the elements of all components, one after the other.
        offsets: where each begins, int64, with the end.
        lengths: how long each is; None where the next begins behind it.
        kwargs: further state.

    Example:
        >>> import tl_core as tl
        >>> from tl_core import nested
        >>> x = nested.nested_tensor([tl.ones(2, 3), tl.ones(4, 3)], layout=tl.jagged)
        >>> x.dim(), x.is_nested, x.values().shape, x.offsets()
        (3, True, torch.Size([6, 3]), tensor([0, 2, 6]))
    """

    _ragged: Ragged
    _ragged_idx: int

    @staticmethod
    def __new__(
        cls: Any,
        values: Tensor,
        offsets: Tensor,
        *,
        lengths: Tensor | None = None,
        _ragged_idx: int = 1,
        **kwargs: Any,
    ) -> NestedTensor:
        """A view of `values`, without their gradient."""
        return view_of_values(values.detach(), Ragged(offsets, lengths), _ragged_idx)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not all(issubclass(t, (NestedTensor, Tensor)) for t in types):
            return NotImplemented
        return JAGGED.call(func, args, kwargs or {})

    # ---- what it consists of ----
    def values(self) -> Tensor:
        """The elements of all components, one after the other along the ragged dimension: a view."""
        return plain(self)

    def offsets(self) -> Tensor:
        """Where each component begins along the ragged dimension of `values()`, and the end of the last."""
        return self._ragged.offsets

    def lengths(self) -> Tensor | None:
        """The lengths of the components, if there may be space between them; else None."""
        return self._ragged.lengths

    @property
    def _offsets(self) -> Tensor:
        return self._ragged.offsets

    @property
    def _lengths(self) -> Tensor | None:
        return self._ragged.lengths

    @property
    def _values(self) -> Tensor:  # type: ignore[override]
        return plain(self)

    @property
    def _min_seqlen(self) -> int:
        return self._ragged.min_length

    @property
    def _max_seqlen(self) -> int:
        return self._ragged.max_length

    def _get_min_seqlen(self) -> int:
        return self._ragged.min_length

    def _get_max_seqlen(self) -> int:
        return self._ragged.max_length

    # ---- shape ----
    @property
    def shape(self) -> Size:  # type: ignore[override]
        """The sizes; that of the ragged dimension is a `NestedInt`."""
        values = _raw_shape(self)
        at = self._ragged_idx
        sizes = (self._ragged.batch, *values[: at - 1], self._ragged.size, *values[at:])
        return tuple.__new__(Size, sizes)

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]
        """The sizes, or the size of one dimension."""
        shape = self.shape
        return shape if dim is None else shape[wrap(dim, len(shape))]

    def stride(self, dim: int | None = None) -> Any:  # type: ignore[override]
        """The steps between neighbours; that of the batch is a multiple of the ragged size."""
        values = raw(Tensor.stride, self)
        along: Any = NestedInt(self._ragged.size.id, 1)
        inner = values[self._ragged_idx - 1]
        strides = (along * inner, *values)
        return strides if dim is None else strides[wrap(dim, len(strides))]

    def dim(self) -> int:
        """The number of dimensions: one more than the components have."""
        return raw(Tensor.dim, self) + 1

    ndimension = dim

    @property
    def ndim(self) -> int:  # type: ignore[override]
        """The number of dimensions."""
        return self.dim()

    def numel(self) -> int:
        """The number of elements of all components."""
        values = _raw_shape(self)
        if self._ragged.lengths is None:
            return values.numel()
        rest = [n for d, n in enumerate(values) if d != self._ragged_idx - 1]
        return self._ragged.total * Size(rest).numel()

    nelement = numel

    def __len__(self) -> int:
        return self._ragged.batch

    @property
    def layout(self) -> Any:  # type: ignore[override]
        """`torch.jagged`."""
        return _C.jagged

    @property
    def is_nested(self) -> bool:  # type: ignore[override]
        """True."""
        return True

    @property
    def data(self) -> Any:  # type: ignore[override]
        """The same memory outside the graph."""
        return self.detach()

    @property
    def mT(self) -> Any:  # type: ignore[override]
        """The last two dimensions exchanged."""
        return self.transpose(-2, -1)

    @property
    def mH(self) -> Any:  # type: ignore[override]
        """The last two dimensions exchanged, and the elements conjugated."""
        return self.transpose(-2, -1).conj()

    @property
    def T(self) -> Any:  # type: ignore[override]
        """ValueError: the batch stays first."""
        raise ValueError(
            "T: the batch dimension of a nested tensor stays first; mT exchanges the last two dimensions"
        )

    H = T

    @property
    def real(self) -> Any:  # type: ignore[override]
        """The real parts."""
        return as_nested(self.values().real, self._ragged, self._ragged_idx)

    @property
    def imag(self) -> Any:  # type: ignore[override]
        """The imaginary parts."""
        return as_nested(self.values().imag, self._ragged, self._ragged_idx)

    def is_contiguous(self, memory_format: Any = _C.contiguous_format) -> bool:
        """Whether the values lie in one piece, with no space between components."""
        return self._ragged.lengths is None and raw(_raw_is_contiguous, self, memory_format=memory_format)

    def is_same_size(self, other: Any) -> bool:
        """Whether the other one has the same shape and ragged structure."""
        return isinstance(other, NestedTensor) and self.shape == other.shape

    def convert_parts(self, convert: Any) -> NestedTensor:
        """A leaf of the same structure, whose parts are the results of a function.

        Args:
            convert: receives a part, a dense tensor.
        """
        ragged = self._ragged.convert_parts(convert)
        nested = as_nested(convert(self.detach().values()), ragged, self._ragged_idx)
        return as_leaf(nested, self.requires_grad)

    # ---- gradients ----
    @property
    def grad(self) -> Any:
        """The gradient that `backward` added up: a nested tensor of the same structure."""
        gradient = raw(_AnyTensor.grad.__get__, self)
        if gradient is not None and is_dense(gradient):
            as_nested(gradient, self._ragged, self._ragged_idx)
        return gradient

    @grad.setter
    def grad(self, value: Any) -> None:
        before = _C._set_overrides_disabled(True)
        try:
            _AnyTensor.grad.__set__(self, value)
        finally:
            _C._set_overrides_disabled(before)

    def wrap_gradient(self, values: Tensor | None) -> Any:
        """What autograd hands out for this tensor's values, as a nested tensor."""
        if values is None or not is_dense(values):
            return values
        return as_nested(values, self._ragged, self._ragged_idx)

    def register_hook(self, hook: Any) -> Any:
        """Calls `hook(grad)` with the gradient, a nested tensor; what it returns takes its place."""
        ragged, at = self._ragged, self._ragged_idx

        def on_values(grad: Tensor) -> Any:
            return hook(view_of_values(grad, ragged, at))

        return raw(_AnyTensor.register_hook, self, on_values)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """As `torch.nested.to_padded_tensor`."""
        return JAGGED.rules["to_padded_tensor"](self, padding, output_size)

    # ---- the rest of what does not go through operators ----
    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return jagged_text(self)

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def tolist(self) -> Any:
        """The components as lists."""
        return [component.tolist() for component in self.unbind()]

    def numpy(self, *, force: bool = False) -> Any:
        """RuntimeError: a ragged array is none of numpy's."""
        raise RuntimeError(
            "numpy() is not supported for nested tensors; values(), or a component of unbind(), has it"
        )


def raw(method: Any, self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    """A method of Tensor on the values.

    Args:
        method: the method.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    before = _C._set_overrides_disabled(True)
    try:
        return method(self, *args, **kwargs)
    finally:
        _C._set_overrides_disabled(before)


def _raw_shape(self: NestedTensor) -> Size:
    return raw(_shape, self)


_shape = _AnyTensor.shape.__get__
