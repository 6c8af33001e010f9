"""A rank that makes groups while it, or another one, has few descriptors left.

`descriptor_program.py PORT RANK SIZE FREE...` prints, for each transport, victim and number of free descriptors, a line
with what came of the group.
"""

from __future__ import annotations

import itertools
import os
import resource
import sys
from datetime import timedelta

import tl_core as tl
import tl_distributed as dist


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) - 1


def main() -> None:
    port, rank, size, *free = map(int, sys.argv[1:])
    store = dist.TCPStore("localhost", port, timeout=timedelta(seconds=60))
    dist.init_process_group("gloo", store=dist.PrefixStore("first", store), rank=rank, world_size=size)
    dist.destroy_process_group()  # whatever is loaded late is there now
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    cases = itertools.product(("", "tcp"), range(size), free)
    for number, (transport, victim, left) in enumerate(cases):
        os.environ["TL_DISTRIBUTED_TRANSPORT"] = transport
        here = dist.PrefixStore(f"case {number}", store)
        before = open_files()
        if rank == victim:
            resource.setrlimit(resource.RLIMIT_NOFILE, (before + left, usual[1]))
        try:
            dist.init_process_group(
                "gloo", store=here, rank=rank, world_size=size, timeout=timedelta(seconds=20)
            )
            total = tl.ones(1)
            dist.all_reduce(total)
            text = f"sum {float(total)}"
            dist.destroy_process_group()
        except Exception as error:
            text = f"{type(error).__name__} {error}"
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        print(f"{transport or 'memory'} {victim} {left} {open_files() - before} {text}", flush=True)


if __name__ == "__main__":
    main()
