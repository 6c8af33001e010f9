"""Gradients of matrices that travel as products of two thin ones.

Vogels, Karimireddy, Jaggi, PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization, 2019. For a
gradient M (n by m) and Q of the step before (m by r): P = M Q is averaged and made orthonormal, Q = M^T P is averaged,
and P Q^T stands for M. What is lost is added to the gradient of the next step (error feedback).
"""

from __future__ import annotations

import logging
import math
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.futures import Future

from ...base.grad_bucket import GradBucket
from ...base.reduction import ReduceOp
from ...groups.process_group import ProcessGroup
from ...groups.process_groups import default_group
from . import default_hooks

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

_logger = logging.getLogger(__name__)


class PowerSGDState:
    """The settings of `powerSGD_hook`, and its state between steps.

    Args:
        process_group: the group; the world for None.
        matrix_approximation_rank: r, the width of the thin matrices.
        start_powerSGD_iter: from which backward pass on gradients are compressed; at least 2 with error feedback or a
            warm start.
        min_compression_rate: a matrix is compressed if that makes it smaller by this factor.
        use_error_feedback: whether to add to the next gradient what compression has lost of this one.
        warm_start: whether Q begins as the step before left it, rather than at random.
        orthogonalization_epsilon: added to lengths that are divided by; with 0, QR makes them orthonormal.
        random_seed: of the Q that are drawn.
        compression_stats_logging_frequency: after how many steps to log what has been saved.
        batch_tensors_with_same_shape: whether to compress matrices of one shape together.
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10000,
        batch_tensors_with_same_shape: bool = False,
    ):
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "PowerSGDState: start_powerSGD_iter must be at least 2 with use_error_feedback or warm_start, got "
                f"{start_powerSGD_iter}"
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.generator = tl_core.Generator().manual_seed(random_seed)
        self.error_dict: dict[int, Tensor] = {}
        self.p_memory_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, Tensor] = {}
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["process_group"]
        state["generator"] = self.generator.get_state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, process_group=None)
        self.generator = tl_core.Generator()
        self.generator.set_state(state["generator"])

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts a backward pass, when its last bucket comes."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """The rate of compression, and the number of elements before and after it."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients of which matrices are compressed; the rest travels as it is.

    Args:
        state: how much to compress.
        bucket: the gradients.

    Example:
        model.register_comm_hook(PowerSGDState(None, start_powerSGD_iter=10), powerSGD_hook)
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group, bucket)
    flat = bucket.buffer()
    before = _with_error(state, bucket.index(), flat)
    matrices: list[Tensor] = []
    rest: list[Tensor] = []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() > 1 else gradient
        if gradient.dim() > 1 and _is_worth_it(state, matrix):
            matrices.append(matrix)
        else:
            rest.append(gradient)
    _average_rest(state, rest)
    _approximate(state, bucket.index(), matrices)
    return _over(state, bucket, flat, before)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients of which a whole bucket is compressed as one square matrix.

    It is faster than `powerSGD_hook` and less exact.

    Args:
        state: how much to compress.
        bucket: the gradients.
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group, bucket)
    flat = bucket.buffer()
    before = _with_error(state, bucket.index(), flat)
    side = math.isqrt(max(flat.numel() - 1, 0)) + 1
    square = flat.new_zeros(side * side)
    square[: flat.numel()].copy_(flat)
    _approximate(state, bucket.index(), [square.view(side, side)])
    flat.copy_(square[: flat.numel()])
    return _over(state, bucket, flat, before)


def _with_error(state: PowerSGDState, index: int, flat: Tensor) -> Tensor | None:
    """Adds what the step before has lost; returns the gradients as they then are."""
    if not state.use_error_feedback:
        return None
    error = state.error_dict.get(index)
    if error is None or error.numel() != flat.numel():
        state.error_dict[index] = flat.new_zeros(flat.numel())
    else:
        flat.add_(error)
    return flat.clone()


