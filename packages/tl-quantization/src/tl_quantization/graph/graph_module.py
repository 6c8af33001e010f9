"""Graph modules of the stages: fused, observed, quantized. Copies keep the attributes that the user named."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import Graph, GraphModule

__all__ = ["FusedGraphModule", "ObservedGraphModule", "ObservedStandaloneGraphModule", "QuantizedGraphModule"]

#: The entry of `meta` with the facts of `prepare_fx` that `convert_fx` needs.
OBSERVED = "_observed_graph_module_attrs"


class _Stage(GraphModule):
    """A graph module with attributes of the model that the graph doesn't use.

    Args:
        root: the module with the layers.
        graph: the graph.
        preserved_attr_names: the attributes' names.
    """

    def __init__(self, root: Any, graph: Graph, preserved_attr_names: set[str]) -> None:
        self.preserved_attr_names = preserved_attr_names
        preserved = {name: getattr(root, name) for name in preserved_attr_names if hasattr(root, name)}
        super().__init__(root, graph)
        self.meta.update(getattr(root, "meta", {}))
        for name, value in preserved.items():
            setattr(self, name, value)


class FusedGraphModule(_Stage):
    """A model with fused layers.

    Args:
        root: the module, or the modules and tensors by name, that the graph calls.
        graph: the graph.
        preserved_attr_names: the attributes of `root` that the new module keeps.
    """


class ObservedGraphModule(_Stage):
    """A model with observers, from `prepare_fx`.

    Args:
        root: the module, or the modules and tensors by name, that the graph calls.
        graph: the graph.
        preserved_attr_names: the attributes of `root` that the new module keeps.
    """


class ObservedStandaloneGraphModule(ObservedGraphModule):
    """A module with observers that is one call of its parent.

    Args:
        root: the module, or the modules and tensors by name, that the graph calls.
        graph: the graph.
        preserved_attr_names: the attributes of `root` that the new module keeps.
    """


class QuantizedGraphModule(_Stage):
    """A quantized model, from `convert_fx`. State dicts have its packed weights.

    Args:
        root: the module, or the modules and tensors by name, that the graph calls.
        graph: the graph.
        preserved_attr_names: the attributes of `root` that the new module keeps.
    """

    def __init__(self, root: Any, graph: Graph, preserved_attr_names: set[str]) -> None:
        super().__init__(root, graph, preserved_attr_names)
        for name, value in vars(root).items():
            if name.startswith("_packed_weight_"):
                setattr(self, name, value)

    def _packed_names(self) -> list[str]:
        return [name for name in vars(self) if name.startswith("_packed_weight_")]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in self._packed_names():
            destination[prefix + name] = getattr(self, name)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing: Any,
        unexpected: Any,
        errors: Any,
    ) -> None:
        for name in self._packed_names():
            if prefix + name in state_dict:
                setattr(self, name, state_dict.pop(prefix + name))
            elif strict:
                missing.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)


def _is_observed_module(module: Any) -> bool:
    return OBSERVED in getattr(module, "meta", {})


def _is_observed_standalone_module(module: Any) -> bool:
    return _is_observed_module(module) and module.meta[OBSERVED].is_observed_standalone_module


def _get_observed_graph_module_attr(model: Any, attr_name: str) -> Any:
    """A fact that `prepare_fx` has stored."""
    return getattr(model.meta[OBSERVED], attr_name) if _is_observed_module(model) else None
