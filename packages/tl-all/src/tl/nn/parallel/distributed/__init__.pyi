# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms.ddp_comm_hooks.mixed_precision_hooks import (
    _AllreduceUpcastHookState as _AllreduceUpcastHookState,
)
from tl_distributed.algorithms.join import Join as Join
from tl_distributed.algorithms.join import Joinable as Joinable
from tl_distributed.algorithms.join import JoinHook as JoinHook
from tl_distributed.base.grad_bucket import GradBucket as GradBucket
from tl_distributed.base.reduction import ReduceOp as ReduceOp
from tl_distributed.base.work import Work as Work
from tl_distributed.groups.device_mesh import DeviceMesh as DeviceMesh
from tl_distributed.groups.process_group import ProcessGroup as ProcessGroup
from tl_distributed.groups.process_groups import default_group as default_group
from tl_distributed.groups.process_groups import get_rank as get_rank
from tl_distributed.parallel.distributed_data_parallel import DEFAULT_BUCKET_MB as DEFAULT_BUCKET_MB
from tl_distributed.parallel.distributed_data_parallel import (
    DistributedDataParallel as DistributedDataParallel,
)
from tl_distributed.parallel.distributed_data_parallel import _Shadow as _Shadow
from tl_distributed.parallel.mixed_precision import _MixedPrecision as _MixedPrecision
from tl_distributed.parallel.mixed_precision import call as call
from tl_distributed.parallel.reducer import Reducer as Reducer
