"""Training on several processes, each with a copy of the model; needs the extra `nn`."""

from tl_core.base import optional

optional.load("tl_nn", "tl_distributed.parallel", "tl-distributed[nn]")

from .distributed_data_parallel import DistributedDataParallel  # noqa: E402 - after the check

__all__ = ["DistributedDataParallel"]
