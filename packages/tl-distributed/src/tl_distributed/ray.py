"""Schedules the ranks of a job on a cluster of Ray, watches them and starts them again; needs the extra `ray`.

    python -m tl_distributed.ray train.py --workers 4 --max-restarts 3
    python -m tl_distributed.ray -m package.train --workers 8 --cpus-per-worker 2

Each rank is an actor of Ray, in a process of its own. The ranks meet by MASTER_ADDR and MASTER_PORT, as under the
launcher, and rank 0 hosts their store. Options of the job stand anywhere before `--`. All other words go to the
program.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tl_core.base.programs import refusal, run_program

from .base.errors import DistError
from .elastic.rendezvous.api import free_port

__all__ = ["RayJobError", "get_parser", "main", "run"]

PROGRAM = "python -m tl_distributed.ray"
INHERITED = ("TL_AS_TORCH",)  # variables that an interpreter reads as it starts
GRACE = 2.0  # seconds in which a rank that died becomes known, after another rank raised


class RayJobError(DistError):
    """A rank of a job on Ray failed, and the job may not start again.

    Args:
        rank: the rank that failed first.
        address: the address of the machine of that rank.
        cause: a clause that says what ended the rank.
        restarts: how often the job had started again.

    Example:
        >>> RayJobError(2, "10.0.0.4", "died", 3).rank
        2
    """

    def __init__(self, rank: int, address: str, cause: str, restarts: int) -> None:
        super().__init__(f"rank {rank} on {address} {cause}; restarts of the job: {restarts}")
        self.rank, self.address = rank, address


@dataclass(frozen=True)
class _Location:
    """The location of a rank: the node of the cluster and the address of its machine."""

    node: str
    address: str


@dataclass(frozen=True)
class _Failure:
    """The end of a rank that failed.

    Args:
        rank: the rank.
        cause: a clause that says what ended the rank.
        own: whether the cause lies in this rank, and isn't the failure of another rank that this rank reports.
        error: the exception of the rank.
    """

    rank: int
    cause: str
    own: bool
    error: BaseException


def _ray() -> Any:
    """The package ray.

    Raises:
        ModuleNotFoundError: ray isn't installed.
    """
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        text = "tl_distributed.ray needs ray, which isn't installed: pip install 'tl-distributed[ray]'"
        raise ModuleNotFoundError(text, name="ray") from error


class _Rank:
    """The actor of a rank."""

    def location(self) -> tuple[str, str]:
        """The node of this process and the address of its machine."""
        ray = _ray()
        return ray.get_runtime_context().get_node_id(), str(ray.util.get_node_ip_address())

    def port(self) -> int:
        """A port of this machine that nobody uses now."""
        return free_port()

    def call(
        self,
        variables: Mapping[str, str],
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Calls a function as a rank of a job.

        Args:
            variables: the variables of the rank.
            fn: the function.
            args: its arguments.
            kwargs: its arguments by name.
        """
        os.environ.update(variables)
        try:
            return fn(*args, **kwargs)
        except SystemExit as end:  # Ray takes it for an end that was asked for
            if end.code in (None, 0):
                return None
            raise RuntimeError(f"exit status {end.code}") from end


def _program(program: str, words: Sequence[str], is_module: bool) -> None:
    """Runs a program in this process; a status other than 0 raises SystemExit.

    Args:
        program: the file of the program, or the name of a module.
        words: the words after the program.
        is_module: whether `program` names a module.
    """
    status = run_program(PROGRAM, program, words, is_module)
    if status:
        raise SystemExit(status)


def _variables(
    locations: Sequence[_Location], port: int, run_id: str, attempt: int, most: int
) -> list[dict[str, str]]:
    """The variables of each rank, as the launcher sets them.

    Args:
        locations: the location of each rank.
        port: the port of the store, on the machine of rank 0.
        run_id: the name of the job.
        attempt: how often the job has started again.
        most: how often it may start again.
    """
    nodes = list(dict.fromkeys(location.node for location in locations))
    sizes = Counter(location.node for location in locations)
    threads = os.environ.get("OMP_NUM_THREADS")
    result = []
    for rank, location in enumerate(locations):
        numbers = {
            "RANK": rank,
            "WORLD_SIZE": len(locations),
            "LOCAL_RANK": sum(other.node == location.node for other in locations[:rank]),
            "LOCAL_WORLD_SIZE": sizes[location.node],
            "GROUP_RANK": nodes.index(location.node),
            "GROUP_WORLD_SIZE": len(nodes),
            "MASTER_PORT": port,
            "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": most,
        }
        variables = {name: str(value) for name, value in numbers.items()}
        variables |= {"MASTER_ADDR": locations[0].address, "TORCHELASTIC_RUN_ID": run_id}
        if threads is not None or sizes[location.node] > 1:
            variables["OMP_NUM_THREADS"] = threads or "1"
        result.append(variables)
    return result


