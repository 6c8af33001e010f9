"""Observers of a graph: what each node takes and returns, and the calls of observers between nodes."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node

from ..fake_quantize import FakeQuantizeBase, FixedQParamsFakeQuantize
from ..observer_base import ObserverBase
from ..rangeless_observers import FixedQParamsObserver, ReuseInputObserver

__all__ = ["dtype_of", "insert_observer", "is_observer", "observer_at", "reuses_input"]

#: The beginning of the names of observers in a graph.
PREFIX = "activation_post_process_"


def is_observer(module: Any) -> bool:
    """Whether a module observes: an observer or a fake quantizer.

    Args:
        module: the module.
    """
    return isinstance(module, (ObserverBase, FakeQuantizeBase))


def observer_at(node: Any, modules: dict[str, Any]) -> Any:
    """The observer that a node calls, or None.

    Args:
        node: the node.
        modules: the modules by name.
    """
    if not isinstance(node, Node) or node.op != "call_module":
        return None
    module = modules.get(str(node.target))
    return module if is_observer(module) else None


def dtype_of(observer: Any) -> Any:
    """The type that an observer's numbers will have, and whether they are quantized at each call.

    Args:
        observer: the observer, or None for floating numbers.
    """
    if observer is None:
        return tl_core.float32, False
    dtype = getattr(observer, "dtype", tl_core.float32)
    return dtype, bool(getattr(observer, "is_dynamic", False))


def is_float(observer: Any) -> bool:
    """Whether an observer leaves numbers as they are.

    Args:
        observer: the observer, or None.
    """
    return dtype_of(observer)[0] in (tl_core.float32, None, tl_core.int32, tl_core.int64)


def reuses_input(observer: Any) -> bool:
    """Whether an observer stands for the one of the input.

    Args:
        observer: the observer.
    """
    return isinstance(observer, ReuseInputObserver)


def has_fixed_range(observer: Any) -> bool:
    """Whether an observer has one scale from the start.

    Args:
        observer: the observer.
    """
    return isinstance(observer, (FixedQParamsFakeQuantize, FixedQParamsObserver))


def insert_observer(model: GraphModule, modules: dict[str, Any], node: Node, observer: Any) -> Node:
    """Inserts the call of an observer behind a node.

    Args:
        model: the graph module, which gets the observer as a part.
        modules: the modules by name, which get it, too.
        node: the node whose value is observed.
        observer: the observer.

    Returns:
        The call. The users of the node stay as they are.
    """
    number = 0
    while hasattr(model, f"{PREFIX}{number}"):
        number += 1
    name = f"{PREFIX}{number}"
    device = _device_of(model)
    if device is not None:
        observer.to(device)
    setattr(model, name, observer)
    modules[name] = observer
    with model.graph.inserting_after(node):
        return model.graph.create_node("call_module", name, (node,), {})


def _device_of(model: GraphModule) -> Any:
    devices = {p.device for p in model.parameters()} | {b.device for b in model.buffers()}
    return next(iter(devices)) if len(devices) == 1 else None
