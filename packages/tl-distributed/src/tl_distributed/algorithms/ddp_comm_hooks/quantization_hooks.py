"""Gradients that travel as integers of eight bits, with a scale and a zero point for each tensor or for each row."""

from __future__ import annotations

import tl_core
from tl_core import Tensor
from tl_core.futures import Future

from ...base.grad_bucket import GradBucket
from ...base.work import all_of
from ...groups.process_group import ProcessGroup
from ...groups.process_groups import default_group

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]

_LEVELS = 255


def quantization_pertensor_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients that travel as eight bits, with one scale a bucket and process.

    Args:
        process_group: the group; the world for None.
        bucket: the gradients.
    """
    return _average(process_group, bucket.buffer(), bucket.buffer().view(1, -1))


def quantization_perchannel_hook(
    process_group: ProcessGroup | None, bucket: GradBucket, bucket_size: int = 512
) -> Future[Tensor]:
    """Averages gradients that travel as eight bits, with one scale for every `bucket_size` numbers.

    Args:
        process_group: the group; the world for None.
        bucket: the gradients.
        bucket_size: how many numbers share a scale.
    """
    flat = bucket.buffer()
    missing = -flat.numel() % bucket_size
    padded = tl_core.cat([flat, flat.new_zeros(missing)]) if missing else flat
    return _average(process_group, flat, padded.view(-1, bucket_size))


def _average(process_group: ProcessGroup | None, flat: Tensor, rows: Tensor) -> Future[Tensor]:
    group = default_group() if process_group is None else process_group
    low = rows.amin(1, keepdim=True).clamp_(max=0)
    scale = ((rows.amax(1, keepdim=True).clamp_(min=0) - low) / _LEVELS).clamp_(min=1e-12)
    zero = (-low / scale).round_()
    short = (rows / scale).round_().add_(zero).clamp_(0, _LEVELS).to(tl_core.uint8)
    link = group.communicator(flat.device.type)
    size = group.size()
    scales = flat.new_empty(size, *scale.shape)
    zeros = flat.new_empty(size, *zero.shape)
    numbers = tl_core.empty(size, *short.shape, dtype=tl_core.uint8, device=flat.device)
    pairs = ((scales, scale), (zeros, zero), (numbers, short))
    work = all_of([link.all_gather_single(every, mine) for every, mine in pairs])

    def average(gathered: Future[list[Tensor]]) -> Tensor:
        gathered.value()
        mean = ((numbers.to(flat.dtype) - zeros) * scales).mean(0)
        return mean.view(-1)[: flat.numel()]

    return work.get_future().then(average)
