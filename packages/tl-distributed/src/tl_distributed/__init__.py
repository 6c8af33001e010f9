"""Process groups and collectives for tl, and data-parallel training on them.

>>> init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
>>> total = tl_core.ones(2)
>>> all_reduce(total)
>>> get_world_size(), total
(1, tensor([1., 1.]))
>>> destroy_process_group()

Processes of one machine share memory; a backend of somebody's own is a `Communicator`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

import tl_core
from tl_core.base import backend_registry
from tl_core.base.lazy_attributes import attach
from tl_core.dispatch import overridable

from .backends.backend import (
    Backend,
    BackendConfig,
    get_default_backend_for_device,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_ucc_available,
    is_xccl_available,
)
from .backends.communicator import Communicator
from .backends.group_context import GroupContext
from .base import constants
from .base.constants import default_pg_timeout
from .base.debug_level import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from .base.errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from .base.grad_bucket import GradBucket
from .base.reduction import ReduceOp, reduce_op, supports_complex
from .base.work import Work
from .collectives.coalescing import CoalescingManager as _CoalescingManager
from .collectives.coalescing import all_gather_coalesced, all_reduce_coalesced
from .collectives.coalescing import coalescing_manager as _coalescing_manager
from .collectives.debugging import breakpoint as breakpoint  # noqa: A004 - the documented name
from .collectives.object_collectives import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from .collectives.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from .collectives.tensor_collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from .groups.group_member import GroupMember, group
from .groups.process_group import ProcessGroup
from .groups.process_groups import (
    _rank_not_in_group,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_initialized,
    is_torchelastic_launched,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from .stores.file_store import FileStore
from .stores.rendezvous import register_rendezvous_handler, rendezvous
from .stores.store import HashStore, PrefixStore, Store
from .stores.tcp_store import TCPStore
from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import algorithms

__all__ = [
    "Backend",
    "BackendConfig",
    "Communicator",
    "DebugLevel",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GradBucket",
    "GroupContext",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "algorithms",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "breakpoint",
    "broadcast",
    "broadcast_object_list",
    "constants",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "register_rendezvous_handler",
    "rendezvous",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "supports_complex",
]

# The communication hooks are for those who ask for them.
__getattr__, __dir__, _ = attach(
    __name__, {"groups.device_mesh": ["DeviceMesh", "init_device_mesh"]}, ["algorithms"]
)


def _load_operators() -> None:
    for name in ("functional_operators", "group_operators", "product_operators"):
        import_module(f"tl_distributed.collectives.{name}")


backend_registry.register("collective operators", _load_operators)
backend_registry.register("operators of groups", _load_operators)
overridable.add_modules("torch.distributed", "tl_distributed")
