# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms.ddp_comm_hooks.optimizer_overlap_hooks import (
    _OptimizerHookState as _OptimizerHookState,
)
