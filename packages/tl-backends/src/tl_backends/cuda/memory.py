"""The memory of CUDA devices. There is none: counts are 0, statistics are empty, the rest needs a device.

Pictures of memory are those of the CPU's tensors, in the format that CUDA's have.
"""

from tl_backends.device_kind import CUDA
from tl_backends.memory_pictures import (
    _dump_snapshot as _dump_snapshot,
)
from tl_backends.memory_pictures import (
    _record_memory_history as _record_memory_history,
)
from tl_backends.memory_pictures import (
    _snapshot as _snapshot,
)

__getattr__ = CUDA.fill(globals())
