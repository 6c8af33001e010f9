"""`flex_attention`: attention whose scores a function changes and another masks; a trace keeps it as one call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tl_autograd
import tl_core
from tl_core import Tensor
from tl_core.dispatch.modes import no_modes
from tl_core.symbolic.numbers import SymInt
from tl_nn.attention.flex_attention import AuxRequest
from tl_nn.attention.flex_attention import flex_attention as attention

from ..tracer.proxy_mode import ProxyTorchDispatchMode, current_mode
from .base import HigherOrderOperator
from .index_mode import TransformGetItemToIndex
from .subgraphs import Ready, Subgraph, attach_subgraph, fresh, trace_subgraph, with_inputs

__all__ = ["FlexAttentionHOP", "FlexAttentionBackwardHOP", "flex_attention", "flex_attention_backward"]

Function = Callable[..., Any]


class FlexAttentionHOP(HigherOrderOperator):
    """The operator of graphs: takes graphs of both functions, and the tensors that they read from around them."""

    def __init__(self) -> None:
        super().__init__("flex_attention")

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        score_mod: Function,
        block_mask: tuple[Any, ...],
        scale: float,
        kernel_options: dict[str, Any],
        score_mod_other_buffers: tuple[Any, ...] = (),
        mask_mod_other_buffers: tuple[Any, ...] = (),
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Attention by blocks.

        Args:
            query, key, value: the queries, keys and values, (batch, heads, length, size).
            score_mod: the scores to take, of `score, batch, head, query, key` and `score_mod_other_buffers`.
            block_mask: what `BlockMask.as_tuple` gives; its last item is the function that says which keys are seen.
            scale: the factor of the scores.
            kernel_options: accepted.
            score_mod_other_buffers, mask_mod_other_buffers: further arguments of the two functions.

        Returns:
            The results, and of each query the logarithm of the sum and the greatest score, both to the base 2.

        Raises:
            RuntimeError: a buffer is no tensor and no int.
        """
        for buffer in (*score_mod_other_buffers, *mask_mod_other_buffers):
            if not isinstance(buffer, (Tensor, int, SymInt)):
                raise RuntimeError(
                    f"flex_attention(): expected buffers to be tensors or ints, got {type(buffer)}"
                )
        buffers = tuple(score_mod_other_buffers), tuple(mask_mod_other_buffers)
        mode = current_mode()
        if mode is None:
            return _compute(query, key, value, score_mod, block_mask, scale, buffers)
        return self._record(mode, (query, key, value), score_mod, block_mask, scale, kernel_options, buffers)

    def _record(
        self,
        mode: ProxyTorchDispatchMode,
        tensors: tuple[Tensor, ...],
        score_mod: Function,
        block_mask: tuple[Any, ...],
        scale: float,
        kernel_options: dict[str, Any],
        buffers: tuple[tuple[Any, ...], tuple[Any, ...]],
    ) -> Any:
        def call(query: Tensor, key: Tensor, value: Tensor) -> Any:
            return _compute(query, key, value, score_mod, block_mask, scale, buffers)

        results = tuple(fresh(mode, r) for r in trace_subgraph(mode, call, tensors).results)
        with no_modes():
            score = tensors[0].new_zeros(())
            indices = [score.new_zeros((), dtype=tl_core.int32) for _ in range(4)]
        with TransformGetItemToIndex():  # a number among indices is a tensor that the graph gets
            score_graph = trace_subgraph(mode, score_mod, (score, *indices, *buffers[0]))
            mask_graph = trace_subgraph(mode, block_mask[-1], (*indices, *buffers[1]))
        arguments = (
            *tensors,
            _read(mode, score_graph, "sdpa_score"),
            (*block_mask[:-1], _read(mode, mask_graph, "sdpa_mask")),
            scale,
            kernel_options,
            (*buffers[0], *score_graph.lifted),
            (*buffers[1], *mask_graph.lifted),
        )
        mode.record_call(self, arguments, {}, results, self.name())
        return results


def _read(mode: ProxyTorchDispatchMode, graph: Subgraph, name: str) -> Ready:
    return Ready(attach_subgraph(mode, with_inputs(graph, graph.lifted), name))


def _compute(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Function,
    block_mask: tuple[Any, ...],
    scale: float,
    buffers: tuple[tuple[Any, ...], tuple[Any, ...]],
) -> tuple[Tensor, Tensor, Tensor]:
    """The results, operator by operator."""

    def modify_score(score: Tensor, *indices: Tensor) -> Tensor:
        visible = _one(block_mask[-1](*indices, *buffers[1]))
        return _one(score_mod(score, *indices, *buffers[0])).where(visible, -math.inf)

    out, aux = attention(
        query, key, value, modify_score, None, scale, True, return_aux=AuxRequest(lse=True, max_scores=True)
    )
    return out, aux.lse / math.log(2), aux.max_scores / math.log(2)


def _one(result: Any) -> Tensor:
    """The result of a function, which a graph returns in a tuple."""
    return result[0] if isinstance(result, (tuple, list)) else result


class FlexAttentionBackwardHOP(HigherOrderOperator):
    """The gradients of `flex_attention`."""

    def __init__(self) -> None:
        super().__init__("flex_attention_backward")

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        out: Tensor,
        logsumexp: Tensor,
        grad_out: Tensor | None,
        grad_logsumexp: Tensor | None,
        fw_graph: Function,
        joint_graph: Any,
        block_mask: tuple[Any, ...],
        scale: float,
        kernel_options: dict[str, Any],
        score_mod_other_buffers: tuple[Any, ...] = (),
        mask_mod_other_buffers: tuple[Any, ...] = (),
    ) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor | None, ...]]:
        """The gradients, for which the forward pass is run again.

        Args:
            query, key, value, block_mask, scale, kernel_options, score_mod_other_buffers, mask_mod_other_buffers: as
                `flex_attention` takes them.
            out, logsumexp: its results.
            grad_out, grad_logsumexp: their gradients; None: zero.
            fw_graph: what changes the scores.
            joint_graph: accepted.

        Returns:
            The gradients of the queries, keys and values, and those of the buffers of `fw_graph`.
        """
        buffers = tuple(score_mod_other_buffers), tuple(mask_mod_other_buffers)
        q, k, v = inputs = [t.detach().requires_grad_() for t in (query, key, value)]
        sources = [b for b in buffers[0] if isinstance(b, Tensor) and b.requires_grad]
        with tl_core.enable_grad():
            results = _compute(q, k, v, fw_graph, block_mask, scale, buffers)[:2]
            pairs = [
                (r, g) for r, g in zip(results, (grad_out, grad_logsumexp), strict=True) if g is not None
            ]
            gradients = tl_autograd.grad(
                [r for r, _ in pairs], [*inputs, *sources], [g for _, g in pairs], allow_unused=True
            )
        of_buffers = iter(gradients[3:])
        gradients_of_buffers = tuple(
            next(of_buffers) if any(b is h for h in sources) else None for b in buffers[0]
        )
        query_gradient, key_gradient, value_gradient = (
            t.new_zeros(t.shape) if g is None else g for g, t in zip(gradients[:3], inputs, strict=True)
        )
        return query_gradient, key_gradient, value_gradient, gradients_of_buffers


flex_attention = FlexAttentionHOP()
flex_attention_backward = FlexAttentionBackwardHOP()
