"""How worker processes are started, and what they are told at the start."""

from __future__ import annotations

import ast
import contextlib
import functools
import multiprocessing
import os
import pickle
import socket
import sys
import time
from collections.abc import Sequence
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

from . import spool, worker
from .arena import Arena, Descriptor
from .worker import Job

__all__ = ["Launched", "launch", "prepare", "stop"]

GRACE = 5.0  # seconds in which workers that have nothing to do end by themselves
ABRUPT = 0.3  # the same where an epoch was broken off
_PRELOADED = "tl_data.worker"


class Launched:
    """Worker processes and this side's ends of their pipes."""

    def __init__(self, processes: list[Any], connections: list[Connection]) -> None:
        self.processes, self.connections = processes, connections


def launch(job: Job, arena: Arena, context: Any) -> Launched:
    """Starts the workers of a job.

    Raises what pickling the job raises where `context` starts processes that must be sent everything.
    """
    method, sent = _method(job, context)
    started = Launched([], [])
    try:
        for worker_id in range(job.num_workers):
            ours, theirs = method.Pipe()
            started.connections.append(ours)
            start = worker_id * arena.share
            inherited = tuple(started.connections) if method.get_start_method() == "fork" else ()
            arguments = (sent, worker_id, theirs, arena.descriptor, start, arena.share, inherited)
            process = method.Process(target=worker.run, args=arguments, daemon=True)
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
    """Ends workers: those that wait for a question end at once, the others are killed after `grace` seconds."""
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
    server = "forkserver" in multiprocessing.get_all_start_methods()
    wanted = context is None and main_can_be_imported()
    if server and (wanted or getattr(context, "_name", "") == "forkserver"):
        _start_server([getattr(thing, "__module__", "__main__") for thing in needed])


_server_started = False


def _start_server(modules: Sequence[str] = ()) -> Any:
    global _server_started
    context = multiprocessing.get_context("forkserver")
    if not _server_started:
        preloaded = getattr(forkserver._forkserver, "_preload_modules", None)
        if preloaded == ["__main__"]:  # as it is until a program says what it wants
            wanted = dict.fromkeys([_PRELOADED, *modules, *_imported_by_main()])
            context.set_forkserver_preload([name for name in wanted if name in sys.modules])
        forkserver.ensure_running()
        _server_started = True
    return context


def _imported_by_main() -> list[str]:
    """The modules that the main program imports, which each worker would have to load by itself."""
    names: list[str] = []
    for node in _source_of_main():
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return names


def _method(job: Job, context: Any) -> tuple[Any, Any]:
    """The context to start processes with, and the job in the form in which they get it."""
    if context is not None:
        if context.get_start_method() == "fork":
            return context, job
        if context.get_start_method() == "forkserver":
            _start_server()
        return context, _sent(job)
    methods = multiprocessing.get_all_start_methods()
    can_fork = "fork" in methods
    if "forkserver" in methods and (main_can_be_imported() or not can_fork):
        try:
            sent = _sent(job)
            return _start_server(), sent
        except Exception:  # whatever pickling a program's objects may raise
            if not can_fork:
                raise
    return multiprocessing.get_context("fork" if can_fork else "spawn"), job


def _sent(job: Job) -> Any:
    """The job pickled once for all workers; itself where it holds what goes along with a process only."""
    try:
        descriptor, pickled = spool.write(job)
    except RuntimeError as error:
        if "inheritance" not in str(error):
            raise
        return job
    if not main_is_a_file() and b"__main__" in pickled:
        descriptor.close()
        raise pickle.PicklingError(
            "the dataset or a function of the DataLoader is defined in a main program that is no file, where "
            "another process does not find it: put it into a module, or use multiprocessing_context='fork'"
        )
    return descriptor


def main_is_a_file() -> bool:
    """Whether other processes can import the main program."""
    main = sys.modules["__main__"]
    return getattr(main, "__spec__", None) is not None or os.path.exists(
        getattr(main, "__file__", None) or ""
    )


def main_can_be_imported() -> bool:
    """Whether the main program may be run a second time, under another name, as starting a process does.

    That is so where it asks for its `__name__` before it acts, and where it is no file, as it is then not run.
    """
    if getattr(sys.modules["__main__"], "__file__", None) is None:
        return True
    tests = [node.test for node in _source_of_main() if isinstance(node, ast.If)]
    return any(isinstance(n, ast.Name) and n.id == "__name__" for test in tests for n in ast.walk(test))


def _source_of_main() -> list[ast.stmt]:
    """The statements of the main program; none if it is no file of Python."""
    return _statements(getattr(sys.modules["__main__"], "__file__", None) or "")


@functools.cache
def _statements(path: str) -> list[ast.stmt]:
    with contextlib.suppress(OSError, SyntaxError, ValueError), open(path, "rb") as file:
        return ast.parse(file.read()).body
    return []
