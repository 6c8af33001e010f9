"""Start of worker processes, and the configuration that is sent to them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import socket
import time
from multiprocessing import context as spawning
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from . import interrupts, main_program, spool, worker
from .arena import Arena, Descriptor
from .worker import WorkerConfig

__all__ = ["Launched", "launch", "prepare", "stop"]

GRACE = 5.0  # seconds in which workers that have nothing to do end by themselves
ABRUPT = 0.3  # the same where an epoch was broken off


class Launched:
    """Worker processes and this side's ends of their pipes."""

    def __init__(self, processes: list[Any], connections: list[Connection]) -> None:
        self.processes, self.connections = processes, connections


def launch(config: WorkerConfig, arena: Arena, context: Any) -> Launched:
    """Starts the workers of a loader.

    Raises what pickling the configuration raises where `context` starts processes that must be sent everything.

    Args:
        config: the configuration of the workers.
        arena: the memory that workers share with the program.
        context: how processes are started.
    """
    method, sent = _method(config, context)
    forked = method.get_start_method() == "fork"
    state = None if forked else _program_state(config)
    started = Launched([], [])
    try:
        for worker_id in range(config.num_workers):
            ours, theirs = method.Pipe()
            started.connections.append(ours)
            start = worker_id * arena.share
            inherited = tuple(started.connections) if forked else ()
            arguments = (sent, worker_id, theirs, arena.descriptor, start, arena.share, inherited, state)
            process = method.Process(target=worker.run, args=arguments, daemon=True)
            with interrupts.held(forked):
                process.start()
                theirs.close()
                started.processes.append(process)
    except BaseException:
        stop(started, ABRUPT)
        raise
    finally:
        arena.descriptor.close()
        if isinstance(sent, Descriptor):
            sent.close()
    return started


def stop(workers: Launched, grace: float) -> None:
    """Ends workers: those that wait for a request end at once, the others are killed after `grace` seconds."""
    for connection in workers.connections:
        _hang_up(connection)
    _join(workers.processes, grace)
    for process in workers.processes:
        if process.is_alive():
            process.terminate()
    _join(workers.processes, ABRUPT)
    for process in workers.processes:
        if process.is_alive():
            process.kill()
        process.join()
        process.close()


def _hang_up(connection: Connection) -> None:
    """Ends a pipe for good, also where another forked process has a copy of this end."""
    with socket.socket(fileno=os.dup(connection.fileno())) as pipe, contextlib.suppress(OSError):
        pipe.shutdown(socket.SHUT_RDWR)
    connection.close()


def _join(processes: list[Any], seconds: float) -> None:
    end = time.monotonic() + seconds
    for process in processes:
        process.join(max(end - time.monotonic(), 0))


def prepare(context: Any, *needed: Any) -> None:
    """Starts the fork server in advance where it may be wanted, as it needs a moment to load what workers need.

    That is this package, what the main program imports, and the modules of the objects in `needed`.
    """
    if multiprocessing.current_process().name != "MainProcess":  # a worker that is importing the main program
        return
    method = default_method() if context is None else context.get_start_method()
    if method == "forkserver" and (context is not None or main_program.can_be_imported()):
        _fork_server().start([getattr(thing, "__module__", "__main__") for thing in needed])


def default_method() -> str:
    """How processes start unless the loader says so: as those of `multiprocessing` do.

    On Linux that is "fork" below Python 3.14 and "forkserver" from there on, unless the program has set something else.
    """
    return multiprocessing.get_start_method(allow_none=True) or platform_method()


def platform_method() -> str:
    """How processes start on this system unless the program says so."""
    return multiprocessing.get_all_start_methods()[0]


def _program_state(config: WorkerConfig) -> Any:
    from .program_state import ProgramState  # forked workers do without

    return ProgramState.current(config.dataset, config.collate_fn, config.worker_init_fn)


def _fork_server() -> Any:
    """The module, which needs what only some systems have."""
    from . import fork_server

    return fork_server


def _method(config: WorkerConfig, context: Any) -> tuple[Any, Any]:
    """The context to start processes with, and the configuration in the form in which they get it."""
    chosen = multiprocessing.get_context(default_method()) if context is None else context
    method = chosen.get_start_method()
    if method == "fork":
        return chosen, config
    if method == "spawn":
        return chosen, _sent(config)
    if context is not None or not may_fork():
        return _fork_server().CONTEXT, _sent(config)
    if main_program.can_be_imported():
        try:
            sent = _sent(config)
            if sent is not config or _goes_along(config):
                return _fork_server().CONTEXT, sent
        except Exception:  # whatever pickling a program's objects may raise
            pass
    return multiprocessing.get_context("fork"), config


def may_fork() -> bool:
    """Whether workers are forked where fresh processes can't have what they need: not if the program says otherwise."""
    return default_method() == platform_method() == "forkserver"


class _Trial:
    """Stands for a process that is being started, to which descriptors would go."""

    def duplicate_for_child(self, fd: int) -> int:
        return fd


def _goes_along(config: WorkerConfig) -> bool:
    """Whether what can only go along with a process, such as a queue, may go along with a fresh one: not if it was made
    for forked ones, as those of multiprocessing itself are where forking is the default."""
    spawning.set_spawning_popen(_Trial())  # type: ignore[arg-type]  # all that pickling asks of it
    try:
        ForkingPickler.dumps(config)
    except RuntimeError:
        return False
    finally:
        spawning.set_spawning_popen(None)
    return True


def _sent(config: WorkerConfig) -> Any:
    """The configuration pickled once for all workers; itself where it holds what goes along with a process only."""
    try:
        descriptor, pickled = spool.write(config)
    except RuntimeError as error:
        if "inheritance" not in str(error):
            raise
        return config
    if not main_program.is_a_file() and b"__main__" in pickled:
        descriptor.close()
        raise pickle.PicklingError(
            "the dataset or a function of the DataLoader is defined in a main program that is no file, where "
            "another process does not find it: put it into a module, or use multiprocessing_context='fork'"
        )
    return descriptor
