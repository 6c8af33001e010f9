"""Worlds for the tests."""

from __future__ import annotations

import pytest

import tl_distributed as dist


@pytest.fixture
def world():
    """A world of one process."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


class Mirror(dist.Communicator):
    """Two processes of which the other always has the same tensors as this one, which keeps them in `seen`."""

    name = "mirror"

    def __init__(self, rank, size, timeout):
        super().__init__(rank, size, timeout)
        self.seen = []

    def all_reduce(self, tensor, op):
        self.seen.append(tensor.clone())
        if op is dist.ReduceOp.SUM:
            tensor.mul_(2)
        return dist.Work([tensor])

    def broadcast(self, tensor, root):
        self.seen.append(tensor.clone())
        return dist.Work([tensor])

    def all_gather(self, outputs, tensor):
        for output in outputs:
            output.copy_(tensor)
        return dist.Work(list(outputs))

    def barrier(self):
        return dist.Work()


@pytest.fixture
def mirror():
    """A world of two processes, which a backend of somebody's own serves."""
    if not dist.is_backend_available("mirror"):
        dist.Backend.register_backend(
            "mirror", lambda store, rank, size, timeout: Mirror(rank, size, timeout)
        )
    dist.init_process_group("mirror", store=dist.HashStore(), rank=0, world_size=2)
    yield dist.group.WORLD.communicator()
    dist.destroy_process_group()
