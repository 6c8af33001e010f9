"""Schedules: the order of the passes of microbatches through the stages of a rank."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from tl_core import Tensor, no_grad

from .actions import Action, check_tables, interleave_stages, loop_stages, one_forward_one_backward
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .stage import PipelineStage

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
]


class _Schedule(ABC):
    """What all schedules do.

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch; without it, a step computes no gradients.
        args_chunk_spec: the dimension along which each argument is cut.
        kwargs_chunk_spec: the dimension along which each argument by name is cut.
        output_merge_spec: the dimension along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.
    """

    def __init__(
        self,
        stages: Sequence[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: tuple[Any, ...] | None = None,
        kwargs_chunk_spec: dict[str, Any] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ):
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be positive, got {n_microbatches}")
        self._stages = {stage.stage_index: stage for stage in stages}
        self._first = stages[0]
        self._n_microbatches, self._loss_fn, self.scale_grads = n_microbatches, loss_fn, scale_grads
        self._specs = (args_chunk_spec, kwargs_chunk_spec)
        self._output_merge_spec = output_merge_spec
        ranks, count = self._first.group_size, self._first.num_stages
        self.tables = [self._table(rank, ranks, count) for rank in range(ranks)]
        self.peak_microbatches = check_tables(self.tables, count)

    @abstractmethod
    def _table(self, rank: int, ranks: int, stages: int) -> list[Action]:
        """The actions of a rank."""

    def step(self, *args: Any, target: Any = None, losses: list[Tensor] | None = None, **kwargs: Any) -> Any:
        """Runs a batch through the pipeline, forward and backward.

        Args:
            args: the arguments of the first stage.
            target: the targets, on the last stage.
            losses: gets the loss of each microbatch, on the last stage.
            kwargs: arguments by name, which every stage of this rank gets.

        Returns:
            The outputs of the batch, on the last stage.
        """
        positional, named = self._split(args, kwargs)
        targets = (
            [None] * self._n_microbatches
            if target is None
            else list(target.tensor_split(self._n_microbatches))
        )
        outputs, of_losses = self._run(positional, named, targets, self._loss_fn is not None)
        if losses is not None:
            losses[:] = of_losses
        return merge_chunks(outputs, self._output_merge_spec) if outputs else None

    def eval(self, *args: Any, target: Any = None, losses: list[Tensor] | None = None, **kwargs: Any) -> Any:
        """Runs a batch through the pipeline without gradients.

        Args:
            args: the arguments of the first stage.
            target: the targets, on the last stage.
            losses: gets the loss of each microbatch, on the last stage.
            kwargs: arguments by name.
        """
        loss_fn, self._loss_fn = self._loss_fn, None
        try:
            with no_grad():
                outputs = self.step(*args, target=None, **kwargs)
        finally:
            self._loss_fn = loss_fn
        if losses is not None and loss_fn is not None and outputs is not None and target is not None:
            losses[:] = [loss_fn(outputs, target)]
        return outputs

    def _split(self, args: Any, kwargs: Any) -> tuple[list[Any], list[Any]]:
        if not args and not kwargs:
            return [()] * self._n_microbatches, [{}] * self._n_microbatches
        return split_args_kwargs_into_chunks(args, kwargs, self._n_microbatches, *self._specs)

    def _run(
        self, args: list[Any], kwargs: list[Any], targets: list[Any], has_backward: bool
    ) -> tuple[list[Any], list[Tensor]]:
        local: dict[Any, Any] = {}
        outputs: dict[int, Any] = {}
        losses: dict[int, Tensor] = {}
        for stage in self._stages.values():
            stage.has_backward = has_backward
        for action in self.tables[self._first.group_rank]:
            stage, microbatch = self._stages[action.stage], action.microbatch
            if action.kind == "F":
                output = stage.forward_one_chunk(microbatch, args[microbatch], kwargs[microbatch], local)
                if stage.is_last:
                    outputs[microbatch] = output
                    if self._loss_fn is not None:
                        losses[microbatch] = self._loss_fn(output, targets[microbatch])
            elif has_backward:
                stage.backward_one_chunk(microbatch, losses.get(microbatch), local)
        for stage in self._stages.values():
            stage.finish()
            if has_backward and self.scale_grads:
                stage.scale_grads(self._n_microbatches)
        order = range(self._n_microbatches)
        return (
            [outputs[m] for m in order if m in outputs],
            [losses[m].detach() for m in order if m in losses],
        )


class PipelineScheduleSingle(_Schedule):
    """A schedule with one stage on each rank.

    Args:
        stage: the stage of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.

    Raises:
        ValueError: there are more stages than ranks, or fewer.

    Example:
        >>> issubclass(ScheduleGPipe, PipelineScheduleSingle)
        True
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: tuple[Any, ...] | None = None,
        kwargs_chunk_spec: dict[str, Any] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ):
        if stage.num_stages != stage.group_size:
            raise ValueError(
                f"{type(self).__name__} has one stage on each rank, got {stage.num_stages} stages "
                f"on {stage.group_size} ranks"
            )
        specs = (args_chunk_spec, kwargs_chunk_spec, output_merge_spec)
        super().__init__([stage], n_microbatches, loss_fn, *specs, scale_grads)


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
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> stage = PipelineStage(tl_nn.Linear(2, 1), 0, 1, tl_core.device("cpu"))
        >>> schedule = ScheduleGPipe(stage, 2, lambda output, target: ((output - target) ** 2).mean())
        >>> schedule.step(tl_core.ones(4, 2), target=tl_core.zeros(4, 1)).shape
        torch.Size([4, 1])
        >>> dist.destroy_process_group()
    """

    def _table(self, rank: int, ranks: int, stages: int) -> list[Action]:
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
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> stage = PipelineStage(tl_nn.Linear(2, 1), 0, 1, tl_core.device("cpu"))
        >>> Schedule1F1B(stage, 8).peak_microbatches
        1
        >>> dist.destroy_process_group()
    """

    def _table(self, rank: int, ranks: int, stages: int) -> list[Action]:
        return one_forward_one_backward(rank, stages, self._n_microbatches)


