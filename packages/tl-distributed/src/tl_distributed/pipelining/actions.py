"""Actions of a schedule: what a rank does with a microbatch at a stage, as text and as values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

__all__ = [
    "BACKWARD_INPUT",
    "BACKWARD_WEIGHT",
    "FORWARD",
    "FULL_BACKWARD",
    "OVERLAP_F_B",
    "RECV_B",
    "RECV_F",
    "REDUCE_GRAD",
    "RESHARD",
    "SEND_B",
    "SEND_F",
    "UNSHARD",
    "Action",
    "ActionKind",
    "Table",
    "format_tables",
    "passes_of",
]


class ActionKind(StrEnum):
    """The kind of an action.

    Example:
        >>> ActionKind.from_str("SEND_F") is ActionKind.SEND_F
        True
    """

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    UNSHARD = "UNSHARD"
    RESHARD = "RESHARD"
    SEND_F = "SEND_F"
    RECV_F = "RECV_F"
    SEND_B = "SEND_B"
    RECV_B = "RECV_B"
    FULL_BACKWARD = "B"
    OVERLAP_F_B = "OVERLAP_F_B"
    REDUCE_GRAD = "REDUCE_GRAD"

    @staticmethod
    def from_str(action: str) -> ActionKind:
        """The kind that a text names.

        Args:
            action: the text.

        Raises:
            RuntimeError: no kind has this text.
        """
        try:
            return ActionKind(action)
        except ValueError:
            names = ", ".join(kind.value for kind in ActionKind)
            raise RuntimeError(f"Invalid computation type {action}, must be one of {names}") from None


FORWARD, FULL_BACKWARD = ActionKind.FORWARD, ActionKind.FULL_BACKWARD
BACKWARD_INPUT, BACKWARD_WEIGHT = ActionKind.BACKWARD_INPUT, ActionKind.BACKWARD_WEIGHT
SEND_F, RECV_F, SEND_B, RECV_B = (
    ActionKind.SEND_F,
    ActionKind.RECV_F,
    ActionKind.SEND_B,
    ActionKind.RECV_B,
)
UNSHARD, RESHARD, REDUCE_GRAD = ActionKind.UNSHARD, ActionKind.RESHARD, ActionKind.REDUCE_GRAD
OVERLAP_F_B = ActionKind.OVERLAP_F_B

_COMPUTATIONS = frozenset((FORWARD, FULL_BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT, OVERLAP_F_B))
_KINDS = sorted((kind.value for kind in ActionKind), key=len, reverse=True)
_PATTERN = re.compile(rf"(\d+)({'|'.join(_KINDS)})(\d*)")


class Action(NamedTuple):
    """An action of a rank: a pass of a microbatch through a stage, a message, or the gathering of parameters.

    Example:
        >>> Action(1, FORWARD, 0), Action.from_str("0SEND_B3"), Action.from_str("2UNSHARD").microbatch_index
        (1F0, 0SEND_B3, None)
    """

    stage_index: int
    computation_type: ActionKind
    microbatch_index: int | None = None
    sub_actions: tuple[Action, ...] | None = None

    def __repr__(self) -> str:
        kind = self.computation_type.value
        if self.sub_actions is not None:
            return f"({';'.join(map(repr, self.sub_actions))}){kind}"
        return f"{self.stage_index}{kind}{'' if self.microbatch_index is None else self.microbatch_index}"

    def __str__(self) -> str:
        return repr(self)

    @property
    def is_compute_op(self) -> bool:
        """Whether it is a pass through a stage, not a message."""
        return self.computation_type in _COMPUTATIONS

    @staticmethod
    def from_str(action_string: str) -> Action | None:
        """The action of a text, None for blanks.

        Args:
            action_string: a text such as `2F0`, `1UNSHARD`, `3SEND_F1` or `(0F1;3B0)OVERLAP_F_B`.

        Raises:
            RuntimeError: the text is none of an action.
        """
        text = action_string.strip()
        if not text:
            return None
        if text.startswith("(") and ")" in text:
            parts, _, kind = text[1:].partition(")")
            passes = tuple(a for a in map(Action.from_str, parts.split(";")) if a is not None)
            return Action(-1, ActionKind.from_str(kind), None, passes or None)
        match = _PATTERN.fullmatch(text)
        if match is None:
            raise RuntimeError(
                f"Invalid action string: {action_string}, must be stage, kind and microbatch, e.g. 2F0"
            )
        stage, kind, microbatch = match.groups()
        return Action(int(stage), ActionKind(kind), int(microbatch) if microbatch else None)


Table = Sequence[Action | None]


def passes_of(table: Table) -> Iterator[Action]:
    """The actions of a table in order, the parts of an overlapped action one by one.

    Args:
        table: the actions of a rank; None stands for a pause.

    Example:
        >>> list(passes_of([None, Action.from_str("(0F1;1B0)OVERLAP_F_B")]))
        [0F1, 1B0]
    """
    for action in table:
        if action is not None:
            yield from action.sub_actions if action.sub_actions is not None else (action,)


def format_tables(pipeline_order: Mapping[int, Table], error_step_number: int | None = None) -> str:
    """Tables as text: a row for each step, a column for each rank.

    Args:
        pipeline_order: the actions of each rank.
        error_step_number: the step that is marked.

    Example:
        >>> print(format_tables({0: [Action(0, FORWARD, 0)], 1: [None, Action(1, FORWARD, 0)]}))
               Rank 0 Rank 1
        Step 0 0F0
        Step 1        1F0
    """
    ranks = sorted(pipeline_order)
    steps = max((len(pipeline_order[rank]) for rank in ranks), default=0)
    columns = [["", *(f"Step {step:0{len(str(max(steps - 1, 0)))}}" for step in range(steps))]]
    for rank in ranks:
        texts = ["" if action is None else str(action) for action in pipeline_order[rank]]
        columns.append([f"Rank {rank}", *texts, *[""] * (steps - len(texts))])
    widths = [max(map(len, column)) for column in columns]
    rows = [
        " ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]
    if error_step_number is not None:
        rows[error_step_number + 1] += " <-- error"
    return "\n".join(rows)
