"""The traffic and the memory of one rank of a large job, without a second process.

    tl simulate --world 1024 train.py --epochs 1
    tl simulate --world 4096 --rank 7 -m package.train

The program runs as that rank, with the variables that the launcher would set. Its groups move nothing, whatever backend
it asks for, and count messages and bytes as a ring or a pairwise exchange among the ranks would send them. All other
ranks are taken to have what this one has: a sum is this rank's tensor times the size of the group, an all_gather gives
it as often. What comes from one other rank alone (`recv`, `broadcast` from it) is left as it is.

    tl simulate --mesh dp=128,pp=16,tp=8 --machine h100x8 --model 405b --batch 2048

estimates the messages, the memory and the time of a step of a cut transformer, without a program.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tl_core import Tensor
from tl_core.base.programs import refusal, run_program

from .backends.backend import all_backends_are
from .backends.fake import FakeGroup
from .backends.group_context import GroupContext
from .base.reduction import RedOpType, ReduceOp
from .base.work import Work
from .planning.estimate import Plan, estimate, table
from .planning.machine import machine
from .planning.transformer import MODELS
from .stores.rendezvous import Meeting, all_meet_by
from .stores.store import HashStore

__all__ = ["MirrorGroup", "Simulation", "get_parser", "main", "plan_lines"]

PROGRAM = "python -m tl_distributed.simulate"


class MirrorGroup(FakeGroup):
    """A group of which the other ranks have what this one has.

    Example:
        >>> import tl_distributed as dist
        >>> issubclass(MirrorGroup, dist.Communicator)
        True
    """

    def _reduce(self, tensor: Tensor, op: RedOpType) -> None:
        """The result of reducing as many equal tensors; the reductions that aren't here change nothing then."""
        if op == ReduceOp.SUM:
            tensor.mul_(self.size)
        elif op == ReduceOp.PRODUCT:
            tensor.pow_(self.size)
        elif op == ReduceOp.BXOR and self.size % 2 == 0:
            tensor.zero_()

    def all_reduce(self, tensor: Tensor, op: RedOpType) -> Work:
        self._reduce(tensor, op)
        return super().all_reduce(tensor, op)

    def reduce(self, tensor: Tensor, root: int, op: RedOpType) -> Work:
        if root == self.rank:
            self._reduce(tensor, op)
        return super().reduce(tensor, root, op)

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> Work:
        for output in outputs:
            output.copy_(tensor)
        return super().all_gather(outputs, tensor)

    def all_gather_single(self, output: Tensor, tensor: Tensor) -> Work:
        output.view(self.size, tensor.numel()).copy_(tensor.reshape(1, -1))
        return super().all_gather_single(output, tensor)

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> Work:
        for output in outputs:
            output.copy_(tensor)
        return super().gather(outputs, tensor, root)

    def scatter(self, output: Tensor, tensors: Sequence[Tensor], root: int) -> Work:
        if tensors:
            output.copy_(tensors[self.rank])
        return super().scatter(output, tensors, root)

    def reduce_scatter(self, output: Tensor, tensors: Sequence[Tensor], op: RedOpType) -> Work:
        output.copy_(tensors[self.rank])
        self._reduce(output, op)
        return super().reduce_scatter(output, tensors, op)

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, op: RedOpType) -> Work:
        output.copy_(tensor.view(self.size, *output.shape)[self.rank])
        self._reduce(output, op)
        return super().reduce_scatter_single(output, tensor, op)

    def all_to_all(self, outputs: Sequence[Tensor], tensors: Sequence[Tensor]) -> Work:
        own = tensors[self.rank]
        for output in outputs:
            if output.shape == own.shape:
                output.copy_(own)
        return super().all_to_all(outputs, tensors)

    def all_to_all_single(self, output: Tensor, tensor: Tensor) -> Work:
        own = tensor.chunk(self.size)[self.rank]
        for part in output.chunk(self.size):
            part.copy_(own)
        return super().all_to_all_single(output, tensor)


class Simulation:
    """One rank of a large job.

    Args:
        world: how many ranks there are.
        rank: the one that is simulated.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> simulation = Simulation(1024)
        >>> def train():
        ...     dist.init_process_group("gloo")
        ...     dist.all_reduce(tl_core.ones(1024))
        ...     dist.destroy_process_group()
        >>> simulation.run(train)
        >>> simulation.groups[0].traffic.messages
        2046
    """

    def __init__(self, world: int, rank: int = 0):
        if world < 1:
            raise ValueError(f"Simulation: world must be 1 or more, got {world}")
        if not 0 <= rank < world:
            raise ValueError(f"Simulation: rank must be one of 0 .. {world - 1}, got {rank}")
        self.world = world
        self.rank = rank
        self.groups: list[MirrorGroup] = []

    def _make(self, context: GroupContext) -> MirrorGroup:
        group = MirrorGroup(context)
        self.groups.append(group)
        return group

    def _meet(self, url: str, **kwargs: Any) -> Iterator[Meeting]:
        yield HashStore(), self.rank, self.world

    def _variables(self) -> dict[str, str]:
        numbers = {"RANK": self.rank, "WORLD_SIZE": self.world, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1}
        return {name: str(each) for name, each in numbers.items()} | {
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": "1",  # nobody is met there
        }

    def run(self, program: Any) -> None:
        """Calls a function as that rank."""
        before = dict(os.environ)
        os.environ.update(self._variables())
        try:
            with all_backends_are(self._make), all_meet_by(self._meet):
                program()
        finally:
            os.environ.clear()
            os.environ.update(before)

    def lines(self) -> list[str]:
        """The traffic and the memory, as a table."""
        rows = [("group", "ranks", "operation", "calls", "messages", "sent")]
        for group in self.groups:
            name = group.context.name or group.context.description
            for operation, calls in sorted(group.traffic.calls.items()):
                part = group.traffic.of(operation)
                rows.append(
                    (name, str(group.size), operation, str(calls), str(part.messages), _bytes(part.sent))
                )
        messages = sum(group.traffic.messages for group in self.groups)
        n_bytes = sum(group.traffic.sent for group in self.groups)
        rows.append(("all", "", "", "", str(messages), _bytes(n_bytes)))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        table = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        peak = max((group.traffic.peak for group in self.groups), default=0)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return [
            f"rank {self.rank} of {self.world}",
            *table,
            f"memory of this process: at most {_bytes(memory)}; tensors of the largest operation: {_bytes(peak)}",
        ]


