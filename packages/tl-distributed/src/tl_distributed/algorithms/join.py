"""Training on uneven inputs: processes that have finished shadow the collectives of those that haven't."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any

import tl_core

from ..base.work import Work
from ..collectives.tensor_collectives import all_reduce
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import get_rank


class JoinHook:
    """The collectives of a process without inputs, for one `Joinable`.

    Example:
        >>> class Report(JoinHook):
        ...     def post_hook(self, is_last_joiner):
        ...         print("all inputs are used")
        ...
        >>> Report().post_hook(True)
        all inputs are used
    """

    def main_hook(self) -> None:
        """Called again and again while another process still has inputs; shadows the collectives of one iteration."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when no process has inputs left.

        Args:
            is_last_joiner: whether this process was among the last to finish.
        """


class _JoinConfig:
    """The settings of a `Join` for its joinables."""

    def __init__(self, enable: bool, throw_on_early_termination: bool, is_first_joinable: bool):
        self.enable = enable
        self.throw_on_early_termination = throw_on_early_termination
        self.is_first_joinable = is_first_joinable


class Joinable(ABC):
    """Something with collectives of its own in every iteration, which `Join` can shadow.

    Example:
        >>> class Meter(Joinable):
        ...     def join_hook(self, **kwargs):
        ...         return JoinHook()
        ...     @property
        ...     def join_device(self):
        ...         return "cpu"
        ...     @property
        ...     def join_process_group(self):
        ...         return None
        ...
        >>> Meter().join_device
        'cpu'
    """

    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig(False, False, False)

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook that takes part in the collectives.

        Args:
            kwargs: what was given to `Join`.
        """

    @property
    @abstractmethod
    def join_device(self) -> tl_core.device:
        """The device of the collectives that `Join` itself needs."""

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup:
        """The group of the collectives that `Join` itself needs."""


class Join:
    """Within it, processes may have different numbers of inputs.

    A joinable calls `Join.notify_join_context(self)` before the collectives of an iteration.

    Args:
        joinables: what has collectives; all of one group.
        enable: False switches everything off, for inputs known to be even.
        throw_on_early_termination: whether to raise everywhere once a process has no inputs left.
        kwargs: handed to each `join_hook`.

    Example:
        >>> with Join([model, optimizer]):  # doctest: +SKIP
        ...     for batch in batches_of_this_rank:
        ...         train(model, optimizer, batch)
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ):
        if not joinables:
            raise ValueError("Join: joinables is empty; the join context manager needs at least one")
        self._joinables = joinables
        self._enable = enable
        self._throw = throw_on_early_termination
        self._group, self._device = _common(joinables)
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        for i, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, i == 0)

    def __enter__(self) -> Join:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._enable and kind is None:
                self._shadow()
        finally:
            for joinable in self._joinables:
                joinable._join_config = _JoinConfig(False, False, False)

    def _shadow(self) -> None:
        is_last_joiner = True
        while _count(0, self._group, self._device):
            if self._throw:
                _tell_early_end(1, self._group, self._device)
            is_last_joiner = False
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(is_last_joiner)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tells the processes without inputs that this one has another.

        Args:
            joinable: who calls; only the first of a `Join` does anything.

        Returns:
            The handle of the reduction that tells it; None outside of a `Join`.

        Raises:
            RuntimeError: `throw_on_early_termination` was asked for, and a process has no inputs left.
        """
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return None
        group, device = joinable.join_process_group, joinable.join_device
        work = all_reduce(tl_core.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            _tell_early_end(0, group, device)
        return work


def _common(joinables: list[Joinable]) -> tuple[ProcessGroup, tl_core.device]:
    group = joinables[0].join_process_group
    if any(joinable.join_process_group is not group for joinable in joinables):
        raise ValueError("Join: the joinables have different process groups")
    return group, joinables[0].join_device


def _count(mine: int, group: ProcessGroup, device: tl_core.device) -> int:
    """The number of processes that still have inputs."""
    total = tl_core.full((1,), float(mine), device=device)
    all_reduce(total, group=group)
    return int(total)


def _tell_early_end(mine: int, group: ProcessGroup, device: tl_core.device) -> None:
    if _count(mine, group, device):
        raise RuntimeError(f"Join: a process has no inputs left; detected on rank {get_rank(group)}")
