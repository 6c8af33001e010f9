"""The names of `tl_distributed`, for programs that import them from the module in which the reference defines them."""

from tl_distributed import *  # noqa: F403 - whatever the package has
from tl_distributed.collectives import all_gather_into_tensor as _all_gather_base  # noqa: F401 - older programs' name
from tl_distributed.collectives import reduce_scatter_tensor as _reduce_scatter_base  # noqa: F401
from tl_distributed.process_groups import _rank_not_in_group as _rank_not_in_group
from tl_distributed.process_groups import default_group as _get_default_group  # noqa: F401
