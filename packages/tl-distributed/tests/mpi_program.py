"""A rank under mpirun: `mpi_program.py ACTION`. It prints what came of the action, after its rank."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta

from test_machines import check_copies, check_reductions

import tl_core as tl
import tl_distributed as dist


def operations() -> str:
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype, shape in (("float32", (33, 7)), ("bfloat16", (33, 7)), ("bool", (5,)), ("float64", (90_001,))):
        check_reductions(rank, size, dtype, shape)
        check_copies(rank, size, dtype, shape)
    for dtype in ("uint8", "float16", "complex64", "int64"):
        for shape in ((), (0,), (33, 7)):
            check_reductions(rank, size, dtype, shape)
            check_copies(rank, size, dtype, shape)
    x = tl.arange(20.0).view(4, 5).t()
    dist.all_reduce(x)
    assert (x == tl.arange(20.0).view(4, 5).t() * size).all()
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": each} for each in range(size)]
    group = dist.new_group([0, size - 1])
    if rank in (0, size - 1):
        x = tl.full((3,), float(rank))
        dist.all_reduce(x, group=group)
        assert x.tolist() == [float(size - 1)] * 3
    dist.barrier()
    return "well"


def late() -> str:
    """The last rank does not come in time."""
    if dist.get_rank() == dist.get_world_size() - 1:
        time.sleep(4)
        return "late"
    began = time.monotonic()
    try:
        dist.all_reduce(tl.ones(3))
    except dist.DistBackendError as error:
        return f"{time.monotonic() - began:.2f} {error}"
    return "no error"


def death() -> str:
    """The last rank dies; the others name it, and go on without it."""
    size = dist.get_world_size()
    dist.barrier()
    if dist.get_rank() == size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            dist.all_reduce(tl.ones(1000))
    except dist.DistBackendError as error:
        text = str(error)
    dist.destroy_process_group()
    dist.init_process_group("mpi", timeout=timedelta(seconds=10))
    x = tl.ones(3)
    dist.all_reduce(x)
    return f"{text}; then {dist.get_world_size()} ranks and {x.tolist()}"


if __name__ == "__main__":
    dist.init_process_group("mpi", timeout=timedelta(seconds=2 if sys.argv[1] == "late" else 60))
    own = dist.get_rank()
    print(f"rank {own}: {globals()[sys.argv[1]]()}", flush=True)
    if sys.argv[1] != "operations":
        time.sleep(3)  # mpirun ends all when one has gone
        os._exit(0)  # MPI's end waits for all ranks
