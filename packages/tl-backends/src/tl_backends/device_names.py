"""The names of the device modules `cuda`, `xpu`, `mtia`, `mps`, `cpu` and `accelerator`, in one table for all.

A row says how a name is called, what it is, and what it answers where there is no device. `device_kind.py` makes the
functions and classes from it.
"""

from __future__ import annotations

from tl_backends.device_classes import CLASSES
from tl_backends.device_functions import FUNCTIONS
from tl_backends.device_rows import Same
from tl_backends.devices import StreamContext, stream

__all__ = ["CLASSES", "FLAT", "FUNCTIONS", "LISTED", "SAME"]


# For each kind the modules whose names its package has as well, and the modules that are names of the package.
FLAT = {
    "cuda": "comm graphs memory properties random selection streams tensor_types",
    "xpu": "memory random streams",
    "mtia": "memory streams",
    "mps": "event",
}
LISTED = {
    "cuda": "gds jiterator memory nccl nvtx profiler random streams tunable",
    "xpu": "memory random streams",
    "mtia": "memory",
    "mps": "event profiler",
}
SAME = (
    Same("cuda.streams xpu.streams mtia.streams", "StreamContext", StreamContext),
    Same("cuda.streams xpu.streams mtia.streams", "stream", stream),
    Same("cuda xpu", "_initialized", False),
    Same("cuda", "default_generators", ()),
    Same("cuda", "has_half", True),
    Same("cuda", "has_magma", False),
    Same("cuda.memory", "memory_cached", "memory_reserved"),
    Same("cuda.memory", "max_memory_cached", "max_memory_reserved"),
    Same("cuda.memory", "reset_max_memory_allocated", "reset_peak_memory_stats"),
    Same("cuda.memory", "reset_max_memory_cached", "reset_peak_memory_stats"),
    Same("accelerator", "current_device_idx", "current_device_index"),
    Same("accelerator", "set_device_idx", "set_device_index"),
)