def _bytes(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.4g} {unit}"
        amount /= 1000
    return f"{amount:.4g} TB"


def get_parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        program: the name of the program, for messages.

    Example:
        >>> get_parser("tl simulate").parse_args(["--world", "8", "train.py"]).world
        8
    """
    parser = argparse.ArgumentParser(program, description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--world", type=int, help="how many ranks the job has")
    parser.add_argument("--rank", type=int, default=0, help="the rank that the program runs as")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    parser.add_argument("--mesh", help="dimensions of a plan from the outermost, such as dp=128,pp=16,tp=8")
    parser.add_argument("--machine", default="a100x8", help="a100x8, h100x8 or a file")
    parser.add_argument("--model", default="175b", choices=sorted(MODELS), help="the transformer of a plan")
    parser.add_argument("--batch", type=int, default=2048, help="the sequences of a step")
    parser.add_argument(
        "--microbatch", type=int, default=1, help="the sequences that a pipeline works on at a time"
    )
    parser.add_argument("--chunks", type=int, default=1, help="the stages of a rank")
    parser.add_argument("--no-recompute", action="store_true", help="activations are stored")
    parser.add_argument(
        "--shard-parameters", action="store_true", help="data-parallel ranks share the parameters"
    )
    parser.add_argument("program", nargs="?", help="the program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def plan_lines(options: argparse.Namespace) -> list[str]:
    """The estimate of a plan, as lines of text.

    Args:
        options: those of the command line.

    Raises:
        ValueError: the mesh can't be read, or doesn't fit the batch or the world, or the program's size is unknown.

    Example:
        >>> options = get_parser().parse_args(["--mesh", "dp=2,tp=8", "--model", "8b", "--batch", "8"])
        >>> plan_lines(options)[0]
        '8.0 B parameters on 16 ranks: dp 2 x tp 8, 4 microbatches of 1'
    """
    mesh: dict[str, int] = {}
    for part in options.mesh.split(","):
        name, _, size = part.partition("=")
        if not size.isdigit():
            raise ValueError(f"--mesh: expected sizes such as dp=2,tp=8, got {options.mesh!r}")
        mesh[name] = int(size)
    plan = Plan(
        mesh,
        options.batch,
        options.microbatch,
        options.chunks,
        not options.no_recompute,
        options.shard_parameters,
    )
    ranks = math.prod(mesh.values())
    if options.world not in (None, ranks):
        raise ValueError(
            f"--world {options.world} doesn't fit --mesh {options.mesh}, which has {ranks} ranks"
        )
    model = MODELS[_model_name(options)]
    return table(model, plan, estimate(model, plan, machine(options.machine)))


def _model_name(options: argparse.Namespace) -> str:
    """The transformer of a plan: that of --model, or of the program's --size."""
    words = options.arguments
    if not words:
        return str(options.model)
    if len(words) != 2 or words[0] != "--size" or words[1] not in MODELS:
        raise ValueError(
            f"--mesh: of a program's arguments a plan takes --size with one of {', '.join(sorted(MODELS))}, got {words}"
        )
    return str(words[1])


def main(args: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Reads a command line, runs the program and prints the messages that it would send.

    Args:
        args: the words of the command line, by default those of the process.
        program: the name of the command, for messages.

    Returns:
        The exit status of the program that runs, or 2 for numbers that no job has.

    Example:
        >>> main(["--world", "8", "train.py"])  # doctest: +SKIP
    """
    parser = get_parser(program)
    options = parser.parse_args(args)
    if options.mesh is None and (options.world is None or options.program is None):
        parser.error("--world and a program, or --mesh, are needed")
    try:
        if options.mesh is not None:
            print("\n".join(plan_lines(options)))
            return 0
        simulation = Simulation(options.world, options.rank)
    except ValueError as error:
        print(f"{program}: {str(error).removeprefix('Simulation: ')}", file=sys.stderr)
        return 2
    if reason := refusal(options.program, options.module):
        print(f"{program}: {reason}", file=sys.stderr)
        return 2
    status = 0

    def run() -> None:
        nonlocal status
        status = run_program(program, options.program, options.arguments, options.module)

    simulation.run(run)
    print("\n".join(simulation.lines()))
    return status


if __name__ == "__main__":
    sys.exit(main())
