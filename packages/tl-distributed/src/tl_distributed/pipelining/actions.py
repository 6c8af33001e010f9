"""Schedules as tables: for each rank the forward and backward passes of stages, in order.

A table is checked before it runs: a pass whose input never comes is named, with the pass that it waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "Action",
    "check_tables",
    "interleave_stages",
    "loop_stages",
    "one_forward_one_backward",
    "peak_microbatches",
]


class Action(NamedTuple):
    """The forward pass ("F") or the backward pass ("B") of a microbatch through a stage.

    Example:
        >>> str(Action(1, "F", 0)), str(Action(0, "B", 3))
        ('1F0', '0B3')
    """

    stage: int
    kind: str
    microbatch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.microbatch}"


def loop_stages(own_stages: Sequence[int], microbatches: int) -> list[Action]:
    """All forward passes stage by stage, then all backward passes.

    Args:
        own_stages: the stages of a rank.
        microbatches: the number of microbatches.

    Example:
        >>> [str(action) for action in loop_stages([0], 2)]
        ['0F0', '0F1', '0B0', '0B1']
    """
    forward = [Action(stage, "F", m) for stage in own_stages for m in range(microbatches)]
    return forward + [Action(stage, "B", m) for stage in reversed(own_stages) for m in range(microbatches)]


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> list[Action]:
    """As many forward passes as the later stages need, then a backward pass after each forward pass.

    Args:
        stage: the stage of a rank.
        stages: the number of stages.
        microbatches: the number of microbatches.

    Example:
        >>> [str(action) for action in one_forward_one_backward(0, 2, 3)]
        ['0F0', '0F1', '0B0', '0F2', '0B1', '0B2']
    """
    warm_up = min(stages - stage, microbatches)
    actions = [Action(stage, "F", m) for m in range(warm_up)]
    for m in range(microbatches):
        actions.append(Action(stage, "B", m))
        if m + warm_up < microbatches:
            actions.append(Action(stage, "F", m + warm_up))
    return actions


def interleave_stages(rank: int, ranks: int, local_stages: int, microbatches: int) -> list[Action]:
    """One forward and one backward pass in turns, over several stages of each rank in rounds of microbatches.

    Args:
        rank: the rank.
        ranks: the number of ranks.
        local_stages: the number of stages of a rank; rank r has the stages r, r + ranks, ...
        microbatches: the number of microbatches, a multiple of the number of rounds.

    Example:
        >>> [str(action) for action in interleave_stages(1, 2, 2, 2)]
        ['1F0', '1F1', '3F0', '3B0', '3F1', '3B1', '1B0', '1B1']
    """
    rounds = max(1, microbatches // ranks)
    in_round = microbatches // rounds
    warm_up = min((local_stages - 1) * in_round + 2 * (ranks - 1 - rank), microbatches * local_stages)
    total = microbatches * local_stages

    def action(kind: str, number: int) -> Action:
        local = number // in_round % local_stages
        local = local if kind == "F" else local_stages - 1 - local
        microbatch = number // (in_round * local_stages) * in_round + number % in_round
        return Action(local * ranks + rank, kind, microbatch)

    actions = [action("F", number) for number in range(warm_up)]
    for number in range(total):
        if number + warm_up < total:
            actions.append(action("F", number + warm_up))
        actions.append(action("B", number))
    return actions


def check_tables(tables: Sequence[Sequence[Action]], stages: int) -> int:
    """Runs the tables of all ranks without computing.

    Args:
        tables: the actions of each rank.
        stages: the number of stages.

    Returns:
        The number of microbatches whose inputs the rank with the most of them keeps at once.

    Raises:
        ValueError: a pass waits for one that never comes before it, or a pass is in the tables twice.

    Example:
        >>> check_tables([one_forward_one_backward(stage, 2, 4) for stage in range(2)], 2)
        2
        >>> check_tables([[Action(0, "B", 0), Action(0, "F", 0)]], 1)
        Traceback (most recent call last):
        ValueError: the schedule would stand still: rank 0 is at 0B0, which waits for 0F0
    """
    passes: set[Action] = set()
    positions = [0] * len(tables)
    while any(position < len(table) for position, table in zip(positions, tables, strict=True)):
        has_moved = False
        for rank, table in enumerate(tables):
            while positions[rank] < len(table) and _missing(table[positions[rank]], passes, stages) is None:
                action = table[positions[rank]]
                if action in passes:
                    raise ValueError(f"rank {rank} has {action} twice")
                passes.add(action)
                positions[rank] += 1
                has_moved = True
        if not has_moved:
            rank = next(r for r, table in enumerate(tables) if positions[r] < len(table))
            action = tables[rank][positions[rank]]
            raise ValueError(
                f"the schedule would stand still: rank {rank} is at {action}, which waits for "
                f"{_missing(action, passes, stages)}"
            )
    return max((peak_microbatches(table) for table in tables), default=0)


def _missing(action: Action, passes: set[Action], stages: int) -> Action | None:
    """The pass that must come before, unless it has."""
    stage, kind, microbatch = action
    if kind == "F":
        needs = [Action(stage - 1, "F", microbatch)] if stage > 0 else []
    else:
        needs = [action._replace(kind="F")]
        needs += [Action(stage + 1, "B", microbatch)] if stage < stages - 1 else []
    return next((need for need in needs if need not in passes), None)


def peak_microbatches(table: Sequence[Action]) -> int:
    """The most microbatches between their forward and their backward pass.

    Args:
        table: the actions of a rank.

    Example:
        >>> peak_microbatches(loop_stages([0], 8)), peak_microbatches(one_forward_one_backward(1, 2, 8))
        (8, 1)
    """
    live = peak = 0
    for action in table:
        live += 1 if action.kind == "F" else -1
        peak = max(peak, live)
    return peak
