"""The names of `tl_distributed`, for programs that import them from the module in which PyTorch defines them."""

from tl_distributed import *  # noqa: F403 - whatever the package has
from tl_distributed.collectives.coalescing import CoalescingManager as _CoalescingManager  # noqa: F401
from tl_distributed.collectives.coalescing import coalescing_manager as _coalescing_manager  # noqa: F401
from tl_distributed.collectives.tensor_collectives import all_gather_into_tensor as _all_gather_base  # noqa: F401 - older programs' name
from tl_distributed.collectives.tensor_collectives import reduce_scatter_tensor as _reduce_scatter_base  # noqa: F401
from tl_distributed.groups.known_groups import *  # noqa: F403 - what programs ask of the groups
from tl_distributed.groups.known_groups import _get_default_store as _get_default_store
from tl_distributed.groups.known_groups import _get_group_size as _get_group_size
from tl_distributed.groups.known_groups import _get_pg_default_device as _get_pg_default_device
from tl_distributed.groups.known_groups import _pg_backend_config as _pg_backend_config
from tl_distributed.groups.known_groups import _pg_group_ranks as _pg_group_ranks
from tl_distributed.groups.known_groups import _pg_map as _pg_map
from tl_distributed.groups.known_groups import _pg_names as _pg_names
from tl_distributed.groups.known_groups import _set_pg_timeout as _set_pg_timeout
from tl_distributed.groups.known_groups import _world as _world
from tl_distributed.groups.process_groups import _rank_not_in_group as _rank_not_in_group
from tl_distributed.groups.process_groups import default_group as _get_default_group  # noqa: F401
from tl_distributed.groups.process_groups import group_named as _resolve_process_group  # noqa: F401
