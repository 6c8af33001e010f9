"""Configurations of quantizers: the specifications of the input, the result, the weight and the bias of a layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tl_compiler.fx import Node

from ..dtypes import per_channel_symmetric, per_tensor_affine, per_tensor_symmetric
from .quantizer import QuantizationSpec

__all__ = [
    "OperatorConfig",
    "QuantizationConfig",
    "bias_spec",
    "input_spec",
    "module_filter",
    "name_filter",
    "output_spec",
    "weight_spec",
]


@dataclass(eq=True, frozen=True)
class QuantizationConfig:
    """The specifications of a layer.

    Args:
        input_activation: the specification of the inputs, or None.
        output_activation: the specification of the result, or None.
        weight: the specification of the weight, or None.
        bias: the specification of the bias, or None.
        is_qat: whether the configuration is for training.
    """

    input_activation: QuantizationSpec | None
    output_activation: QuantizationSpec | None
    weight: QuantizationSpec | None
    bias: QuantizationSpec | None
    is_qat: bool = False


class OperatorConfig(NamedTuple):
    """A configuration and the operators that have it."""

    config: QuantizationConfig
    operators: list[list[Any]]


def _check(spec: Any, schemes: tuple[Any, ...], what: str) -> Any:
    if spec is not None and spec.qscheme not in schemes:
        raise ValueError(f"Unsupported quantization_spec {spec} for {what}")
    return spec


def input_spec(config: QuantizationConfig | None) -> Any:
    """The specification of inputs.

    Args:
        config: the configuration, or None.
    """
    spec = config.input_activation if config else None
    return _check(spec, (per_tensor_affine, per_tensor_symmetric), "activation")


def output_spec(config: QuantizationConfig | None) -> Any:
    """The specification of results.

    Args:
        config: the configuration, or None.
    """
    spec = config.output_activation if config else None
    return _check(spec, (per_tensor_affine, per_tensor_symmetric), "activation")


def weight_spec(config: QuantizationConfig | None) -> Any:
    """The specification of weights.

    Args:
        config: the configuration, or None.

    Raises:
        ValueError: its scheme isn't symmetric.
    """
    if config is None:
        return None
    if config.weight is None:
        raise AssertionError("the configuration of a layer must have a specification of the weight")
    return _check(config.weight, (per_tensor_symmetric, per_channel_symmetric, None), "weight")


def bias_spec(config: QuantizationConfig | None) -> Any:
    """The specification of biases, None for floating ones.

    Args:
        config: the configuration, or None.
    """
    return config.bias if config else None


def _module_path(text: str) -> str:
    """The dotted name of a module in the stack of a node, without the name of the traced model."""
    text = text.replace("['", ".").replace("']", "").replace('["', ".").replace('"]', "")
    for prefix in ("L.self", "self"):
        if text == prefix or text.startswith(prefix + "."):
            return text[len(prefix) :].lstrip(".")
    return text


def name_filter(module_name: str) -> Callable[[Node], bool]:
    """The function that tells whether a node belongs to a module.

    Args:
        module_name: the dotted name of the module.

    Example:
        >>> from tl_compiler.fx import Graph
        >>> name_filter("block")(Graph().placeholder("x"))
        False
    """

    def is_inside(node: Node) -> bool:
        paths = [_module_path(entry[0]) for entry in node.meta.get("nn_module_stack", {}).values()]
        return module_name in paths

    return is_inside


def module_filter(module_type: Any) -> Callable[[Node], bool]:
    """The function that tells whether a node belongs to a module of a class.

    Args:
        module_type: the class.
    """
    name = f"{module_type.__module__}.{module_type.__qualname__}"

    def is_inside(node: Node) -> bool:
        for _, kind in node.meta.get("nn_module_stack", {}).values():
            own = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
            if own == name:
                return True
        return False

    return is_inside
