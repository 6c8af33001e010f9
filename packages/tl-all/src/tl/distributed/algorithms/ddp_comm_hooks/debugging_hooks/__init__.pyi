# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook as noop_hook
from tl_distributed.base.grad_bucket import GradBucket as GradBucket
