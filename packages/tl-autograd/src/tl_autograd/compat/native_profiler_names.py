"""Profiling: the names of `torch._C._profiler` that programs use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from tl_autograd.event_tree import AllocationFields as _ExtraFields_Allocation
from tl_autograd.event_tree import BackendFields as _ExtraFields_Backend
from tl_autograd.event_tree import KinetoFields as _ExtraFields_Kineto
from tl_autograd.event_tree import OutOfMemoryFields as _ExtraFields_OutOfMemory
from tl_autograd.event_tree import ProfilerEvent as _ProfilerEvent
from tl_autograd.event_tree import PyCallFields as _ExtraFields_PyCall
from tl_autograd.event_tree import PyCCallFields as _ExtraFields_PyCCall
from tl_autograd.event_tree import PyFrameState as _PyFrameState
from tl_autograd.event_tree import TensorMetadata as _TensorMetadata
from tl_autograd.event_tree import TorchOpFields as _ExtraFields_TorchOp
from tl_autograd.event_tree import VulkanFields as _ExtraFields_Vulkan
from tl_autograd.profiler import switches
from tl_autograd.profiler_kinds import (
    ActiveProfilerType,
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
    RecordScope,
)
from tl_autograd.profiler_kinds import EventType as _EventType
from tl_autograd.profiler_kinds import ExperimentalConfig as _ExperimentalConfig
from tl_core.base import recording

__all__ = ["ActiveProfilerType", "ProfilerActivity", "ProfilerConfig", "ProfilerState", "RecordScope", "_EventType",
           "_ExperimentalConfig", "_ExtraFields_Allocation", "_ExtraFields_Backend", "_ExtraFields_Kineto",
           "_ExtraFields_OutOfMemory", "_ExtraFields_PyCCall", "_ExtraFields_PyCall", "_ExtraFields_TorchOp",
           "_ExtraFields_Vulkan", "_ProfilerEvent", "_PyFrameState", "_RecordFunctionFast", "_TensorMetadata",
           "_set_fwd_bwd_enabled_val", "_set_record_concrete_inputs_enabled_val"]  # fmt: skip


def _set_record_concrete_inputs_enabled_val(on: bool) -> None:
    """Whether events tell the arguments that are no tensors."""
    switches.concrete_inputs = on


def _get_record_concrete_inputs_enabled() -> bool:
    """Whether they do."""
    return switches.concrete_inputs


def _set_fwd_bwd_enabled_val(on: bool) -> None:
    """Whether traces link the backward to its calls."""
    switches.links = on


class _RecordFunctionFast:
    """A labelled block, with values; may be entered again and again.

    Args:
        name: the name.
        input_values: tensors and other values that the event tells of where shapes are recorded.
        keyword_values: texts, numbers and truth values by name.
    """

    def __init__(self, name: str, input_values: Sequence[Any] | None = None,
                 keyword_values: Mapping[str, Any] | None = None) -> None:  # fmt: skip
        for key, kind in (("input_values", input_values), ("keyword_values", keyword_values)):
            container = Mapping if key == "keyword_values" else Sequence
            if kind is not None and not isinstance(kind, container):
                raise TypeError(
                    f"_RecordFunctionFast(): {key} must be a {container.__name__.lower()}, got {kind!r}"
                )
        self.name = name
        self._range = recording.EventRange(name, _pack_values(input_values, keyword_values))

    def __enter__(self) -> Self:
        self._range.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._range.__exit__()


def _pack_values(inputs: Sequence[Any] | None, keywords: Mapping[str, Any] | None) -> str | None:
    """Values as the text that an event carries; the core keeps one text with a labelled block."""
    if not inputs and not keywords:
        return None
    shapes = [list(getattr(v, "shape", ())) for v in inputs or ()]
    plain = {k: v for k, v in (keywords or {}).items() if isinstance(v, (bool, int, float, str))}
    return "\0" + json.dumps([shapes, plain])
