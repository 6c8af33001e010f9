"""Communication of the ranks that save or load together. Failures are sent as values and raised on all ranks."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tl_core.base.ranks import current, default_group

from .api import WRAPPED_EXCEPTION, CheckpointException

__all__ = ["Channel", "GroupRanks", "Ranks", "ranks_of"]

T = TypeVar("T")
R = TypeVar("R")


class Ranks:
    """One process alone. A process group has its own class with these steps, which communicate between ranks.

    Every step takes a function for each rank, and a function of the coordinator that reduces all results. If one rank
    fails, all ranks raise CheckpointException.
    """

    rank = 0
    world_size = 1
    is_coordinator = True

    def reduce_scatter(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], list[R]]) -> R:
        """This rank's part of the coordinator's reduction of all results."""
        return self._guard(step, lambda: reduce([local()])[0])

    def all_reduce(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], R]) -> R:
        """The coordinator's reduction of all results, on every rank."""
        return self._guard(step, lambda: reduce([local()]))

    def all_gather(self, step: str, local: Callable[[], T]) -> list[T]:
        """All results, on every rank."""
        return self._guard(step, lambda: [local()])

    def broadcast(self, step: str, local: Callable[[], T]) -> T:
        """The coordinator's result, on every rank."""
        return self._guard(step, local)

    def _guard(self, step: str, work: Callable[[], T]) -> T:
        try:
            return work()
        except CheckpointException:
            raise
        except Exception as error:
            failures = {self.rank: (error, traceback.extract_tb(error.__traceback__))}
            raise CheckpointException(step, failures) from error


class Channel(Protocol):
    """Transport of objects between the ranks of a process group, one of which is the coordinator."""

    rank: int
    world_size: int
    coordinator: int

    def gather(self, value: Any) -> list[Any] | None:
        """The values of all ranks, on the coordinator."""

    def scatter(self, values: list[Any] | None) -> Any:
        """This rank's value of the coordinator's list."""

    def broadcast(self, value: Any) -> Any:
        """The coordinator's value."""

    def all_gather(self, value: Any) -> list[Any]:
        """The values of all ranks."""


class _Failures:
    """Exceptions by rank."""

    def __init__(self, of: dict[int, WRAPPED_EXCEPTION]):
        self.of = of


class GroupRanks(Ranks):
    """Ranks that communicate over a channel.

    Args:
        channel (Channel): The transport of objects between the ranks.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.rank = channel.rank
        self.world_size = channel.world_size
        self.is_coordinator = channel.rank == channel.coordinator

    def reduce_scatter(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], list[R]]) -> R:
        outcomes = self._channel.gather(self._outcome(local))
        reduced = None if outcomes is None else self._reduce(outcomes, reduce)
        if isinstance(reduced, _Failures):
            reduced = [reduced] * self.world_size
        return self._raise_failures(step, self._channel.scatter(reduced))

    def all_reduce(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], R]) -> R:
        outcomes = self._channel.gather(self._outcome(local))
        reduced = None if outcomes is None else self._reduce(outcomes, reduce)
        return self._raise_failures(step, self._channel.broadcast(reduced))

    def all_gather(self, step: str, local: Callable[[], T]) -> list[T]:
        outcomes = self._channel.all_gather(self._outcome(local))
        failed = _failures_of(outcomes)
        return outcomes if failed is None else self._raise_failures(step, failed)

    def broadcast(self, step: str, local: Callable[[], T]) -> T:
        outcome = self._outcome(local) if self.is_coordinator else None
        return self._raise_failures(step, self._channel.broadcast(outcome))

    def _outcome(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as error:
            if isinstance(error, CheckpointException):
                return _Failures(error.failures)
            where = traceback.extract_tb(error.__traceback__)
            return _Failures({self.rank: (_that_travels(error), where)})

    def _reduce(self, outcomes: list[Any], reduce: Callable[[list[Any]], Any]) -> Any:
        failed = _failures_of(outcomes)
        return self._outcome(lambda: reduce(outcomes)) if failed is None else failed

    def _raise_failures(self, step: str, outcome: Any) -> Any:
        if isinstance(outcome, _Failures):
            raise CheckpointException(step, outcome.of) from next(iter(outcome.of.values()))[0]
        return outcome


def _failures_of(outcomes: list[Any]) -> _Failures | None:
    failed = {rank: each for o in outcomes if isinstance(o, _Failures) for rank, each in o.of.items()}
    return _Failures(failed) if failed else None


def _that_travels(error: BaseException) -> BaseException:
    """The exception, or a RuntimeError with its text if it can't be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def ranks_of(
    process_group: Any, no_dist: bool = False, coordinator_rank: int = 0, background: bool = False
) -> Ranks:
    """The ranks of a process group, or this process alone.

    Args:
        process_group: the process group; None for all ranks.
        no_dist: whether this process works alone.
        coordinator_rank: the rank that coordinates.
        background: whether the ranks communicate from a thread while the program uses the group.

    Raises:
        NotImplementedError: If there are several ranks without a process group that connects them.
    """
    if process_group is None and not no_dist:
        process_group = default_group()
    if no_dist or process_group is None:
        if coordinator_rank:
            raise NotImplementedError(
                f"coordinator_rank={coordinator_rank} needs several ranks, which tl-distributed will bring; this "
                "process saves and loads alone, as rank 0"
            )
        if not no_dist:
            _need_one_rank()
        return Ranks()
    make_ranks = getattr(process_group, "__checkpoint_ranks__", None)
    if make_ranks is not None:
        ranks: Ranks = make_ranks(coordinator_rank)
        return ranks
    if hasattr(process_group, "size") and process_group.size() == 1:
        return Ranks()
    channel = getattr(process_group, "__checkpoint_channel__", None)
    if background:
        channel = getattr(process_group, "__checkpoint_background_channel__", channel)
    if channel is not None:
        return GroupRanks(channel(coordinator_rank))
    raise NotImplementedError(
        f"a checkpoint of several ranks needs a process group of tl-distributed, got "
        f"{type(process_group).__name__}; leave process_group out to save in this process alone"
    )


def _need_one_rank() -> None:
    rank, count = current() or (0, 1)
    if count > 1:
        raise NotImplementedError(
            f"this process is rank {rank} of {count}: give the process_group that saves or loads together, or "
            "no_dist=True for this process alone"
        )
