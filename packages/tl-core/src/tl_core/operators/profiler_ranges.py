"""Operators that begin and end a range that a profile lists."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core.base import recording
from tl_core.operators.python_operator import Overloads, add_packets


def _begin_range(name: str, args: str | None = None) -> Any:
    event = recording.EventRange(name, args)
    event.__enter__()
    return event


def _range_of_tensor(name: str, args: str | None = None) -> Any:
    """Begins a range whose handle is a tensor, as older programs write it."""
    handle: Any = tl_core.zeros((), dtype=tl_core.int64)
    handle._event_range = _begin_range(name, args)
    return handle


def _end_range(handle: Any) -> None:
    getattr(handle, "_event_range", handle).__exit__()


_HANDLE = "__torch__.torch.classes.profiler._RecordFunction"
_PROFILER: dict[str, Overloads] = {
    "_record_function_enter_new": {
        "default": (f"_record_function_enter_new(str name, str? args=None) -> {_HANDLE}", _begin_range)
    },
    "_record_function_enter": {
        "default": ("_record_function_enter(str name, str? args=None) -> Tensor", _range_of_tensor)
    },
    "_record_function_exit": {
        "default": ("_record_function_exit(Tensor handle) -> ()", _end_range),
        "_RecordFunction": (
            f"_record_function_exit._RecordFunction({_HANDLE} handle) -> ()",
            _end_range,
        ),
    },
}
add_packets("profiler", _PROFILER)
