"""Graphs of models, from a run: the calls of functions, by module, with their inputs."""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

import tl_core
from tl_core import Tensor
from tl_core.overrides import TorchFunctionMode
from tl_core.pytree import tree_leaves
from tl_nn import Module
from tl_nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from tl_utils.tensorboard._graph_def import UniqueNames, graph_def, node_def

__all__ = ["graph"]

_QUIET = ("__get__", "__set__", "size", "dim", "numel", "stride", "is_floating_point", "__repr__", "__bool__")


class _Recorder(TorchFunctionMode):
    """Notes each function called on tensors, and which module called it.

    The recorder identifies tensors by `id`, so it holds all until the end.
    """

    def __init__(self, model: Module) -> None:
        super().__init__()
        self.nodes: list[NodeDef] = []
        self._sources: dict[int, str] = {}
        self._kept: list[Tensor] = []
        self.unique = UniqueNames().of
        self._labels = _labels(model)
        self._scope: list[str] = []
        self._parameters = {id(p): name for name, p in [*model.named_parameters(), *model.named_buffers()]}

    def source(self, tensor: Tensor) -> str:
        """The node that gave a tensor: one is made for parameters and constants."""
        if id(tensor) not in self._sources:
            own = self._parameters.get(id(tensor))
            name = self.unique("/".join([*self._scope, own.rpartition(".")[2] if own else "constant"]))
            self.add(node_def(name, "Parameter" if own else "Constant", [], tensor.shape), [tensor])
        return self._sources[id(tensor)]

    def add(self, node: NodeDef, outputs: list[Tensor]) -> None:
        """Adds a node with these tensors as its outputs."""
        self.nodes.append(node)
        for tensor in outputs:
            self._sources[id(tensor)] = node.name
            self._kept.append(tensor)

    def enters(self, module: Module, args: Any) -> None:
        """A module is called."""
        self._scope.append(self._labels.get(module) or type(module).__name__)

    def leaves(self, module: Module, args: Any, output: Any) -> None:
        """A module returns."""
        self._scope.pop()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = getattr(func, "__name__", type(func).__name__)
        outputs = [t for t in tree_leaves(out) if isinstance(t, Tensor)]
        if outputs and name not in _QUIET:
            leaves = tree_leaves((args, kwargs))
            sources = [self.source(t) for t in leaves if isinstance(t, Tensor)]
            constants = ", ".join(str(x) for x in leaves if isinstance(x, (bool, int, float, str)))
            label = self.unique("/".join([*self._scope, name]))
            self.add(node_def(label, f"aten::{name}", sources, outputs[0].shape, f"{{{constants}}}"), outputs)
        return out


def _labels(model: Module) -> dict[Module, str]:
    """The label of each module in a name: its class and its name in its parent."""
    labels = {model: type(model).__name__}
    for owner in model.modules():
        for name, part in owner.named_children():
            labels.setdefault(part, f"{type(part).__name__}[{name}]")
    return labels


def graph(model: Module, args: Any, verbose: bool = False, use_strict_trace: bool = True
          ) -> tuple[GraphDef, Any]:  # fmt: skip
    """Runs a model and notes its graph.

    Args:
        model: the model, which runs unchanged, without gradients.
        args: its input, or a tuple of them.
        verbose: whether the nodes are printed.
        use_strict_trace: whether outputs in dictionaries or lists are refused.

    Raises:
        RuntimeError: such an output.
    """
    args = args if isinstance(args, (tuple, list)) else (args,)
    recorder = _Recorder(model)
    for tensor in (t for t in tree_leaves(args) if isinstance(t, Tensor)):
        name = recorder.unique("input/x")
        recorder.add(node_def(name, "IO Node", [], tensor.shape), [tensor])
    hooks = [
        register_module_forward_pre_hook(recorder.enters),
        register_module_forward_hook(recorder.leaves, always_call=True),
    ]
    try:
        with tl_core.no_grad(), recorder:
            output = model(*args)
    finally:
        for hook in hooks:
            hook.remove()
    if use_strict_trace and isinstance(output, (dict, list)):
        raise RuntimeError(
            f"add_graph: the output is a {type(output).__name__}, which may change its size from run to run; "
            "use_strict_trace=False takes it as it is"
        )
    for tensor in (t for t in tree_leaves(output) if isinstance(t, Tensor)):
        name, source = recorder.unique("output/output"), recorder.source(tensor)
        recorder.nodes.append(node_def(name, "IO Node", [source], tensor.shape))
    return graph_def(recorder.nodes, verbose)
