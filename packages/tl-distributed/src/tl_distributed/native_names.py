"""Groups, stores and reductions: the names of `torch._C._distributed_c10d` that programs use."""

from tl_distributed.backends.backend import Backend
from tl_distributed.base.constants import default_pg_timeout as _DEFAULT_PG_TIMEOUT
from tl_distributed.base.debug_level import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from tl_distributed.base.grad_bucket import GradBucket
from tl_distributed.base.reduction import ReduceOp
from tl_distributed.base.work import Work
from tl_distributed.groups.process_group import ProcessGroup
from tl_distributed.groups.process_groups import group_named as _resolve_process_group
from tl_distributed.stores.file_store import FileStore
from tl_distributed.stores.store import HashStore, PrefixStore, Store
from tl_distributed.stores.tcp_store import TCPStore

__all__ = ["_DEFAULT_PG_TIMEOUT", "Backend", "DebugLevel", "FileStore", "GradBucket", "HashStore", "PrefixStore",
           "ProcessGroup", "ReduceOp", "Store", "TCPStore", "Work", "_resolve_process_group", "get_debug_level",
           "set_debug_level", "set_debug_level_from_env"]  # fmt: skip
