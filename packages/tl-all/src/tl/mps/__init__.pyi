# Written by `python -m tools.facade_stubs --write`.
from tl_backends.mps import Event as Event
from tl_backends.mps import compile_shader as compile_shader
from tl_backends.mps import current_allocated_memory as current_allocated_memory
from tl_backends.mps import device_count as device_count
from tl_backends.mps import driver_allocated_memory as driver_allocated_memory
from tl_backends.mps import empty_cache as empty_cache
from tl_backends.mps import get_rng_state as get_rng_state
from tl_backends.mps import is_available as is_available
from tl_backends.mps import manual_seed as manual_seed
from tl_backends.mps import recommended_max_memory as recommended_max_memory
from tl_backends.mps import seed as seed
from tl_backends.mps import set_per_process_memory_fraction as set_per_process_memory_fraction
from tl_backends.mps import set_rng_state as set_rng_state
from tl_backends.mps import synchronize as synchronize

from . import event as event
from . import profiler as profiler
