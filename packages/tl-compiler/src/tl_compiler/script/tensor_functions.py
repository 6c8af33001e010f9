"""Operators of tensors that only programs call: packed sequences, changes without gradients, lists of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.dispatch import autocast
from tl_nn.utils import rnn

__all__ = ["TENSOR_FUNCTIONS"]


def _pack(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    packed = rnn.pack_padded_sequence(input, lengths, batch_first)
    return packed.data, packed.batch_sizes


def _pad(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    total = total_length if total_length > 0 else None
    return rnn.pad_packed_sequence(rnn.PackedSequence(data, batch_sizes), batch_first, padding_value, total)


def _without_gradient(name: str) -> Callable[..., Tensor]:
    """A method of tensors that changes them in place, which nothing records."""

    def call(tensor: Tensor, *args: Any) -> Tensor:
        with tl_core.no_grad():
            result: Tensor = getattr(tensor, name)(*args)
        return result

    return call


def _renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    with tl_core.no_grad():
        return tl_core.embedding_renorm_(weight, indices, max_norm, norm_type)


def _gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> list[Tensor | None]:
    from tl_autograd import grad

    return list(grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused=allow_unused))


def _backward(
    tensors: Tensor | Sequence[Tensor],
    gradients: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    from tl_autograd import backward

    backward(tensors, gradients, retain_graph, create_graph, inputs=inputs or None)


def _infer_size(first: Sequence[int], second: Sequence[int]) -> list[int]:
    return list(tl_core.broadcast_shapes(tuple(first), tuple(second)))


TENSOR_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_pack_padded_sequence": _pack, "_pad_packed_sequence": _pad, "_no_grad_embedding_renorm_": _renormalize,
    **{f"_no_grad_{name}_": _without_gradient(f"{name}_") for name in ("uniform", "normal", "fill", "zero")},
    "grad": _gradients, "backward": _backward, "_infer_size": _infer_size,
    "broadcast_shapes": lambda *sizes: list(tl_core.broadcast_shapes(*sizes)),
    "_tensor_to_list": lambda x: x.tolist(), "_list_to_tensor": tl_core.tensor, "initial_seed": tl_core.initial_seed,
    "seed": tl_core.seed, "has_torch_function": lambda *values: False, "_get_tracing_state": lambda: False,
    "is_autocast_cpu_enabled": lambda: autocast.is_autocast_enabled("cpu"), "data": lambda x: x.detach(),
}  # fmt: skip
