"""The ranks that save or load together, and what they tell each other; failures travel as values, raised on all."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tl_core.ranks import current, default_group

from .api import WRAPPED_EXCEPTION, CheckpointException

__all__ = ["Channel", "GroupRanks", "Ranks", "ranks_of"]

T = TypeVar("T")
R = TypeVar("R")


class Ranks:
    """One process. A process group brings its own kind: an object like this one, whose steps go through its ranks.

    Every step takes what each rank does, and what the coordinator makes of all results. If one rank fails, all of them
    raise CheckpointException.
    """

    rank = 0
    world_size = 1
    is_coordinator = True

    def reduce_scatter(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], list[R]]) -> R:
        """Each rank's part of what the coordinator makes of all results."""
        return self._guarded(step, lambda: reduce([local()])[0])

    def all_reduce(self, step: str, local: Callable[[], T], reduce: Callable[[list[T]], R]) -> R:
        """What the coordinator makes of all results, on every rank."""
        return self._guarded(step, lambda: reduce([local()]))

    def all_gather(self, step: str, local: Callable[[], T]) -> list[T]:
        """All results, on every rank."""
        return self._guarded(step, lambda: [local()])

    def broadcast(self, step: str, local: Callable[[], T]) -> T:
        """What the coordinator alone does, on every rank."""
        return self._guarded(step, local)

    def _guarded(self, step: str, work: Callable[[], T]) -> T:
        try:
            return work()
        except CheckpointException:
            raise
        except Exception as error:
            failures = {self.rank: (error, traceback.extract_tb(error.__traceback__))}
            raise CheckpointException(step, failures) from error


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

    Args:
        channel (Channel): What carries messages between the ranks.
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


def ranks_of(
    process_group: Any, no_dist: bool = False, coordinator_rank: int = 0, background: bool = False
) -> Ranks:
    """The ranks of a process group, or this process alone.

    Args:
        process_group: the group, or None for all ranks.
        no_dist: whether this process is alone.
        coordinator_rank: the rank that coordinates.
        background: whether they talk from a thread, while the program uses the group for something else.

    Raises:
        NotImplementedError: If several ranks are asked for, or are there, without a process group that brings
            them.
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
    made = getattr(process_group, "__checkpoint_ranks__", None)
    if made is not None:
        ranks: Ranks = made(coordinator_rank)
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