def _failure(ray: Any, rank: int, result: Any) -> _Failure | None:
    """The failure of a rank that ended, or None if the rank returned."""
    try:
        ray.get(result)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if error.cause is not None else error
        return _Failure(
            rank, f"raised {type(cause).__name__}: {cause}", not isinstance(cause, DistError), cause
        )
    except ray.exceptions.RayError as error:
        return _Failure(rank, "died", True, error)
    return None


def _first_failure(ray: Any, results: Sequence[Any]) -> _Failure | None:
    """Waits until all ranks returned, or one failed; the failure that came before the others.

    The survivors of a rank that died raise, and Ray may report them earlier than the death.

    Args:
        ray: the package.
        results: the result of each rank, as Ray refers to it.
    """
    tasks = list(results)
    failures: list[_Failure] = []
    end = float("inf")
    while tasks and time.monotonic() < end and not any(failure.own for failure in failures):
        rest = None if end == float("inf") else max(end - time.monotonic(), 0.0)
        ready, tasks = ray.wait(tasks, num_returns=1, timeout=rest)
        for result in ready:
            failure = _failure(ray, results.index(result), result)
            if failure is not None:
                failures.append(failure)
                end = min(end, time.monotonic() + GRACE)
    return next((failure for failure in failures if failure.own), failures[0] if failures else None)


