"""A GPT cut among processes: `--fsdp`, `--tp`, `--pp`, `--cp` and `--ddp`, under `tl run --nproc-per-node N`.

All processes draw the same random numbers, so a training has the losses of one process, whatever the cut. Blocks are
divided into stages (pp), matrices by heads and hidden units (tp), texts by positions (cp), and the stretches of a batch
among the rest (fsdp, ddp), where fsdp divides parameters, gradients and the optimizer's state as well.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import tl
import tl.distributed as dist
from tl import nn
from tl.distributed.device_mesh import init_device_mesh
from tl.distributed.fsdp import fully_shard
from tl.distributed.pipelining import PipelineStage
from tl.distributed.pipelining.schedules import PipelineScheduleSingle, get_schedule_class
from tl.distributed.tensor import DTensor
from tl.distributed.tensor.experimental import context_parallel
from tl.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    parallelize_module,
)
from tl.examples._program import positive

__all__ = ["Cut", "Sizes", "add_cuts", "sizes_of"]

SCHEDULES = {"zbv": "ZBVZeroBubble", "dualpipev": "DualPipeV", "zb1p": "InterleavedZeroBubble"}
V_SHAPED = ("ZBVZeroBubble", "DualPipeV")


class Sizes(NamedTuple):
    """The number of ranks of each kind of cut."""

    pp: int = 1
    ddp: int = 1
    fsdp: int = 1
    cp: int = 1
    tp: int = 1


def add_cuts(parser: argparse.ArgumentParser) -> None:
    """The options of models that are cut."""
    for name, parts in (
        ("fsdp", "parameters, gradients and optimizer are divided among so many processes"),
        ("tp", "heads and hidden units are divided among so many processes"),
        ("pp", "blocks are divided into the stages of so many processes"),
        ("cp", "the positions of a text are divided among so many processes"),
    ):
        parser.add_argument(f"--{name}", type=positive, default=1, metavar="N", help=parts)
    schedule = "of --pp: gpipe, 1f1b, loopedbfs, interleaved1f1b, zb1p, zbv or dualpipev (1f1b)"
    parser.add_argument("--schedule", default="1f1b", help=schedule)
    parser.add_argument("--microbatches", type=positive, default=4, help="pieces of a batch with --pp (4)")


def sizes_of(options: argparse.Namespace, world: int) -> Sizes | None:
    """The cut of the command line, None without one.

    Args:
        options: the program's options.
        world: the number of processes.

    Raises:
        SystemExit: the processes can't be divided so.
    """
    parts = options.fsdp * options.tp * options.pp * options.cp
    if parts == 1:
        return None
    ddp = world // parts if options.ddp else 1
    if parts * ddp != world:
        cuts = f"--fsdp {options.fsdp} --tp {options.tp} --pp {options.pp} --cp {options.cp}"
        raise SystemExit(f"error: {cuts} needs {parts} processes (or a multiple with --ddp), got {world}")
    if options.checkpoint and options.fsdp > 1 and options.tp > 1:
        raise SystemExit("error: there are no checkpoints of --fsdp with --tp yet")
    positions = (
        2 * options.cp if options.cp > 1 else 1
    )  # a process has an early and a late chunk of each text
    for name, size, least in (("heads", options.heads, options.tp), ("context", options.context, positions)):
        if size % least:
            raise SystemExit(f"error: --{name} must be a multiple of {least}, got {size}")
    return Sizes(options.pp, ddp, options.fsdp, options.cp, options.tp)


class _Stage(nn.Module):
    """The blocks of a stage, with the embedding before the first and the scores after the last.

    Args:
        model: the network.
        first: the first block.
        last: the block after the last one.
    """

    def __init__(self, model: Any, first: int, last: int) -> None:
        super().__init__()
        count = len(model.blocks)
        self.embed = model.embed if first == 0 else None
        self.blocks = nn.ModuleList(model.blocks[i] for i in range(first, last))
        is_last = last == count
        self.norm, self.head = model.norm if is_last else None, model.head if is_last else None

    def forward(self, x: tl.Tensor) -> tl.Tensor:
        if self.embed is not None:
            x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        if self.norm is None or self.head is None:
            return x
        return self.head(self.norm(x))


def loss_of_scores(scores: tl.Tensor, follow: tl.Tensor) -> tl.Tensor:
    """The mean loss of the next characters."""
    return nn.functional.cross_entropy(scores.flatten(0, 1), follow.flatten())


class Cut:
    """A network of which each process has its part.

    Args:
        model: the whole network, equal on all processes; its parameters become the parts.
        sizes: the ranks of each kind of cut.
        schedule: the schedule of the stages.
        microbatches: the pieces of a batch.
    """

    def __init__(self, model: Any, sizes: Sizes, schedule: str = "1f1b", microbatches: int = 4) -> None:
        self.model, self.sizes = model, sizes
        self._shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
        self.mesh = init_device_mesh("cpu", tuple(sizes), mesh_dim_names=Sizes._fields)
        name = SCHEDULES.get(schedule.lower(), schedule)
        self._kind: Any = get_schedule_class(name)
        is_single = issubclass(self._kind, PipelineScheduleSingle)
        own, count = self._stages(is_single, name in V_SHAPED)
        self._divide_heads()
        modules = [_Stage(model, *self._blocks(number, count)) for number in own]
        for module in modules:
            self._shard(module)
        self._modules = modules
        self._schedule: Any = None
        if sizes.pp > 1:
            group = self.mesh["pp"].get_group()
            stages = [PipelineStage(m, n, count, "cpu", group=group) for m, n in zip(modules, own)]
            kind: Any = self._kind
            own_stages: Any = stages[0] if is_single else stages
            self._schedule = kind(own_stages, microbatches, loss_of_scores)
        self._is_first, self._is_last = 0 in own, count - 1 in own
        self._keep(own, count)

    def _rank(self, name: str) -> int:
        return int(self.mesh.get_local_rank(name))

    def _stages(self, is_single: bool, is_v: bool) -> tuple[list[int], int]:
        """The stages of this process, and the number of all."""
        ranks, rank = self.sizes.pp, self._rank("pp")
        if ranks == 1:
            return [0], 1
        if is_single:
            return [rank], ranks
        if is_v:
            return [rank, 2 * ranks - 1 - rank], 2 * ranks
        return [rank, rank + ranks], 2 * ranks

    def _blocks(self, number: int, count: int) -> tuple[int, int]:
        layers = len(self.model.blocks)
        if layers < count:
            raise SystemExit(f"error: {count} stages need at least as many --layers, got {layers}")
        return number * layers // count, (number + 1) * layers // count

    def _divide_heads(self) -> None:
        """Cuts the matrices of attention by heads, and those of the other layers by hidden units."""
        if self.sizes.tp == 1:
            return
        for block in self.model.blocks:
            styles: dict[str, ParallelStyle] = {
                "attention.project": ColwiseParallel(),
                "attention.out": RowwiseParallel(),
                "up": ColwiseParallel(),
                "down": RowwiseParallel(),
            }
            parallelize_module(block, self.mesh["tp"], styles)

    def _shard(self, module: nn.Module) -> None:
        if self.sizes.fsdp > 1:
            for block in module.blocks:
                fully_shard(block, mesh=self.mesh["fsdp"])
            fully_shard(module, mesh=self.mesh["fsdp"])

    def _keep(self, own: list[int], count: int) -> None:
        """Removes the modules of other stages, so that optimizer and checkpoint have this process's part."""
        blocks = {i for number in own for i in range(*self._blocks(number, count))}
        for i in range(len(self.model.blocks)):
            if i not in blocks:
                del self.model.blocks._modules[str(i)]
        if not self._is_first:
            self.model.embed = None
        if not self._is_last:
            self.model.norm = self.model.head = None

    # ---- a step

    def share(self, batch: tl.Tensor) -> tl.Tensor:
        """The stretches of a batch that this process learns from."""
        count = self.sizes.ddp * self.sizes.fsdp
        own = self._rank("ddp") * self.sizes.fsdp + self._rank("fsdp")
        if len(batch) % count:
            raise SystemExit(f"error: --batch-size must be a multiple of {count}, got {len(batch)}")
        return batch[own::count].contiguous()

    @contextmanager
    def _positions(self, text: tl.Tensor, follow: tl.Tensor) -> Iterator[None]:
        """Divides the positions of texts, and the angles of their rotations."""
        if self.sizes.cp == 1:
            yield
            return
        angles = [b for block in self.model.blocks for b in (block.attention.cos, block.attention.sin)]
        buffers = [text, follow, *angles]
        with context_parallel(self.mesh["cp"], buffers=buffers, buffer_seq_dims=[1, 1, *(0 for _ in angles)]):
            yield

    def learn(
        self, text: tl.Tensor, follow: tl.Tensor, mixed: AbstractContextManager[Any] | None = None
    ) -> tl.Tensor:
        """Computes the gradients of a batch, cut to norm 1; returns the loss of this process's part.

        Args:
            text: the characters.
            follow: the characters that follow.
            mixed: the context of computation.
        """
        text, follow = self.share(text), self.share(follow).clone()
        for parameter in self.model.parameters():
            parameter.grad = None
        with self._positions(text, follow), mixed or nullcontext():
            if self._schedule is None:
                loss = loss_of_scores(self._modules[0](text), follow)
                loss.backward()
            else:
                losses: list[tl.Tensor] = []
                args = (text,) if self._is_first else ()
                target = follow if self._is_last else None
                self._schedule.step(*args, target=target, losses=losses, return_outputs=False)
                loss = tl.stack(losses).mean() if losses else tl.zeros(())
        self._average()
        self._clip()
        return loss.detach()

    def _average(self) -> None:
        for name in ("ddp", "cp"):
            if getattr(self.sizes, name) > 1:
                for gradient in self._gradients():
                    local = gradient.to_local() if isinstance(gradient, DTensor) else gradient
                    dist.all_reduce(local, dist.ReduceOp.AVG, self.mesh[name].get_group())

    def _gradients(self) -> list[Any]:
        return [p.grad for p in self.model.parameters() if p.grad is not None]

    def _clip(self, largest: float = 1.0) -> None:
        """Cuts the norm of all gradients of all processes."""
        squares = tl.zeros(())
        for gradient in self._gradients():
            square = gradient.square().sum()
            squares += square.full_tensor() if isinstance(square, DTensor) else square
        if self.sizes.pp > 1:
            dist.all_reduce(squares, group=self.mesh["pp"].get_group())
        factor = min(1.0, largest / (math.sqrt(squares.item()) + 1e-6))
        for gradient in self._gradients():
            (gradient.to_local() if isinstance(gradient, DTensor) else gradient).mul_(factor)

    def mean(self, loss: tl.Tensor) -> float:
        """The mean of a loss over all processes that have one."""
        loss = loss.clone()
        for name in ("ddp", "fsdp", "cp"):
            if getattr(self.sizes, name) > 1:
                dist.all_reduce(loss, dist.ReduceOp.AVG, self.mesh[name].get_group())
        if self.sizes.pp > 1:  # the other stages have 0
            dist.all_reduce(loss, group=self.mesh["pp"].get_group())
        return loss.item()

    def assemble(self, build: Callable[[], Any]) -> Any:
        """A network with all parameters, on each process.

        Args:
            build: returns a network of the same sizes.
        """
        model = build()
        own = dict(self.model.named_parameters())
        with tl.no_grad():
            for name, parameter in model.named_parameters():
                value = own.get(name)
                if value is None:
                    parameter.zero_()
                else:
                    parameter.copy_(value.full_tensor() if isinstance(value, DTensor) else value)
                if self.sizes.pp > 1:  # one stage has it, the others add 0
                    dist.all_reduce(parameter, group=self.mesh["pp"].get_group())
        return model
