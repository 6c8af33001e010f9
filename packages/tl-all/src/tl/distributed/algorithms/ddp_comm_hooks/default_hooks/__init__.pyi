# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms.ddp_comm_hooks.default_hooks import Hook as Hook
from tl_distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook as allreduce_hook
from tl_distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook as bf16_compress_hook
from tl_distributed.algorithms.ddp_comm_hooks.default_hooks import (
    bf16_compress_wrapper as bf16_compress_wrapper,
)
from tl_distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook as fp16_compress_hook
from tl_distributed.algorithms.ddp_comm_hooks.default_hooks import (
    fp16_compress_wrapper as fp16_compress_wrapper,
)
from tl_distributed.base.grad_bucket import GradBucket as GradBucket
from tl_distributed.groups.process_group import ProcessGroup as ProcessGroup
from tl_distributed.groups.process_groups import default_group as default_group
