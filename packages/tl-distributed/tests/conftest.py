"""Worlds for the tests."""

from __future__ import annotations

import os
import threading
from datetime import timedelta

import pytest

import tl_distributed as dist
from tl_core.testing.interrupts import hear_interrupts
from tl_distributed.groups.world import world_of_thread

hear_interrupts()


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

    def __init__(self, context):
        super().__init__(context)
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
        dist.Backend.register_backend("mirror", Mirror)
    dist.init_process_group("mirror", store=dist.HashStore(), rank=0, world_size=2)
    yield dist.group.WORLD.communicator()
    dist.destroy_process_group()


def run_threads(size, main, errors):
    """Calls `main(rank)` on as many threads, and raises the first of the errors that they stored."""
    threads = [threading.Thread(target=main, args=(rank,), name=f"rank {rank}") for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank in sorted(errors):
        raise errors[rank]


def run_ranks(size, body, backend="gloo", timeout=10):
    """Calls `body(rank)` on as many threads, each a rank of one world; returns what they return, in order."""
    store, results, errors = dist.HashStore(), [None] * size, {}

    def rank_main(rank):
        with world_of_thread():
            try:
                dist.init_process_group(
                    backend, store=store, rank=rank, world_size=size, timeout=timedelta(seconds=timeout)
                )
                results[rank] = body(rank)
            except BaseException as error:
                errors[rank] = error
            finally:
                if dist.is_initialized():
                    dist.destroy_process_group()

    run_threads(size, rank_main, errors)
    return results


@pytest.fixture(params=["memory", "network"])
def transport(request, monkeypatch):
    """Runs a test over shared memory and over a network; says which."""
    monkeypatch.setenv("TL_DISTRIBUTED_TRANSPORT", "tcp" if request.param == "network" else "")
    return request.param


@pytest.fixture
def machines(monkeypatch):
    """`machines("aabb")` lets the threads of `ranks` take the names of their machines from a text."""

    def divide(names):
        monkeypatch.delenv("TL_DISTRIBUTED_TRANSPORT", raising=False)
        monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
        monkeypatch.setattr(
            "tl_distributed.backends.bootstrap.domain",
            lambda: names[int(threading.current_thread().name.removeprefix("rank "))],
        )

    return divide


@pytest.fixture
def ranks():
    """`ranks(size, body)` runs a body on threads that are the ranks of one world."""
    return run_ranks


@pytest.fixture(scope="session")
def times():
    """`times(full, short)`: how often a trouble is made. `TL_DISTRIBUTED_TROUBLE=full` makes the long run."""
    is_full = os.environ.get("TL_DISTRIBUTED_TROUBLE") == "full"
    return lambda full, short: full if is_full else short


def run_workers(size, body, timeout=10.0, store=None):
    """Calls `body(rank)` on as many threads, each a worker of one job; returns what they return, in order."""
    from tl_distributed import rpc
    from tl_distributed.rpc.current import worker_of_thread

    store, results, errors = store or dist.HashStore(), [None] * size, {}
    options = rpc.TensorPipeRpcBackendOptions(rpc_timeout=timeout)

    def worker_main(rank):
        with worker_of_thread():
            try:
                rpc._init_rpc_backend(
                    rpc.BackendType["TENSORPIPE"], store, f"worker{rank}", rank, size, options
                )
                results[rank] = body(rank)
                rpc.shutdown()
            except BaseException as error:
                errors[rank] = error

    run_threads(size, worker_main, errors)
    return results


@pytest.fixture
def workers():
    """`workers(size, body)` runs a body on threads that are the workers of one job."""
    return run_workers
