"""Drawings of graphs, by pydot."""

from __future__ import annotations

import hashlib
from importlib import import_module
from itertools import chain
from typing import Any

from ..graph_module import GraphModule
from ..node import Node, _format_arg
from ..operator_schemas import normalize_function
from .shape_prop import TensorMetadata

__all__ = ["FxGraphDrawer"]

_COLORS = {
    "placeholder": '"AliceBlue"',
    "call_module": "LemonChiffon1",
    "get_param": "Yellow2",
    "get_attr": "LightGrey",
    "output": "PowderBlue",
}
_HASHED = (
    *("CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite", "Khaki1", "LavenderBlush1"),
    *("LightSkyBlue", "MistyRose1", "MistyRose2", "PaleTurquoise2", "PeachPuff1", "Salmon", "Thistle1"),
    *("Thistle3", "Wheat1"),
)


class FxGraphDrawer:
    """Draws a graph module: a box for each node with what it does, arrows for values. Needs the package pydot.

    Args:
        graph_module: the module.
        name: the name of the drawing.
        ignore_getattr: whether attributes are left out.
        ignore_parameters_and_buffers: whether those of modules are left out.
        skip_node_names_in_args: whether arguments that are nodes are left out of the boxes.
        parse_stack_trace: whether boxes say the line of the program.
        dot_graph_shape: the shape of boxes.
        normalize_args: whether arguments are written by their names.

    Raises:
        RuntimeError: pydot isn't installed.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> drawer = FxGraphDrawer(symbolic_trace(lambda x: x + 1), "sum")  # doctest: +SKIP
        >>> drawer.get_dot_graph().write_svg("sum.svg")  # doctest: +SKIP
    """

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:
        try:
            pydot = import_module("pydot")
        except ImportError as error:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite "
                "Python package manager."
            ) from error
        self._pydot: Any = pydot
        self._name = name
        self.dot_graph_shape = dot_graph_shape or "record"
        self.normalize_args = normalize_args
        self._ignore_getattr = ignore_getattr
        self._ignore_state = ignore_parameters_and_buffers
        self._skip_names = skip_node_names_in_args
        self._parse_stack_trace = parse_stack_trace
        self._dot_graphs = {name: self._draw(graph_module, name)}
        for node in graph_module.graph.nodes:
            if node.op != "call_module":
                continue
            inner = self._get_leaf_node(graph_module, node)
            if isinstance(inner, GraphModule):
                path = f"{name}_{node.target}"
                self._dot_graphs[path] = self._draw(inner, path)

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The drawing.

        Args:
            submod_name: a submodule's; None: the module's.

        Returns:
            A `pydot.Dot`.
        """
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Any:
        """The drawing of the module.

        Returns:
            A `pydot.Dot`.
        """
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The drawing of a submodule.

        Args:
            submod_name: its name.

        Returns:
            A `pydot.Dot`.
        """
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All drawings.

        Returns:
            By name.
        """
        return self._dot_graphs

    def _get_leaf_node(self, module: Any, node: Node) -> Any:
        for part in str(node.target).split("."):
            if not hasattr(module, part):
                raise RuntimeError(f"{type(module)} has no attribute {part}")
            module = getattr(module, part)
        return module

    def _typename(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', str(target))}"

    def _style(self, node: Node) -> dict[str, str]:
        style = {
            "shape": self.dot_graph_shape,
            "fillcolor": "#CAFFE3",
            "style": '"filled,rounded"',
            "fontcolor": "#000000",
        }
        if node.op in _COLORS:
            style["fillcolor"] = _COLORS[node.op]
        else:
            digest = hashlib.sha256(self._typename(node.target).encode()).digest()
            style["fillcolor"] = _HASHED[digest[0] % len(_HASHED)]
        return style

    def _label(self, module: GraphModule, node: Node) -> str:
        lines = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            called = self._get_leaf_node(module, node)
            lines.append(f"{called.__class__.__module__}.{called.__class__.__name__}")
            lines += [f"{c}: {getattr(called, c)}" for c in getattr(called, "__constants__", ())]
            lines.append(f"num_users={len(node.users)}")
        else:
            lines.append(f"target={self._typename(node.target)}")
            lines += self._arguments(module, node)
            lines.append(f"num_users={len(node.users)}")
        lines += self._values(node.meta.get("tensor_meta"))
        fusion = node.meta.get("fusion_component")
        lines += [f"fusion_component={fusion}"] if fusion else []
        if self._parse_stack_trace and node.stack_trace:
            lines.append(node.stack_trace.strip().split("\n")[0].strip())
        return "{" + r"\n".join(_escape(line) for line in lines) + r"\n}"

    def _arguments(self, module: GraphModule, node: Node) -> list[str]:
        if node.op == "get_attr" or not (node.args or node.kwargs):
            return []
        args, kwargs = node.args, node.kwargs
        if self.normalize_args and callable(node.target):
            normal = normalize_function(node.target, args, kwargs, normalize_to_only_use_kwargs=True)
            args, kwargs = normal if normal else (args, kwargs)
        texts = []
        for name, values in (("args", list(args)), ("kwargs", dict(kwargs))):
            if self._skip_names and isinstance(values, list):
                values = [v for v in values if not isinstance(v, Node)]
            if values:
                texts.append(f"{name}={_format_arg(values, 10)}")
        return texts

    def _values(self, metadata: Any, prefix: str = "") -> list[str]:
        if isinstance(metadata, TensorMetadata):
            shown = [
                f"{prefix}{name}={getattr(metadata, name)}"
                for name in ("dtype", "shape", "requires_grad", "stride")
            ]
            return shown + ([f"{prefix}qparams={metadata.qparams}"] if metadata.is_quantized else [])
        if isinstance(metadata, dict):
            return list(chain.from_iterable(self._values(v, f"{prefix}{k}.") for k, v in metadata.items()))
        if isinstance(metadata, (list, tuple)):
            return list(chain.from_iterable(self._values(v, f"{prefix}{i}.") for i, v in enumerate(metadata)))
        return []

    def _draw(self, module: GraphModule, name: str) -> Any:
        graph = self._pydot.Dot(name, rankdir="TB")
        nodes: dict[str, Any] = {}
        for node in module.graph.nodes:
            if self._ignore_getattr and node.op == "get_attr":
                continue
            graph.add_node(self._pydot.Node(node.name, label=self._label(module, node), **self._style(node)))
            nodes[node.name] = node
            if node.op == "call_module" and not self._ignore_state:
                called = self._get_leaf_node(module, node)
                if not isinstance(called, GraphModule):
                    self._draw_state(graph, node, called)
        for node in module.graph.nodes:
            for user in node.users:
                if node.name in nodes and user.name in nodes:
                    graph.add_edge(self._pydot.Edge(node.name, user.name))
        return graph

    def _draw_state(self, graph: Any, node: Node, called: Any) -> None:
        for kind, named in (("parameter", called.named_parameters()), ("buffer", called.named_buffers())):
            for name, value in named:
                label = rf"{{{kind}\n{name}\n{value.dtype}, {list(value.shape)}}}"
                own = f"{node.name}.{name}"
                style = {**self._style(node), "fillcolor": _COLORS["get_param"]}
                graph.add_node(self._pydot.Node(own, label=label, **style))
                graph.add_edge(self._pydot.Edge(own, node.name))


def _escape(text: str) -> str:
    for sign in "{}<>|":
        text = text.replace(sign, "\\" + sign)
    return text
