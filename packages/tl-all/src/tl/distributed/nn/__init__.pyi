# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_distributed.nn import all_gather as all_gather
from tl_distributed.nn import all_reduce as all_reduce
from tl_distributed.nn import all_to_all as all_to_all
from tl_distributed.nn import all_to_all_single as all_to_all_single
from tl_distributed.nn import broadcast as broadcast
from tl_distributed.nn import gather as gather
from tl_distributed.nn import reduce as reduce
from tl_distributed.nn import reduce_scatter as reduce_scatter
from tl_distributed.nn import scatter as scatter

from . import functional as functional

RemoteModule: Any
