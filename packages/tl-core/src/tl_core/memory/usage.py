"""The memory that tensors hold on the CPU: how much, since when the most, where it comes from, and a limit.

Bytes are what was asked for: the elements, and some 200 bytes for the tensor itself. Blocks of 1 MiB and more are
recorded with the line of the program that made them; `record_memory` records smaller ones as well, and the module they
were made in.

>>> import tl_core
>>> before = memory_allocated()
>>> x = tl_core.zeros(1000, 1000)
>>> 4000000 <= memory_allocated() - before < 4001000
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypedDict

from tl_core import _C

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_NO_LIMIT = 2**63 - 1


class MemoryGroup(TypedDict):
    """The blocks in use that one line, in one module, asked for.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> isinstance(memory.memory_snapshot(), list), memory.MemoryGroup.__name__
        (True, 'MemoryGroup')
    """

    module: str
    filename: str
    line: int
    function: str
    bytes: int
    blocks: int


def empty_cache() -> None:
    """Gives the free blocks that are kept for the next tensors back to the system.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> memory.empty_cache()
    """
    _C._empty_cache()


def memory_allocated() -> int:
    """Bytes that tensors hold now.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> memory.memory_allocated() >= 0
        True
    """
    return _C._memory_stats()[0]


def max_memory_allocated() -> int:
    """The most bytes that tensors held at once since the start, or since `reset_peak_memory_stats()`.

    Each further thread that allocates may blur it by 64 KiB.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> memory.max_memory_allocated() >= memory.memory_allocated()
        True
    """
    return _C._memory_stats()[1]


def reset_peak_memory_stats() -> None:
    """Lets `max_memory_allocated()` begin anew from what is held now.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> memory.reset_peak_memory_stats()
    """
    _C._reset_peak()


def memory_reserved() -> int:
    """Bytes that tensors hold, and those of free blocks kept for the next ones; `empty_cache()` gives these back.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> memory.memory_reserved() >= 0
        True
    """
    current, _, _, cached = _C._memory_stats()
    return current + cached


def memory_stats() -> dict[str, int]:
    """All counts: `allocated`, `peak`, `cached` and `limit` in bytes, and the number of `allocations` so far.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> len(memory.memory_stats()) > 0
        True
    """
    current, peak, allocations, cached = _C._memory_stats()
    return {
        "allocated": current,
        "peak": peak,
        "cached": cached,
        "limit": _C._memory_limit(),
        "allocations": allocations,
    }


def memory_snapshot() -> list[MemoryGroup]:
    """The recorded blocks in use, grouped by module and line, the largest group first.

    `filename` is empty for blocks made where no line can be asked for: in a backward pass, in a helper thread of an
    extension.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> memory.memory_snapshot()
        []
    """
    names = ("module", "filename", "line", "function", "bytes", "blocks")
    return [MemoryGroup(**dict(zip(names, group, strict=True))) for group in _C._live_groups()]  # type: ignore[typeddict-item]


def memory_summary() -> str:
    """The counts and the ten largest groups of the snapshot, as text.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> "peak" in memory.memory_summary()
        True
    """
    stats = memory_stats()
    lines = [f"{name:>11}: {_readable(stats[name])}" for name in ("allocated", "peak", "cached", "limit")]
    for group in memory_snapshot()[:10]:
        line = (
            f"{group['filename']}:{group['line']} in {group['function']}"
            if group["filename"]
            else "no line known"
        )
        module = f"{group['module']}, " if group["module"] else ""
        lines.append(f"{_readable(group['bytes']):>11} in {group['blocks']} blocks: {module}{line}")
    return "\n".join(lines)


def _readable(count: int) -> str:
    if count == _NO_LIMIT:
        return "none"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024  # type: ignore[assignment]
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.2f} {unit}"


def get_memory_limit() -> int | None:
    """The limit in bytes; None if there is none.

    Example:
        >>> from tl_core.memory import usage as memory
        >>> memory.get_memory_limit()
    """
    limit = _C._memory_limit()
    return None if limit == _NO_LIMIT else limit


def set_memory_limit(limit: int | float | str | None) -> None:
    """Bounds what tensors may hold: an operator that needs more raises `OutOfMemoryError` and computes nothing.

    To begin with the limit is the container's (cgroup), which counts the whole process: the error then comes instead
    of the kernel's kill.

    Args:
        limit: bytes, or a text such as "8GiB" or "500 MB". None brings back the limit of the container.

    Raises:
        ValueError: a text that is no size, or a negative number. TypeError: anything else.

    >>> set_memory_limit("2GiB")
    >>> get_memory_limit()
    2147483648
    >>> set_memory_limit(None)
    """
    _C._set_memory_limit(-1 if limit is None else _bytes_of(limit))


def _bytes_of(limit: int | float | str) -> int:
    if isinstance(limit, str):
        number = limit.strip().rstrip("iIbBkKmMgG").strip()
        unit = limit.strip()[len(limit.strip().rstrip("iIbBkKmMgG")) :].strip().upper()
        try:
            limit = float(number) * _UNITS[unit or "B"]
        except (ValueError, KeyError):
            raise ValueError(
                f"set_memory_limit(): limit must be bytes or a size such as '8GiB', got {limit!r}"
            ) from None
    if isinstance(limit, bool) or not isinstance(limit, (int, float)):
        raise TypeError(
            f"set_memory_limit(): limit must be a number, a str or None, not {type(limit).__name__}"
        )
    if not 0 <= limit < _NO_LIMIT:
        raise ValueError(f"set_memory_limit(): limit must be at least 0 bytes and below 2**63, got {limit}")
    return int(limit)


class record_memory:
    """A `with` block in which every block above 2 KiB is recorded, and the module that made it.

    Args:
        model: the modules named in snapshots are those of `model.named_modules()`; None names none.
        min_bytes: smaller blocks are not recorded.

    >>> import tl_core
    >>> with record_memory():
    ...     x = tl_core.zeros(5000)
    ...     [group["blocks"] for group in memory_snapshot() if group["bytes"] == 20000]
    [1]
    """

    def __init__(self, model: Any = None, min_bytes: int = 2048):
        self.model, self.min_bytes = model, max(min_bytes, 1)
        self._handles: list[Any] = []
        self._outer: list[str] = []

    def __enter__(self) -> Self:
        self._size = _C._recorded_size()
        _C._set_recorded_size(self.min_bytes)
        for name, module in self.model.named_modules() if self.model is not None else ():
            title = name or type(module).__name__
            self._handles.append(module.register_forward_pre_hook(self._entering(title), prepend=True))
            self._handles.append(module.register_forward_hook(self._leave, always_call=True))
        return self

    def __exit__(self, *error: object) -> None:
        _C._set_recorded_size(self._size)
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _entering(self, name: str) -> Callable[[Any, Any], None]:
        def enter(module: Any, inputs: Any) -> None:
            self._outer.append(_C._memory_scope())
            _C._set_memory_scope(name)

        return enter

    def _leave(self, module: Any, inputs: Any, output: Any) -> None:
        _C._set_memory_scope(self._outer.pop())
