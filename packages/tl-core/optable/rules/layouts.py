"""Helpers of several files of rules: tensors with the batch in other dimensions."""

from opgen.rule_language import batch_size


def folded(x):
    """(B, N, …) as (B · N, …)."""
    return x.reshape([x.shape[0] * x.shape[1]] + x.shape[2:])


def as_channels(x):
    """(B, N, C, …) as (N, B · C, …)."""
    return x.transpose(0, 1).reshape([x.shape[1], batch_size * x.shape[2]] + x.shape[3:])


def aligned(x, rank):
    """`x` with dimensions of size 1 behind the batch, up to a rank."""
    return x.reshape([batch_size] + [1] * (rank - x.ndim) + x.shape[1:])
