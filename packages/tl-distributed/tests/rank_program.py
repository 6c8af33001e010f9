"""A rank of a world that meets in a file: `rank_program.py FILE RANK SIZE ACTION TIMEOUT`.

An action is one of `ACTIONS`, or an operation of `OPERATIONS` and a moment, such as `broadcast:inside`: "before" has
the last rank stay away, "inside" repeats the operation on a large tensor, "between" on a small one. It prints "ready"
after a first barrier, then does what the action says, and prints when, how long that took, and what came of it; after
an error also how many descriptors are open that were not before the group.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import tl_core as tl
import tl_distributed as dist
from tl_distributed.groups import known_groups


def say(*words: object) -> None:
    print(*words, flush=True)


def again_and_again(tensor: tl.Tensor) -> None:
    while True:
        dist.all_reduce(tensor)


def child_of_a_fork() -> None:
    pid = os.fork()
    if pid:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        dist.barrier()
        say("parent went on after", status)
        return
    try:
        dist.barrier()
    except dist.DistBackendError as error:
        say("child:", error)
    dist.destroy_process_group()
    sys.exit(7)


def once() -> None:
    began = time.monotonic()
    dist.all_reduce(tl.ones(1_000_000))
    say(f"took {time.monotonic() - began:.3f} s")
    dist.barrier()


def blocks(tensor: tl.Tensor) -> list[tl.Tensor]:
    """A tensor like it for each rank."""
    return [tl.empty_like(tensor) for _ in range(dist.get_world_size())]


def scatter(tensor: tl.Tensor) -> None:
    dist.scatter(tensor, blocks(tensor) if dist.get_rank() == 0 else None)


def gather(tensor: tl.Tensor) -> None:
    dist.gather(tensor, blocks(tensor) if dist.get_rank() == 0 else None)


def pass_on(tensor: tl.Tensor) -> None:
    """Each rank sends to the next and receives from the one before."""
    rank, size = dist.get_rank(), dist.get_world_size()
    work = dist.isend(tensor, (rank + 1) % size)
    dist.recv(tl.empty_like(tensor), (rank - 1) % size)
    work.wait()


def wait_for_all(tensor: tl.Tensor) -> None:
    dist.barrier()


OPERATIONS = {
    "all_reduce": dist.all_reduce,
    "broadcast": lambda x: dist.broadcast(x, 0),
    "reduce": lambda x: dist.reduce(x, 0),
    "all_gather": lambda x: dist.all_gather(blocks(x), x),
    "reduce_scatter": lambda x: dist.reduce_scatter(tl.empty_like(x), blocks(x)),
    "all_to_all": lambda x: dist.all_to_all(blocks(x), blocks(x)),
    "gather": gather,
    "scatter": scatter,
    "send": pass_on,
    "barrier": wait_for_all,
    "all_gather_object": lambda x: dist.all_gather_object([None] * dist.get_world_size(), x),
    "broadcast_object_list": lambda x: dist.broadcast_object_list([x if dist.get_rank() == 0 else None]),
}


def at_a_moment(operation: str, moment: str) -> None:
    """Repeats an operation until it fails."""
    if moment == "before" and dist.get_rank() == dist.get_world_size() - 1:
        time.sleep(60)
    tensor = tl.ones(2_000_000 if moment == "inside" else 10)
    while True:
        OPERATIONS[operation](tensor)


def common_memory() -> int:
    """The bytes of memory that sharded parameters have, this rank's part of what several ranks have."""
    total, is_theirs = 0, False
    with open("/proc/self/smaps") as file:
        for line in file:
            if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
                is_theirs = "memfd:tl-fsdp" in line
            elif is_theirs and line.startswith("Pss:"):
                total += 1024 * int(line.split()[1])
    return total


def count_copies() -> None:
    """Says how many copies of the parameters this rank has while all of them are whole."""
    import tl_nn
    from tl_core.memory import usage
    from tl_distributed.fsdp import fully_shard

    before = usage.memory_allocated()
    model = tl_nn.Sequential(*(tl_nn.Linear(768, 768) for _ in range(3)))
    total = sum(4 * p.numel() for p in model.parameters())
    fully_shard(model)
    with tl.no_grad():
        model(tl.ones(1, 768))  # which leaves the outermost parameters whole
    dist.barrier()
    own = usage.memory_allocated() - before
    say(f"{(common_memory() + own) / total:.3f} copies, {own / total:.0f} of them its own")
    dist.barrier()


