"""What schedules have in common: the split of a batch, the check of the tables, their run."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from tl_core import Tensor, is_grad_enabled

from .actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FULL_BACKWARD,
    RECV_B,
    RECV_F,
    SEND_B,
    SEND_F,
    Action,
    ActionKind,
    Table,
)
from .checks import check_messages, check_tables, simulate, stage_ranks
from .execution import CustomFunction, Execution, PipelineContext, without_gradients
from .lowering import add_messages, add_unshard_reshard, defer_receipts, read_tables, write_tables
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .orders import stages_of

__all__ = ["PipelineScheduleMulti", "PipelineScheduleSingle"]

Order = Mapping[int, Table]
LossFunction = Callable[..., Tensor]


class _PipelineSchedule(ABC):
    """What all schedules do.

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch; without it, a step computes no gradients.
        args_chunk_spec: the dimension along which each argument is cut.
        kwargs_chunk_spec: the dimension along which each argument by name is cut.
        output_merge_spec: the dimension along which outputs are joined.
        scale_grads: whether gradients are divided by the number of microbatches.
        stage_index_to_group_rank: the rank of each stage; stage s is on rank s modulo their number by default.
    """

    pipeline_order: Order
    pipeline_order_with_comms: Order | None = None
    _backward_requires_autograd = True
    _defers_receipts = False

    def __init__(
        self,
        stages: Sequence[Any],
        n_microbatches: int,
        loss_fn: LossFunction | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        stage_index_to_group_rank: Mapping[int, int] | None = None,
    ):
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be positive, got {n_microbatches}")
        self._stages = list(stages)
        first = self._stages[0]
        self._n_microbatches, self._loss_fn, self.scale_grads = n_microbatches, loss_fn, scale_grads
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec = output_merge_spec
        self.pp_group_size, self.rank = first.group_size, first.group_rank
        self._num_stages = first.num_stages
        self._custom: dict[ActionKind, CustomFunction] = {}
        self._lowered: tuple[Any, Order] | None = None
        if stage_index_to_group_rank is None:
            ranks = {s: s % self.pp_group_size for s in range(self._num_stages)}
        else:
            ranks = dict(
                enumerate(stage_index_to_group_rank)
                if not isinstance(stage_index_to_group_rank, Mapping)
                else stage_index_to_group_rank
            )
        self._assign_stages(ranks)
        self.pipeline_order = self._orders()
        self.peak_microbatches = self._check(self.pipeline_order)

    def _orders(self) -> Order:
        """The passes of each rank. A schedule of your own returns them here, or assigns `pipeline_order`."""
        return {
            rank: self._table(rank, self.pp_group_size, self._num_stages)
            for rank in range(self.pp_group_size)
        }

    def _table(self, rank: int, ranks: int, stages: int) -> Table:
        """The passes of a rank."""
        return ()

    def _assign_stages(self, ranks: dict[int, int]) -> None:
        """Notes the rank of each stage; raises ValueError if the stages of this rank are others."""
        own = sorted(stage for stage, rank in ranks.items() if rank == self.rank)
        numbers = [stage.stage_index for stage in self._stages]
        if -1 not in numbers and sorted(numbers) != own:
            raise ValueError(f"{type(self).__name__}: rank {self.rank} has the stages {own}, got {numbers}")
        self.stage_index_to_group_rank = ranks
        for stage in self._stages:
            stage.stage_index_to_group_rank = ranks

    def _check(self, order: Order) -> int:
        return check_tables([order[rank] for rank in sorted(order)], self._num_stages)

    def _rank_of(self, stage: int) -> int:
        return self.stage_index_to_group_rank[stage]

    def _with_messages(self, order: Order) -> Order:
        tables = add_messages(order, self._rank_of, self._num_stages)
        return defer_receipts(tables, self._rank_of) if self._defers_receipts else tables

    def _own_table(self) -> Table:
        """The table of this rank with messages. It is checked once, before it first runs."""
        source = (
            self.pipeline_order if self.pipeline_order_with_comms is None else self.pipeline_order_with_comms
        )
        if self._lowered is None or self._lowered[0] is not source:
            if self.pipeline_order_with_comms is None:
                self.peak_microbatches = self._check(source)
                complete = self._with_messages(source)
            else:
                complete = source
            check_messages(complete, self._rank_of, self._num_stages)
            self._lowered = (source, complete)
        return self._lowered[1].get(self.rank, ())

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Runs a batch through the pipeline, forward and backward.

        Args:
            args: the arguments of the first stage.
            target: the targets, on the last stage.
            losses: gets the loss of each microbatch, on the last stage.
            return_outputs: whether the outputs are kept and returned.
            loss_kwargs: further arguments of the loss function.
            kwargs: arguments by name, which every stage of this rank gets.

        Returns:
            The outputs of the batch, on the last stage.

        Raises:
            PipeliningShapeError: a microbatch has another size than those before.
            ValueError: the schedule would stand still.
            RuntimeError: gradients are off, or a stage would get no gradient.
        """
        has_backward = self._loss_fn is not None
        if has_backward and self._backward_requires_autograd and not is_grad_enabled():
            raise RuntimeError(
                "step() needs gradients for its backward passes, but they are off here; call eval() for outputs alone"
            )
        return self._run(args, kwargs, target, losses, return_outputs, loss_kwargs, has_backward)

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """Runs a batch through the pipeline without gradients.

        Args:
            args: the arguments of the first stage.
            target: the targets, on the last stage.
            losses: gets the loss of each microbatch, on the last stage.
            kwargs: arguments by name.
        """
        return self._run(args, kwargs, target, losses, True, None, False)

    def _run(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        target: Any,
        losses: list[Any] | None,
        return_outputs: bool,
        loss_kwargs: dict[str, Any] | None,
        has_backward: bool,
    ) -> Any:
        table = self._own_table()
        positional, named = self._split_inputs(args, kwargs)
        targets = None if target is None else _split_target(target, self._n_microbatches)
        stages = {stage.stage_index: stage for stage in self._stages}
        for stage in self._stages:
            stage.clear_runtime_states()
            stage.has_backward = has_backward
            stage.loss_scale = 1 / self._n_microbatches if self.scale_grads else 1.0
            if stage.is_first:
                for microbatch, values in enumerate(positional):
                    stage.check_inputs(values, microbatch)
        loss_fn = self._loss_fn
        if loss_fn is not None and loss_kwargs:
            plain, further = loss_fn, loss_kwargs

            def loss_fn(output: Any, target: Any) -> Tensor:
                return plain(output, target, **further)

        context = PipelineContext(self, positional, named, targets, losses)
        execution = Execution(stages, context, loss_fn, has_backward, return_outputs, self._custom)
        with without_gradients(has_backward):
            execution.run(table)
            for stage in self._stages:
                stage.finish()
        if losses is not None and any(stage.is_last for stage in self._stages):
            losses[:] = [loss for _, loss in sorted(execution.losses.items())]
        outputs = [output for _, output in sorted(execution.outputs.items())]
        return merge_chunks(outputs, self._output_merge_spec) if outputs else None

    def _split_inputs(self, args: Any, kwargs: Any) -> tuple[list[Any], list[Any]]:
        if not args and not kwargs:
            return [()] * self._n_microbatches, [{}] * self._n_microbatches
        specs = (self._args_chunk_spec, self._kwargs_chunk_spec)
        return split_args_kwargs_into_chunks(args, kwargs, self._n_microbatches, *specs)


