"""The agent of a machine: agrees with the others, starts its workers, and starts them again when one fails."""

from __future__ import annotations

import enum
import logging
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....base.errors import DistError
from ....stores.store import Store
from ...multiprocessing.api import SignalException, signals_raise
from ...multiprocessing.errors import ProcessFailure
from ...rendezvous.api import RendezvousConnectionError, RendezvousGracefulExitError, RendezvousHandler
from ...rendezvous.dynamic_rendezvous import DynamicRendezvousHandler
from ...rendezvous.state import ANOTHER_WAITS

_log = logging.getLogger(__name__)
DEFAULT_ROLE = "default"


@dataclass
class WorkerSpec:
    """The workers of a machine, and their start.

    Args:
        role: what they are called.
        local_world_size: how many.
        rdzv_handler: how agents agree.
        fn: the older name of `entrypoint`.
        entrypoint: a function or a program.
        args: its arguments.
        max_restarts: how often the job may start again.
        monitor_interval: seconds between looks for other agents; the own workers are watched all the time.
        master_port: the port where workers meet, instead of the agents' store's.
        master_addr: its address.
        local_addr: this machine's address.
        event_log_handler: the kind of handler for events.
        numa_options: not there yet.
        duplicate_stdout_filters: not there yet.
        duplicate_stderr_filters: not there yet.
        virtual_local_rank: whether every worker has LOCAL_RANK 0 and sees its own device alone.

    Example:
        >>> spec = WorkerSpec("trainer", 2, None, entrypoint="train.py", args=("--epochs", "3"))
        >>> spec.role, spec.local_world_size, spec.max_restarts
        ('trainer', 2, 3)
    """

    role: str
    local_world_size: int
    rdzv_handler: RendezvousHandler
    fn: Callable[..., Any] | None = None
    entrypoint: Callable[..., Any] | str | None = None
    args: tuple[Any, ...] = ()
    max_restarts: int = 3
    monitor_interval: float = 0.1
    master_port: int | None = None
    master_addr: str | None = None
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: object | None = None
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False

    def __post_init__(self) -> None:
        if self.local_world_size < 1:
            raise ValueError(f"WorkerSpec: local_world_size must be positive, got {self.local_world_size}")
        if not self.monitor_interval > 0:
            raise ValueError(f"WorkerSpec: monitor_interval must be positive, got {self.monitor_interval}")
        self.entrypoint = self.entrypoint or self.fn
        if not self.entrypoint:
            raise ValueError("WorkerSpec: entrypoint must be a function or a program, got None")

    def get_entrypoint_name(self) -> str:
        """The function's name, or the program."""
        name = getattr(self.entrypoint, "__qualname__", None)
        return str(name or self.entrypoint)


class WorkerState(enum.Enum):
    """The state of an agent's workers.

    Example:
        >>> WorkerState.is_running(WorkerState.HEALTHY)
        True
    """

    UNKNOWN = "UNKNOWN"
    INIT = "INIT"
    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @staticmethod
    def is_running(state: WorkerState) -> bool:
        """True if workers run.

        Example:
            >>> WorkerState.is_running(WorkerState.HEALTHY)
            True
        """
        return state in (WorkerState.HEALTHY, WorkerState.UNHEALTHY)


class Worker:
    """One worker and its numbers.

    Args:
        local_rank: on this machine.
        global_rank: in the job.
        role_rank: among workers of its role.
        world_size: workers of the job.
        role_world_size: workers of its role.

    Example:
        >>> Worker(local_rank=1, global_rank=5).global_rank
        5
    """

    def __init__(
        self,
        local_rank: int,
        global_rank: int = -1,
        role_rank: int = -1,
        world_size: int = -1,
        role_world_size: int = -1,
    ):
        self.id: Any = None
        self.local_rank = local_rank
        self.global_rank = global_rank
        self.role_rank = role_rank
        self.world_size = world_size
        self.role_world_size = role_world_size

    def __repr__(self) -> str:
        return f"Worker(local_rank={self.local_rank}, global_rank={self.global_rank}, world_size={self.world_size})"


class WorkerGroup:
    """The workers of an agent.

    Args:
        spec: what they are.

    Example:
        >>> workers = WorkerGroup(WorkerSpec("trainer", 2, None, entrypoint="train.py"))
        >>> len(workers.workers), workers.state.name
        (2, 'INIT')
    """

    def __init__(self, spec: WorkerSpec):
        self.spec = spec
        self.workers = [Worker(rank) for rank in range(spec.local_world_size)]
        self.store: Store | None = None
        self.group_rank: int | None = None
        self.group_world_size: int | None = None
        self.master_addr: str | None = None
        self.master_port: int | None = None
        self.state = WorkerState.INIT


