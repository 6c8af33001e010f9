# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms.join import Join as Join
from tl_distributed.algorithms.join import Joinable as Joinable
from tl_distributed.algorithms.join import JoinHook as JoinHook
from tl_distributed.algorithms.join import _JoinConfig as _JoinConfig
from tl_distributed.base.work import Work as Work
from tl_distributed.collectives.tensor_collectives import all_reduce as all_reduce
from tl_distributed.groups.process_group import ProcessGroup as ProcessGroup
from tl_distributed.groups.process_groups import get_rank as get_rank
