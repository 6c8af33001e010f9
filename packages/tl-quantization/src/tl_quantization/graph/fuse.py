"""The fusion of layers that follow one another in a graph."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import Graph, GraphModule, map_arg

from ..backend_config import BackendConfig, get_native_backend_config
from ..backend_config.utils import get_fuser_method_mapping
from .custom_config import FuseCustomConfig
from .fuse_handler import DefaultFuseHandler, FuseHandler
from .graph_module import FusedGraphModule
from .match_utils import Match, find_matches

__all__ = ["FuseHandler", "fuse"]


def fuse(
    model: GraphModule,
    is_qat: bool,
    fuse_custom_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """The model with fused layers.

    Args:
        model: a graph module.
        is_qat: whether the layers will be trained with rounding.
        fuse_custom_config: a `FuseCustomConfig` or its dictionary.
        backend_config: a `BackendConfig` or its dictionary, by default the native one.
    """
    custom = fuse_custom_config or FuseCustomConfig()
    custom = FuseCustomConfig.from_dict(custom) if isinstance(custom, dict) else custom
    backend = backend_config or get_native_backend_config()
    backend = BackendConfig.from_dict(backend) if isinstance(backend, dict) else backend
    modules = dict(model.named_modules(remove_duplicate=False))
    matches = find_matches(
        model.graph, modules, backend, is_wanted=lambda config: config.fuser_method is not None
    )
    graph = Graph()
    values: dict[str, Any] = {}
    table = get_fuser_method_mapping(backend)

    def load(arg: Any) -> Any:
        return map_arg(arg, lambda node: values[node.name])

    for node in model.graph.nodes:
        match = matches.get(node.name)
        if match is None:
            values[node.name] = graph.node_copy(node, load)
        elif match.last is node:
            handler = DefaultFuseHandler(node)
            fused = dict(modules)  # a layer that is called again is fused again
            values[node.name] = handler.fuse(
                load, fused, graph, match.root, _further_inputs(match), match.nodes, custom, table, is_qat
            )
            _set_module(model, str(match.root.target), fused[str(match.root.target)])
    return FusedGraphModule(model, graph, set(custom.preserved_attributes))


def _further_inputs(match: Match) -> list[Any]:
    get = match.config._extra_inputs_getter
    return [] if get is None else get(match.nodes)


def _set_module(model: Any, name: str, module: Any) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, module)