@dataclass
class RunResult:
    """The results of the workers, by global rank.

    Args:
        state: what became of all of them.
        return_values: what functions returned, by global rank.
        failures: what failed, by global rank.

    Example:
        >>> RunResult(WorkerState.SUCCEEDED, return_values={0: 7}).is_failed()
        False
    """

    state: WorkerState
    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """True if the job failed."""
        return self.state == WorkerState.FAILED


class ElasticAgent(ABC):
    """The process of a machine that watches its workers.

    Example:
        >>> issubclass(SimpleElasticAgent, ElasticAgent)
        True
    """

    @abstractmethod
    def run(self, role: str = DEFAULT_ROLE) -> RunResult:
        """Runs the workers until they are done or can't be started again."""

    @abstractmethod
    def get_worker_group(self, role: str = DEFAULT_ROLE) -> WorkerGroup:
        """The workers."""


class SimpleElasticAgent(ElasticAgent):
    """An agent with workers of one role; a subclass says how they are started, watched and ended.

    Args:
        spec: what workers.
        exit_barrier_timeout: how many seconds to wait for other agents at the end.
        shutdown_timeout: how long workers that are told to end may take.
        signals: the signals that end the agent and its workers; those of `signals_raise` by default.

    Example:
        >>> from tl_distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
        >>> issubclass(LocalElasticAgent, SimpleElasticAgent)
        True
    """

    def __init__(
        self,
        spec: WorkerSpec,
        exit_barrier_timeout: float = 300,
        shutdown_timeout: int = 30,
        signals: Sequence[signal.Signals] | None = None,
    ):
        self._worker_group = WorkerGroup(spec)
        self._exit_barrier_timeout = exit_barrier_timeout
        self._shutdown_timeout = shutdown_timeout
        self._signals = signals
        self._restarts = 0
        self._attempt = 0

    def get_worker_group(self, role: str = DEFAULT_ROLE) -> WorkerGroup:
        return self._worker_group

    @abstractmethod
    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        """Starts the workers; returns what names them, by local rank."""

    @abstractmethod
    def _stop_workers(self, worker_group: WorkerGroup) -> None:
        """Ends the workers."""

    @abstractmethod
    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        """Waits for a worker's end, for `monitor_interval` at most, and says where they stand."""

    @abstractmethod
    def _shutdown(self, death_sig: signal.Signals = signal.SIGTERM, timeout: int = 30) -> None:
        """Ends the workers and all that the agent holds."""

    def _rendezvous(self, worker_group: WorkerGroup) -> None:
        """Agrees with the other agents, and numbers the workers."""
        spec = worker_group.spec
        info = spec.rdzv_handler.next_rendezvous()
        if isinstance(spec.rdzv_handler, DynamicRendezvousHandler):
            self._restarts = spec.rdzv_handler.failures  # of the job, whichever agent saw them
            self._attempt = spec.rdzv_handler.round
        where = info.bootstrap_store_info
        worker_group.store = info.store
        worker_group.group_rank, worker_group.group_world_size = info.rank, info.world_size
        worker_group.master_addr = spec.master_addr or where.master_addr
        worker_group.master_port = spec.master_port or where.master_port
        worker_group.workers = self._assign_worker_ranks(info.store, info.rank, info.world_size, spec)

    def _assign_worker_ranks(
        self, store: Store, group_rank: int, group_world_size: int, spec: WorkerSpec
    ) -> list[Worker]:
        """Numbers the workers: those of the agent with rank 0 come first; within a role likewise."""
        store.set(f"workers/{group_rank}", f"{spec.local_world_size} {spec.role}")
        entries = store.multi_get([f"workers/{rank}" for rank in range(group_world_size)])
        pairs = [each.decode().split(" ", 1) for each in entries]
        sizes = [(int(size), role) for size, role in pairs]
        before = sizes[:group_rank]
        first = sum(size for size, _ in before)
        first_of_role = sum(size for size, role in before if role == spec.role)
        total = sum(size for size, _ in sizes)
        total_of_role = sum(size for size, role in sizes if role == spec.role)
        return [
            Worker(rank, first + rank, first_of_role + rank, total, total_of_role)
            for rank in range(spec.local_world_size)
        ]

    def _initialize_workers(self, worker_group: WorkerGroup) -> None:
        """Agrees with the other agents and starts the workers."""
        self._rendezvous(worker_group)
        names = self._start_workers(worker_group)
        for worker in worker_group.workers:
            worker.id = names[worker.local_rank]
        worker_group.state = WorkerState.HEALTHY

    def _restart_workers(self, worker_group: WorkerGroup) -> None:
        """Ends the workers, and starts again with what the agents agree on then."""
        self._stop_workers(worker_group)
        worker_group.state = WorkerState.STOPPED
        self._initialize_workers(worker_group)

    def run(self, role: str = DEFAULT_ROLE) -> RunResult:
        handler = self._worker_group.spec.rdzv_handler
        has_ended = False
        try:
            with signals_raise() if self._signals is None else signals_raise(self._signals):
                result = self._run_until_end()
                has_ended = True
        except RendezvousGracefulExitError:
            result = RunResult(WorkerState.SUCCEEDED)
        except SignalException as error:
            # The job isn't over: others go on without this agent, or another one takes its place.
            self._tell_others(f"an agent got {error.sigval.name}")
            self._shutdown(error.sigval, self._shutdown_timeout)
            raise
        finally:
            if not has_ended:
                self._shutdown(timeout=self._shutdown_timeout)
                if self._rounds is not None:
                    self._rounds.leave()
        handler.shutdown()
        return result

    def _run_until_end(self) -> RunResult:
        group = self._worker_group
        self._initialize_workers(group)
        while True:
            result = self._monitor_workers(group)
            group.state = result.state
            if result.state == WorkerState.FAILED:
                self._say_failed(result)
            elif result.state == WorkerState.SUCCEEDED:
                if self._exit_barrier():
                    return result
            elif not self._others_ended():
                self._let_in()
                continue
            if not self._only_joins():
                if self._restarts >= group.spec.max_restarts:
                    self._stop_workers(group)
                    self._exit_barrier()
                    return RunResult(WorkerState.FAILED, failures=result.failures)
                _log.warning("restart %d of %d", self._restarts + 1, group.spec.max_restarts)
            self._begin_again(group)

    def _say_failed(self, result: RunResult) -> None:
        for rank, failure in result.failures.items():
            _log.error("rank %d (pid %d) failed: %s", rank, failure.pid, _ending(failure))
        self._tell_others("a worker failed", self._restarts >= self._worker_group.spec.max_restarts)

    def _begin_again(self, group: WorkerGroup) -> None:
        self._restarts += 1
        self._attempt += 1
        self._restart_workers(group)

    @property
    def _rounds(self) -> DynamicRendezvousHandler | None:
        """The handler, if other agents may end a round."""
        handler = self._worker_group.spec.rdzv_handler
        return handler if isinstance(handler, DynamicRendezvousHandler) else None

    def _only_joins(self) -> bool:
        """True if the round was ended for an agent that waits, rather than by a failure."""
        try:
            return self._rounds is not None and self._rounds.why_over() == ANOTHER_WAITS
        except RendezvousConnectionError as error:
            _log.warning("the other agents can't be asked: %s", error)
            return False

    def _tell_others(self, why: str, job_is_over: bool = False) -> None:
        if self._rounds is not None and self._worker_group.store is not None:
            try:
                self._rounds.end_round(why)
                if job_is_over:
                    self._rounds.set_closed()
            except RendezvousConnectionError as error:
                _log.warning("the other agents can't be told: %s", error)

    def _others_ended(self) -> bool:
        """True if another agent has ended the round; nobody is asked where no other agent can come."""
        rounds = self._rounds
        if rounds is None or rounds.settings.max_nodes == 1:
            return False
        why = rounds.why_over()
        if why:
            _log.warning("the agents begin again: %s", why)
            return True
        return False

    def _let_in(self) -> None:
        """Ends the round if another agent waits; the first agent does so for all."""
        rounds = self._rounds
        if rounds is None or rounds.settings.max_nodes == 1 or self._worker_group.group_rank != 0:
            return
        if rounds.num_nodes_waiting():
            rounds.end_round(ANOTHER_WAITS)

    def _agents_of_round(self) -> int:
        """The number of agents that are alive."""
        size = self._worker_group.group_world_size
        assert size is not None
        return size if self._rounds is None else self._rounds.num_nodes_left()

    def _exit_barrier(self) -> bool:
        """Waits for the other agents, so that the store is there until all have ended.

        Returns:
            False if another agent's workers failed meanwhile, and the job begins again.
        """
        group = self._worker_group
        assert group.store is not None and group.group_world_size is not None
        if group.group_world_size == 1:
            return True
        succeeded = group.state == WorkerState.SUCCEEDED
        end = time.monotonic() + self._exit_barrier_timeout
        try:
            group.store.add("exited", 1)
            # No wait in the store, which this agent's beats need too.
            while group.store.add("exited", 0) < self._agents_of_round():
                if time.monotonic() > end:
                    _log.warning("not all agents came to the end within %g s", self._exit_barrier_timeout)
                    return True
                if succeeded and self._others_ended():
                    return False
                time.sleep(0.02)
            if group.group_rank == 0:  # it may hold the store, and goes last
                time.sleep(0.2)
        except (DistError, RendezvousConnectionError) as error:
            _log.warning("not all agents came to the end: %s", error)
        return True


def _ending(failure: ProcessFailure) -> str:
    return failure.signal_name() if failure.exitcode < 0 else f"exit status {failure.exitcode}"
