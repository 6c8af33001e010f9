"""Starts a job from a program: `elastic_launch(LaunchConfig(...), function)(arguments)`."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..elastic.agent.server import LocalElasticAgent, WorkerSpec
from ..elastic.events import Event, EventSource, get_logging_handler, record
from ..elastic.multiprocessing import ChildFailedError, DefaultLogsSpecs, LogsSpecs
from ..elastic.multiprocessing.api import signals_named
from ..elastic.rendezvous import RendezvousParameters, get_rendezvous_handler

__all__ = ["AS_TORCH", "LaunchConfig", "elastic_launch", "launch_agent"]

AS_TORCH = ("-m", "tl.torch")  # the interpreter's words before a program that imports torch


@dataclass
class LaunchConfig:
    """The settings of a job's start.

    Args:
        min_nodes: how few agents will do.
        max_nodes: how many there may be.
        nproc_per_node: workers of each agent.
        logs_specs: where output goes; to the console otherwise.
        run_id: the job's name.
        role: what workers are called.
        rdzv_endpoint: `host:port` of the agents' store.
        rdzv_backend: `c10d` or `static`.
        rdzv_configs: further options of it.
        rdzv_timeout: how many seconds to wait for agents; -1 leaves that to `rdzv_configs`.
        max_restarts: how often the job may start again.
        monitor_interval: seconds between looks for other agents.
        start_method: spawn, fork or forkserver, for functions.
        log_line_prefix_template: what stands before lines that the console shows.
        metrics_cfg: kept for callers.
        local_addr: this machine's address.
        event_log_handler: the kind of handler for events.
        signals_to_handle: the signals that end the agent and its workers, with commas between.
        shutdown_timeout: how many seconds workers have to end before SIGKILL.
        virtual_local_rank: whether every worker has LOCAL_RANK 0 and sees its own device alone.

    Example:
        >>> config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=4)
        >>> config.nproc_per_node, config.rdzv_backend
        (4, 'c10d')
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    shutdown_timeout: int = 30
    virtual_local_rank: bool = False

    def __post_init__(self) -> None:
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()


class elastic_launch:
    """Runs a function or a program as the workers of this machine.

    Args:
        config: how.
        entrypoint: a function that can be pickled, or a program.

    Example:
        >>> config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=4)
        >>> losses = elastic_launch(config, train)("data")  # doctest: +SKIP
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None):
        self._config = config
        self._entrypoint = entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        """Runs it; returns what the workers returned, by global rank.

        Raises:
            ChildFailedError: a worker failed, and the job may not start again.
        """
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(
    config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any]
) -> dict[int, Any]:
    """Runs the job of `elastic_launch`.

    Args:
        config: the configuration of the launch.
        entrypoint: the function or program.
        args: its arguments.

    Example:
        >>> losses = launch_agent(config, train, ["data"])  # doctest: +SKIP
    """
    run_id = config.run_id or uuid.uuid4().hex[:8]
    parameters = RendezvousParameters(
        config.rdzv_backend,
        config.rdzv_endpoint,
        run_id,
        config.min_nodes,
        config.max_nodes,
        config.local_addr,
        **config.rdzv_configs,
    )
    handler = get_rendezvous_handler(parameters)
    spec = WorkerSpec(
        role=config.role,
        local_world_size=config.nproc_per_node,
        rdzv_handler=handler,
        entrypoint=entrypoint,
        args=tuple(args),
        max_restarts=config.max_restarts,
        monitor_interval=config.monitor_interval,
        local_addr=config.local_addr,
        event_log_handler=config.event_log_handler,
        virtual_local_rank=config.virtual_local_rank,
    )
    get_logging_handler(config.event_log_handler)  # raises for a name that nobody registered
    assert config.logs_specs is not None
    agent = LocalElasticAgent(
        spec,
        config.logs_specs,
        config.start_method,
        log_line_prefix_template=config.log_line_prefix_template,
        exit_barrier_timeout=float(os.environ.get("TORCHELASTIC_EXIT_BARRIER_TIMEOUT", "300")),
        shutdown_timeout=config.shutdown_timeout,
        signals=signals_named(config.signals_to_handle),
    )
    result = agent.run()
    facts: dict[str, Any] = {"run_id": run_id, "state": result.state.name}
    record(Event("tl.elastic.agent", EventSource.AGENT, metadata=facts), config.event_log_handler)
    if result.is_failed():
        if not result.failures:
            raise RuntimeError(f"job {run_id}: a worker of another machine failed; its agent says more")
        raise ChildFailedError(_name(spec), result.failures)
    return result.return_values


def _name(spec: WorkerSpec) -> str:
    """The name of a failed program: of the script rather than of its interpreter or of the alias of tl."""
    if spec.entrypoint != sys.executable:
        return spec.get_entrypoint_name()
    words = [str(each) for each in spec.args]
    for index, word in enumerate(words):
        if not word.startswith("-") and tuple(words[index - 1 : index + 1]) != AS_TORCH:
            return word
    return sys.executable
