"""Hooks that average gradients, some in a shorter type.

Example:
    model.register_comm_hook(None, fp16_compress_hook)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.futures import Future

from ...base.grad_bucket import GradBucket
from ...groups.process_group import ProcessGroup
from ...groups.process_groups import default_group

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def _average(group: ProcessGroup | None, tensor: Tensor) -> Future[Tensor]:
    process_group = default_group() if group is None else group
    tensor.div_(process_group.size())
    return process_group.allreduce([tensor]).get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Averages the gradients, as is done without a hook.

    Args:
        process_group: the group; the world for None.
        bucket: the gradients.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> from tl_distributed.base.grad_bucket import GradBucket
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> bucket = GradBucket(0, tl_core.tensor([1.0, 2.0]), [tl_core.zeros(2)], True)
        >>> allreduce_hook(None, bucket).wait()
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    return _average(process_group, bucket.buffer())


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Averages the gradients as float16, then converts them back.

    Args:
        process_group: the group; the world for None.
        bucket: the gradients.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> from tl_distributed.base.grad_bucket import GradBucket
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> bucket = GradBucket(0, tl_core.tensor([1.0, 2.0]), [tl_core.zeros(2)], True)
        >>> fp16_compress_hook(None, bucket).wait()
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    return fp16_compress_wrapper(allreduce_hook)(process_group, bucket)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Averages the gradients as bfloat16, then converts them back.

    Args:
        process_group: the group; the world for None.
        bucket: the gradients.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> from tl_distributed.base.grad_bucket import GradBucket
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> bucket = GradBucket(0, tl_core.tensor([1.0, 2.0]), [tl_core.zeros(2)], True)
        >>> bf16_compress_hook(None, bucket).wait()
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    return bf16_compress_wrapper(allreduce_hook)(process_group, bucket)


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that hands another one the gradients as float16, and converts what comes back.

    Args:
        hook: the other hook.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> from tl_distributed.base.grad_bucket import GradBucket
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> bucket = GradBucket(0, tl_core.tensor([1.0, 2.0]), [tl_core.zeros(2)], True)
        >>> fp16_compress_wrapper(allreduce_hook)(None, bucket).wait()
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    return _compress(hook, tl_core.float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that hands another one the gradients as bfloat16, and converts what comes back.

    Args:
        hook: the other hook.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> from tl_distributed.base.grad_bucket import GradBucket
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> bucket = GradBucket(0, tl_core.tensor([1.0, 2.0]), [tl_core.zeros(2)], True)
        >>> bf16_compress_wrapper(allreduce_hook)(None, bucket).wait()
        tensor([1., 2.])
        >>> dist.destroy_process_group()
    """
    return _compress(hook, tl_core.bfloat16)


def _compress(hook: Hook, dtype: tl_core.dtype) -> Hook:
    def compressed_hook(state: Any, bucket: GradBucket) -> Future[Tensor]:
        full = bucket.buffer()
        bucket.set_buffer(full.to(dtype))
        return hook(state, bucket).then(lambda done: full.copy_(done.value()))

    return compressed_hook
