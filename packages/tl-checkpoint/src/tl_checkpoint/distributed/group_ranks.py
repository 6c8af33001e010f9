"""The ranks of a process group, which save or load together; failures travel as values, and are raised on all."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .api import WRAPPED_EXCEPTION, CheckpointException
from .coordinator import Ranks

__all__ = ["Channel", "GroupRanks"]

T = TypeVar("T")
R = TypeVar("R")


class Channel(Protocol):
    """Objects between ranks, one of which decides: what a process group brings."""

    rank: int
    world_size: int
    coordinator: int

    def gather(self, value: Any) -> list[Any] | None:
        """The values of all ranks, on the coordinator."""

    def scatter(self, values: list[Any] | None) -> Any:
        """This rank's of the coordinator's values."""

    def broadcast(self, value: Any) -> Any:
        """The coordinator's value."""

    def all_gather(self, value: Any) -> list[Any]:
        """The values of all ranks."""


class _Failures:
    """What ranks failed with."""

    def __init__(self, of: dict[int, WRAPPED_EXCEPTION]):
        self.of = of


class GroupRanks(Ranks):
    """Ranks that tell each other what they do over a channel.

    Parameters:
        channel : Channel
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.rank = channel.rank
        self.world_size = channel.world_size
        self.is_coordinator = channel.rank == channel.coordinator

    def reduce_scatter(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], list[R]]) -> R:
        outcomes = self._channel.gather(self._outcome(local))
        reduced = None if outcomes is None else self._reduced(outcomes, reduce)
        if isinstance(reduced, _Failures):
            reduced = [reduced] * self.world_size
        return self._checked(step, self._channel.scatter(reduced))

    def all_reduce(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], R]) -> R:
        outcomes = self._channel.gather(self._outcome(local))
        reduced = None if outcomes is None else self._reduced(outcomes, reduce)
        return self._checked(step, self._channel.broadcast(reduced))

    def all_gather(self, step: str, local: Callable[[], T]) -> list[T]:
        outcomes = self._channel.all_gather(self._outcome(local))
        failed = _failures_of(outcomes)
        return outcomes if failed is None else self._checked(step, failed)

    def broadcast(self, step: str, local: Callable[[], T]) -> T:
        outcome = self._outcome(local) if self.is_coordinator else None
        return self._checked(step, self._channel.broadcast(outcome))

    def _outcome(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as error:
            if isinstance(error, CheckpointException):
                return _Failures(error.failures)
            where = traceback.extract_tb(error.__traceback__)
            return _Failures({self.rank: (_that_travels(error), where)})

    def _reduced(self, outcomes: list[Any], reduce: Callable[[list[Any]], Any]) -> Any:
        failed = _failures_of(outcomes)
        return self._outcome(lambda: reduce(outcomes)) if failed is None else failed

    def _checked(self, step: str, outcome: Any) -> Any:
        if isinstance(outcome, _Failures):
            raise CheckpointException(step, outcome.of) from next(iter(outcome.of.values()))[0]
        return outcome


def _failures_of(outcomes: list[Any]) -> _Failures | None:
    failed = {rank: each for o in outcomes if isinstance(o, _Failures) for rank, each in o.of.items()}
    return _Failures(failed) if failed else None


def _that_travels(error: BaseException) -> BaseException:
    """The exception, or one with its text if it can't be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
