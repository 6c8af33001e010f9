"""The agent that starts its workers on its own machine."""

from __future__ import annotations

import logging
import os
import signal
import string
import time
from collections.abc import Sequence
from typing import Any

from .... import report
from ...multiprocessing import start_processes
from ...multiprocessing.api import PContext
from ...multiprocessing.logs import LogsSpecs
from ...utils import macros
from .api import DEFAULT_ROLE, RunResult, SimpleElasticAgent, Worker, WorkerGroup, WorkerSpec, WorkerState
from .health_check_server import HealthCheckServer, create_healthcheck_server

_log = logging.getLogger(__name__)


class LocalElasticAgent(SimpleElasticAgent):
    """Starts its workers on its own machine, as programs or functions.

    Args:
        spec: what workers.
        logs_specs: where their output goes.
        start_method: spawn, fork or forkserver, for functions.
        exit_barrier_timeout: how many seconds to wait for other agents at the end.
        log_line_prefix_template: what stands before lines that the console shows; `${role_name}`, `${rank}` and
            `${local_rank}` are replaced.
        shutdown_timeout: how long workers that are told to end may take.
        health_check_server: is started and stopped with the agent; one on the port TORCHELASTIC_HEALTH_CHECK_PORT
            otherwise, if that is set.
        uninterruptible_state_timeout: kept for callers; SIGKILL ends such a worker when the kernel lets it.
        signals: the signals that end the agent and its workers; those of `signals_raise` by default.

    Example:
        >>> LocalElasticAgent(spec, logs_specs).run()  # doctest: +SKIP
    """

    def __init__(
        self,
        spec: WorkerSpec,
        logs_specs: LogsSpecs,
        start_method: str = "spawn",
        exit_barrier_timeout: float = 300,
        log_line_prefix_template: str | None = None,
        shutdown_timeout: int = 30,
        health_check_server: HealthCheckServer | None = None,
        uninterruptible_state_timeout: int = 30,
        signals: Sequence[signal.Signals] | None = None,
    ):
        super().__init__(spec, exit_barrier_timeout, shutdown_timeout, signals)
        self._alive_at = int(time.time())
        self._health = health_check_server
        self._logs_specs = logs_specs
        self._start_method = start_method
        self._template = log_line_prefix_template or "[${role_name}${rank}]:"
        self._context: PContext | None = None

    def run(self, role: str = DEFAULT_ROLE) -> RunResult:
        port = os.environ.get("TORCHELASTIC_HEALTH_CHECK_PORT")
        if self._health is None and port:
            timeout = int(os.environ.get("TORCHELASTIC_HEALTH_CHECK_TIMEOUT", "60"))
            self._health = create_healthcheck_server(lambda: self._alive_at, int(port), timeout)
        if self._health is None:
            return super().run(role)
        self._health.start()
        try:
            return super().run(role)
        finally:
            self._health.stop()

    def _environment(self, group: WorkerGroup, worker: Worker) -> dict[str, str]:
        spec = group.spec
        numbers = {
            "LOCAL_RANK": worker.local_rank,
            "RANK": worker.global_rank,
            "GROUP_RANK": group.group_rank,
            "ROLE_RANK": worker.role_rank,
            "LOCAL_WORLD_SIZE": spec.local_world_size,
            "WORLD_SIZE": worker.world_size,
            "GROUP_WORLD_SIZE": group.group_world_size,
            "ROLE_WORLD_SIZE": worker.role_world_size,
            "MASTER_PORT": group.master_port,
            "TORCHELASTIC_RESTART_COUNT": self._attempt,
            "TORCHELASTIC_MAX_RESTARTS": spec.max_restarts,
        }
        shared = spec.rdzv_handler.use_agent_store and spec.master_port is None
        variables = {name: str(value) for name, value in numbers.items()}
        variables |= {
            "ROLE_NAME": spec.role,
            "MASTER_ADDR": str(group.master_addr),
            "TORCHELASTIC_USE_AGENT_STORE": str(shared),
            "TORCHELASTIC_RUN_ID": spec.rdzv_handler.get_run_id(),
        }
        if spec.virtual_local_rank:
            devices = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
            own = devices[worker.local_rank] if worker.local_rank < len(devices) else ""
            variables |= {"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": own or str(worker.local_rank)}
        if "OMP_NUM_THREADS" in os.environ:
            variables["OMP_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"]
        elif spec.local_world_size > 1:
            variables["OMP_NUM_THREADS"] = "1"
        return variables

    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        spec = worker_group.spec
        args, envs, prefixes = {}, {}, {}
        for worker in worker_group.workers:
            rank, env = worker.local_rank, self._environment(worker_group, worker)
            envs[rank] = env
            names = {"role_name": spec.role, "rank": env["RANK"], "local_rank": env["LOCAL_RANK"]}
            prefixes[rank] = string.Template(self._template).safe_substitute(names)
            args[rank] = tuple(macros.substitute(list(spec.args), str(rank)))
        assert spec.entrypoint is not None
        self._context = start_processes(
            spec.role,
            spec.entrypoint,
            args,
            envs,
            self._logs_specs,
            prefixes,
            self._start_method,
            spec.numa_options,
            spec.duplicate_stdout_filters,
            spec.duplicate_stderr_filters,
        )
        return self._context.pids()

    def _stop_workers(self, worker_group: WorkerGroup) -> None:
        self._shutdown(timeout=self._shutdown_timeout)

    def _shutdown(self, death_sig: signal.Signals = signal.SIGTERM, timeout: int = 30) -> None:
        if self._context is not None:
            self._context.close(death_sig, timeout)

    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        assert self._context is not None
        self._alive_at = int(time.time())
        result = self._context.wait(worker_group.spec.monitor_interval)
        if result is None:
            return RunResult(WorkerState.HEALTHY)
        ranks = {worker.local_rank: worker.global_rank for worker in worker_group.workers}
        if result.is_failed():
            for line in report.of_files(self._context.recorders.files()):
                _log.error("%s", line)
            failures = {ranks[rank]: failure for rank, failure in result.failures.items()}
            return RunResult(WorkerState.FAILED, failures=failures)
        values = {ranks[rank]: value for rank, value in result.return_values.items()}
        return RunResult(WorkerState.SUCCEEDED, return_values=values)
