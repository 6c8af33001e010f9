"""The base of structured sparsifiers: masks of rows, and the removal of the rows from a traced model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import product
from operator import getitem
from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule, symbolic_trace
from tl_nn import Module
from tl_nn import functional as F
from tl_nn.utils import parametrize

from ..sparsifier.base_sparsifier import BaseSparsifier
from .match_utils import apply_match
from .parametrization import BiasHook, FakeStructuredSparsity, module_contains_param
from .prune_functions import (
    prune_conv2d,
    prune_conv2d_activation_conv2d,
    prune_conv2d_activation_pool_conv2d,
    prune_conv2d_conv2d,
    prune_conv2d_pool_activation_conv2d,
    prune_conv2d_pool_flatten_linear,
    prune_linear,
    prune_linear_activation_linear,
    prune_linear_linear,
    prune_lstm_output_layernorm_linear,
    prune_lstm_output_linear,
)

__all__ = ["BaseStructuredSparsifier"]

_ACTIVATIONS = (
    *(
        "ReLU relu",
        "RReLU rrelu",
        "Hardtanh hardtanh",
        "ReLU6 relu6",
        "Sigmoid sigmoid",
        "Tanh tanh",
        "SiLU silu",
    ),
    *("Hardsigmoid hardsigmoid", "Mish mish", "Hardswish hardswish", "ELU elu", "CELU celu", "SELU selu"),
    *("Hardshrink hardshrink", "LeakyReLU leaky_relu", "LogSigmoid logsigmoid", "Softplus softplus"),
    *("PReLU prelu", "Softsign softsign", "Tanhshrink tanhshrink", "GELU gelu"),
)


def _get_supported_structured_pruning_modules() -> set[Any]:
    """The classes of layers that `prepare` selects without a configuration."""
    return {nn.Linear, nn.Conv2d, nn.LSTM}


def _get_supported_activation_functions() -> set[Any]:
    """The functions that a pattern may have between two layers."""
    return {getattr(F, pair.split()[1]) for pair in _ACTIVATIONS}


def _get_supported_activation_modules() -> set[Any]:
    """The classes of modules that a pattern may have between two layers."""
    return {getattr(nn, pair.split()[0]) for pair in _ACTIVATIONS}


def _get_default_structured_pruning_patterns() -> dict[tuple[Any, ...], Callable[..., None]]:
    """The chains of layers from which rows can be removed, with the function that removes them."""
    patterns: dict[tuple[Any, ...], Callable[..., None]] = {
        (nn.Linear, "output"): prune_linear,
        (nn.Linear, nn.Linear): prune_linear_linear,
        (nn.Conv2d, "output"): prune_conv2d,
        (nn.Conv2d, nn.Conv2d): prune_conv2d_conv2d,
        (nn.LSTM, getitem, nn.Linear): prune_lstm_output_linear,
        (nn.LSTM, getitem, nn.LayerNorm, nn.Linear): prune_lstm_output_layernorm_linear,
    }
    adaptive = (nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d)
    for last, flatten in product(adaptive, (nn.Flatten, tl_core.flatten)):
        patterns[nn.Conv2d, last, flatten, nn.Linear] = prune_conv2d_pool_flatten_linear
    pools = (nn.AvgPool2d, F.avg_pool2d, nn.MaxPool2d, F.max_pool2d)
    for activation in _get_supported_activation_functions() | _get_supported_activation_modules():
        patterns[nn.Linear, activation, nn.Linear] = prune_linear_activation_linear
        patterns[nn.Conv2d, activation, nn.Conv2d] = prune_conv2d_activation_conv2d
        for pool in pools:
            patterns[nn.Conv2d, activation, pool, nn.Conv2d] = prune_conv2d_activation_pool_conv2d
            patterns[nn.Conv2d, pool, activation, nn.Conv2d] = prune_conv2d_pool_activation_conv2d
    return patterns


class BaseStructuredSparsifier(BaseSparsifier):
    """The base class of structured sparsifiers, which remove rows of weights. A class of one's own has `update_mask`.

    Args:
        defaults (dict, optional): Arguments of `update_mask` for all tensors. `prune_bias` (the default is True)
            removes the bias of a row with the row. False moves what the next layer computes from it into the next bias.
        patterns (dict, optional): Functions by the chain of layers that they change, by default for linear layers,
            convolutions and LSTM.

    Example:
        >>> import tl_core, tl_nn
        >>> class First(BaseStructuredSparsifier):
        ...     def update_mask(self, module, tensor_name, **kwargs):
        ...         module.parametrizations[tensor_name][0].mask[0] = False
        >>> model, pruner = tl_nn.Sequential(tl_nn.Linear(4, 3), tl_nn.Linear(3, 2)), First({})
        >>> pruner.prepare(model, [{"tensor_fqn": "0.weight"}])
        >>> pruner.step()
        >>> _ = pruner.prune()
        >>> model
        Sequential(
          (0): Linear(in_features=4, out_features=2, bias=True)
          (1): Linear(in_features=2, out_features=2, bias=True)
        )
    """

    traced: GraphModule

    def __init__(
        self,
        defaults: dict[str, Any] | None,
        patterns: dict[tuple[Any, ...], Callable[..., None]] | None = None,
    ) -> None:
        super().__init__(defaults)
        self.patterns = _get_default_structured_pruning_patterns() if patterns is None else patterns

    def make_config_from_model(self, model: Module, SUPPORTED_MODULES: Any = None) -> None:
        """Sets a configuration for the weight of each layer of some classes.

        Args:
            model: the model.
            SUPPORTED_MODULES: the classes, by default Linear, Conv2d and LSTM.
        """
        if SUPPORTED_MODULES is None:
            SUPPORTED_MODULES = _get_supported_structured_pruning_modules()
        super().make_config_from_model(model, SUPPORTED_MODULES=SUPPORTED_MODULES)

    def _prepare(self, *args: Any, **kwargs: Any) -> None:
        for group in self.groups:
            module, tensor_name = group["module"], group["tensor_name"]
            kind = group.get("parametrization", FakeStructuredSparsity)
            tensor = getattr(module, tensor_name)
            mask = group.get("mask")
            if mask is None:
                mask = tl_core.ones(tensor.shape[0], dtype=tl_core.bool, device=tensor.device)
            self.state[group["tensor_fqn"]]["mask"] = mask
            parametrize.register_parametrization(module, tensor_name, kind(mask))
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                _hook_bias(module, group.get("prune_bias", True))

    def prune(self) -> GraphModule:
        """Removes the rows of masks, and the columns of the next layers that read them.

        Returns:
            The model as a graph. The layers are those of the model itself, so the model changes too.

        Raises:
            RuntimeError: If a masked layer is in no pattern.
        """
        self.traced = symbolic_trace(self.model)
        modules = dict(self.traced.named_modules())
        for node in self.traced.graph.nodes:
            for pattern, convert in self.patterns.items():
                matched = apply_match(modules, pattern, node, [])
                first = modules.get(str(node.target)) if matched is not None else None
                if (
                    matched is None
                    or first is None
                    or not module_contains_param(first, FakeStructuredSparsity)
                ):
                    continue
                calls = [n for n in matched if n.op in ("call_module", "call_function")]
                convert(*(modules[str(n.target)] if n.op == "call_module" else n.target for n in calls))
        for name, module in self.traced.named_modules():
            if module_contains_param(module, FakeStructuredSparsity):
                raise RuntimeError(
                    f"{name} still has masks of rows: no pattern of {type(self).__name__} starts with it and matches "
                    "the layers behind it. Leave it out of the configuration or add a pattern"
                )
        self.traced.graph.lint()
        self.traced.recompile()
        return self.traced

    @abstractmethod
    def update_mask(self, module: Module, tensor_name: str, **kwargs: Any) -> None:
        """Computes the mask of a tensor: `module.parametrizations[tensor_name][0].mask`, an entry for each row.

        Args:
            module: the module.
            tensor_name: the name of the tensor.
            **kwargs: the entries of the tensor's configuration.
        """


def _hook_bias(module: Any, prune_bias: bool) -> None:
    """Moves the bias of a layer behind its mask: the parameter `_bias`, which a hook adds."""
    if module.bias is not None:
        module.register_parameter("_bias", nn.Parameter(module.bias.detach()))
        module.bias = None
        module.prune_bias = prune_bias
    module.register_forward_hook(BiasHook(module.parametrizations.weight[0], prune_bias))
