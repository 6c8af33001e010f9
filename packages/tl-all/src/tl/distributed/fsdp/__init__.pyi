# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.fsdp.api import BackwardPrefetch as BackwardPrefetch
from tl_distributed.fsdp.api import CPUOffload as CPUOffload
from tl_distributed.fsdp.api import CPUOffloadPolicy as CPUOffloadPolicy
from tl_distributed.fsdp.api import FullOptimStateDictConfig as FullOptimStateDictConfig
from tl_distributed.fsdp.api import FullStateDictConfig as FullStateDictConfig
from tl_distributed.fsdp.api import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from tl_distributed.fsdp.api import LocalStateDictConfig as LocalStateDictConfig
from tl_distributed.fsdp.api import MixedPrecision as MixedPrecision
from tl_distributed.fsdp.api import MixedPrecisionPolicy as MixedPrecisionPolicy
from tl_distributed.fsdp.api import OffloadPolicy as OffloadPolicy
from tl_distributed.fsdp.api import OptimStateDictConfig as OptimStateDictConfig
from tl_distributed.fsdp.api import OptimStateKeyType as OptimStateKeyType
from tl_distributed.fsdp.api import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from tl_distributed.fsdp.api import ShardedStateDictConfig as ShardedStateDictConfig
from tl_distributed.fsdp.api import ShardingStrategy as ShardingStrategy
from tl_distributed.fsdp.api import StateDictConfig as StateDictConfig
from tl_distributed.fsdp.api import StateDictSettings as StateDictSettings
from tl_distributed.fsdp.api import StateDictType as StateDictType
from tl_distributed.fsdp.flat_parameter import FlatParameter as FlatParameter
from tl_distributed.fsdp.fully_shard import FSDPModule as FSDPModule
from tl_distributed.fsdp.fully_shard import UnshardHandle as UnshardHandle
from tl_distributed.fsdp.fully_shard import fully_shard as fully_shard
from tl_distributed.fsdp.fully_shard import register_fsdp_forward_method as register_fsdp_forward_method
from tl_distributed.fsdp.fully_sharded_data_parallel import (
    FullyShardedDataParallel as FullyShardedDataParallel,
)

from . import _common_utils as _common_utils
from . import _fully_shard as _fully_shard
from . import _traversal_utils as _traversal_utils
from . import api as api
from . import fully_sharded_data_parallel as fully_sharded_data_parallel
from . import wrap as wrap
