"""Python's `multiprocessing`, with tensors that are sent as shared memory instead of copies.

All of the standard module's names are here. A tensor that is sent moves into shared memory first (`share_memory_`), and
the other process gets one on the same memory; what one writes, both see.

Example:
    >>> import tl_core
    >>> sender, receiver = Pipe()
    >>> first = tl_core.zeros(2)
    >>> sender.send(first)
    >>> _ = receiver.recv().add_(1)
    >>> first
    tensor([1., 1.])
"""

import multiprocessing as _standard
from multiprocessing import *

from tl_core.multiprocessing.reductions import (
    get_all_sharing_strategies,
    get_sharing_strategy,
    init_reductions,
    set_sharing_strategy,
)
from tl_core.multiprocessing.spawn import ENV_VAR_PARALLEL_START as ENV_VAR_PARALLEL_START
from tl_core.multiprocessing.spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)
from tl_core.multiprocessing.thread_names import _get_thread_name as _get_thread_name
from tl_core.multiprocessing.thread_names import _set_thread_name as _set_thread_name

__all__ = [
    *(_name for _name in _standard.__all__ if not _name.startswith("_")),
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "init_reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

init_reductions()
