"""Graphs of exported or traced programs, without a run."""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from tl_compiler.export import ExportedProgram
from tl_compiler.fx import GraphModule, Node
from tl_core import Tensor
from tl_core.pytree import tree_leaves
from tl_utils.tensorboard._graph_def import UniqueNames, graph_def, node_def

__all__ = ["needs_no_run", "program_graph"]


def needs_no_run(model: Any, inputs: Any) -> bool:
    """Whether a model contains a graph, so that it needs no run on the inputs."""
    return isinstance(model, ExportedProgram) or (isinstance(model, GraphModule) and inputs is None)


class _Reader:
    """Makes a node of each of a program's."""

    def __init__(self, program: Any) -> None:
        self.nodes: list[NodeDef] = []
        self._names: dict[Node, str] = {}
        self._unique = UniqueNames()
        self._module = program.graph_module if isinstance(program, ExportedProgram) else program
        self._owned: dict[str, str] = {}
        if isinstance(program, ExportedProgram):
            signature = program.graph_signature
            self._owned = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}

    def read(self) -> None:
        """All nodes, in their order."""
        for node in self._module.graph.nodes:
            getattr(self, f"_{node.op}", self._call)(node)

    def _add(self, node: Node, label: str, op: str, attributes: str = "") -> None:
        name = self._names[node] = self._unique.of(label)
        sources = [self._names[source] for source in node.all_input_nodes]
        self.nodes.append(node_def(name, op, sources, _shape(node), attributes))

    def _placeholder(self, node: Node) -> None:
        owned = self._owned.get(node.name)
        if owned:
            self._add(node, owned.replace(".", "/"), "Parameter")
        else:
            self._add(node, f"input/{node.name}", "IO Node")

    def _get_attr(self, node: Node) -> None:
        self._add(node, str(node.target).replace(".", "/"), "Parameter")

    def _call(self, node: Node) -> None:
        name = self._operator_name(node)
        constants = ", ".join(
            str(x) for x in tree_leaves((node.args, node.kwargs)) if not isinstance(x, Node)
        )
        op = name if node.op == "call_module" else f"aten::{name}"
        self._add(node, "/".join([*_scope(node), name]), op, f"{{{constants}}}")

    def _operator_name(self, node: Node) -> str:
        if node.op == "call_module":
            return type(self._module.get_submodule(str(node.target))).__name__
        if isinstance(node.target, str):
            return node.target
        return str(getattr(node.target, "__name__", node.target)).partition(".")[0]

    def _output(self, node: Node) -> None:
        for source in tree_leaves(node.args):
            if isinstance(source, Node):
                name = self._unique.of("output/output")
                self.nodes.append(node_def(name, "IO Node", [self._names[source]], _shape(source)))


def _shape(node: Node) -> Any:
    value = node.meta.get("val", node.meta.get("tensor_meta"))
    first = next((v for v in tree_leaves(value) if isinstance(v, Tensor)), value)
    shape = getattr(first, "shape", None)
    return None if shape is None else [n if isinstance(n, int) else -1 for n in shape]


def _scope(node: Node) -> list[str]:
    """The modules around a call: each with its class, and with the name that its owner gives it."""
    scope = []
    for path, kind in (node.meta.get("nn_module_stack") or {}).values():
        name = (kind if isinstance(kind, str) else kind.__name__).rpartition(".")[2]
        part = path.rpartition(".")[2]
        scope.append(f"{name}[{part}]" if part else name)
    return scope


def program_graph(program: Any, verbose: bool = False) -> tuple[GraphDef, Any]:
    """The graph of an exported or a traced program.

    Args:
        program: an `ExportedProgram` or a `GraphModule`.
        verbose: whether the nodes are printed.
    """
    reader = _Reader(program)
    reader.read()
    return graph_def(reader.nodes, verbose)
