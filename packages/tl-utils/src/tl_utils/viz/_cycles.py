"""Cycles of references that hold tensors: their memory stays until Python's collector runs."""

from __future__ import annotations

import gc
import html
import sys
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tl_core import Tensor

__all__ = [
    "create_graph",
    "observe_garbage",
    "observe_tensor_cycles",
    "to_dot",
    "to_html",
    "warn_tensor_cycles",
]


class Node(NamedTuple):
    """An object of a graph: its label, and its references."""

    label: str
    context: str | None
    root: bool
    referrents: list[tuple[str, int]]


def observe_garbage(observer: Callable[[list[Any]], None]) -> Callable[[], None]:
    """Calls a function with the garbage of each collection.

    The garbage lives on for the function. The next collection frees it and makes no call.

    Args:
        observer: called with the objects.

    Returns:
        a function that ends it.
    """
    flags = gc.get_debug()
    gc.set_debug(flags | gc.DEBUG_SAVEALL)
    freeing: list[int] = []  # the observer's garbage lives until a collection of this generation

    def on_collection(phase: str, info: dict[str, int]) -> None:
        if phase != "stop":
            return
        if freeing and info["generation"] >= freeing[0]:
            freeing.clear()
            gc.set_debug(flags | gc.DEBUG_SAVEALL)
        elif not freeing and gc.garbage:
            garbage = list(gc.garbage)
            gc.garbage.clear()
            gc.set_debug(flags)
            freeing.append(min(info["generation"] + 1, 2))
            observer(garbage)

    gc.callbacks.append(on_collection)

    def stop() -> None:
        if on_collection in gc.callbacks:
            gc.callbacks.remove(on_collection)
            gc.set_debug(flags)

    return stop


def _with_tensors(garbage: list[Any]) -> list[Any]:
    """The objects, and the tensors that they refer to, which the collector does not follow."""
    ids = {id(o) for o in garbage}
    tensors = {
        id(r): r for o in garbage for r in gc.get_referents(o) if isinstance(r, Tensor) and id(r) not in ids
    }
    return [*garbage, *tensors.values()]


def annotated_references(obj: Any) -> dict[int, list[str]]:
    """The references of an object: names by identity.

    Args:
        obj: the object whose references are listed.
    """
    references: dict[int, list[str]] = {}

    def add(name: str, value: Any) -> None:
        references.setdefault(id(value), []).append(name)

    if isinstance(obj, dict):
        for key, value in obj.items():
            add("key", key)
            add(f"[{key!r}]" if isinstance(key, (str, int)) else "[...]", value)
    elif isinstance(obj, (list, tuple)):
        for i, value in enumerate(obj):
            add(f"[{i}]", value)
    elif isinstance(obj, types.FunctionType):
        for cell in obj.__closure__ or ():
            add("__closure__", cell)
    elif isinstance(obj, types.CellType):
        if obj != types.CellType():
            add("cell_contents", obj.cell_contents)
    elif isinstance(obj, types.FrameType):
        for name, value in obj.f_locals.items():
            add(name, value)
    for name in ("__dict__", "__self__", "__func__", "tb_frame", "tb_next", "f_back"):
        if name in dir(type(obj)):
            add(name, getattr(obj, name, None))
    return references


def object_annotation(obj: Any) -> str:
    """The label of an object in a picture."""
    if isinstance(obj, BaseException):
        return f"{type(obj).__name__}: {obj}"
    if isinstance(obj, Tensor):
        return f"Tensor {tuple(obj.shape)}"
    if isinstance(obj, types.FunctionType):
        return f"function {obj.__qualname__}"
    if isinstance(obj, types.FrameType):
        return f"frame {obj.f_code.co_filename}:{obj.f_lineno}"
    if isinstance(obj, (str, int, float, bool)):
        return repr(obj)[:40]
    return type(obj).__name__


