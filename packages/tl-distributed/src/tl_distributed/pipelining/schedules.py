"""Schedules: the order of the passes of microbatches through the stages of a rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import actions, checks, execution, lowering
from .actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    Action,
    ActionKind,
    Table,
)
from .orders import (
    DualPipe,
    fill_bubbles,
    interleave_stages,
    loop_stages,
    one_forward_one_backward,
    stages_of,
)
from .schedule_base import (
    LossFunction,
    Order,
    PipelineScheduleMulti,
    PipelineScheduleSingle,
    _PipelineSchedule,
    _PipelineScheduleRuntime,
)

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleDualPipeV",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble",
    "get_schedule_class",
]

# Names of PyTorch's module, which programs with tables of their own import.
_Action, _ComputationType = Action, ActionKind
F, B, I, W = FORWARD, FULL_BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT  # noqa: E741 - PyTorch has I
SEND_F, RECV_F, SEND_B, RECV_B = actions.SEND_F, actions.RECV_F, actions.SEND_B, actions.RECV_B
UNSHARD, RESHARD, REDUCE_GRAD = actions.UNSHARD, actions.RESHARD, actions.REDUCE_GRAD
OVERLAP_F_B = actions.OVERLAP_F_B
_format_pipeline_order = actions.format_tables
_add_send_recv, _add_unshard_reshard = lowering.add_messages, lowering.add_unshard_reshard
_merge_bw = lowering.merge_backward
_simulate_comms_compute, _validate_schedule = checks.simulate, checks.stage_ranks
_PipelineContext = execution.PipelineContext


class _ScheduleForwardOnly(PipelineScheduleSingle):
    """Forward passes alone, for inference.

    Args:
        stage: the stage of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: refused: there is no backward pass.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: without effect.
    """

    def _table(self, rank: int, ranks: int, stages: int) -> Table:
        if self._loss_fn is not None:
            raise RuntimeError("a schedule of forward passes alone takes no loss_fn")
        return [Action(rank, FORWARD, m) for m in range(self._n_microbatches)]


class ScheduleGPipe(PipelineScheduleSingle):
    """All forward passes, then all backward passes.

    Args:
        stage: the stage of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.

    Example:
        >>> import tl_core, tl_nn, tl_distributed as dist
        >>> from tl_distributed.pipelining import PipelineStage
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> stage = PipelineStage(tl_nn.Linear(2, 1), 0, 1, tl_core.device("cpu"))
        >>> schedule = ScheduleGPipe(stage, 2, lambda output, target: ((output - target) ** 2).mean())
        >>> schedule.step(tl_core.ones(4, 2), target=tl_core.zeros(4, 1)).shape
        torch.Size([4, 1])
        >>> dist.destroy_process_group()
    """

    def _table(self, rank: int, ranks: int, stages: int) -> Table:
        return loop_stages([rank], self._n_microbatches)


class Schedule1F1B(PipelineScheduleSingle):
    """A backward pass follows each forward pass as soon as the pipeline is full, so fewer microbatches are alive.

    Args:
        stage: the stage of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.

    Example:
        >>> import tl_core, tl_nn, tl_distributed as dist
        >>> from tl_distributed.pipelining import PipelineStage
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> stage = PipelineStage(tl_nn.Linear(2, 1), 0, 1, tl_core.device("cpu"))
        >>> Schedule1F1B(stage, 8).peak_microbatches
        1
        >>> dist.destroy_process_group()
    """

    def _table(self, rank: int, ranks: int, stages: int) -> Table:
        return one_forward_one_backward(rank, stages, self._n_microbatches)


class ScheduleLoopedBFS(_PipelineScheduleRuntime):
    """All forward passes stage by stage, then all backward passes.

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.
        backward_requires_autograd: whether a step refuses to run while gradients are off.
        defer_pp_recv: whether a rank begins to receive only where the tensor is used.

    Example:
        >>> issubclass(ScheduleLoopedBFS, PipelineScheduleMulti)
        True
    """

    def __init__(
        self,
        stages: list[Any],
        n_microbatches: int,
        loss_fn: LossFunction | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ):
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            output_merge_spec=output_merge_spec,
            scale_grads=scale_grads,
            backward_requires_autograd=backward_requires_autograd,
            defer_pp_recv=defer_pp_recv,
        )

    def _table(self, rank: int, ranks: int, stages: int) -> Table:
        return loop_stages(range(rank, stages, ranks), self._n_microbatches)


class _Rounds(_PipelineScheduleRuntime):
    """A schedule that goes through its microbatches in rounds, or there and back.

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.
        backward_requires_autograd: whether a step refuses to run while gradients are off.
        defer_pp_recv: whether a rank begins to receive only where the tensor is used.
        stage_index_to_group_rank: the rank of each stage.
    """

    def __init__(
        self,
        stages: list[Any],
        n_microbatches: int,
        loss_fn: LossFunction | None = None,
        args_chunk_spec: tuple[Any, ...] | None = None,
        kwargs_chunk_spec: dict[str, Any] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
        stage_index_to_group_rank: Mapping[int, int] | None = None,
    ):
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads=scale_grads,
            backward_requires_autograd=backward_requires_autograd,
            defer_pp_recv=defer_pp_recv,
            stage_index_to_group_rank=stage_index_to_group_rank,
        )

    def _interleave(self, rank: int, ranks: int, stages: int, is_split: bool) -> Table:
        rounds = max(1, self._n_microbatches // ranks)
        if stages % ranks:
            raise ValueError(
                f"{type(self).__name__}: {stages} stages must be a multiple of {ranks} ranks; other numbers need "
                "tables of your own"
            )
        if self._n_microbatches % rounds:
            raise ValueError(
                f"{type(self).__name__}: {self._n_microbatches} microbatches must be a multiple of {rounds} rounds"
            )
        return interleave_stages(rank, ranks, stages // ranks, self._n_microbatches, is_split)


class ScheduleInterleaved1F1B(_Rounds):
    """One forward and one backward pass in turns, over several stages of each rank (Narayanan et al. 2021).

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.
        backward_requires_autograd: whether a step refuses to run while gradients are off.
        defer_pp_recv: whether a rank begins to receive only where the tensor is used.

    Raises:
        ValueError: the microbatches are no whole number of rounds.

    Example:
        >>> issubclass(ScheduleInterleaved1F1B, PipelineScheduleMulti)
        True
    """

    def _table(self, rank: int, ranks: int, stages: int) -> Table:
        return self._interleave(rank, ranks, stages, is_split=False)


class ScheduleInterleavedZeroBubble(_Rounds):
    """Forward passes and input gradients in turns, and weight gradients where a rank would wait (Qi et al. 2023, ZB1P).

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.
        backward_requires_autograd: whether a step refuses to run while gradients are off.
        defer_pp_recv: whether a rank begins to receive only where the tensor is used.

    Raises:
        ValueError: the microbatches are no whole number of rounds.

    Example:
        >>> issubclass(ScheduleInterleavedZeroBubble, PipelineScheduleMulti)
        True
    """

    def _table(self, rank: int, ranks: int, stages: int) -> Table:
        return self._interleave(rank, ranks, stages, is_split=True)


class ScheduleZBVZeroBubble(_Rounds):
    """Two stages on each rank, one on the way there and one on the way back; weight gradients fill the waits.

    The passes are chosen step by step as if all had one length, with the memory of 1F1B (Qi et al. 2023, ZB-V).

    Args:
        stages: the stages of this rank: number r and number 2 * ranks - 1 - r on rank r.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.
        backward_requires_autograd: whether a step refuses to run while gradients are off.
        defer_pp_recv: whether a rank begins to receive only where the tensor is used.

    Raises:
        ValueError: there are more stages than two on each rank, or fewer.

    Example:
        >>> ScheduleZBVZeroBubble.style
        'v'
    """

    style = "v"

    def _orders(self) -> Order:
        placement = {
            rank: stages_of(rank, self.pp_group_size, self._num_stages, "v")
            for rank in range(self.pp_group_size)
        }
        return fill_bubbles(placement, self._num_stages, self._n_microbatches, 2 * self.pp_group_size)


class ScheduleDualPipeV(_Rounds):
    """Two stages on each rank, there and back, with forward beside backward passes (DeepSeek-AI 2024, DualPipeV).

    Args:
        stages: the stages of this rank: number r and number 2 * ranks - 1 - r on rank r.
        n_microbatches: the number of microbatches, at least that of stages.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.
        backward_requires_autograd: whether a step refuses to run while gradients are off.
        defer_pp_recv: whether a rank begins to receive only where the tensor is used.

    Raises:
        ValueError: there are fewer microbatches than stages, or not two stages on each rank.

    Example:
        >>> ScheduleDualPipeV.style
        'v'
    """

    style = "v"

    def _table(self, rank: int, ranks: int, stages: int) -> Table:
        if self._n_microbatches < stages:
            raise ValueError(
                f"ScheduleDualPipeV needs at least as many microbatches as stages, got {self._n_microbatches} "
                f"microbatches and {stages} stages"
            )
        return DualPipe(rank, ranks, self._n_microbatches).actions()


def get_schedule_class(schedule_name: str) -> type[_PipelineSchedule]:
    """The schedule of a name, in upper or lower case.

    Args:
        schedule_name: such as `"1F1B"` or `"ZBVZeroBubble"`.

    Raises:
        ValueError: no schedule has this name.

    Example:
        >>> get_schedule_class("gpipe").__name__
        'ScheduleGPipe'
    """
    classes: list[type[_PipelineSchedule]] = [
        Schedule1F1B,
        ScheduleInterleaved1F1B,
        ScheduleGPipe,
        ScheduleLoopedBFS,
        ScheduleInterleavedZeroBubble,
        PipelineScheduleSingle,
        PipelineScheduleMulti,
        ScheduleZBVZeroBubble,
        ScheduleDualPipeV,
    ]
    classes_by_name = {each.__name__.removeprefix("Schedule"): each for each in classes}
    for name, each in classes_by_name.items():
        if name.lower() == schedule_name.lower():
            return each
    raise ValueError(f"Unknown schedule name '{schedule_name}', must be one of {', '.join(classes_by_name)}")
