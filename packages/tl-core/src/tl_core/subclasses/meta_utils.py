"""The geometry of tensors without their memory: on meta, views in one storage, gradients and all."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.weak import WeakTensorKeyDictionary
from tl_core.dispatch.grad_mode import enable_grad, inference_mode
from tl_core.subclasses import sparse_fakes
from tl_core.subclasses.fake_exceptions import UnsupportedFakeTensorException
from tl_core.subclasses.python_dispatch import is_traceable_wrapper_subclass, no_dispatch, transform_subclass
from tl_core.tensors.parameter import Buffer, Parameter

__all__ = ["MetaConverter", "assert_eq", "assert_metadata_eq", "safe_grad", "safe_is_leaf"]

_LAYOUTS = (_C.strided, _C.sparse_coo, _C.sparse_csr, _C.sparse_csc, _C.sparse_bsr, _C.sparse_bsc)


def safe_is_leaf(t: Tensor) -> bool:
    """Whether no operator made the tensor.

    Args:
        t: the tensor.
    """
    return bool(t.is_leaf)


def safe_grad(t: Tensor) -> Any:
    """The tensor's gradient, or None; without a warning for tensors that are no leaves.

    Args:
        t: the tensor.
    """
    return t.grad if safe_is_leaf(t) else None


def assert_eq(a: Any, b: Any) -> None:
    """Raises AssertionError, with both, unless they are equal.

    Args:
        a: a value.
        b: another.
    """
    if a != b:
        raise AssertionError(f"{a} != {b}")


def assert_metadata_eq(
    check: Callable[[Any, Any], None],
    m1: Tensor,
    m2: Tensor,
    *,
    skip_symbolic: bool = False,
    skip_leaf: bool = False,
) -> None:
    """Compares what two tensors are, but for their elements and devices.

    Args:
        check: called with each pair of facts.
        m1: a tensor.
        m2: another.
        skip_symbolic: leave sizes out.
        skip_leaf: leave out whether they are leaves of a graph.
    """
    check(m1.dtype, m2.dtype)
    if not skip_symbolic:
        check(m1.shape, m2.shape)
    check(m1.requires_grad, m2.requires_grad)
    if not skip_leaf:
        check(m1.is_leaf, m2.is_leaf)
    check(m1.layout, m2.layout)
    check(m1.is_conj(), m2.is_conj())
    check(m1.is_neg(), m2.is_neg())
    check(safe_grad(m1) is not None, safe_grad(m2) is not None)
    check(m1._is_view(), m2._is_view())
    if not skip_symbolic and m1.layout is _C.strided:
        check(m1.stride(), m2.stride())
        check(m1.storage_offset(), m2.storage_offset())


class _Memo:
    """What was made of tensors; an entry goes with either of its tensors."""

    def __init__(self) -> None:
        self._results: Any = WeakTensorKeyDictionary()

    def get(self, t: Tensor) -> Any:
        ref = self._results.get(t)
        return None if ref is None else ref()

    def __setitem__(self, t: Tensor, result: Tensor) -> None:
        self._results[t] = weakref.ref(result)

    def __contains__(self, t: Tensor) -> bool:
        return self.get(t) is not None

    def __len__(self) -> int:
        return sum(ref() is not None for ref in self._results.values())


class MetaConverter:
    """Makes tensors on meta that are like others: geometry, views, whether they require a gradient, and that gradient.

    Args:
        copy_data: taken for compatibility.

    Example:
        >>> x = ones(2, 3)
        >>> MetaConverter()(x[0]).stride()
        (1,)
    """

    def __init__(self, *, copy_data: bool = False) -> None:
        self.copy_data = copy_data
        self.tensor_memo = _Memo()
        # By the address of a storage: its double on meta, and the tensors that lie in it, as long as they live.
        self._storages: dict[int, tuple[Tensor, list[Any]]] = {}

    @property
    def storage_memo(self) -> dict[int, Tensor]:
        """The storages on meta of those whose tensors live, by the addresses of the storages."""
        self._storages = {k: v for k, v in self._storages.items() if any(ref() is not None for ref in v[1])}
        return {address: storage for address, (storage, _) in self._storages.items()}

    def __call__(
        self,
        t: Any,
        shape_env: Any = None,
        *,
        callback: Callable[[Callable[[], Tensor]], Any] | None = None,
        source: Any = None,
        symbolic_context: Any = None,
    ) -> Any:
        """The tensor on meta; what is no tensor comes back as it is.

        Args:
            t: the tensor.
            shape_env: taken; sizes are numbers.
            callback: gets a function that makes the tensor on meta, and says what stands for it.
            source: taken for compatibility.
            symbolic_context: taken for compatibility.
        """
        if not isinstance(t, Tensor):
            return t
        make = callback if callback is not None else lambda elem: elem()
        return self.convert(t, lambda elem: make(lambda: elem))

    def convert(
        self, t: Any, make: Callable[[Tensor], Any], remember: bool = True, views: bool = True
    ) -> Any:
        """What `make` says of the tensor on meta, with the same place in the graph.

        Args:
            t: the tensor.
            make: gets the geometry on meta.
            remember: whether the same tensor gives the same result the next time.
            views: whether a view becomes a view of what its base becomes.

        Raises:
            UnsupportedFakeTensorException: the tensor has no such geometry.
        """
        cached = self.tensor_memo.get(t) if remember else None
        if cached is not None:
            return cached
        if t.layout is _C.jagged:
            result = t.convert_parts(lambda part: self.convert(part, make, remember, views))
        elif is_traceable_wrapper_subclass(t):
            result = transform_subclass(t, lambda name, part: self.convert(part, make, remember, views))
        elif views:
            result = self._in_graph(t, make, remember)
        else:
            result = self._alone(t, make)
        for kind, mark in ((Parameter, "_is_param"), (Buffer, "_is_buffer")):
            if isinstance(t, kind):
                setattr(result, mark, True)
        grad = safe_grad(t)
        if grad is not None:
            result.grad = self.convert(grad, make, remember, views)
        if remember:
            self.tensor_memo[t] = result
        return result

    def _in_graph(self, t: Tensor, make: Callable[[Tensor], Any], remember: bool) -> Any:
        base = t._base if t._is_view() else None
        strided = t.layout is _C.strided
        if base is not None and strided and type(base) in (Tensor, Parameter) and t.dtype == base.dtype:
            base_result = self.convert(base, make, remember)
            if t.requires_grad and not base_result.requires_grad:
                return self._alone(t, make)
            with enable_grad():
                return base_result.as_strided(t.shape, t.stride(), t.storage_offset())
        return self._alone(t, make)

    def _alone(self, t: Tensor, make: Callable[[Tensor], Any]) -> Any:
        with inference_mode(t.is_inference()):
            result = make(self._geometry(t))
        if not t.requires_grad:
            return result
        result.requires_grad_()
        if safe_is_leaf(t):
            return result
        with enable_grad():
            return result.view(result.shape) if t.layout is _C.strided else result.clone()

    def _geometry(self, t: Tensor) -> Tensor:
        if t.layout not in _LAYOUTS:
            raise UnsupportedFakeTensorException(f"there are no fakes of tensors of the layout {t.layout}")
        if _C._is_hollow(t):
            return _C._unclaimed(t)
        if t.layout is not _C.strided:
            with no_dispatch():
                return sparse_fakes.geometry(t)
        with no_dispatch():
            return _C._with_storage(self._storage(t), t.dtype, tuple(t.shape), t.stride(), t.storage_offset())

    def _storage(self, t: Tensor) -> Tensor:
        address, nbytes, *_ = _C._memory_of(t)
        entry = self._storages.get(address)
        alive = [ref for ref in entry[1] if ref() is not None] if entry else []
        storage = entry[0] if entry and alive else _C.empty(nbytes, dtype=_C.uint8, device="meta")
        self._storages[address] = (storage, [*alive, weakref.ref(t)])
        return storage
