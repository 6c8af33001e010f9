# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.nn.functional import *
from tl_distributed.nn.functional import _AllGather as _AllGather
from tl_distributed.nn.functional import _AllReduce as _AllReduce
from tl_distributed.nn.functional import _AllToAll as _AllToAll
from tl_distributed.nn.functional import _AllToAllSingle as _AllToAllSingle
from tl_distributed.nn.functional import _Broadcast as _Broadcast
from tl_distributed.nn.functional import _Gather as _Gather
from tl_distributed.nn.functional import _Reduce as _Reduce
from tl_distributed.nn.functional import _ReduceScatter as _ReduceScatter
from tl_distributed.nn.functional import _Scatter as _Scatter
