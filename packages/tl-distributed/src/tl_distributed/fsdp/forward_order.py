"""A check of the order in which wrappers gather their parameters, with `TORCH_DISTRIBUTED_DEBUG=DETAIL`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import tl_core

from ..collectives import tensor_collectives as collectives

__all__ = ["ForwardOrder"]


class ForwardOrder:
    """The order of the forward pass: that of all ranks in the first step, and that of the first step later.

    Parameters of equal size that ranks gather in another order would be taken for each other.

    Args:
        names: the names of the parameters of each wrapper, in the same order on all ranks.
        group: the ranks.

    Example:
        >>> ForwardOrder([["weight"], ["bias"]], None).end_step()
    """

    def __init__(self, names: Sequence[list[str]], group: Any):
        self._names, self._group = names, group
        self._first: list[int] = []
        self._current: list[int] = []
        self._is_first = True
        self._deviates = self._has_warned = False

    def check(self, index: int) -> None:
        """Compares the parameters that are gathered next.

        Args:
            index: the number of their wrapper.

        Raises:
            RuntimeError: ranks gather other ones in the first step.
        """
        if self._is_first:
            self._compare_ranks(index)
        if index in self._current:  # a module that computes twice
            return
        position = len(self._current)
        self._current.append(index)
        if not self._is_first and not self._has_warned:
            self._compare_steps(index, position)

    def end_step(self) -> None:
        """Begins a new step."""
        if self._is_first:
            self._first = self._current
        self._is_first, self._has_warned = False, self._deviates
        self._current = []

    def _compare_ranks(self, index: int) -> None:
        own = tl_core.tensor([index])
        indices = tl_core.empty(self._group.size(), dtype=own.dtype)
        collectives.all_gather_into_tensor(indices, own, self._group)
        several: list[int] = indices.tolist()
        for rank, other in enumerate(several):
            if other != several[0]:
                raise RuntimeError(
                    f"Forward order differs across ranks: rank 0 is all-gathering parameters for "
                    f"{self._names[several[0]]} while rank {rank} is all-gathering parameters for {self._names[other]}"
                )

    def _compare_steps(self, index: int, position: int) -> None:
        expected = self._first[position] if position < len(self._first) else None
        if expected == index:
            return
        self._deviates = True
        what = (
            "Expected to not all-gather any more parameters in the forward"
            if expected is None
            else f"Expected to all-gather for {self._names[expected]}"
        )
        warnings.warn(
            f"Forward order differs from that of the first iteration on rank {self._group.rank()}. Collectives are "
            f"unchecked and may give incorrect results or hang.\n{what} but trying to all-gather parameters for "
            f"{self._names[index]}",
            stacklevel=2,
        )
