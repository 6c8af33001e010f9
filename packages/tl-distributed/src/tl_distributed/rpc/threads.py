"""Threads that take turns to wait for connections, each of which then does what came.

The thread that has the turn waits for all connections. When a message is there, the thread reads it, gives the turn to
the next thread and runs the call. So a message passes through no queue. A message that isn't there as a whole is read
without the turn, so a slow connection delays no other one. A connection is watched for one event at a time.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from functools import partial

_ONCE = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLONESHOT
_MOST_IDLE = 8

Job = Callable[[], None]


class Turn:
    """The turn of a thread, which it gives away once.

    Args:
        threads: those that take turns.
    """

    __slots__ = ("_is_held", "_threads")

    def __init__(self, threads: Threads):
        self._threads = threads
        self._is_held = True

    def release(self) -> None:
        """Gives the turn to the next thread."""
        if self._is_held:
            self._is_held = False
            self._threads._pass_turn()


Event = Callable[[Turn], None]


def _run_without_turn(job: Job, turn: Turn) -> None:
    turn.release()
    job()


class Threads:
    """The threads of an agent.

    Args:
        name: of the threads.
        prepare: called in each thread first.
    """

    def __init__(self, name: str, prepare: Callable[[], None]):
        self._name, self._prepare = name, prepare
        self._epoll = select.epoll()
        self._turn = threading.Lock()
        self._count = threading.Lock()
        self._idle = 0
        self._number = 0
        self._events: dict[int, Event] = {}
        self._queue: deque[Job] = deque()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._bell, select.EPOLLIN)
        self._threads: list[threading.Thread] = []
        self._is_over = False

    def start(self) -> None:
        """Starts the first thread."""
        self._add_thread()

    def watch(self, descriptor: int, event: Event) -> None:
        """Calls a function once when a descriptor can be read.

        Args:
            descriptor: the descriptor.
            event: called with the turn; it may watch the descriptor again.
        """
        is_new = descriptor not in self._events
        self._events[descriptor] = event
        if is_new:
            self._epoll.register(descriptor, _ONCE)
        else:
            self._epoll.modify(descriptor, _ONCE)

    def pause(self, descriptor: int) -> None:
        """Stops the watch of a descriptor until it is resumed."""
        self._epoll.modify(descriptor, 0)

    def resume(self, descriptor: int) -> None:
        """Goes on with the watch of a descriptor."""
        self._epoll.modify(descriptor, _ONCE)

    def forget(self, descriptor: int) -> None:
        """Ends the watch of a descriptor, before it is closed."""
        if self._events.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def submit(self, job: Job) -> None:
        """Calls a job in one of the threads; safe in a finalizer."""
        self._queue.append(job)
        if not self._is_over:
            os.eventfd_write(self._bell, 1)

    def stop(self) -> None:
        """Ends the threads when they have done what they do; a thread may call it itself."""
        self._is_over = True
        os.eventfd_write(self._bell, 1)

    def join(self, timeout: float) -> None:
        """Waits for the threads after `stop`.

        Args:
            timeout: the seconds that a call that is running may take.
        """
        for thread in list(self._threads):
            if thread is not threading.current_thread():
                thread.join(timeout)
        self._epoll.close()
        os.close(self._bell)

    def _add_thread(self) -> None:
        with self._count:
            self._number += 1
            self._idle += 1
            thread = threading.Thread(target=self._run, name=f"{self._name} {self._number}", daemon=True)
            self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        self._prepare()
        while True:
            self._turn.acquire()
            event = self._next()
            turn = Turn(self)
            if event is None:
                turn.release()
                return
            try:
                event(turn)
            except Exception:
                logging.getLogger(__name__).exception("a thread of remote calls failed")
            turn.release()
            with self._count:
                if self._idle >= _MOST_IDLE:
                    self._threads.remove(threading.current_thread())
                    return
                self._idle += 1

    def _pass_turn(self) -> None:
        with self._count:
            self._idle -= 1
            is_alone = self._idle == 0
        self._turn.release()
        if is_alone and not self._is_over:
            self._add_thread()

    def _next(self) -> Event | None:
        while True:
            if self._queue:
                job = self._queue.popleft()
                return partial(_run_without_turn, job)
            if self._is_over:
                return None
            for descriptor, _ in self._epoll.poll(maxevents=1):
                if descriptor != self._bell:
                    event = self._events.get(descriptor)
                    if event is not None:
                        return event
                elif not self._is_over:
                    os.eventfd_read(self._bell)
