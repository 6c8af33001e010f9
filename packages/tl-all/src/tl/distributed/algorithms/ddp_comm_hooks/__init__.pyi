# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms.ddp_comm_hooks import DDPCommHookType as DDPCommHookType
from tl_distributed.algorithms.ddp_comm_hooks import register_ddp_comm_hook as register_ddp_comm_hook

from . import ddp_zero_hook as ddp_zero_hook
from . import debugging_hooks as debugging_hooks
from . import default_hooks as default_hooks
from . import mixed_precision_hooks as mixed_precision_hooks
from . import optimizer_overlap_hooks as optimizer_overlap_hooks
from . import post_localSGD_hook as post_localSGD_hook
from . import powerSGD_hook as powerSGD_hook
from . import quantization_hooks as quantization_hooks
