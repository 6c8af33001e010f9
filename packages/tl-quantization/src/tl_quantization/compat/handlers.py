"""Handlers of patterns: classes that say how a match is observed."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any

from tl_compiler.fx import Node

from ..backend_config import BackendConfig, ObservationType
from ..graph.match_utils import first_root
from ..graph.types_of_nodes import has_tensor

__all__ = [
    "BatchNormQuantizeHandler",
    "BinaryOpQuantizeHandler",
    "CatQuantizeHandler",
    "ConvReluQuantizeHandler",
    "CopyNodeQuantizeHandler",
    "CustomModuleQuantizeHandler",
    "DefaultNodeQuantizeHandler",
    "EmbeddingQuantizeHandler",
    "FixedQParamsOpQuantizeHandler",
    "GeneralTensorShapeOpQuantizeHandler",
    "LinearReLUQuantizeHandler",
    "QuantizeHandler",
    "RNNDynamicQuantizeHandler",
    "StandaloneModuleQuantizeHandler",
]


class QuantizeHandler(ABC):  # noqa: B024 - abstract in PyTorch, too
    """The match of a pattern.

    Args:
        node_pattern: the nodes, nested as the pattern.
        modules: the modules by name.
        root_node_getter: returns the node that takes the pattern's input.
        is_custom_module: whether the node calls a module of a class that the user replaces.
        is_standalone_module: whether it calls a module that is quantized apart.
    """

    def __init__(
        self,
        node_pattern: Any,
        modules: dict[str, Any],
        root_node_getter: Callable[[Any], Any] | None = None,
        is_custom_module: bool = False,
        is_standalone_module: bool = False,
    ) -> None:
        self.node_pattern, self.modules = node_pattern, modules
        self.root_node = (root_node_getter or first_root)(node_pattern)
        self.is_custom_module_, self.is_standalone_module_ = is_custom_module, is_standalone_module
        args = self.root_node.args if isinstance(self.root_node, Node) else ()
        self.num_tensor_args = sum(isinstance(arg, Node) and has_tensor(arg, {}) for arg in args)

    def is_general_tensor_value_op(self) -> bool:
        """Whether the result has the observer of the input."""
        return False

    def is_custom_module(self) -> bool:
        """Whether the node calls a module of a class that the user replaces."""
        return self.is_custom_module_

    def is_standalone_module(self) -> bool:
        """Whether the node calls a module that is quantized apart."""
        return self.is_standalone_module_


def _get_quantize_handler_cls(
    observation_type: ObservationType,
    dtype_configs: list[Any],
    num_tensor_args_to_observation_type: dict[int, ObservationType],
) -> type[QuantizeHandler]:
    class ConfigurableQuantizeHandler(QuantizeHandler):
        def __init__(self, node_pattern: Any, modules: dict[str, Any], root_node_getter: Any = None) -> None:
            super().__init__(node_pattern, modules, root_node_getter)
            kinds = num_tensor_args_to_observation_type
            if kinds and self.num_tensor_args not in kinds:
                raise AssertionError(
                    f"num_tensor_args_to_observation_type has no entry for {self.num_tensor_args} tensors"
                )
            self.observation_type = kinds[self.num_tensor_args] if kinds else observation_type
            self.dtype_configs = dtype_configs

        def is_general_tensor_value_op(self) -> bool:
            return self.observation_type is ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT

    return ConfigurableQuantizeHandler


def _get_pattern_to_quantize_handlers(backend_config: BackendConfig) -> dict[Any, type[QuantizeHandler]]:
    return {
        pattern: _get_quantize_handler_cls(
            config.observation_type, config.dtype_configs, config._num_tensor_args_to_observation_type
        )
        for pattern, config in backend_config._pattern_complex_format_to_config.items()
    }


class BinaryOpQuantizeHandler(QuantizeHandler):
    """The handler of functions of two tensors."""


class CatQuantizeHandler(QuantizeHandler):
    """The handler of concatenations."""


class ConvReluQuantizeHandler(QuantizeHandler):
    """The handler of convolutions."""


class LinearReLUQuantizeHandler(QuantizeHandler):
    """The handler of linear layers."""


class BatchNormQuantizeHandler(QuantizeHandler):
    """The handler of batch normalization."""


class EmbeddingQuantizeHandler(QuantizeHandler):
    """The handler of embeddings."""


class RNNDynamicQuantizeHandler(QuantizeHandler):
    """The handler of recurrent layers."""


class DefaultNodeQuantizeHandler(QuantizeHandler):
    """The handler of operators with a quantized input and a quantized result."""


class FixedQParamsOpQuantizeHandler(QuantizeHandler):
    """The handler of operators whose results have a known range."""


class CopyNodeQuantizeHandler(QuantizeHandler):
    """The handler of operators that copy."""


class GeneralTensorShapeOpQuantizeHandler(QuantizeHandler):
    """The handler of operators on shapes."""


class CustomModuleQuantizeHandler(QuantizeHandler):
    """The handler of classes that the user replaces."""


class StandaloneModuleQuantizeHandler(QuantizeHandler):
    """The handler of modules that are quantized apart."""
