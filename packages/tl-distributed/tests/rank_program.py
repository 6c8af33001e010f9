"""A rank of a world that meets in a file: `rank_program.py FILE RANK SIZE ACTION TIMEOUT`.

It prints "ready" after a first barrier, then does what the action says, and prints when, how long that took, and what
came of it.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta

import tl_core as tl
import tl_distributed as dist


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


ACTIONS = {
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


def main() -> None:
    file, rank, size, action, timeout = sys.argv[1:]
    dist.init_process_group(
        "gloo",
        store=dist.FileStore(file),
        rank=int(rank),
        world_size=int(size),
        timeout=timedelta(seconds=float(timeout)),
    )
    dist.barrier()
    say("ready", os.getpid())
    began = time.monotonic()
    if action != "fork" and int(rank) == int(size) - 1 and action in ("wait", "receive"):
        time.sleep(60)
    try:
        ACTIONS[action]()
    except KeyboardInterrupt:
        say("interrupted")
    except Exception as error:
        say(f"{time.time():.4f} {time.monotonic() - began:.4f} {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