class PipelineScheduleMulti(_Schedule):
    """A schedule with several stages on each rank: rank r has the stages r, r + ranks, and so on.

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec: the dimension along which each argument is cut.
        kwargs_chunk_spec: the dimension along which each argument by name is cut.
        output_merge_spec: the dimension along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.

    Raises:
        ValueError: the stages are others.

    Example:
        >>> issubclass(ScheduleInterleaved1F1B, PipelineScheduleMulti)
        True
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: tuple[Any, ...] | None = None,
        kwargs_chunk_spec: dict[str, Any] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ):
        first = stages[0]
        expected = list(range(first.group_rank, first.num_stages, first.group_size))
        numbers = [stage.stage_index for stage in stages]
        if numbers != expected:
            raise ValueError(
                f"{type(self).__name__}: rank {first.group_rank} has the stages {expected}, got {numbers}"
            )
        specs = (args_chunk_spec, kwargs_chunk_spec, output_merge_spec)
        super().__init__(stages, n_microbatches, loss_fn, *specs, scale_grads)


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All forward passes stage by stage, then all backward passes.

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.

    Example:
        >>> ScheduleLoopedBFS.__mro__[1].__name__
        'PipelineScheduleMulti'
    """

    def _table(self, rank: int, ranks: int, stages: int) -> list[Action]:
        return loop_stages(range(rank, stages, ranks), self._n_microbatches)


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """One forward and one backward pass in turns, over several stages of each rank.

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec, kwargs_chunk_spec: the dimensions along which arguments are cut.
        output_merge_spec: the dimensions along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.

    Example:
        >>> ScheduleInterleaved1F1B.__mro__[1].__name__
        'PipelineScheduleMulti'
    """

    def _table(self, rank: int, ranks: int, stages: int) -> list[Action]:
        rounds = max(1, self._n_microbatches // ranks)
        if self._n_microbatches % rounds:
            raise ValueError(
                f"ScheduleInterleaved1F1B: {self._n_microbatches} microbatches must be a multiple of {rounds} rounds"
            )
        return interleave_stages(rank, ranks, stages // ranks, self._n_microbatches)
