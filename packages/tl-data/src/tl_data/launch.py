"""Start of worker processes, and the pickled configuration for them."""

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

GRACE = 5.0  # seconds in which idle workers end by themselves
ABRUPT = 0.3  # seconds after an epoch was abandoned


class Launched:
    """Worker processes and the program's ends of their pipes."""

    def __init__(self, processes: list[Any], connections: list[Connection]) -> None:
        self.processes, self.connections = processes, connections


def launch(config: WorkerConfig, arena: Arena, context: Any) -> Launched:
    """Starts the workers of a loader.

    Raises the errors of pickling the configuration if `context` starts fresh processes.

    Args:
        config: the configuration of the workers.
        arena: the memory that workers share with the program.
        context: the context of `multiprocessing` that starts processes; None for the default.
    """
    method, payload = _method(config, context)
    forked = method.get_start_method() == "fork"
    state = None if forked else _program_state(config)
    started = Launched([], [])
    try:
        for worker_id in range(config.num_workers):
            parent_end, child_end = method.Pipe()
            started.connections.append(parent_end)
            start = worker_id * arena.share
            inherited = tuple(started.connections) if forked else ()
            arguments = (
                payload,
                worker_id,
                child_end,
                arena.descriptor,
                start,
                arena.share,
                inherited,
                state,
            )
            process = method.Process(target=worker.run, args=arguments, daemon=True)
            with interrupts.hold(forked):
                process.start()
                child_end.close()
                started.processes.append(process)
    except BaseException:
        stop(started, ABRUPT)
        raise
    finally:
        arena.descriptor.close()
        if isinstance(payload, Descriptor):
            payload.close()
    return started


def stop(workers: Launched, grace: float) -> None:
    """Ends workers: idle ones end at once, the others are killed after `grace` seconds."""
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
    """Shuts a pipe down, even if another forked process has a copy of this end."""
    with socket.socket(fileno=os.dup(connection.fileno())) as pipe, contextlib.suppress(OSError):
        pipe.shutdown(socket.SHUT_RDWR)
    connection.close()


def _join(processes: list[Any], seconds: float) -> None:
    end = time.monotonic() + seconds
    for process in processes:
        process.join(max(end - time.monotonic(), 0))


def prepare(context: Any, *needed: Any) -> None:
    """Starts the fork server in advance, so that it imports the workers' modules meanwhile.

    The modules are this package, the imports of the main program, and the modules of the objects in `needed`.
    """
    if multiprocessing.current_process().name != "MainProcess":  # a worker that is importing the main program
        return
    method = default_method() if context is None else context.get_start_method()
    if method == "forkserver" and (context is not None or main_program.can_be_imported()):
        _fork_server().start([getattr(thing, "__module__", "__main__") for thing in needed])


def default_method() -> str:
    """The default start method of workers, which is that of `multiprocessing`.

    On Linux it is "fork" below Python 3.14 and "forkserver" from there on, unless the program has set another.
    """
    return multiprocessing.get_start_method(allow_none=True) or platform_method()


def platform_method() -> str:
    """The default start method of this system."""
    return multiprocessing.get_all_start_methods()[0]


def _program_state(config: WorkerConfig) -> Any:
    from .program_state import ProgramState  # forked workers need no state

    return ProgramState.current(config.dataset, config.collate_fn, config.worker_init_fn)


def _fork_server() -> Any:
    """The module `fork_server`, which not every system can import."""
    from . import fork_server

    return fork_server


def _method(config: WorkerConfig, context: Any) -> tuple[Any, Any]:
    """The context that starts processes, and the configuration as they receive it."""
    process_context = multiprocessing.get_context(default_method()) if context is None else context
    method = process_context.get_start_method()
    if method == "fork":
        return process_context, config
    if method == "spawn":
        return process_context, _pickle_config(config)
    if context is not None or not may_fork():
        return _fork_server().CONTEXT, _pickle_config(config)
    if main_program.can_be_imported():
        try:
            payload = _pickle_config(config)
            if payload is not config or _goes_along(config):
                return _fork_server().CONTEXT, payload
        except Exception:  # any error of pickling a program's objects
            pass
    return multiprocessing.get_context("fork"), config


def may_fork() -> bool:
    """Whether workers may be forked if fresh processes can't load the dataset: not if the program set a method."""
    return default_method() == platform_method() == "forkserver"


class _Trial:
    """Stand-in for a process in its start, to which pickling would send descriptors."""

    def duplicate_for_child(self, fd: int) -> int:
        return fd


def _goes_along(config: WorkerConfig) -> bool:
    """Whether a fresh process can inherit the objects of a configuration that only inheritance transfers, as a queue.

    Objects made for forked processes can't, such as the queues of multiprocessing where forking is the default.
    """
    spawning.set_spawning_popen(_Trial())  # type: ignore[arg-type]  # the one method that pickling calls
    try:
        ForkingPickler.dumps(config)
    except RuntimeError:
        return False
    finally:
        spawning.set_spawning_popen(None)
    return True


def _pickle_config(config: WorkerConfig) -> Any:
    """The configuration pickled once for all workers; unchanged if it has objects that only inheritance transfers."""
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
