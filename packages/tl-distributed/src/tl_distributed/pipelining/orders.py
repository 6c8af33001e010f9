"""Orders of the passes of a rank, for each schedule."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

from .actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    OVERLAP_F_B,
    Action,
    ActionKind,
)

__all__ = [
    "DualPipe",
    "fill_bubbles",
    "interleave_stages",
    "loop_stages",
    "one_forward_one_backward",
    "stages_of",
]


def stages_of(rank: int, ranks: int, stages: int, style: str = "loop") -> list[int]:
    """The stages of a rank.

    Args:
        rank: the rank.
        ranks: the number of ranks.
        stages: the number of stages.
        style: `"loop"` for every ranks-th stage, `"v"` for there and back.

    Example:
        >>> stages_of(1, 2, 4), stages_of(1, 2, 4, "v"), stages_of(0, 2, 5)
        ([1, 3], [1, 2], [0, 2, 4])
    """
    if style == "loop":
        return list(range(rank, stages, ranks))
    return [s for s in range(stages) if (s % ranks if s // ranks % 2 == 0 else ranks - 1 - s % ranks) == rank]


def loop_stages(own_stages: Sequence[int], microbatches: int) -> list[Action]:
    """All forward passes stage by stage, then all backward passes.

    Args:
        own_stages: the stages of a rank.
        microbatches: the number of microbatches.

    Example:
        >>> loop_stages([0], 2)
        [0F0, 0F1, 0B0, 0B1]
    """
    forward = [Action(stage, FORWARD, m) for stage in own_stages for m in range(microbatches)]
    return forward + [
        Action(stage, FULL_BACKWARD, m) for stage in reversed(own_stages) for m in range(microbatches)
    ]


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> list[Action]:
    """As many forward passes as the later stages need, then a backward pass after each forward pass.

    Args:
        stage: the stage of a rank.
        stages: the number of stages.
        microbatches: the number of microbatches.

    Example:
        >>> one_forward_one_backward(0, 2, 3)
        [0F0, 0F1, 0B0, 0F2, 0B1, 0B2]
    """
    warm_up = min(stages - stage, microbatches)
    actions = [Action(stage, FORWARD, m) for m in range(warm_up)]
    for m in range(microbatches):
        actions.append(Action(stage, FULL_BACKWARD, m))
        if m + warm_up < microbatches:
            actions.append(Action(stage, FORWARD, m + warm_up))
    return actions


def interleave_stages(
    rank: int, ranks: int, local_stages: int, microbatches: int, is_split: bool = False
) -> list[Action]:
    """One forward and one backward pass in turns, over several stages of each rank in rounds of microbatches.

    Args:
        rank: the rank.
        ranks: the number of ranks.
        local_stages: the number of stages of a rank; rank r has the stages r, r + ranks, ...
        microbatches: the number of microbatches, a multiple of the number of rounds.
        is_split: whether weight gradients are passes of their own, which come as many passes later as the rank has
            ranks before it.

    Example:
        >>> interleave_stages(1, 2, 2, 2)
        [1F0, 1F1, 3F0, 3B0, 3F1, 3B1, 1B0, 1B1]
        >>> interleave_stages(1, 2, 1, 2, is_split=True)
        [1F0, 1I0, 1F1, 1I1, 1W0, 1W1]
    """
    rounds = max(1, microbatches // ranks)
    in_round = microbatches // rounds
    total = microbatches * local_stages
    distance = (1 if is_split else 2) * (ranks - 1 - rank)
    warm_up = min((local_stages - 1) * in_round + distance, total)

    def action(kind: ActionKind, number: int) -> Action:
        local = number // in_round % local_stages
        local = local if kind is FORWARD else local_stages - 1 - local
        microbatch = number // (in_round * local_stages) * in_round + number % in_round
        return Action(local * ranks + rank, kind, microbatch)

    actions = [action(FORWARD, number) for number in range(warm_up)]
    for number in range(total):
        if number + warm_up < total:
            actions.append(action(FORWARD, number + warm_up))
        actions.append(action(BACKWARD_INPUT if is_split else FULL_BACKWARD, number))
        if is_split and number >= rank:
            actions.append(action(BACKWARD_WEIGHT, number - rank))
    if is_split:
        actions += [action(BACKWARD_WEIGHT, number) for number in range(max(total - rank, 0), total)]
    return actions


def fill_bubbles(
    placement: Mapping[int, Sequence[int]], stages: int, microbatches: int, room: int
) -> dict[int, list[Action | None]]:
    """Passes of one length each, chosen step by step: input gradients first, forward passes while there is room,
    and weight gradients where a rank would wait.

    Args:
        placement: the stages of each rank.
        stages: the number of stages.
        microbatches: the number of microbatches.
        room: the number of microbatches that a rank keeps at once, over all its stages.

    Returns:
        The passes of each rank, with None where it waits.

    Example:
        >>> fill_bubbles({0: [0]}, 1, 2, 1)
        {0: [0F0, 0I0, 0W0, 0F1, 0I1, 0W1]}
    """
    ends: set[Action] = set()
    ranks = {rank: _Filling(own, stages, microbatches, room) for rank, own in placement.items()}
    total = 3 * stages * microbatches
    while len(ends) < total:
        step = [filling.take(ends) for filling in ranks.values()]
        if not any(step):
            raise ValueError(f"{room} microbatches at once are too few for {stages} stages")
        ends.update(action for action in step if action is not None)
    tables = {rank: filling.table for rank, filling in ranks.items()}
    for table in tables.values():
        while table and table[-1] is None:
            table.pop()
    return tables


class _Filling:
    """The table of a rank that takes its best pass in each step.

    Args:
        own: the stages of the rank.
        stages: the number of stages.
        microbatches: the number of microbatches.
        room: the number of microbatches that the rank keeps at once.
    """

    def __init__(self, own: Sequence[int], stages: int, microbatches: int, room: int):
        self._own = sorted(own, reverse=True)
        self._stages, self._microbatches, self._room = stages, microbatches, room
        self._counts: Counter[tuple[int, ActionKind]] = Counter()
        self._live = 0
        self.table: list[Action | None] = []

    def take(self, ends: set[Action]) -> Action | None:
        """Enters the best pass, or None if the rank must wait.

        Args:
            ends: the passes of all ranks in the steps before.
        """
        action = self._input_gradient(ends) or self._forward(ends) or self._weight_gradient()
        self.table.append(action)
        if action is not None:
            self._counts[action.stage_index, action.computation_type] += 1
            self._live += action.computation_type is FORWARD
            self._live -= action.computation_type is BACKWARD_WEIGHT
        return action

    def _next(self, stage: int, kind: ActionKind) -> Action:
        return Action(stage, kind, self._counts[stage, kind])

    def _input_gradient(self, ends: set[Action]) -> Action | None:
        ready = []
        for action in (self._next(stage, BACKWARD_INPUT) for stage in self._own):
            is_fed = (
                action.stage_index == self._stages - 1
                or action._replace(stage_index=action.stage_index + 1) in ends
            )
            if is_fed and action._replace(computation_type=FORWARD) in ends:
                ready.append(action)
        return min(ready, key=lambda action: (action.microbatch_index, -action.stage_index), default=None)

    def _forward(self, ends: set[Action]) -> Action | None:
        for earlier, action in enumerate(self._next(stage, FORWARD) for stage in self._own):
            # A microbatch that comes back to a later stage of this rank needs room there as well.
            has_room = self._live + earlier + 1 <= self._room
            is_fed = action.stage_index == 0 or action._replace(stage_index=action.stage_index - 1) in ends
            if self._counts[action.stage_index, FORWARD] < self._microbatches and is_fed and has_room:
                return action
        return None

    def _weight_gradient(self) -> Action | None:
        for stage in self._own:
            if self._counts[stage, BACKWARD_WEIGHT] < self._counts[stage, BACKWARD_INPUT]:
                return self._next(stage, BACKWARD_WEIGHT)
        return None


class DualPipe:
    """The passes of a rank that has a stage on the way there and one on the way back (DeepSeek-V3, DualPipeV).

    Args:
        rank: the rank.
        ranks: the number of ranks.
        microbatches: the number of microbatches, at least twice the number of ranks.

    Example:
        >>> DualPipe(0, 1, 2).actions()
        [0F0, 1F0, 0F1, 1B0, (1F1;0B0)OVERLAP_F_B, 1B1, 0I1, 0W1]
    """

    def __init__(self, rank: int, ranks: int, microbatches: int):
        self._rank, self._ranks, self._microbatches = rank, ranks, microbatches
        self._there, self._back = rank, 2 * ranks - 1 - rank
        self._actions: list[Action] = []
        self._numbers: Counter[tuple[int, bool]] = Counter()
        self._weights: deque[Action] = deque()

    def _next(self, stage: int, kind: ActionKind) -> Action:
        key = (stage, kind is FORWARD)
        self._numbers[key] += 1
        action = Action(stage, kind, self._numbers[key] - 1)
        if kind is BACKWARD_INPUT:
            self._weights.append(action._replace(computation_type=BACKWARD_WEIGHT))
        return action

    def _add(self, stage: int, kind: ActionKind) -> None:
        self._actions.append(self._next(stage, kind))

    def _add_both(self, forward: int, backward: int) -> None:
        parts = (self._next(forward, FORWARD), self._next(backward, FULL_BACKWARD))
        self._actions.append(Action(-1, OVERLAP_F_B, None, parts))

    def _add_weights(self) -> None:
        if self._weights:
            self._actions.append(self._weights.popleft())

    def actions(self) -> list[Action]:
        """The passes in order."""
        there, back, left = self._there, self._back, self._ranks - self._rank - 1
        for _ in range(2 * left):
            self._add(there, FORWARD)
        for _ in range(self._rank + 1):
            self._add(there, FORWARD)
            self._add(back, FORWARD)
        for _ in range(left):
            self._add(back, BACKWARD_INPUT)
            self._add_weights()
            self._add(back, FORWARD)
        for number in range(self._microbatches - 2 * self._ranks + self._rank + 1):
            if number == 0 and left == 0:  # the last rank has no other pass to overlap with
                self._add(there, FORWARD)
                self._add(back, FULL_BACKWARD)
            else:
                self._add_both(there, back)
            self._add_both(back, there)
        for _ in range(left):
            self._add(back, FULL_BACKWARD)
            self._add_both(back, there)
        self._drain(left)
        return self._actions

    def _drain(self, left: int) -> None:
        """The last backward passes: the second half of them leaves weight gradients for the waits."""
        splits_from = 2 * ((self._rank + 1) // 2) + (1 if self._rank % 2 == 0 else 0)
        for number in range(2 * (self._rank + 1)):
            stage = self._there if number % 2 else self._back
            self._add(stage, BACKWARD_INPUT if number >= splits_from else FULL_BACKWARD)
        for _ in range(left):
            self._add_weights()
            self._add(self._there, BACKWARD_INPUT)
        while self._weights:
            self._add_weights()
