# Written by `python -m tools.facade_stubs --write`.
from tl_backends.compat.device_index import _get_mtia_device_index as __get_device_index_
from tl_backends.mtia import DeferredMtiaCallError as DeferredMtiaCallError
from tl_backends.mtia import Event as Event
from tl_backends.mtia import Stream as Stream
from tl_backends.mtia import StreamContext as StreamContext
from tl_backends.mtia import current_device as current_device
from tl_backends.mtia import current_stream as current_stream
from tl_backends.mtia import default_stream as default_stream
from tl_backends.mtia import device as device
from tl_backends.mtia import device_count as device_count
from tl_backends.mtia import empty_cache as empty_cache
from tl_backends.mtia import get_device_capability as get_device_capability
from tl_backends.mtia import get_rng_state as get_rng_state
from tl_backends.mtia import init as init
from tl_backends.mtia import is_available as is_available
from tl_backends.mtia import is_initialized as is_initialized
from tl_backends.mtia import memory_stats as memory_stats
from tl_backends.mtia import record_memory_history as record_memory_history
from tl_backends.mtia import set_device as set_device
from tl_backends.mtia import set_rng_state as set_rng_state
from tl_backends.mtia import set_stream as set_stream
from tl_backends.mtia import snapshot as snapshot
from tl_backends.mtia import stream as stream
from tl_backends.mtia import synchronize as synchronize

from . import memory as memory

_get_device_index = __get_device_index_
