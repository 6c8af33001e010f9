"""A stage of a pipeline: a module on one rank, which gets activations from the stage before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import tl_core
from tl_core import Tensor

from ..base.reduction import ReduceOp
from ..collectives.tensor_collectives import all_reduce
from ..groups.process_groups import default_group, get_global_rank
from ._backward import has_way, stage_backward, stage_backward_input, stage_backward_weight
from ._utils import PipeInfo, TensorDescription, check_tensors, describe
from .links import Link

__all__ = ["PipelineStage", "build_stage"]


class _PipelineStageBase:
    """What a schedule needs of a stage.

    Args:
        submodule: the module.
        stage_index: the number of the stage.
        num_stages: the number of stages.
        device: the device of the tensors.
        group: the ranks of the pipeline; the world by default.
        dw_builder: returns a function that computes weight gradients, for modules whose backward pass leaves them out.
    """

    stage_index = -1  # a description of a pipeline, without modules, has stages without numbers
    stage_index_to_group_rank: dict[int, int] | None = None

    def __init__(
        self,
        submodule: Any,
        stage_index: int,
        num_stages: int,
        device: Any,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
    ):
        if not 0 <= stage_index < num_stages:
            raise ValueError(
                f"{type(self).__name__}: stage {stage_index} is out of range for {num_stages} stages"
            )
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device = tl_core.device(device)
        self.group = default_group() if group is None else group
        self.group_size, self.group_rank = self.group.size(), self.group.rank()
        if self.group_size > num_stages:
            raise ValueError(
                f"{type(self).__name__}: a pipeline of {num_stages} stages can't have {self.group_size} ranks"
            )
        self.dw_builder = dw_builder
        self.has_backward = True
        self.loss_scale = 1.0
        self._expected: tuple[TensorDescription, ...] | None = None  # of the inputs, in order
        self._promised: tuple[TensorDescription, ...] | None = None  # of the outputs
        self._received: dict[bool, tuple[TensorDescription, ...]] = {}
        self._sent: dict[bool, tuple[TensorDescription, ...]] = {}
        self._links: dict[int, Link] = {}
        self.clear_runtime_states()

    def clear_runtime_states(self) -> None:
        """Forgets the tensors of all microbatches."""
        self._arriving: dict[int, tuple[list[Tensor], list[Any]]] = {}
        self._arriving_grads: dict[int, tuple[list[Tensor], list[Any]]] = {}
        self._inputs: dict[int, list[Tensor]] = {}
        self._outputs: dict[int, list[Tensor]] = {}
        self._input_grads: dict[int, list[Tensor]] = {}
        self._weights: dict[int, Callable[[], None]] = {}
        self._backward_count = 0

    @property
    def is_first(self) -> bool:
        """Whether no stage is before it."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether no stage is after it."""
        return self.stage_index == self.num_stages - 1

    def is_local(self, stage: int) -> bool:
        """Whether a stage is on this rank.

        Args:
            stage: the number of the stage.
        """
        return self._rank_of(stage) == self.group_rank

    def _rank_of(self, stage: int) -> int:
        ranks = self.stage_index_to_group_rank
        return stage % self.group_size if ranks is None else ranks[stage]

    def _link(self, stage: int) -> Link:
        if stage not in self._links:
            peer = get_global_rank(self.group, self._rank_of(stage))
            self._links[stage] = Link(peer, self.group, self.device)
        return self._links[stage]

    # ---- forward

    def check_inputs(self, args: Sequence[Any], microbatch: int) -> None:
        """Checks the arguments of the first stage before anything runs.

        Args:
            args: the arguments.
            microbatch: the number of the microbatch.

        Raises:
            PipeliningShapeError: they have other sizes than those of the microbatches before.
        """
        tensors = [value for value in args if isinstance(value, Tensor)]
        if self._expected is None:
            self._expected = describe(tensors)
        check_tensors(f"stage {self.stage_index}: microbatch {microbatch}: input", self._expected, tensors)

    def get_fwd_recv(self, microbatch: int) -> None:
        """Begins to receive the inputs of a microbatch.

        Args:
            microbatch: its number.
        """
        link = self._link(self.stage_index - 1)
        if self.has_backward not in self._received:
            self._received[self.has_backward] = link.receive_description()
        self._arriving[microbatch] = link.receive(self._received[self.has_backward])

    def set_local_fwd_input(self, outputs: Sequence[Tensor], microbatch: int) -> None:
        """Takes the outputs of the stage before, which is on this rank.

        Args:
            outputs: its outputs.
            microbatch: the number of the microbatch.
        """
        needs = [each.requires_grad for each in describe(outputs, self.has_backward)]
        values = [t.detach().requires_grad_(n) for t, n in zip(outputs, needs, strict=True)]
        self._arriving[microbatch] = values, []

    def forward_one_chunk(self, fwd_chunk_id: int, args: Any, kwargs: dict[str, Any] | None = None) -> Any:
        """The forward pass of a microbatch.

        Args:
            fwd_chunk_id: its number.
            args: the arguments of the first stage.
            kwargs: arguments by name, which every stage gets.
        """
        inputs = list(args) if self.is_first else self._take_inputs(fwd_chunk_id)
        with self._without_synchronization():
            output = self._call(inputs, kwargs or {})
        outputs = list(output) if isinstance(output, (tuple, list)) else [output]
        self._check_outputs(outputs, fwd_chunk_id)
        self._inputs[fwd_chunk_id] = [v for v in inputs if isinstance(v, Tensor)]
        self._outputs[fwd_chunk_id] = outputs
        return output

    def _call(self, inputs: list[Any], kwargs: dict[str, Any]) -> Any:
        return self.submod(*inputs, **kwargs)

    def _without_synchronization(self) -> AbstractContextManager[Any]:
        if self.has_backward and hasattr(self.submod, "require_backward_grad_sync"):
            return self.submod.no_sync()
        return nullcontext()

    def _take_inputs(self, microbatch: int) -> list[Tensor]:
        values, works = self._arriving.pop(microbatch)
        for work in works:
            work.wait()
        if works:
            kinds = self._received[self.has_backward]
            values = [v.requires_grad_(d.requires_grad) for v, d in zip(values, kinds, strict=True)]
        if self._expected is not None:
            check_tensors(f"stage {self.stage_index}: microbatch {microbatch}: input", self._expected, values)
        return values

    def _check_outputs(self, outputs: list[Any], microbatch: int) -> None:
        name = f"stage {self.stage_index}: microbatch {microbatch}: output"
        if self._promised is not None:
            check_tensors(name, self._promised, outputs)
        if self.is_last:
            return
        for number, value in enumerate(outputs):
            if not isinstance(value, Tensor):
                raise TypeError(f"{name} {number} must be a tensor, got {type(value).__name__}")
        description = describe(outputs, self.has_backward)
        description_before = self._sent.get(self.has_backward) or next(iter(self._sent.values()), None)
        if description_before is not None:
            check_tensors(name, description_before, outputs)
            description_before = self._sent.get(self.has_backward)
        if description_before is not None and description_before != description:
            raise RuntimeError(f"{name} requires gradients in one microbatch and none in another")

    def check_gradients(self, microbatch: int, loss: Tensor | None) -> None:
        """Checks that the backward pass of a microbatch will reach this stage and the one before.

        Args:
            microbatch: its number.
            loss: its loss, on the last stage.

        Raises:
            RuntimeError: a stage would wait for a gradient that nobody computes.
        """
        s, m = self.stage_index, microbatch
        roots = [value for value in self._roots_of(microbatch, loss) if value.requires_grad]
        inputs = [value for value in self._inputs[microbatch] if value.requires_grad]
        is_trained = any(parameter.requires_grad for parameter in self.submod.parameters())
        what = "its loss" if self.is_last else f"{s + 1}B{m}"
        if not roots and (is_trained or (inputs and not self.is_first)):
            raise RuntimeError(
                f"stage {s} gets no gradient: {s}B{m} waits for one from {what}, but nothing that {s}F{m} returns "
                "requires gradients"
            )
        if inputs and not self.is_first and not has_way(roots, inputs):
            raise RuntimeError(
                f"stage {s - 1} gets no gradient: {s - 1}B{m} waits for {s}B{m}, but what {s}F{m} returns doesn't "
                "depend on its inputs"
            )

    def get_fwd_send(self, microbatch: int) -> None:
        """Begins to send the outputs of a microbatch.

        Args:
            microbatch: its number.
        """
        link, outputs = self._link(self.stage_index + 1), self._outputs[microbatch]
        if self.has_backward not in self._sent:
            self._sent[self.has_backward] = describe(outputs, self.has_backward)
            link.send_description(self._sent[self.has_backward])
        link.send(outputs)

    def outputs_of(self, microbatch: int) -> list[Tensor]:
        """The outputs of a microbatch.

        Args:
            microbatch: its number.
        """
        return self._outputs[microbatch]

    def drop_outputs(self, microbatch: int) -> None:
        """Forgets a microbatch that has no backward pass.

        Args:
            microbatch: its number.
        """
        self._inputs.pop(microbatch, None)
        self._outputs.pop(microbatch, None)

    # ---- backward

    def get_bwd_recv(self, microbatch: int) -> None:
        """Begins to receive the gradients of a microbatch's outputs.

        Args:
            microbatch: its number.
        """
        needs = [each for each in self._sent[self.has_backward] if each.requires_grad]
        self._arriving_grads[microbatch] = self._link(self.stage_index + 1).receive(needs)

    def set_local_bwd_input(self, grads: list[Tensor], microbatch: int) -> None:
        """Takes the gradients from the stage after, which is on this rank.

        Args:
            grads: the gradients of the outputs that require some.
            microbatch: the number of the microbatch.
        """
        self._arriving_grads[microbatch] = grads, []

    def _roots_of(self, microbatch: int, loss: Tensor | None) -> list[Tensor]:
        if self.is_last:
            if loss is None:
                raise ValueError("the last stage has no loss; give the schedule a loss_fn")
            return [loss]
        return [output for output in self._outputs[microbatch] if output.requires_grad]

    def _start(self, microbatch: int, loss: Tensor | None) -> tuple[list[Tensor], list[Tensor | None]]:
        """The tensors that the backward pass starts from, and their gradients."""
        roots = self._roots_of(microbatch, loss)
        if self.is_last:
            scale = self.loss_scale
            seed = (
                tl_core.full_like(roots[0].detach(), scale) if scale != 1 and roots[0].numel() == 1 else None
            )
            return roots, [seed]
        grads, works = self._arriving_grads.pop(microbatch)
        for work in works:
            work.wait()
        return roots, list(grads)

    def backward_one_chunk(
        self,
        bwd_chunk_id: int,
        loss: Tensor | None = None,
        full_backward: bool = True,
        last_backward: bool = False,
    ) -> None:
        """The backward pass of a microbatch, or its first part.

        Args:
            bwd_chunk_id: its number.
            loss: its loss, on the last stage.
            full_backward: whether gradients of weights are computed as well; else by `backward_weight_one_chunk`.
            last_backward: whether no other pass follows, so that gradients may be averaged.
        """
        roots, grads = self._start(bwd_chunk_id, loss)
        inputs = [value for value in self._inputs.pop(bwd_chunk_id) if value.requires_grad]
        del self._outputs[bwd_chunk_id]
        is_whole = full_backward or self.dw_builder is not None or self._is_sharded()
        results: Sequence[Tensor | None] = ()
        weights: Callable[[], None] = _leave_weights
        if not any(root.requires_grad for root in roots):
            pass  # a frozen stage
        elif is_whole:
            results = stage_backward(roots, grads, () if self.is_first else inputs)
        elif self.is_first:

            def weights() -> None:
                stage_backward(roots, grads, ())
        else:
            parameters = list(self.submod.parameters())
            results, groups = stage_backward_input(roots, grads, inputs, parameters)
            for value in inputs:
                value.grad = None

            def weights() -> None:
                stage_backward_weight((), groups)

        if self.dw_builder is not None:
            weights = self.dw_builder()
        if not self.is_first:
            self._input_grads[bwd_chunk_id] = [
                tl_core.zeros_like(value) if grad is None else grad
                for value, grad in zip(inputs, results, strict=True)
            ]
        if full_backward:
            weights()
            self._end_backward(last_backward)
        else:
            self._weights[bwd_chunk_id] = weights

    def backward_weight_one_chunk(self, bwd_chunk_id: int, last_backward: bool = False) -> None:
        """The second part of the backward pass of a microbatch: gradients of weights.

        Args:
            bwd_chunk_id: its number.
            last_backward: whether no other pass follows.

        Raises:
            AssertionError: the first part hasn't run.
        """
        if bwd_chunk_id not in self._weights:
            raise AssertionError(
                f"stage {self.stage_index}: backward_one_chunk of microbatch {bwd_chunk_id} with full_backward=False "
                "must come before backward_weight_one_chunk"
            )
        self._weights.pop(bwd_chunk_id)()
        self._end_backward(last_backward)

    def _is_sharded(self) -> bool:
        """Whether `fully_shard` frees parameters after a backward pass, so that it can't run in two parts."""
        return any(hasattr(module, "set_is_last_backward") for module in self.submod.modules())

    def _end_backward(self, is_last: bool) -> None:
        if is_last and hasattr(self.submod, "require_backward_grad_sync"):
            group = self.submod.process_group
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    all_reduce(parameter.grad, ReduceOp.AVG, group)

    def get_bwd_send(self, microbatch: int) -> None:
        """Begins to send the gradients of a microbatch's inputs.

        Args:
            microbatch: its number.
        """
        self._link(self.stage_index - 1).send(self._input_grads.pop(microbatch))

    def get_local_bwd_output(self, microbatch: int) -> list[Tensor]:
        """The gradients of a microbatch's inputs, for a stage on this rank.

        Args:
            microbatch: its number.
        """
        return self._input_grads.pop(microbatch)

    def finish(self) -> None:
        """Waits until all that was sent has been received, and forgets all microbatches."""
        for link in self._links.values():
            link.finish()
        self.clear_runtime_states()

    def scale_grads(self, grad_scale_factor: float) -> None:
        """Divides the gradients of the parameters.

        Args:
            grad_scale_factor: the divisor.
        """
        for parameter in self.submod.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(grad_scale_factor)


