"""Pipes at a later position."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

__all__ = ["fast_forward"]


def fast_forward(datapipe: Any, count: int) -> Iterator[Any]:
    """An iterator over the pipe after `count` samples, which are read and dropped.

    >>> list(fast_forward([1, 2, 3], 2))
    [3]
    """
    return itertools.islice(datapipe, count, None)


def _simple_graph_snapshot_restoration(datapipe: Any, n_iterations: int, rng: Any = None) -> None:
    """Moves a stream behind its first samples, which are read and dropped: the next pass begins there.

    Args:
        datapipe: the last pipe of the graph.
        n_iterations: the number of samples.
        rng: a generator that seeds the random steps as before the first pass; None for a fresh one.

    Raises:
        RuntimeError: the stream is behind a snapshot already.
    """
    from ...graph_settings import apply_random_seed
    from .._hook_iterator import _SnapshotState

    if datapipe._snapshot_state is _SnapshotState.Restored:
        raise RuntimeError(
            "Snapshot restoration cannot be applied. The graph has been restored already: iterate over it first"
        )
    apply_random_seed(datapipe, rng)
    samples = iter(datapipe)
    for _ in range(n_iterations):
        next(samples)
    datapipe._fast_forward_iterator, datapipe._snapshot_state = samples, _SnapshotState.Restored
