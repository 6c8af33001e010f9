"""Training on several processes, each with a copy of the model; needs the extra `nn`."""

from .distributed_data_parallel import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
