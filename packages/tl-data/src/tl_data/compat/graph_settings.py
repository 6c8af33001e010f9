"""Settings of all steps of a pipe."""

from __future__ import annotations

import inspect
from typing import Any

import tl_core

from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: dict[int, tuple[Any, Any]]) -> list[Any]:
    """Every pipe of a graph of `traverse_dps`, once.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> from tl_data.compat.graph import traverse_dps
        >>> len(get_all_graph_pipes(traverse_dps(IterableWrapper(range(3)).map(str))))
        2
    """
    pipes: dict[int, Any] = {}
    for key, (pipe, below) in graph.items():
        pipes[key] = pipe
        pipes |= {id(p): p for p in get_all_graph_pipes(below)}
    return list(pipes.values())


def _each(datapipe: Any, method: str) -> list[Any]:
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    return [getattr(pipe, method) for pipe in pipes if callable(getattr(type(pipe), method, None))]


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Sets the share of every sharding step.

    Args:
        datapipe: the last pipe of the graph.
        num_of_instances: the number of shares.
        instance_id: the number of this process's share.
        sharding_group: the group of the steps to set.

    Raises:
        RuntimeError: a sharding step reads from another one.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(apply_sharding(IterableWrapper(range(4)).sharding_filter(), 2, 0))
        [0, 2]
    """
    _share_graph(traverse_dps(datapipe), None, (num_of_instances, instance_id), sharding_group)
    return datapipe


def _share_graph(graph: Any, above: Any, share: tuple[int, int], sharding_group: SHARDING_PRIORITIES) -> None:
    """Sets the share of the sharding steps of a graph.

    Args:
        graph: the graph of `traverse_dps`.
        above: the sharding step that reads from the graph, or None.
        share: the number of shares, and the own one.
        sharding_group: the group of the steps to set.
    """
    for pipe, below in graph.values():
        step = above
        if callable(getattr(type(pipe), "apply_sharding", None)):
            if above is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data loss. Sharding "
                    f"already applied to {above} while trying to apply to {pipe}"
                )
            step = pipe
            grouped = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
            pipe.apply_sharding(*share, sharding_group) if grouped else pipe.apply_sharding(*share)
        _share_graph(below, step, share, sharding_group)


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Turns every shuffling step on or off; None changes nothing.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(apply_shuffle_settings(IterableWrapper(range(4)).shuffle(), shuffle=False))
        [0, 1, 2, 3]
    """
    for set_shuffle in _each(datapipe, "set_shuffle") if shuffle is not None else []:
        set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Seeds every random step from a generator.

    Example:
        >>> import tl_core
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> pipe = apply_random_seed(IterableWrapper(range(4)).shuffle(), tl_core.Generator().manual_seed(7))
        >>> sorted(pipe)
        [0, 1, 2, 3]
    """
    for set_seed in _each(datapipe, "set_seed"):
        set_seed(int(tl_core.empty((), dtype=tl_core.int64).random_(generator=rng).item()))
    return datapipe
