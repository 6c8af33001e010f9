"""Trainings on several processes: `--ddp`, under `tl run --nproc-per-node N -m tl.examples.NAME`.

All processes draw the same random numbers and hold the same model; each learns from its own part of every batch, and
gradients are averaged.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, NamedTuple

import tl
import tl.distributed as dist
from tl import nn
from tl.nn.parallel import DistributedDataParallel

__all__ = ["ALONE", "Ranks", "add_ddp", "join_ranks"]


class Ranks(NamedTuple):
    """The processes of a training, from the side of one of them."""

    rank: int
    size: int

    def share(self, batch: tl.Tensor) -> tl.Tensor:
        """This process's rows of a batch; all processes have as many, and what is left over is nobody's."""
        return batch[: len(batch) // self.size * self.size][self.rank :: self.size]

    def copies(self, model: nn.Module) -> Any:
        """The model, with gradients that are averaged over the processes."""
        return model if self.size == 1 else DistributedDataParallel(model)

    def mean(self, loss: tl.Tensor) -> float:
        """The mean of a number over the processes."""
        if self.size > 1:
            loss = loss.detach().clone()
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        return loss.item()


ALONE = Ranks(0, 1)


def add_ddp(parser: argparse.ArgumentParser) -> None:
    """The option of trainings on several processes."""
    parser.add_argument(
        "--ddp", action="store_true", help="be one of several processes that tl.distributed.run started"
    )


@contextmanager
def join_ranks(options: argparse.Namespace) -> Iterator[Ranks]:
    """The processes of a training, if there are several. Only the first prints and draws."""
    cuts = [f"--{name}" for name in ("fsdp", "tp", "pp", "cp") if vars(options).get(name, 1) > 1]
    if not options.ddp and not cuts:
        yield ALONE
        return
    if "RANK" not in os.environ:
        needs = " ".join(["--ddp"] * options.ddp + cuts)
        raise SystemExit(f"error: {needs} needs tl run --nproc-per-node N -m tl.examples.NAME")
    dist.init_process_group("gloo")
    ranks = Ranks(dist.get_rank(), dist.get_world_size())
    try:
        if ranks.rank == 0:
            yield ranks
            return
        vars(options).update({"quiet": True, "plot": None, "tensorboard": None, "profile": None})
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            yield ranks
    finally:
        dist.destroy_process_group()
