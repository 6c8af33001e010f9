"""Nodes of loops: the graphs of their functions, the operands, and the checks of values that a loop carries."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.operators.packets as ops
from tl_core import Tensor
from tl_core.subclasses import FakeTensor

from ..tracer.proxy_mode import ProxyTorchDispatchMode
from .subgraphs import Ready, Subgraph, attach_subgraph, key_of, with_inputs

__all__ = ["check_carried", "record_loop", "with_rows"]


def record_loop(
    mode: ProxyTorchDispatchMode,
    operator: Any,
    graphs: list[tuple[Subgraph, str]],
    args: list[Any],
    results: list[Any],
) -> None:
    """Records a call of a loop: the graphs, then the groups of operands.

    Args:
        mode: the mode that records.
        operator: the operator of the loop.
        graphs: the graphs of the functions and the first part of their names.
        args: groups of operands. The values that the functions read from around them join the last group.
        results: the results of the call.
    """
    lifted = _union([g for g, _ in graphs])
    nodes = [attach_subgraph(mode, with_inputs(g, lifted), name) for g, name in graphs]
    placed = [tuple(mode.node_of(v) for v in group) for group in args]
    placed[-1] = (*placed[-1], *(mode.node_of(v) for v in lifted))
    name = operator.name()
    mode.record_call(
        operator, (*[Ready(n) for n in nodes], *[Ready(p) for p in placed]), {}, tuple(results), name
    )


def _union(graphs: list[Subgraph]) -> list[Any]:
    """The values that any of the functions reads from around it, each once."""
    union: dict[int, Any] = {}
    for graph in graphs:
        for value in graph.lifted:
            union.setdefault(key_of(value), value)
    return list(union.values())


def check_carried(name: str, before: list[Any], after: list[Any]) -> None:
    """Compares the next values of a loop with the values before.

    Args:
        name: the name of the loop.
        before: the values before.
        after: the next values.

    Raises:
        RuntimeError: the numbers of values, or dtypes, devices or sizes differ.
    """
    if len(before) != len(after):
        raise RuntimeError(
            f"{name}(): expected as many values as are carried, got {len(after)} and {len(before)}"
        )
    for i, (x, y) in enumerate(zip(before, after, strict=True)):
        if isinstance(x, Tensor) and isinstance(y, Tensor) and _kind(x) != _kind(y):
            raise RuntimeError(
                f"{name}(): expected the next value {i} to have the metadata of the carried value, got "
                f"{y.dtype} of {tuple(y.shape)} on {y.device} and {x.dtype} of {tuple(x.shape)} on {x.device}"
            )


def _kind(t: Tensor) -> tuple[Any, ...]:
    """The dtype, the device and the known sizes of a tensor."""
    return t.dtype, t.device, tuple(n if isinstance(n, int) else None for n in t.shape)


def with_rows(mode: Any, value: Any, count: Any) -> Any:
    """A stack of equal values, as the result of a call in a trace.

    Args:
        mode: the mode that records.
        value: a tensor, or None.
        count: the number of rows.

    Returns:
        The stack. None has none.
    """
    if value is None:
        return None
    if mode.tracing_mode == "real" or not isinstance(value, FakeTensor):
        return tl_core.stack([value] * int(count))
    first = mode.run_on_fakes(ops.aten.unsqueeze.default, value, 0)
    wide = mode.run_on_fakes(ops.aten.expand.default, first, [count, *([-1] * value.ndim)])
    return mode.run_on_fakes(ops.aten.clone.default, wide, memory_format=tl_core.contiguous_format)
