"""Profiles of programs: where their time and their memory go.

>>> import tl_core
>>> with profile() as prof:
...     x = tl_core.ones(4, 4) @ tl_core.ones(4, 4)
>>> "aten::mm" in {e.key for e in prof.key_averages()}
True
"""

import sys

from tl_autograd.profiler import kineto_available, record_function, supported_activities
from tl_autograd.profiler_kinds import DeviceType, ProfilerActivity, RecordScope
from tl_autograd.profiler_kinds import ExperimentalConfig as _ExperimentalConfig
from tl_core.base.public_names import listed_names
from tl_profiler import itt
from tl_profiler.profiler import (
    ExecutionTraceObserver,
    ProfilerAction,
    _ITraceObserver,
    _KinetoProfile,
    profile,
    schedule,
    tensorboard_trace_handler,
)
from tl_profiler.version import __version__

__all__ = ["DeviceType", "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "RecordScope", "itt",
           "kineto_available", "profile", "record_function", "schedule", "supported_activities",
           "tensorboard_trace_handler"]  # fmt: skip

_LAZY = (
    "_memory_profiler",
    "_pattern_matcher",
    "_utils",
    "execution_trace",
    "memory_page",
    "python_tracer",
    "report",
)


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return listed_names(sys.modules[__name__])
