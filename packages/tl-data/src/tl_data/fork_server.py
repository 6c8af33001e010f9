"""The process that workers are forked from.

It is a fork server of multiprocessing, apart from the server of the program's own processes: those must receive
interrupts, workers must not, not even while they import modules.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Sequence
from multiprocessing import context, forkserver, popen_forkserver, reduction, spawn, util
from typing import Any

from . import interrupts, main_program
from .program_state import Environment

__all__ = ["CONTEXT", "start"]

_PRELOADED = "tl_data.worker"
first: list[str] = []  # modules that the server loads before those of the program


def start(modules: Sequence[str] = ()) -> forkserver.ForkServer:
    """The running server. It imports the modules of workers, and those of `modules` that this process has imported."""
    server = _server(os.getpid())
    if server._forkserver_pid is None:  # type: ignore[attr-defined]
        server.set_forkserver_preload(_modules_to_preload(modules))
    with interrupts.hold():
        server.ensure_running()
    return server


@functools.lru_cache(1)
def _server(pid: int) -> forkserver.ForkServer:
    """The server of a process: a forked copy of the program can't reach its parent's."""
    return forkserver.ForkServer()


def _modules_to_preload(modules: Sequence[str]) -> list[str]:
    preload: list[str] = getattr(forkserver._forkserver, "_preload_modules", ["__main__"])
    if preload == ["__main__"]:  # the default until a program sets it
        names = [_PRELOADED, *modules, *main_program.imports()]
        return [*first, *(name for name in dict.fromkeys(names) if name in sys.modules)]
    return [*first, _PRELOADED, *preload]


class _Start(popen_forkserver.Popen):
    """A process that this server starts."""

    def _launch(self, process_obj: Any) -> None:
        buffer = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            # The environment comes with what is read first, before the main program's module is loaded.
            preparation = {**spawn.get_preparation_data(process_obj.name), "environment": Environment()}
            for thing in (preparation, process_obj):
                reduction.dump(thing, buffer)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, pipe = start().connect_to_new_process(self._fds)  # type: ignore[attr-defined]
        with open(pipe, "wb") as file:
            # The worker takes the pipe's end for this process's: it stays open as long as the process is known here.
            self.finalizer = util.Finalize(self, _close, (os.dup(pipe), self.sentinel))
            file.write(buffer.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class _Worker(context.ForkServerProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> _Start:
        return _Start(process_obj)


class _Context(context.ForkServerContext):
    Process = _Worker


CONTEXT = _Context()
