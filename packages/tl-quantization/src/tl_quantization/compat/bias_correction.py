"""Biases of quantized layers, shifted by the mean error of the rounding (Nagel et al. 2019, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tl_nn as nn
from tl_core import Tensor

from ..nn import quantized as nnq
from ..numeric_suite.eager import Shadow, prepare_model_with_stubs
from ..numeric_suite.loggers import Logger

__all__ = ["MeanShadowLogger", "bias_correction", "get_module", "get_param", "parent_child_names"]

_supported_modules = {nn.Linear, nn.Conv2d}
_supported_modules_quantized = {nnq.Linear, nnq.Conv2d}


def get_module(model: Any, name: str) -> Any:
    """A module of a model by its name.

    Args:
        model: the model.
        name: the dotted name.

    Example:
        >>> get_module(nn.Sequential(nn.ReLU()), "0")
        ReLU()
    """
    return dict(model.named_modules())[name]


def parent_child_names(name: str) -> tuple[str, str]:
    """The name of the module above, and the name below it.

    Args:
        name: the dotted name.

    Example:
        >>> parent_child_names("a.b.c"), parent_child_names("a")
        (('a.b', 'c'), ('', 'a'))
    """
    parent, _, child = name.rpartition(".")
    return parent, child


def get_param(module: Any, attr: str) -> Any:
    """A parameter, which is an attribute of a float layer and a method of a quantized one.

    Args:
        module: the layer.
        attr: the name, such as "bias".

    Example:
        >>> get_param(nnq.Linear(2, 1), "bias")
        tensor([0.])
    """
    value = getattr(module, attr, None)
    return value() if callable(value) else value


class MeanShadowLogger(Logger):
    """Stores the mean result of a quantized layer and of the float layer beside it.

    Example:
        >>> logger = MeanShadowLogger()
        >>> logger(tl_core.ones(1), tl_core.zeros(1)), logger(tl_core.zeros(1), tl_core.zeros(1))
        (None, None)
        >>> logger.stats
        {'float': tensor([0.]), 'quantized': tensor([0.5000])}
    """

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def forward(self, x: Tensor, y: Tensor) -> None:  # type: ignore[override]  # two results
        """Adds the result of the quantized layer and that of the float layer.

        Args:
            x: the result of the quantized layer.
            y: the result of the float layer.
        """
        self.count += 1
        for name, value in (("quantized", x.dequantize() if x.is_quantized else x), ("float", y)):
            value, mean = value.detach(), self.stats[name]
            self.stats[name] = value if mean is None else mean + (value - mean) / self.count

    def clear(self) -> None:
        """Takes all results away."""
        self.stats["float"] = self.stats["quantized"] = None
        self.count = 0


def bias_correction(
    float_model: Any,
    quantized_model: Any,
    img_data: Iterable[Any],
    target_modules: Any = _supported_modules_quantized,
    neval_batches: int | None = None,
) -> None:
    """Shifts the biases of quantized layers so that their mean results are those of the float layers.

    A `Shadow` stands in place of each layer afterwards, with the layer as `orig_module`.

    Args:
        float_model: the float model.
        quantized_model: the quantized model, which changes.
        img_data: batches. The first entry of each is the input.
        target_modules: the classes of layers to correct.
        neval_batches: the largest number of batches.

    Example:
        >>> from tl_quantization import quantize_dynamic
        >>> model = nn.Sequential(nn.Linear(2, 1))
        >>> quantized = quantize_dynamic(model)
        >>> bias_correction(model, quantized, [[tl_core.ones(1, 2)]], {type(quantized[0])})
        >>> type(quantized[0]).__name__
        'Shadow'
    """
    prepare_model_with_stubs(float_model, quantized_model, _supported_modules, MeanShadowLogger)
    for module in [m for m in quantized_model.modules() if isinstance(m, Shadow)]:
        layer, bias = module.orig_module, get_param(module.orig_module, "bias")
        if type(layer) not in target_modules or bias is None:
            continue
        _run(quantized_model, img_data, neval_batches)
        error = module.logger.stats["quantized"] - module.logger.stats["float"]
        channels = [axis for axis in range(error.dim()) if axis != 1]
        layer.set_weight_bias(get_param(layer, "weight"), bias.detach() - error.mean(channels))
        for logger in quantized_model.modules():
            if isinstance(logger, MeanShadowLogger):
                logger.clear()


def _run(model: Any, data: Iterable[Any], limit: int | None) -> None:
    for count, batch in enumerate(data, start=1):
        model(batch[0])
        if count == limit:
            return
