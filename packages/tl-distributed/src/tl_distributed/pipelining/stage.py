"""A stage of a pipeline: a module on one rank, which gets activations from the stage before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd import backward as run_backward
from tl_core import Tensor

from ..collectives.object_collectives import recv_object_list, send_object_list
from ..collectives.point_to_point import isend, recv
from ..groups.process_groups import default_group, get_global_rank

__all__ = ["PipelineStage"]

Description = list[tuple[tuple[int, ...], tl_core.dtype, bool]]


class PipelineStage:
    """A module that is one stage of a pipeline.

    Args:
        submodule: the module. It takes and returns tensors or tuples of tensors.
        stage_index: the number of the stage.
        num_stages: the number of stages.
        device: the device of the tensors.
        input_args: kept for callers: sizes come with the first microbatch.
        output_args: kept for callers.
        group: the ranks of the pipeline; the world by default. Stage s is on rank s modulo their number.
        dw_builder: not there: a backward pass in two parts.

    Raises:
        ValueError: the number of the stage is none of the pipeline.
        NotImplementedError: for `dw_builder`.

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
        device: tl_core.device,
        input_args: Any = None,
        output_args: Any = None,
        group: Any = None,
        dw_builder: Callable[[], Any] | None = None,
    ):
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"PipelineStage: stage {stage_index} is out of range for {num_stages} stages")
        if dw_builder is not None:
            raise NotImplementedError("PipelineStage: dw_builder is not there yet")
        self.submod, self.stage_index, self.num_stages, self.device = (
            submodule,
            stage_index,
            num_stages,
            device,
        )
        self.group = default_group() if group is None else group
        self.group_size, self.group_rank = self.group.size(), self.group.rank()
        self.has_backward = True
        self._inputs: dict[int, list[Tensor]] = {}
        self._outputs: dict[int, list[Tensor]] = {}
        self._losses: dict[int, Tensor] = {}
        self._received: Description | None = None
        self._sent: Description | None = None
        self._sends: list[tuple[Any, Tensor]] = []

    @property
    def is_first(self) -> bool:
        """Whether no stage is before it."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether no stage is after it."""
        return self.stage_index == self.num_stages - 1

    def _peer(self, stage: int) -> int:
        return get_global_rank(self.group, stage % self.group_size)

    def _is_local(self, stage: int) -> bool:
        return stage % self.group_size == self.group_rank

    # ---- passes

    def forward_one_chunk(
        self, microbatch: int, args: Any, kwargs: dict[str, Any], local: dict[Any, Any]
    ) -> Any:
        """The forward pass of a microbatch.

        Args:
            microbatch: its number.
            args: the arguments of the first stage.
            kwargs: arguments by name, which every stage gets.
            local: what goes from stage to stage on this rank.
        """
        inputs = list(args) if self.is_first else self._receive_inputs(microbatch, local)
        output = self.submod(*inputs, **kwargs)
        outputs = list(output) if isinstance(output, (tuple, list)) else [output]
        self._inputs[microbatch] = [v for v in inputs if isinstance(v, Tensor)]
        self._outputs[microbatch] = outputs
        if not self.is_last:
            self._send_outputs(microbatch, outputs, local)
        return output

    def _receive_inputs(self, microbatch: int, local: dict[Any, Any]) -> list[Tensor]:
        before = self.stage_index - 1
        if self._is_local(before):
            values = local.pop(("F", self.stage_index, microbatch))
        else:
            if self._received is None:
                message: list[Any] = [None]
                recv_object_list(message, self._peer(before), self.group)
                self._received = message[0]
            values = [tl_core.empty(shape, dtype=dtype) for shape, dtype, _ in self._received]
            for value in values:
                recv(value, self._peer(before), self.group)
            values = [
                v.requires_grad_(needs) for v, (_, _, needs) in zip(values, self._received, strict=True)
            ]
        return list(values)

    def _send_outputs(self, microbatch: int, outputs: list[Tensor], local: dict[Any, Any]) -> None:
        after = self.stage_index + 1
        needs = tl_core.is_grad_enabled() and self.has_backward
        description = [(tuple(t.shape), t.dtype, needs and t.requires_grad) for t in outputs]
        if self._is_local(after):
            values = [t.detach().requires_grad_(n) for t, (_, _, n) in zip(outputs, description, strict=True)]
            local["F", after, microbatch] = values
            return
        if self._sent is None:
            send_object_list([description], self._peer(after), self.group)
            self._sent = description
        elif self._sent != description:
            raise ValueError(
                f"stage {self.stage_index}: microbatch {microbatch} has outputs {description}, the ones before "
                f"{self._sent}; all microbatches need one size"
            )
        self._send(outputs, after)

    def _send(self, tensors: list[Tensor], stage: int) -> None:
        for tensor in tensors:
            own = tensor.detach().contiguous()
            self._sends.append((isend(own, self._peer(stage), self.group), own))

    def backward_one_chunk(self, microbatch: int, loss: Tensor | None, local: dict[Any, Any]) -> None:
        """The backward pass of a microbatch.

        Args:
            microbatch: its number.
            loss: its loss, on the last stage.
            local: what goes from stage to stage on this rank.
        """
        outputs, inputs = self._outputs.pop(microbatch), self._inputs.pop(microbatch)
        if self.is_last:
            if loss is None:
                raise ValueError("the last stage has no loss; give the schedule a loss_fn")
            loss.backward()
        else:
            several = [output for output in outputs if output.requires_grad]
            if not several:
                raise RuntimeError(
                    f"stage {self.stage_index} gets no gradient: none of its outputs requires one"
                )
            run_backward(several, self._receive_gradients(several, microbatch, local))
        if not self.is_first:
            grads = [_gradient(v) for v in inputs if v.requires_grad]
            if self._is_local(self.stage_index - 1):
                local["B", self.stage_index - 1, microbatch] = grads
            else:
                self._send(grads, self.stage_index - 1)

    def _receive_gradients(
        self, outputs: list[Tensor], microbatch: int, local: dict[Any, Any]
    ) -> list[Tensor]:
        after = self.stage_index + 1
        if self._is_local(after):
            grads: list[Tensor] = local.pop(("B", self.stage_index, microbatch))
            return grads
        grads = [tl_core.empty(output.shape, dtype=output.dtype) for output in outputs]
        for grad in grads:
            recv(grad, self._peer(after), self.group)
        return grads

    def finish(self) -> None:
        """Waits until all that was sent has been received."""
        sends, self._sends = self._sends, []
        for work, _ in sends:
            work.wait()
        self._inputs.clear()
        self._outputs.clear()
        self._received = self._sent = None  # another step may have other sizes

    def scale_grads(self, factor: float) -> None:
        """Divides the gradients of the parameters.

        Args:
            factor: the divisor.
        """
        for parameter in self.submod.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(factor)


def _gradient(value: Tensor) -> Tensor:
    grad, value.grad = value.grad, None
    return tl_core.zeros_like(value) if grad is None else grad
