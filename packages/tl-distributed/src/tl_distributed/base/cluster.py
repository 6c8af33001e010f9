"""The variables of schedulers for the processes that they start: SLURM, MPI and Kubernetes."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Machine", "Process", "machine", "process"]

_FIRST_PORT, _PORTS = 20000, 10000  # below what Linux gives out by itself (32768)


@dataclass(frozen=True)
class Process:
    """A process of a job that a scheduler started.

    Attributes:
        scheduler: which one.
        rank: its number in the job.
        world_size: how many there are.
        local_rank: its number on its machine.
        local_world_size: how many there are on its machine.
        address: the machine of rank 0; None if the scheduler doesn't say.
        port: a port there, the same for all processes of the job.
    """

    scheduler: str
    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    address: str | None
    port: int


@dataclass(frozen=True)
class Machine:
    """A machine of a job, of which a scheduler started one process.

    Attributes:
        scheduler: which one.
        rank: its number.
        count: how many there are; None if the scheduler doesn't say.
        address: the machine with number 0; None if the scheduler doesn't say.
    """

    scheduler: str
    rank: int
    count: int | None
    address: str | None


def process(variables: Mapping[str, str] = os.environ) -> Process | None:
    """This process in a job that `srun` or `mpirun` started; None if neither did.

    Args:
        variables: the environment.

    Raises:
        ValueError: a variable isn't what its scheduler writes there.

    Example:
        >>> found = process({"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"})
        >>> found.rank, found.local_rank, found.address
        (3, 1, None)
    """
    if "SLURM_STEP_NUM_TASKS" in variables and "SLURM_PROCID" in variables:
        return _slurm(variables)
    for scheduler, names in _MPI.items():
        if all(name in variables for name in names[:3]):
            return _mpi(scheduler, names, variables)
    return None


def machine(variables: Mapping[str, str] = os.environ) -> Machine | None:
    """This machine in a job; None if no scheduler says.

    Args:
        variables: the environment.

    Example:
        >>> machine({"JOB_COMPLETION_INDEX": "2"})
        Machine(scheduler='Kubernetes', rank=2, count=None, address=None)
    """
    if "SLURM_STEP_NUM_NODES" in variables and "SLURM_NODEID" in variables:
        count = _number(variables, "SLURM_STEP_NUM_NODES")
        return Machine("SLURM", _number(variables, "SLURM_NODEID"), count, _first_host(variables))
    if "JOB_COMPLETION_INDEX" in variables:
        return Machine("Kubernetes", _number(variables, "JOB_COMPLETION_INDEX"), None, None)
    return None


# rank, size, local rank, local size, what names the job
_MPI = {
    "Open MPI": (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "PMIX_NAMESPACE",
    ),
    "Intel MPI": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_ID"),
    "MPICH": ("PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", "PMI_PORT"),
}


def _mpi(scheduler: str, names: tuple[str, ...], variables: Mapping[str, str]) -> Process:
    rank, size = _number(variables, names[0]), _number(variables, names[1])
    local_rank, local_size = _number(variables, names[2]), _number(variables, names[3], size)
    address = "localhost" if local_size == size else None
    return Process(
        scheduler, rank, size, local_rank, local_size, address, _port(variables.get(names[4], scheduler))
    )


def _slurm(variables: Mapping[str, str]) -> Process:
    size = _number(variables, "SLURM_STEP_NUM_TASKS")
    counts = _counts(variables.get("SLURM_STEP_TASKS_PER_NODE", str(size)))
    node = _number(variables, "SLURM_NODEID", 0)
    return Process(
        "SLURM",
        _number(variables, "SLURM_PROCID"),
        size,
        _number(variables, "SLURM_LOCALID", 0),
        counts[node] if node < len(counts) else size,
        _first_host(variables),
        _port(f"{variables.get('SLURM_JOB_ID', '')}.{variables.get('SLURM_STEP_ID', '')}"),
    )


def _number(variables: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = variables.get(name)
    if text is None and default is not None:
        return default
    if text is None or not text.isdigit():
        raise ValueError(f"the scheduler's variable {name} must be a number, got {text!r}")
    return int(text)


def _counts(text: str) -> list[int]:
    """The number of processes of each machine, from `2(x3),1`."""
    counts: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if match is None:
            raise ValueError(f"the scheduler's variable SLURM_STEP_TASKS_PER_NODE can't be read: {text!r}")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _first_host(variables: Mapping[str, str]) -> str | None:
    """The first machine of a list such as `node[01-03,07],gpu5`."""
    names = variables.get("SLURM_STEP_NODELIST")
    if not names:
        return None
    # Of each bracket the first number; then what stands before the first comma.
    return re.sub(r"\[([^\],-]+)[^\]]*\]", r"\1", names).split(",")[0]


def _port(job: str) -> int:
    return _FIRST_PORT + zlib.crc32(job.encode()) % _PORTS