def _split_target(target: Any, count: int) -> list[Any]:
    """The targets of the microbatches: a tensor, or a container of tensors, cut along the first dimension."""
    return [args[0] for args in split_args_kwargs_into_chunks((target,), None, count)[0]]


class PipelineScheduleSingle(_PipelineSchedule):
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
        >>> from tl_distributed.pipelining import ScheduleGPipe
        >>> issubclass(ScheduleGPipe, PipelineScheduleSingle)
        True
    """

    def __init__(
        self,
        stage: Any,
        n_microbatches: int,
        loss_fn: LossFunction | None = None,
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
        self._stage = stage


class PipelineScheduleMulti(_PipelineSchedule):
    """A schedule with several stages on each rank: rank r has the stages r, r + ranks, and so on.

    Args:
        stages: the stages of this rank.
        n_microbatches: the number of microbatches.
        loss_fn: takes the output and the target of a microbatch.
        args_chunk_spec: the dimension along which each argument is cut.
        kwargs_chunk_spec: the dimension along which each argument by name is cut.
        output_merge_spec: the dimension along which outputs are joined.
        use_full_backward: True for backward passes in one part, also where the schedule has two.
        scale_grads: whether gradients are divided by the number of microbatches.
        backward_requires_autograd: whether a step refuses to run while gradients are off.
        stage_index_to_group_rank: the rank of each stage, in the place of the one above.

    Raises:
        ValueError: the stages are others.

    Example:
        >>> from tl_distributed.pipelining import ScheduleInterleaved1F1B
        >>> issubclass(ScheduleInterleaved1F1B, PipelineScheduleMulti)
        True
    """

    style: ClassVar[str] = "loop"

    def __init__(
        self,
        stages: list[Any],
        n_microbatches: int,
        loss_fn: LossFunction | None = None,
        args_chunk_spec: tuple[Any, ...] | None = None,
        kwargs_chunk_spec: dict[str, Any] | None = None,
        output_merge_spec: Any = None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        stage_index_to_group_rank: Mapping[int, int] | None = None,
    ):
        self.use_full_backward = bool(use_full_backward)
        self._backward_requires_autograd = backward_requires_autograd
        ranks, count = stages[0].group_size, stages[0].num_stages
        if self.style == "v" and count != 2 * ranks:
            raise ValueError(
                f"{type(self).__name__} needs exactly 2 stages on each rank, got {count} stages on {ranks} ranks"
            )
        if stage_index_to_group_rank is None:
            placement = {rank: stages_of(rank, ranks, count, self.style) for rank in range(ranks)}
            stage_index_to_group_rank = {s: rank for rank, own in placement.items() for s in own}
        specs = (args_chunk_spec, kwargs_chunk_spec, output_merge_spec)
        super().__init__(stages, n_microbatches, loss_fn, *specs, scale_grads, stage_index_to_group_rank)
        if self.use_full_backward:
            self.pipeline_order = {rank: _join_backward(table) for rank, table in self.pipeline_order.items()}
            self.peak_microbatches = self._check(self.pipeline_order)

    def _load_csv(self, filename: str, format: str = "compute_only") -> None:
        """Reads the passes of all ranks from a CSV file, a row for each rank.

        Args:
            filename: the path of the file.
            format: `"compute_only"`.

        Raises:
            ValueError: the schedule would stand still.
            AssertionError: a pass is missing.
        """
        _check_format(format, ("compute_only",))
        tables = read_tables(filename)
        self._assign_stages(stage_ranks(tables, self.pp_group_size, self._num_stages, self._n_microbatches))
        self.peak_microbatches = self._check(tables)
        self.pipeline_order = tables

    def _dump_csv(self, filename: str, format: str = "compute_only") -> None:
        """Writes the passes of all ranks to a CSV file, a row for each rank.

        Args:
            filename: the path of the file.
            format: `"compute_only"`.
        """
        _check_format(format, ("compute_only",))
        write_tables(self.pipeline_order, filename)


def _check_format(name: str, formats: tuple[str, ...]) -> None:
    if name not in formats:
        raise NotImplementedError(f"format must be one of {formats}, got {name!r}")


def _join_backward(table: Table) -> list[Action | None]:
    """A table whose backward passes in two parts are one, at the place of the first part."""
    return [
        action._replace(computation_type=FULL_BACKWARD)
        if action is not None and action.computation_type is BACKWARD_INPUT
        else action
        for action in table
        if action is None or action.computation_type is not BACKWARD_WEIGHT
    ]


class _PipelineScheduleRuntime(PipelineScheduleMulti):
    """A schedule whose tables come from outside: from actions in memory or from a CSV file.

    Args:
        args, kwargs: those of `PipelineScheduleMulti`, and `defer_pp_recv`: whether a rank begins to receive only where
            the tensor is used.
    """

    def __init__(self, *args: Any, defer_pp_recv: bool = False, **kwargs: Any):
        self._defers_receipts = defer_pp_recv
        super().__init__(*args, **kwargs)

    def register_custom_function(self, computation_type: ActionKind, custom_function: CustomFunction) -> None:
        """Runs a function in the place of all actions of a kind.

        Args:
            computation_type: the kind.
            custom_function: called with the action and the context of the step.

        Raises:
            ValueError: the kind is a message.
        """
        if computation_type in (SEND_F, RECV_F, SEND_B, RECV_B):
            raise ValueError(f"Invalid computation type {computation_type}: messages can't be replaced")
        self._custom[computation_type] = custom_function

    def _load_actions(self, actions: Order, format: str = "compute_only") -> None:
        """Takes the tables of all ranks.

        Args:
            actions: the actions of each rank.
            format: `"compute_only"` for passes, to which messages are added, or `"compute_comms"` for whole tables.

        Raises:
            ValueError: the schedule would stand still, or passes have messages among them.
            AssertionError: a pass is missing.
        """
        _check_format(format, ("compute_only", "compute_comms"))
        sizes = (self.pp_group_size, self._num_stages, self._n_microbatches)
        self._assign_stages(stage_ranks(actions, *sizes))
        if format == "compute_comms":
            for rank, table in actions.items():
                if None in table:
                    raise AssertionError(f"a table with messages has no pauses, got one on rank {rank}")
            complete: Order = {rank: list(table) for rank, table in actions.items()}
        else:
            for rank, table in actions.items():
                message = next((a for a in table if a is not None and not a.is_compute_op), None)
                if message is not None:
                    raise ValueError(f"a table of passes has no messages, got {message} on rank {rank}")
            gathered = {rank: add_unshard_reshard(table) for rank, table in actions.items()}
            complete = self._with_messages(gathered)
        check_messages(complete, self._rank_of, self._num_stages)
        self.peak_microbatches = self._check(
            {
                rank: [a for a in table if a is not None and a.is_compute_op]
                for rank, table in complete.items()
            }
        )
        self.pipeline_order_with_comms = complete

    _prepare_schedule_with_comms = _load_actions

    def _load_csv(self, filename: str, format: str = "compute_only") -> None:
        """Reads the tables of all ranks from a CSV file, a row for each rank.

        Args:
            filename: the path of the file.
            format: `"compute_only"` for passes, or `"compute_comms"` for whole tables.
        """
        self._load_actions(read_tables(filename), format)

    def _dump_csv(self, filename: str, format: str = "compute_comms") -> None:
        """Writes the tables of all ranks to a CSV file, a row for each rank.

        Args:
            filename: the path of the file.
            format: `"compute_only"` for passes, or `"compute_comms"` for whole tables.
        """
        _check_format(format, ("compute_only", "compute_comms"))
        if format == "compute_only":
            write_tables(self.pipeline_order, filename)
            return
        self._own_table()
        complete = self.pipeline_order_with_comms or (self._lowered[1] if self._lowered else {})
        write_tables(complete, filename)

    def _simulate(self) -> dict[int, list[Action | None]]:
        """The action of each rank in each step, without computing."""
        self._own_table()
        assert self._lowered is not None
        return simulate(self._lowered[1], self._rank_of, self._num_stages)
