"""What operators made of fakes before: models call the same operators on the same sizes again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base import row_facts
from tl_core.dispatch.modes import no_modes
from tl_core.tensors.size import Size

__all__ = ["CacheInfo", "FakeCache", "TensorMetadata", "extract_tensor_metadata"]

LIMIT = 1 << 14
# Arguments of these types are part of a key as they are.
_PLAIN = (str, type(None), _C.dtype, _C.device, type(_C.strided), type(_C.contiguous_format))
_NUMBERS = (int, float, bool, complex)


class TensorMetadata(NamedTuple):
    """What a tensor is, but for its elements; equal where operators treat two tensors alike."""

    dtype: Any
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    device: Any
    layout: Any
    storage_offset: int
    storage_bytes: int
    requires_grad: bool
    is_conj: bool
    is_neg: bool
    is_inference: bool
    names: tuple[str | None, ...] | None


def extract_tensor_metadata(t: Tensor) -> TensorMetadata:
    """What a strided tensor is, but for its elements.

    Args:
        t: the tensor.

    Example:
        >>> import tl_core as tl
        >>> extract_tensor_metadata(tl.ones(2, 3)) == extract_tensor_metadata(tl.zeros(2, 3))
        True
    """
    return TensorMetadata(
        t.dtype, tuple(t.shape), t.stride(), t.device, t.layout, t.storage_offset(), _C._memory_of(t)[1],
        t.requires_grad, t.is_conj(), t.is_neg(), t.is_inference(), t.names if t.has_names() else None,
    )  # fmt: skip


@dataclass(frozen=True)
class CacheInfo:
    """How often results were known.

    Args:
        hits: calls whose results were known.
        misses: calls that are known since.
        bypasses: by reason, calls that are not kept.
        size: how many are kept.
    """

    hits: int
    misses: int
    bypasses: dict[str, int]
    size: int


class CacheKeyState:
    """What is noted while a key is made: the tensors among the arguments, in their order.

    Args:
        shape_env: taken for compatibility.
    """

    def __init__(self, shape_env: Any = None) -> None:
        self.tensors: list[Any] = []


class Bypass(Exception):
    """A call that is not kept; the argument says why."""


class _Result(NamedTuple):
    """A result: an argument itself, where it has no dtype; a view of it; or without one a tensor of its own."""

    argument: int | None
    dtype: Any = None
    size: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    offset: int = 0
    device: Any = None


class FakeCache:
    """Results of operators by what their arguments are. It serves the modes of all threads."""

    def __init__(self) -> None:
        self._results: dict[Any, Any] = {}
        self._hits = self._misses = 0
        self._bypasses: Counter[str] = Counter()

    def info(self) -> CacheInfo:
        """How often results were known."""
        return CacheInfo(self._hits, self._misses, dict(self._bypasses), len(self._results))

    def clear(self) -> None:
        """Forgets all results, and counts anew."""
        self._results.clear()
        self._hits = self._misses = 0
        self._bypasses.clear()

    def key(self, mode: Any, state: CacheKeyState, func: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
        """What tells calls apart whose results differ.

        Args:
            mode: the mode of the fakes.
            state: notes the tensors.
            func: the operator.
            args: its arguments.
            kwargs: those by name.

        Raises:
            Bypass: such calls are not kept.
        """
        parts: list[Any] = [
            func, _C.get_default_dtype(), _C._get_default_device(), _C._inference_mode(),
        ]  # fmt: skip
        parts += [self._part(mode, state, a) for a in args]
        parts += [(name, self._part(mode, state, a)) for name, a in kwargs.items()]
        return tuple(parts)

    def _part(self, mode: Any, state: CacheKeyState, a: Any) -> Any:
        if isinstance(a, Tensor):
            return self._tensor_part(mode, state, a)
        kind = type(a)
        if kind in _NUMBERS:
            return kind, a
        if kind in _PLAIN:
            return a
        if kind is list or kind is tuple or kind is Size:
            return kind, tuple([self._part(mode, state, x) for x in a])
        raise Bypass("an argument of another kind")

    def _tensor_part(self, mode: Any, state: CacheKeyState, t: Any) -> Any:
        if getattr(t, "fake_mode", None) is not mode:
            raise Bypass("not a FakeTensor of the mode")
        if t.symbolic is not None:
            raise Bypass("symbolic sizes")
        if t.constant is not None:
            raise Bypass("constant attribute")
        if t.layout is not _C.strided:
            raise Bypass("not strided")
        state.tensors.append(t)
        return extract_tensor_metadata(t)

    def call(
        self, mode: Any, func: Any, facts: Any, args: Any, kwargs: Any, compute: Callable[[], Any]
    ) -> Any:
        """The results of an operator: known ones as new tensors, else those that `compute` gives.

        Args:
            mode: the mode of the fakes.
            func: the operator.
            facts: what is the same for each call of it.
            args: its arguments.
            kwargs: those by name.
            compute: gives the results, of which the cache takes note.
        """
        state = CacheKeyState()
        try:
            self._check_operator(func, facts)
            key = self.key(mode, state, func, args, kwargs)
        except Bypass as why:
            self._bypasses[str(why)] += 1
            return compute()
        stored = self._results.get(key)
        if stored is not None:
            self._hits += 1
            if facts.written:
                mode._forget_constants(facts.written_arguments(args, kwargs))
            return self._rebuild(mode, stored, state.tensors)
        before = [t.shape for t in state.tensors]
        out = compute()
        try:
            noted = self._note(out, state.tensors)
        except Bypass as why:
            self._bypasses[str(why)] += 1
            return out
        if before == [t.shape for t in state.tensors]:
            self._misses += 1
            self._keep(key, noted)
        return out

    def _keep(self, key: Any, noted: Any) -> None:
        if len(self._results) >= LIMIT:
            self._results.clear()
        self._results[key] = noted

    def _check_operator(self, func: Any, facts: Any) -> None:
        name = facts.name.partition(".")[0]
        if "::" in facts.name:
            raise Bypass("non-builtin")
        if not row_facts.facts("inplace_views").keys().isdisjoint((name, facts.name)):
            raise Bypass("inplace view")
        if name.startswith(("_foreach", "_fused")):
            raise Bypass("lists of tensors that are written")

    # ---- results
    def _note(self, out: Any, tensors: list[Any]) -> Any:
        if isinstance(out, Tensor):
            return self._noted_tensor(out, tensors)
        if type(out) in (tuple, list):
            return type(out), [self._note(item, tensors) for item in out]
        if isinstance(out, tuple) and type(out).__module__.startswith("tl_core"):
            return type(out), [self._note(item, tensors) for item in out]
        raise Bypass("a result that is no tensor")

    def _noted_tensor(self, out: Any, tensors: list[Any]) -> _Result:
        for i, t in enumerate(tensors):
            if out is t:
                return _Result(i)
        plain = out.layout is _C.strided and not (out.is_conj() or out.is_neg() or out.has_names())
        if getattr(out, "symbolic", None) is not None or out.constant is not None or not plain:
            raise Bypass("a result with more than a geometry")
        memory = _C._memory_of(out)
        geometry = (out.dtype, tuple(out.shape), out.stride(), out.storage_offset(), out.device)
        for i, t in enumerate(tensors):
            if _C._memory_of(t)[0] == memory[0]:
                return _Result(i, *geometry)
        if out.storage_offset() or memory[1] != _bytes_of(out):
            raise Bypass("a part of a storage of its own")
        return _Result(None, *geometry)

    def _rebuild(self, mode: Any, noted: Any, tensors: list[Any]) -> Any:
        with no_modes():
            return self._again(mode, noted, tensors)

    def _again(self, mode: Any, noted: Any, tensors: list[Any]) -> Any:
        if type(noted) is not _Result:
            kind, parts = noted
            items = [self._again(mode, part, tensors) for part in parts]
            return items if kind is list else tuple(items) if kind is tuple else kind(items)
        at, dtype, size, stride, offset, device = noted
        if at is None:
            elem = _C.empty_strided(size, stride, dtype=dtype, device="meta")
        elif dtype is None:
            return tensors[at]
        else:
            elem = _C._with_storage(_C._unclaimed(tensors[at]), dtype, size, stride, offset)
        return mode.claim_device(elem, device)


def _bytes_of(t: Tensor) -> int:
    """What a storage needs that has these elements only."""
    if t.numel() == 0:
        return 0
    last = sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True))
    return (last + 1) * t.element_size()
