"""Tables of passes completed: messages between ranks, gathering of sharded parameters; and their files."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path

from .actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    RECV_B,
    RECV_F,
    RESHARD,
    SEND_B,
    SEND_F,
    UNSHARD,
    Action,
    ActionKind,
    Table,
    passes_of,
)

__all__ = [
    "add_messages",
    "add_unshard_reshard",
    "defer_receipts",
    "merge_backward",
    "read_tables",
    "write_tables",
]

_BACKWARD: tuple[ActionKind, ...] = (BACKWARD_INPUT, FULL_BACKWARD)


def merge_backward(table: Iterable[Action | None]) -> list[Action]:
    """Input and weight gradients that follow each other directly, as one backward pass.

    Args:
        table: the actions of a rank.

    Example:
        >>> merge_backward([Action.from_str(text) for text in ("0I0", "0I1", "0W1", "0W0")])
        [0I0, 0B1, 0W0]
    """
    merged: list[Action] = []
    for action in table:
        if action is None:
            continue
        last = merged[-1] if merged else None
        if action.computation_type is BACKWARD_WEIGHT and last == action._replace(
            computation_type=BACKWARD_INPUT
        ):
            merged[-1] = action._replace(computation_type=FULL_BACKWARD)
        else:
            merged.append(action)
    return merged


def add_unshard_reshard(table: Table, max_active_stages: int = 3) -> list[Action]:
    """A table with actions that gather the parameters of a stage before its passes and free them afterwards.

    Args:
        table: the actions of a rank.
        max_active_stages: the number of stages whose parameters are gathered at once.

    Example:
        >>> add_unshard_reshard([Action(0, FORWARD, 0), Action(1, FORWARD, 0)], 1)
        [0UNSHARD, 0F0, 0RESHARD, 1UNSHARD, 1F0, 1RESHARD]
    """
    active: list[int] = []
    complete: list[Action] = []
    for position, action in enumerate(table):
        if action is None:
            continue
        distinct = dict.fromkeys(each.stage_index for each in passes_of(table[position:]))
        needs = max(max_active_stages, len(action.sub_actions or ()))
        following = list(islice(distinct, needs))
        for stage in [stage for stage in active if stage not in following]:
            active.remove(stage)
            complete.append(Action(stage, RESHARD))
        for stage in following:
            if stage not in active:
                active.append(stage)
                complete.append(Action(stage, UNSHARD))
        complete.append(action)
    return complete + [Action(stage, RESHARD) for stage in active]


class _Messages:
    """The table of each rank while messages are entered: a receipt stands where its sender has sent."""

    def __init__(self, ranks: Iterable[int], stage_to_rank: Callable[[int], int], num_stages: int):
        self.tables: dict[int, list[Action]] = {rank: [] for rank in ranks}
        self._events: dict[int, set[Action]] = {rank: set() for rank in self.tables}
        self._stage_to_rank, self._num_stages = stage_to_rank, num_stages

    def missing(self, rank: int, action: Action | None) -> Action | None:
        """The pass that gives an action its input, unless the input is there."""
        for part in () if action is None else action.sub_actions or (action,):
            stage, kind, microbatch, _ = part
            if kind is FORWARD and stage > 0:
                other, receipt = stage - 1, RECV_F
                kinds: tuple[ActionKind, ...] = (FORWARD,)
            elif kind in _BACKWARD and stage < self._num_stages - 1:
                other, kinds, receipt = stage + 1, _BACKWARD, RECV_B
            else:
                continue
            passes = {Action(other, each, microbatch) for each in kinds}
            is_remote = self._stage_to_rank(other) != self._stage_to_rank(stage)
            needs = {Action(stage, receipt, microbatch)} if is_remote else passes
            if self._events[rank].isdisjoint(needs):
                return Action(other, kinds[-1], microbatch)
        return None

    def enter(self, rank: int, action: Action) -> None:
        """Enters an action, its messages, and the receipts on other ranks."""
        self._append(rank, action)
        for part in action.sub_actions or (action,):
            self._events[rank].add(part)
            stage, kind, microbatch, _ = part
            if kind is FORWARD and stage < self._num_stages - 1:
                other, message, receipt = stage + 1, SEND_F, RECV_F
            elif kind in _BACKWARD and stage > 0:
                other, message, receipt = stage - 1, SEND_B, RECV_B
            else:
                continue
            receiver = self._stage_to_rank(other)
            if receiver != rank:
                self._append(rank, Action(stage, message, microbatch))
                self._append(receiver, Action(other, receipt, microbatch))

    def _append(self, rank: int, action: Action) -> None:
        self.tables[rank].append(action)
        self._events[rank].add(action)


def add_messages(
    compute_actions: Mapping[int, Table], stage_to_rank: Callable[[int], int], num_stages: int
) -> dict[int, list[Action]]:
    """Tables with the messages between ranks. Messages of two ranks are in one order on both.

    Args:
        compute_actions: the passes of each rank.
        stage_to_rank: the rank of a stage.
        num_stages: the number of stages.

    Raises:
        ValueError: a pass waits for one that never comes before it.

    Example:
        >>> tables = {0: [Action(0, FORWARD, 0)], 1: [Action(1, FORWARD, 0)]}
        >>> add_messages(tables, lambda stage: stage, 2)
        {0: [0F0, 0SEND_F0], 1: [1RECV_F0, 1F0]}
    """
    messages = _Messages(compute_actions, stage_to_rank, num_stages)
    queues = {rank: deque(compute_actions[rank]) for rank in sorted(compute_actions)}
    while queues := {rank: queue for rank, queue in queues.items() if queue}:
        ready = 0
        for rank, queue in queues.items():
            if messages.missing(rank, queue[0]) is None:
                action = queue.popleft()
                ready += 1
                if action is not None:
                    messages.enter(rank, action)
        if not ready:
            rank, queue = next(iter(queues.items()))
            raise ValueError(
                f"the schedule would stand still: rank {rank} is at {queue[0]}, which waits for "
                f"{messages.missing(rank, queue[0])}"
            )
    return messages.tables


def write_tables(tables: Mapping[int, Table], filename: str) -> None:
    """Writes tables as CSV: a row for each rank.

    Args:
        tables: the actions of each rank.
        filename: the path of the file.
    """
    with Path(filename).open("w", newline="") as file:
        rows = csv.writer(file)
        for rank in sorted(tables):
            rows.writerow(["" if action is None else str(action) for action in tables[rank]])


def read_tables(filename: str) -> dict[int, list[Action | None]]:
    """Reads tables from CSV: a row for each rank.

    Args:
        filename: the path of the file.

    Raises:
        RuntimeError: a cell is none of an action.
    """
    with Path(filename).open(newline="") as file:
        return {rank: [Action.from_str(cell) for cell in row] for rank, row in enumerate(csv.reader(file))}


def defer_receipts(
    tables: Mapping[int, list[Action]], stage_to_rank: Callable[[int], int]
) -> dict[int, list[Action]]:
    """Tables whose receipts stand directly before the pass that uses them, in the order of their sender.

    Args:
        tables: the actions of each rank, with messages.
        stage_to_rank: the rank of a stage.

    Example:
        >>> table = [Action.from_str(text) for text in ("1RECV_F0", "1RECV_F1", "1F0", "1F1")]
        >>> defer_receipts({1: table}, lambda stage: stage)
        {1: [1RECV_F0, 1F0, 1RECV_F1, 1F1]}
    """
    return {rank: _defer(table, stage_to_rank) for rank, table in tables.items()}


def _defer(table: Iterable[Action], stage_to_rank: Callable[[int], int]) -> list[Action]:
    waiting: dict[int, deque[Action]] = {}
    complete: list[Action] = []
    for action in table:
        stage, kind, _, parts = action
        if kind in (RECV_F, RECV_B):
            sender = stage_to_rank(stage - 1 if kind is RECV_F else stage + 1)
            waiting.setdefault(sender, deque()).append(action)
            continue
        for part in parts or (action,):
            receipt = part._replace(computation_type=RECV_F if part.computation_type is FORWARD else RECV_B)
            if part.computation_type is FORWARD or part.computation_type in _BACKWARD:
                for queue in waiting.values():
                    while receipt in queue:
                        complete.append(queue.popleft())
        complete.append(action)
    return complete + [receipt for queue in waiting.values() for receipt in queue]