def _leave_weights() -> None:
    """No weight gets a gradient."""


def _descriptions(values: Any) -> tuple[TensorDescription, ...] | None:
    """The descriptions of example tensors, None without any."""
    if values is None:
        return None
    return describe([values] if isinstance(values, Tensor) else [v for v in values if isinstance(v, Tensor)])


class PipelineStage(_PipelineStageBase):
    """A module that is one stage of a pipeline.

    Args:
        submodule: the module. It takes and returns tensors or tuples of tensors.
        stage_index: the number of the stage.
        num_stages: the number of stages.
        device: the device of the tensors.
        input_args: examples of the inputs, whose shapes and dtypes are checked; by default those of the
            first microbatch.
        output_args: examples of the outputs, likewise.
        output_grads: examples of the gradients of the outputs, which must have their shapes.
        input_grads: examples of the gradients of the inputs, which must have their shapes.
        group: the ranks of the pipeline; the world by default.
        dw_builder: returns, for each backward pass, a function that computes weight gradients. It is for modules whose
            own backward pass leaves them out.
        get_mesh: kept for callers: distributed tensors travel as their local parts.

    Raises:
        ValueError: the number of the stage is none of the pipeline, or there are more ranks than stages.
        PipeliningShapeError: the examples of gradients have other shapes than the values.

    Example:
        >>> import tl_nn, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> stage = PipelineStage(tl_nn.Linear(2, 2), 0, 1, tl_core.device("cpu"))
        >>> stage.is_first, stage.is_last
        (True, True)
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        submodule: Any,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
        get_mesh: Any = None,
    ):
        super().__init__(submodule, stage_index, num_stages, device, group, dw_builder)
        self._expected, self._promised = _descriptions(input_args), _descriptions(output_args)
        for name, kinds, grads in (
            ("input gradient", self._expected, input_grads),
            ("output gradient", self._promised, output_grads),
        ):
            examples = [grads] if isinstance(grads, Tensor) else grads
            if kinds is not None and examples is not None:
                pairs = [(k, g) for k, g in zip(kinds, examples, strict=True) if g is not None]
                check_tensors(
                    f"stage {stage_index}: {name}", tuple(k for k, _ in pairs), [g for _, g in pairs]
                )


class _PipelineStage(_PipelineStageBase):
    """A stage of a model that `pipeline` has cut.

    Args:
        stage_module: the module of the stage.
        stage_index: the number of the stage.
        pipe_info: the facts of the cut model.
        device: the device of the tensors.
        group: the ranks of the pipeline; the world by default.
    """

    def __init__(
        self, stage_module: Any, stage_index: int, pipe_info: PipeInfo, device: Any, group: Any = None
    ):
        super().__init__(stage_module, stage_index, pipe_info.num_stages, device, group)
        self.pipe_info = pipe_info

    def _call(self, inputs: list[Any], kwargs: dict[str, Any]) -> Any:
        # Values that later stages need arrive from the stage before, arguments by name as well.
        return self.submod(*inputs, **(kwargs if self.is_first else {}))


def build_stage(
    stage_module: Any, stage_index: int, pipe_info: PipeInfo, device: Any, group: Any = None
) -> _PipelineStage:
    """A stage of a model that `pipeline` has cut.

    Args:
        stage_module: the module of the stage, as `Pipe.get_stage_module` returns it. It may be wrapped.
        stage_index: the number of the stage.
        pipe_info: the facts of the cut model, as `Pipe.info` returns them.
        device: the device of the tensors.
        group: the ranks of the pipeline; the world by default.

    Raises:
        ValueError: the number of the stage is none of the pipeline.

    Example:
        >>> import tl_nn, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> build_stage(tl_nn.Linear(2, 2), 0, PipeInfo(None, 1, False), "cpu").is_last
        True
        >>> dist.destroy_process_group()
    """
    return _PipelineStage(stage_module, stage_index, pipe_info, device, group)