ACTIONS = {
    "copies": count_copies,
    "once": once,
    "small": lambda: again_and_again(tl.ones(10)),
    "large": lambda: again_and_again(tl.ones(4_000_000)),
    "arena": lambda: again_and_again(
        dist.group.WORLD.communicator().native.arena_empty(2_000_000, tl.empty(0))
    ),
    "wait": dist.barrier,
    "receive": lambda: dist.recv(tl.empty(3), dist.get_world_size() - 1),
    "fork": child_of_a_fork,
}


def sharded_model() -> Any:
    """Layers of which each rank has pieces, large enough for collectives of their own."""
    import tl_nn
    from tl_distributed.fsdp import fully_shard

    model = tl_nn.Sequential(*(tl_nn.Linear(512, 512) for _ in range(3)))
    for layer in model:
        fully_shard(layer)
    return fully_shard(model)


def gather_parameters() -> Callable[[], None]:
    """Gathers the parameters of a sharded model."""
    model = sharded_model()

    def gather() -> None:
        for layer in model:
            layer.unshard()
            layer.reshard()

    return gather


def train_pieces() -> Callable[[], None]:
    """Trains a sharded model, whose gradients are reduced during the backward pass."""
    model = sharded_model()

    def step() -> None:
        model(tl.ones(4, 512)).sum().backward()
        for parameter in model.parameters():
            parameter.grad = None

    return step


def train_stages() -> Callable[[], None]:
    """Trains a pipeline with a stage on each rank."""
    import tl_nn
    from tl_distributed.pipelining import PipelineStage, Schedule1F1B

    rank, size = dist.get_rank(), dist.get_world_size()
    stage = PipelineStage(tl_nn.Linear(256, 256), rank, size, tl.device("cpu"))
    schedule = Schedule1F1B(stage, 2 * size, loss_fn=lambda output, target: (output - target).square().mean())
    rows = tl.ones(16 * size, 256)
    inputs, target = [rows] * (rank == 0), rows if rank == size - 1 else None
    return lambda: schedule.step(*inputs, target=target)


# Each prepares its model before the first barrier, and returns a step, which is repeated until it fails.
TRAINING = {"unshard": gather_parameters, "reduce": train_pieces, "stages": train_stages}


def repeat(step: Callable[[], None]) -> None:
    while True:
        step()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def main() -> None:
    file, rank, size, action, timeout = sys.argv[1:]
    if layout := os.environ.get("TEST_MACHINES"):  # the machine of each rank
        os.environ.update(TL_DISTRIBUTED_MACHINE=layout[int(rank)], GLOO_SOCKET_IFNAME="lo")
    before = open_files()
    dist.init_process_group(
        "gloo",
        store=dist.FileStore(file),
        rank=int(rank),
        world_size=int(size),
        timeout=timedelta(seconds=60),  # processes of a busy machine start seconds apart
    )
    step = TRAINING[action]() if action in TRAINING else None
    dist.barrier()
    known_groups._set_pg_timeout(timedelta(seconds=float(timeout)))
    say("ready", os.getpid())
    began = time.monotonic()
    if action != "fork" and int(rank) == int(size) - 1 and action in ("wait", "receive"):
        time.sleep(60)
    try:
        if step is not None:
            repeat(step)
        ACTIONS[action]() if action in ACTIONS else at_a_moment(*action.split(":"))
    except KeyboardInterrupt:
        say("interrupted")
    except Exception as error:
        say(f"{time.time():.4f} {time.monotonic() - began:.4f} {type(error).__name__}: {error}")
    else:
        return
    step = None
    while gc.collect():  # a graph whose backward pass did not end holds its model in turn
        pass
    dist.destroy_process_group()  # not before the error, whose stack holds the group, is gone
    say(f"{open_files() - before} descriptors left")


if __name__ == "__main__":
    main()