class _Job:
    """A job on a cluster of Ray.

    Args:
        workers: the number of ranks.
        max_restarts: how often the job may start again.
        resources: the resources of a rank, by the names of Ray.
        timeout: the seconds in which Ray must find room for the ranks.
    """

    def __init__(self, workers: int, max_restarts: int, resources: dict[str, float], timeout: float) -> None:
        self._ray = _ray()
        self._util = importlib.import_module("ray.util")
        self._workers, self._max_restarts = workers, max_restarts
        self._resources, self._timeout = resources, timeout
        self._run_id = uuid.uuid4().hex[:8]

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Calls a function on each rank, and again after a failure. Returns what the ranks returned."""
        group = self._room()
        try:
            attempt = 0
            while True:
                results, failure, address = self._attempt(group, attempt, fn, args, kwargs)
                if failure is None:
                    return results
                if attempt == self._max_restarts:
                    raise RayJobError(failure.rank, address, failure.cause, attempt) from failure.error
                text = f"rank {failure.rank} on {address} {failure.cause}"
                print(f"{PROGRAM}: {text}; the job starts again", file=sys.stderr)
                attempt += 1
        finally:
            self._util.remove_placement_group(group)

    def _room(self) -> Any:
        """Reserves the resources of all ranks.

        Raises:
            DistError: the cluster has no room for them.
        """
        group = self._util.placement_group([self._resources] * self._workers, strategy="PACK")
        if group.wait(self._timeout):
            return group
        self._util.remove_placement_group(group)
        there = {name: self._ray.cluster_resources().get(name, 0.0) for name in self._resources}
        raise DistError(
            f"Ray found no room for {self._workers} workers of {self._resources} in {self._timeout:g} s: "
            f"the cluster has {there} in all; start fewer workers, or ask for less"
        )

    def _actors(self, group: Any) -> list[Any]:
        """Starts an actor for each rank, in its bundle of the group."""
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        kind = self._ray.remote(_Rank)
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        custom = {name: amount for name, amount in self._resources.items() if name not in ("CPU", "GPU")}
        amounts = {"num_cpus": self._resources.get("CPU", 0), "num_gpus": self._resources.get("GPU", 0)}
        actors = []
        for index in range(self._workers):
            strategy = strategies.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
            actor = kind.options(
                scheduling_strategy=strategy,
                resources=custom,
                runtime_env={"env_vars": environment},
                **amounts,
            )
            actors.append(actor.remote())
        return actors

    def _attempt(
        self, group: Any, attempt: int, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], _Failure | None, str]:
        """Starts all ranks once: their results, or the first failure and the address of its machine."""
        actors = self._actors(group)
        try:
            locations = [
                _Location(*location)
                for location in self._ray.get([actor.location.remote() for actor in actors])
            ]
            # Ranks of a machine follow one another, and so do their actors.
            order = sorted(range(len(actors)), key=lambda index: locations[index].node)
            ranks, locations = [actors[index] for index in order], [locations[index] for index in order]
            port = self._ray.get(ranks[0].port.remote())
            variables = _variables(locations, port, self._run_id, attempt, self._max_restarts)
            calls = zip(ranks, variables, strict=True)
            results = [rank.call.remote(environment, fn, args, kwargs) for rank, environment in calls]
            failure = _first_failure(self._ray, results)
            if failure is not None:
                return [], failure, locations[failure.rank].address
            return self._ray.get(results), None, ""
        finally:
            for actor in actors:
                self._ray.kill(actor)


def run(
    fn: Callable[..., Any],
    workers: int,
    max_restarts: int = 0,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    resources: Mapping[str, float] | None = None,
    timeout: float = 60.0,
) -> list[Any]:
    """Calls a function on each rank of a job that Ray schedules, and starts all ranks again when one fails.

    Connects to the cluster of Ray that the environment names, or starts one on this machine, unless the program has
    called `ray.init`. Inside the function, `init_process_group()` makes the group of all ranks.

    Args:
        fn: the function, which Ray pickles.
        workers: the number of ranks.
        max_restarts: how often the job may start again.
        args: the arguments of the function.
        kwargs: its arguments by name.
        resources: the resources of a rank by the names of Ray, by default one CPU.
        timeout: the seconds in which Ray must find room for all ranks.

    Returns:
        The result of each rank, in the order of the ranks.

    Raises:
        ModuleNotFoundError: ray isn't installed.
        ValueError: `workers` is below 1, or `max_restarts` below 0.
        DistError: the cluster has no room for the ranks.
        RayJobError: a rank failed, and the job may not start again.

    Example:
        >>> losses = run(train, workers=4, max_restarts=3)  # doctest: +SKIP
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    if max_restarts < 0:
        raise ValueError(f"max_restarts must be at least 0, got {max_restarts}")
    ray = _ray()
    if not ray.is_initialized():
        ray.init(log_to_driver=True)
    job = _Job(workers, max_restarts, dict(resources or {"CPU": 1.0}), timeout)
    return job.run(fn, tuple(args), dict(kwargs or {}))


def get_parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The parser of the command.

    Args:
        program: the name of the program, for messages.
    """
    parser = argparse.ArgumentParser(program, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=1, help="ranks of the job (1)")
    parser.add_argument("--max-restarts", type=int, default=0, help="how often the job may start again (0)")
    parser.add_argument("--cpus-per-worker", type=float, default=1.0, help="CPUs of a rank, for Ray (1)")
    parser.add_argument("--address", help="the cluster of Ray, such as auto (a new one on this machine)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds until Ray must have room (60)")
    parser.add_argument("-m", dest="is_module", action="store_true", help="PROGRAM names a module")
    parser.add_argument("program", metavar="PROGRAM", help="the file of the program")
    return parser


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Runs a program on each rank. Returns the exit status.

    Args:
        arguments: the words of the command line, by default those of the process.
        program: the name of the program, for messages.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    cut = words.index("--") if "--" in words else len(words)
    options, rest = get_parser(program).parse_known_args(words[:cut])
    rest += words[cut + 1 :]
    if reason := refusal(options.program, options.is_module):
        print(f"{program}: {reason}", file=sys.stderr)
        return 2
    path = options.program if options.is_module else os.path.abspath(options.program)
    try:
        if options.address:
            _ray().init(address=options.address)
        run(
            _program,
            options.workers,
            options.max_restarts,
            args=(path, rest, options.is_module),
            resources={"CPU": options.cpus_per_worker},
            timeout=options.timeout,
        )
    except ValueError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except (DistError, ModuleNotFoundError, ConnectionError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
