"""The run of a table: the actions of a rank one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tl_core import Tensor, no_grad
from tl_core.pytree import tree_map

from .actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    RECV_B,
    RECV_F,
    REDUCE_GRAD,
    RESHARD,
    SEND_B,
    SEND_F,
    UNSHARD,
    Action,
    ActionKind,
    Table,
)
from .stage import _PipelineStageBase

__all__ = ["CustomFunction", "Execution", "PipelineContext"]


@dataclass
class PipelineContext:
    """What a function in the place of an action gets.

    Args:
        schedule_ref: the schedule.
        arg_mbs: the arguments of each microbatch.
        kwarg_mbs: the arguments by name of each microbatch.
        target_mbs: the target of each microbatch.
        losses: the list of losses that the step was called with.
    """

    schedule_ref: Any
    arg_mbs: Sequence[tuple[Any, ...]] | None = None
    kwarg_mbs: Sequence[dict[str, Any]] | None = None
    target_mbs: Sequence[Any] | None = None
    losses: list[Any] | None = None


CustomFunction = Callable[[Action, PipelineContext], None]


class Execution:
    """One run of a rank's table.

    Args:
        stages: the stages of this rank by number.
        context: the microbatches.
        loss_fn: takes an output and a target; None without a loss.
        has_backward: whether backward passes run.
        keeps_outputs: whether the outputs of the last stage are kept.
        custom: functions in the place of actions.
    """

    def __init__(
        self,
        stages: Mapping[int, _PipelineStageBase],
        context: PipelineContext,
        loss_fn: Callable[..., Tensor] | None,
        has_backward: bool,
        keeps_outputs: bool = True,
        custom: Mapping[ActionKind, CustomFunction] | None = None,
    ):
        self._stages, self._context, self._loss_fn = stages, context, loss_fn
        self._has_backward, self._keeps_outputs = has_backward, keeps_outputs
        self._custom = custom or {}
        self._graphs: dict[int, Tensor] = {}
        self._finished: Counter[int] = Counter()
        self._checked: set[int] = set()
        self.outputs: dict[int, Any] = {}
        self.losses: dict[int, Tensor] = {}

    def run(self, table: Table) -> None:
        """Runs the actions of a table.

        Args:
            table: the actions, with messages.
        """
        run_one: dict[ActionKind, Callable[[_PipelineStageBase, int], None]] = {
            FORWARD: self._forward,
            RECV_F: lambda stage, m: stage.get_fwd_recv(m),
            SEND_F: lambda stage, m: stage.get_fwd_send(m),
            UNSHARD: lambda stage, m: _call(stage, "unshard"),
            RESHARD: lambda stage, m: _call(stage, "reshard"),
            REDUCE_GRAD: lambda stage, m: None,  # the last backward pass of a stage averages its gradients
        }
        if self._has_backward:
            run_one |= {
                FULL_BACKWARD: self._backward,
                BACKWARD_INPUT: self._backward_input,
                BACKWARD_WEIGHT: self._backward_weight,
                RECV_B: lambda stage, m: stage.get_bwd_recv(m),
                SEND_B: lambda stage, m: stage.get_bwd_send(m),
            }
        for action in table:
            if action is None:
                continue
            if action.computation_type in self._custom:
                self._custom[action.computation_type](action, self._context)
                continue
            for part in action.sub_actions or (action,):
                step = run_one.get(part.computation_type)
                if step is not None:
                    step(self._stages[part.stage_index], part.microbatch_index)  # type: ignore[arg-type]  # passes have one

    def _forward(self, stage: _PipelineStageBase, microbatch: int) -> None:
        args, kwargs = self._context.arg_mbs, self._context.kwarg_mbs
        output = stage.forward_one_chunk(
            microbatch, args[microbatch] if args else (), kwargs[microbatch] if kwargs else {}
        )
        if stage.is_last:
            self._finish_forward(stage, microbatch, output)
        elif stage.is_local(stage.stage_index + 1):
            self._stages[stage.stage_index + 1].set_local_fwd_input(stage.outputs_of(microbatch), microbatch)
        if self._has_backward:
            if stage.stage_index not in self._checked:
                self._checked.add(stage.stage_index)
                stage.check_gradients(microbatch, self._graphs.get(microbatch))
        elif stage.is_last or stage.is_local(stage.stage_index + 1):
            stage.drop_outputs(microbatch)

    def _finish_forward(self, stage: _PipelineStageBase, microbatch: int, output: Any) -> None:
        """The loss and the kept output of the last stage."""
        targets = self._context.target_mbs
        if self._loss_fn is not None and (self._has_backward or targets is not None):
            loss = self._loss_fn(output, None if targets is None else targets[microbatch])
            self.losses[microbatch] = loss.detach()
            if self._has_backward:
                self._graphs[microbatch] = loss
        if self._keeps_outputs:
            self.outputs[microbatch] = tree_map(
                lambda value: value.detach() if isinstance(value, Tensor) else value, output
            )

    def _backward(self, stage: _PipelineStageBase, microbatch: int) -> None:
        self._run_backward(stage, microbatch, is_full=True)

    def _backward_input(self, stage: _PipelineStageBase, microbatch: int) -> None:
        self._run_backward(stage, microbatch, is_full=False)

    def _run_backward(self, stage: _PipelineStageBase, microbatch: int, is_full: bool) -> None:
        loss = self._graphs.pop(microbatch, None) if stage.is_last else None
        is_end = is_full and self._is_end(stage)
        stage.backward_one_chunk(microbatch, loss, full_backward=is_full, last_backward=is_end)
        if not stage.is_first and stage.is_local(stage.stage_index - 1):
            before = self._stages[stage.stage_index - 1]
            before.set_local_bwd_input(stage.get_local_bwd_output(microbatch), microbatch)

    def _backward_weight(self, stage: _PipelineStageBase, microbatch: int) -> None:
        stage.backward_weight_one_chunk(microbatch, last_backward=self._is_end(stage))

    def _is_end(self, stage: _PipelineStageBase) -> bool:
        """Whether this is the stage's last microbatch."""
        self._finished[stage.stage_index] += 1
        return self._finished[stage.stage_index] == self._context.schedule_ref._n_microbatches


def _call(stage: _PipelineStageBase, method: str) -> None:
    """Gathers or frees the parameters of a module that `fully_shard` has sharded."""
    if hasattr(stage.submod, "set_is_last_backward"):
        getattr(stage.submod, method)()


def without_gradients(has_backward: bool) -> Any:
    """A context without recording, unless backward passes follow.

    Args:
        has_backward: whether they do.
    """
    from contextlib import nullcontext

    return nullcontext() if has_backward else no_grad()
