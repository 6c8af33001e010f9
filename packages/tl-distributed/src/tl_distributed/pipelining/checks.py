"""Runs of schedules without computing: a pass that never gets its input is named, and live microbatches are counted."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence

from .actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    RECV_B,
    RECV_F,
    SEND_B,
    SEND_F,
    Action,
    ActionKind,
    Table,
    format_tables,
    passes_of,
)

__all__ = ["check_messages", "check_tables", "peak_microbatches", "simulate", "stage_ranks"]


def check_tables(tables: Sequence[Table], stages: int) -> int:
    """Runs the passes of all ranks without computing.

    Args:
        tables: the actions of each rank.
        stages: the number of stages.

    Returns:
        The number of microbatches whose inputs the rank with the most of them keeps at once.

    Raises:
        ValueError: a pass waits for one that never comes before it, or a pass is in the tables twice.

    Example:
        >>> check_tables([[Action(0, FORWARD, 0), Action(0, FORWARD, 1), Action(0, FULL_BACKWARD, 0)]], 1)
        2
        >>> check_tables([[Action(0, FULL_BACKWARD, 0), Action(0, FORWARD, 0)]], 1)
        Traceback (most recent call last):
        ValueError: the schedule would stand still: rank 0 is at 0B0, which waits for 0F0
    """
    finished: set[Action] = set()
    queues = {rank: deque(passes_of(table)) for rank, table in enumerate(tables)}
    while queues := {rank: queue for rank, queue in queues.items() if queue}:
        has_moved = False
        for rank, queue in queues.items():
            while queue and _missing(queue[0], finished, stages) is None:
                action = queue.popleft()
                if action in finished:
                    raise ValueError(f"rank {rank} has {action} twice")
                finished.add(action)
                has_moved = True
        if not has_moved:
            rank, queue = next(iter(queues.items()))
            missing = _missing(queue[0], finished, stages)
            raise ValueError(
                f"the schedule would stand still: rank {rank} is at {queue[0]}, which waits for {missing}"
            )
    return max((peak_microbatches(table) for table in tables), default=0)


def _missing(action: Action, finished: set[Action], stages: int) -> Action | None:
    """The pass that must come before, unless it has."""
    stage, kind, microbatch, _ = action
    needs: list[tuple[Action, ...]] = []
    if kind is FORWARD and stage > 0:
        needs = [(Action(stage - 1, FORWARD, microbatch),)]
    elif kind in (FULL_BACKWARD, BACKWARD_INPUT):
        needs = [(Action(stage, FORWARD, microbatch),)]
        if stage < stages - 1:
            needs.append(
                (Action(stage + 1, FULL_BACKWARD, microbatch), Action(stage + 1, BACKWARD_INPUT, microbatch))
            )
    elif kind is BACKWARD_WEIGHT:
        needs = [(Action(stage, BACKWARD_INPUT, microbatch),)]
    return next((choice[0] for choice in needs if finished.isdisjoint(choice)), None)


def peak_microbatches(table: Table) -> int:
    """The most microbatches between their forward pass and the end of their backward pass.

    Args:
        table: the actions of a rank. A microbatch of a split backward pass is kept until its weight gradients.

    Example:
        >>> peak_microbatches([Action.from_str(text) for text in ("0F0", "0F1", "0I0", "0F2", "0W0", "0B1")])
        3
    """
    live = peak = 0
    for action in passes_of(table):
        live += action.computation_type is FORWARD
        live -= action.computation_type in (FULL_BACKWARD, BACKWARD_WEIGHT)
        peak = max(peak, live)
    return peak


def stage_ranks(
    actions: Mapping[int, Table], pp_group_size: int, num_stages: int, num_microbatches: int
) -> dict[int, int]:
    """The rank of each stage, of tables that have each pass once and in a possible order.

    Args:
        actions: the actions of each rank.
        pp_group_size: the number of ranks.
        num_stages: the number of stages.
        num_microbatches: the number of microbatches.

    Raises:
        AssertionError: a rank, a pass or a stage is missing, or a stage is on two ranks.

    Example:
        >>> stage_ranks({0: [Action(0, FORWARD, 0), Action(0, FULL_BACKWARD, 0)]}, 1, 1, 1)
        {0: 0}
    """
    if set(actions) != set(range(pp_group_size)):
        raise AssertionError(
            f"the schedule must have tables of {pp_group_size} ranks, got those of {sorted(actions)}"
        )
    ranks: dict[int, int] = {}
    counts: Counter[tuple[int, str]] = Counter()
    for rank, table in actions.items():
        before_step: set[Action] = set()
        for step, action in enumerate(table):
            for part in () if action is None else action.sub_actions or (action,):
                stage, kind, microbatch, _ = part
                if ranks.setdefault(stage, rank) != rank:
                    raise AssertionError(f"stage {stage} is on rank {ranks[stage]} and on rank {rank}")
                before = BACKWARD_INPUT if kind is BACKWARD_WEIGHT else FORWARD
                needs = Action(stage, before, microbatch)
                if part.is_compute_op and kind is not FORWARD and needs not in before_step:
                    text = f"rank {rank}, step {step}: {part} comes before {needs}"
                    raise AssertionError(f"{text}\n{format_tables(actions, step)}")
                before_step.add(part)
                counts[stage, kind.value] += 1
    for stage in range(num_stages):
        forward, full, inputs, weights = (counts[stage, kind] for kind in "FBIW")
        if forward != num_microbatches or inputs != weights or full + inputs != num_microbatches:
            raise AssertionError(
                f"stage {stage} must have {num_microbatches} forward and backward passes, got {forward} F, {full} B, "
                f"{inputs} I and {weights} W"
            )
    return ranks


class _Run:
    """A run of tables with messages: each rank takes at most one action in a step."""

    def __init__(self, tables: Mapping[int, Table], stage_to_rank: Callable[[int], int], num_stages: int):
        self.queues = {rank: deque(a for a in tables[rank] if a is not None) for rank in sorted(tables)}
        self.steps: dict[int, list[Action | None]] = {rank: [] for rank in self.queues}
        self._finished: dict[int, set[Action]] = {rank: set() for rank in self.queues}
        self._stage_to_rank, self._num_stages = stage_to_rank, num_stages
        # What the next action of a rank still waits for: a choice of actions, and the finished ones of their rank.
        self._awaited: dict[int, list[tuple[tuple[Action, ...], set[Action]]]] = {}

    def missing(self, rank: int) -> Action | None:
        """The action that the next one of a rank waits for."""
        awaited = self._awaited.get(rank)
        if awaited is None:
            action = self.queues[rank][0]
            choices = [choice for part in action.sub_actions or (action,) for choice in self._needs(part)]
            awaited = [
                (choice, self._finished[self._stage_to_rank(choice[0].stage_index)]) for choice in choices
            ]
            self._awaited[rank] = awaited
        while awaited:
            choice, finished = awaited[-1]
            if finished.isdisjoint(choice):
                return choice[0]
            awaited.pop()
        return None

    def _needs(self, action: Action) -> list[tuple[Action, ...]]:
        stage, kind, microbatch, _ = action

        def at(other: int, *kinds: ActionKind) -> tuple[Action, ...]:
            return tuple(Action(other, kind, microbatch) for kind in kinds)

        if kind is FORWARD and stage > 0:
            return [at(stage, RECV_F) if self._is_remote(stage, stage - 1) else at(stage - 1, FORWARD)]
        if kind in (FULL_BACKWARD, BACKWARD_INPUT) and stage < self._num_stages - 1:
            local = at(stage + 1, FULL_BACKWARD, BACKWARD_INPUT)
            return [at(stage, RECV_B) if self._is_remote(stage, stage + 1) else local]
        if kind is SEND_F:
            return [at(stage, FORWARD)]
        if kind is SEND_B:
            return [at(stage, FULL_BACKWARD, BACKWARD_INPUT)]
        if kind is RECV_F:
            return [at(stage - 1, SEND_F)]
        if kind is RECV_B:
            return [at(stage + 1, SEND_B)]
        return []

    def _is_remote(self, one: int, other: int) -> bool:
        return self._stage_to_rank(one) != self._stage_to_rank(other)

    def take(self, rank: int) -> bool:
        """Takes the next action of a rank if its needs are met."""
        queue = self.queues[rank]
        if not queue or self.missing(rank) is not None:
            return False
        action = queue.popleft()
        del self._awaited[rank]
        self.steps[rank].append(action)
        self._finished[rank] |= {action, *(action.sub_actions or ())}
        return True


def simulate(
    pipeline_order: Mapping[int, Table], stage_to_rank: Callable[[int], int], num_stages: int
) -> dict[int, list[Action | None]]:
    """Runs tables with messages step by step, without computing.

    Args:
        pipeline_order: the actions of each rank, with messages.
        stage_to_rank: the rank of a stage.
        num_stages: the number of stages.

    Returns:
        The action of each rank in each step; None where it waits.

    Raises:
        ValueError: no rank can go on.

    Example:
        >>> texts = {0: ["0F0", "0SEND_F0"], 1: ["1RECV_F0", "1F0"]}
        >>> tables = {rank: [Action.from_str(text) for text in row] for rank, row in texts.items()}
        >>> simulate(tables, lambda stage: stage, 2)
        {0: [0F0, 0SEND_F0], 1: [None, 1RECV_F0, 1F0]}
    """
    run = _Run(pipeline_order, stage_to_rank, num_stages)
    while any(run.queues.values()):
        waiting = [rank for rank, queue in run.queues.items() if queue and not run.take(rank)]
        progress = len(waiting) < sum(map(bool, run.queues.values())) or not waiting
        late = [rank for rank in waiting if not run.take(rank)]  # a later rank may have met the needs
        for rank in late:
            run.steps[rank].append(None)
        if not progress and len(late) == len(waiting):
            raise ValueError(_standstill(run))
    return run.steps


def _standstill(run: _Run) -> str:
    rank, action = next((rank, queue[0]) for rank, queue in run.queues.items() if queue)
    return f"the schedule would stand still: rank {rank} is at {action}, which waits for {run.missing(rank)}"


def check_messages(
    pipeline_order: Mapping[int, Table], stage_to_rank: Callable[[int], int], num_stages: int
) -> None:
    """Checks that tables with messages end, and that two ranks have their messages in one order.

    Args:
        pipeline_order: the actions of each rank, with messages.
        stage_to_rank: the rank of a stage.
        num_stages: the number of stages.

    Raises:
        ValueError: an action waits for one that never comes, or two messages cross.
    """
    simulate(pipeline_order, stage_to_rank, num_stages)
    messages: dict[tuple[int, int], list[Action]] = {}
    receipts_of: dict[tuple[int, int], list[Action]] = {}
    for rank, table in pipeline_order.items():
        for action in passes_of(table):
            stage, kind, microbatch, _ = action
            if kind in (SEND_F, SEND_B):
                other = stage + 1 if kind is SEND_F else stage - 1
                receipt = Action(other, RECV_F if kind is SEND_F else RECV_B, microbatch)
                messages.setdefault((rank, stage_to_rank(other)), []).append(receipt)
            elif kind in (RECV_F, RECV_B):
                other = stage - 1 if kind is RECV_F else stage + 1
                receipts_of.setdefault((stage_to_rank(other), rank), []).append(action)
    for pair in messages.keys() | receipts_of.keys():
        sends, receipts = messages.get(pair, []), receipts_of.get(pair, [])
        for one, two in zip(sends, receipts, strict=False):
            if one != two:
                raise ValueError(
                    f"messages cross: rank {pair[0]} sends the tensors of {one}, rank {pair[1]} is at {two}"
                )
        if len(sends) != len(receipts):
            raise ValueError(
                f"rank {pair[0]} sends {len(sends)} messages to rank {pair[1]}, which receives {len(receipts)}"
            )