def create_graph(objects: Iterable[Any], *, context: Callable[[Any], str | None] | None = None,
                 filter: Callable[[Any], bool] | None = None) -> list[Node]:  # fmt: skip
    """The graph of the objects that reach the selected ones.

    Args:
        objects: all objects.
        context: a function from an object to its text in the picture, or None.
        filter: the predicate of selected objects, by default tensors.
    """
    listed = [o for o in objects if not isinstance(o, (types.ModuleType, weakref.ref))]
    is_root = filter or (lambda o: isinstance(o, Tensor))
    index = {id(o): i for i, o in enumerate(listed)}
    edges: list[list[tuple[str, int]]] = []
    for obj in listed:
        names = annotated_references(obj)
        edges.append(
            [
                ("/".join(names.get(id(r), ["?"])), index[id(r)])
                for r in gc.get_referents(obj)
                if id(r) in index
            ]
        )
    above: list[list[int]] = [[] for _ in listed]
    for i, targets in enumerate(edges):
        for _, target in targets:
            above[target].append(i)
    reached, todo = set(), [i for i, o in enumerate(listed) if is_root(o)]
    while todo:
        i = todo.pop()
        if i not in reached:
            reached.add(i)
            todo += above[i]
    order = {old: new for new, old in enumerate(sorted(reached))}
    return [
        Node(object_annotation(listed[i]), context(listed[i]) if context else None, is_root(listed[i]),
             [(name, order[t]) for name, t in edges[i] if t in order])
        for i in order
    ]  # fmt: skip


def escape(n: str) -> str:
    """A text for Graphviz."""
    return n.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def to_dot(nodes: list[Node]) -> str:
    """A graph for Graphviz.

    Args:
        nodes: the result of `create_graph`.
    """
    lines = ["digraph references {"]
    for i, node in enumerate(nodes):
        color = ", style=filled, fillcolor=orange" if node.root else ""
        lines.append(f'  n{i} [label="{escape(node.label)}"{color}];')
        lines += [f'  n{i} -> n{target} [label="{escape(name)}"];' for name, target in node.referrents]
    return "\n".join([*lines, "}"])


def to_html(nodes: list[Node]) -> str:
    """A graph as a page: a list of objects with links.

    Args:
        nodes: the result of `create_graph`.
    """
    rows = []
    for i, node in enumerate(nodes):
        links = ", ".join(
            f'<a href="#n{t}">{html.escape(name)} &rarr; {html.escape(nodes[t].label)}</a>'
            for name, t in node.referrents
        )
        context = f"<pre>{html.escape(node.context)}</pre>" if node.context else ""
        name = f"<b>{html.escape(node.label)}</b>" if node.root else html.escape(node.label)
        rows.append(f'<li id="n{i}">{name}: {links}{context}</li>')
    return f"<!DOCTYPE html><meta charset='utf-8'><title>References</title><ol start='0'>{''.join(rows)}</ol>"


def observe_tensor_cycles(callback: Callable[[str], None]) -> Callable[[], None]:
    """Calls a function with a page about each collected cycle that held a tensor.

    Args:
        callback: called with the page.

    Returns:
        a function that ends it.
    """

    def observer(garbage: list[Any]) -> None:
        objects = _with_tensors(garbage)
        if any(isinstance(o, Tensor) for o in objects):
            callback(to_html(create_graph(objects)))

    return observe_garbage(observer)


def warn_tensor_cycles() -> Callable[[], None]:
    """Reports on stderr each cycle that held a tensor until its collection.

    Returns:
        a function that ends it.
    """

    def observer(garbage: list[Any]) -> None:
        tensors = [o for o in _with_tensors(garbage) if isinstance(o, Tensor)]
        if tensors:
            size = sum(t.numel() * t.element_size() for t in tensors)
            sys.stderr.write(
                f"A cycle of references held {len(tensors)} tensors, {size} bytes, until it was collected.\n"
            )

    return observe_garbage(observer)