def _over(state: PowerSGDState, bucket: GradBucket, flat: Tensor, before: Tensor | None) -> Future[Tensor]:
    if before is not None:
        state.error_dict[bucket.index()] = before.sub_(flat)
    if bucket.is_last() and state.iter % state.compression_stats_logging_frequency == 0:
        rate, numbers, n_sent = state.compression_stats()
        _logger.info(
            "PowerSGD: %.1f times fewer numbers, %d of %d, after %d steps", rate, n_sent, numbers, state.iter
        )
    state.maybe_increase_iter(bucket)
    future: Future[Tensor] = Future()
    future.set_result(flat)
    return future


def _group(state: PowerSGDState) -> ProcessGroup:
    return default_group() if state.process_group is None else state.process_group


def _is_worth_it(state: PowerSGDState, matrix: Tensor) -> bool:
    rows, columns = matrix.shape
    thin = min(rows, columns, state.matrix_approximation_rank) * (rows + columns)
    state.total_numel_before_compression += matrix.numel()
    worth = thin * state.min_compression_rate < matrix.numel()
    state.total_numel_after_compression += thin if worth else matrix.numel()
    return worth


def _average_rest(state: PowerSGDState, tensors: list[Tensor]) -> None:
    if not tensors:
        return
    together = tl_core.cat([tensor.reshape(-1) for tensor in tensors])
    _average(state, together)
    for tensor, part in zip(tensors, together.split([t.numel() for t in tensors]), strict=True):
        tensor.copy_(part.view(tensor.shape))


def _average(state: PowerSGDState, tensor: Tensor) -> None:
    group = _group(state)
    tensor.div_(group.size())
    group.communicator(tensor.device.type).blocking.all_reduce(tensor, ReduceOp.SUM).wait()


def _approximate(state: PowerSGDState, index: int, matrices: list[Tensor]) -> None:
    """Replaces matrices by their average of low rank."""
    if not matrices:
        return
    ranks = [min(*matrix.shape, state.matrix_approximation_rank) for matrix in matrices]
    like = matrices[0]
    p_sizes = [m.shape[0] * r for m, r in zip(matrices, ranks, strict=True)]
    q_sizes = [m.shape[1] * r for m, r in zip(matrices, ranks, strict=True)]
    q_memory = state.q_memory_dict.get(index)
    fresh = not state.warm_start or q_memory is None or q_memory.numel() != sum(q_sizes)
    if fresh or q_memory is None:
        q_memory = tl_core.randn(sum(q_sizes), generator=state.generator, dtype=tl_core.float32).to(like)
        state.q_memory_dict[index] = q_memory
    p_memory = state.p_memory_dict[index] = like.new_empty(sum(p_sizes))
    ps = [p.view(-1, r) for p, r in zip(p_memory.split(p_sizes), ranks, strict=True)]
    qs = [q.view(-1, r) for q, r in zip(q_memory.split(q_sizes), ranks, strict=True)]
    for matrix, p, q in zip(matrices, ps, qs, strict=True):
        if fresh:
            _orthogonalize(q, state.orthogonalization_epsilon)
        p.copy_(matrix @ q)
    _average(state, p_memory)
    for matrix, p, q in zip(matrices, ps, qs, strict=True):
        _orthogonalize(p, state.orthogonalization_epsilon)
        q.copy_(matrix.t() @ p)
    _average(state, q_memory)
    for matrix, p, q in zip(matrices, ps, qs, strict=True):
        matrix.copy_(p @ q.t())


def _orthogonalize(matrix: Tensor, epsilon: float) -> None:
    """Makes the columns orthonormal, in place: by Gram and Schmidt with an epsilon, else by QR."""
    if epsilon == 0:
        matrix.copy_(tl_core.linalg.qr(matrix.float())[0].to(matrix.dtype))
        return
    for i in range(matrix.shape[1]):
        column = matrix[:, i : i + 1]
        column.div_(column.norm() + epsilon)
        if i + 1 < matrix.shape[1]:
            rest = matrix[:, i + 1 :]
            rest.sub_((column * rest).sum(0) * column)
