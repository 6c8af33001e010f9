# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms.ddp_comm_hooks.mixed_precision_hooks import (
    _AllreduceUpcastHookState as _AllreduceUpcastHookState,
)
