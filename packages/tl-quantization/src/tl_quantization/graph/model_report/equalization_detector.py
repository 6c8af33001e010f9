"""Layers whose channels have other ranges in the input than in the weight."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule
from tl_core import Tensor
from tl_nn import Module

from ...nn import qat
from .detector_base import PRE_OBSERVER, DetectorBase, DetectorQConfigInfo

__all__ = ["InputWeightEqualizationDetector"]


class InputWeightEqualizationDetector(DetectorBase):
    """Advises the equalization of linear layers and convolutions by the ranges of their channels.

    The measure of a channel is the root of its range in the weight divided by its range in the input, each as a share
    of the range of the tensor. Between `ratio_threshold` and its inverse, the channel gains from equalization.

    Args:
        ratio_threshold (float): Between 0 and 1.
        ch_axis (int): The dimension of the channels of inputs and weights.

    Raises:
        ValueError: If the threshold isn't between 0 and 1.

    Example:
        >>> InputWeightEqualizationDetector(0.5).get_detector_name()
        'input_weight_equalization_detector'
    """

    SUPPORTED_MODULES: frozenset[Any] = frozenset(
        getattr(room, name) for room in (nn, qat) for name in ("Linear", "Conv1d", "Conv2d", "Conv3d")
    )
    DEFAULT_PRE_OBSERVER_NAME = PRE_OBSERVER
    WEIGHT_PREFIX = "weight_"
    ACTIVATION_PREFIX = "input_activation_"
    PER_CHANNEL_MAX_KEY = "per_channel_max"
    PER_CHANNEL_MIN_KEY = "per_channel_min"
    GLOBAL_MAX_KEY = "global_max"
    GLOBAL_MIN_KEY = "global_min"
    RECOMMENDED_KEY = "input_weight_equalization_recommended"
    COMP_METRIC_KEY = "input_weight_channel_comparison_metrics"
    THRESHOLD_KEY = "input_weight_threshold"
    CHANNEL_KEY = "input_weight_channel_axis"
    WEIGHT_STR = "weight"
    INPUT_STR = "input"
    #: The share of channels that gain, from which on the text advises equalization.
    DEFAULT_RECOMMEND_INPUT_WEIGHT_CHANNEL_RATIO = 0.4

    def __init__(self, ratio_threshold: float, ch_axis: int = 1) -> None:
        super().__init__()
        if not 0 < ratio_threshold < 1:
            raise ValueError(f"ratio_threshold must be between 0 and 1, but got {ratio_threshold}")
        self.ratio_threshold = ratio_threshold
        self.ch_axis = ch_axis

    def _is_supported(self, module: Module, insert: bool = False) -> bool:
        return type(module) in self.SUPPORTED_MODULES and (insert or hasattr(module, PRE_OBSERVER))

    def get_qconfig_info(self, model: GraphModule) -> dict[str, DetectorQConfigInfo]:
        """The advice by the name of the layer.

        Args:
            model: the model with observers, after it has seen data.
        """
        result = {}
        for name, facts in self.generate_detector_report(model)[1].items():
            result[name] = DetectorQConfigInfo(name)
            result[name].is_equalization_recommended = facts[self.RECOMMENDED_KEY]
        return result

    def determine_observer_insert_points(self, model: GraphModule) -> dict[str, dict[str, Any]]:
        """Observers before linear layers and convolutions.

        Args:
            model: the prepared model.
        """
        return {
            f"{name}.{PRE_OBSERVER}": self._insertion(model, name, ch_axis=self.ch_axis)
            for name, module in model.named_modules()
            if self._is_supported(module, insert=True)
        }

    def get_detector_name(self) -> str:
        """The name of the detector."""
        return "input_weight_equalization_detector"

    def _ranges(self, prefix: str, low: Tensor, high: Tensor) -> dict[str, Tensor]:
        return {
            prefix + self.PER_CHANNEL_MAX_KEY: high,
            prefix + self.PER_CHANNEL_MIN_KEY: low,
            prefix + self.GLOBAL_MAX_KEY: high.max(),
            prefix + self.GLOBAL_MIN_KEY: low.min(),
        }

    def _extract_input_info(self, model: GraphModule) -> dict[str, dict[str, Tensor]]:
        result = {}
        for name, module in model.named_modules():
            if self._is_supported(module):
                observer: Any = getattr(module, PRE_OBSERVER)
                if not observer.min_val.numel():
                    raise ValueError(
                        f"the observer before {name} has seen no data: run the model before the report"
                    )
                result[name] = self._ranges(self.ACTIVATION_PREFIX, observer.min_val, observer.max_val)
        return result

    def _extract_weight_info(self, model: GraphModule) -> dict[str, dict[str, Tensor]]:
        result = {}
        for name, module in model.named_modules():
            if self._is_supported(module):
                weight: Any = module.weight
                channels = weight.detach().float().transpose(0, self.ch_axis).flatten(1)
                result[name] = self._ranges(self.WEIGHT_PREFIX, *tl_core.aminmax(channels, dim=1))
        return result

    def _calculate_range_ratio(self, info_dict: dict[str, Tensor], info_str: str, module_fqn: str) -> Tensor:
        """The ranges of channels as shares of the range of the tensor."""
        prefix = self.ACTIVATION_PREFIX if info_str == self.INPUT_STR else self.WEIGHT_PREFIX
        span = info_dict[prefix + self.GLOBAL_MAX_KEY] - info_dict[prefix + self.GLOBAL_MIN_KEY]
        if span == 0:
            raise ValueError(
                f"the {info_str} of {module_fqn} is one number only, so its channels have no range"
            )
        return (
            info_dict[prefix + self.PER_CHANNEL_MAX_KEY] - info_dict[prefix + self.PER_CHANNEL_MIN_KEY]
        ) / span

    def _generate_comparison_values(self, input_info: Any, weight_info: Any) -> dict[str, Tensor]:
        """The measure of each channel by layer."""
        result = {}
        for name in input_info:
            if name not in weight_info:
                raise KeyError(f"the ranges of the weight of {name} are missing")
            weight = self._calculate_range_ratio(weight_info[name], self.WEIGHT_STR, name)
            values = self._calculate_range_ratio(input_info[name], self.INPUT_STR, name)
            if len(values) % len(weight):
                raise AssertionError(
                    f"the channels of the input of {name} must be a multiple of the {len(weight)} of the weight, "
                    f"but got {len(values)}"
                )
            weight = weight.repeat(len(values) // len(weight))  # the weight of a group serves all groups
            result[name] = weight.sqrt() / values.sqrt()
        return result

    def _generate_dict_info(
        self, input_info: Any, weight_info: Any, comp_stats: Any
    ) -> dict[str, dict[str, Any]]:
        least, most = self.ratio_threshold, 1 / self.ratio_threshold
        return {
            name: {
                self.RECOMMENDED_KEY: [least <= value <= most for value in comp_stats[name].tolist()],
                self.COMP_METRIC_KEY: comp_stats[name],
                self.THRESHOLD_KEY: self.ratio_threshold,
                self.CHANNEL_KEY: self.ch_axis,
                **input_info[name],
                **weight_info[name],
            }
            for name in input_info
        }

    def generate_detector_report(self, model: GraphModule) -> tuple[str, dict[str, Any]]:
        """The report as a text, and its numbers by the name of the layer.

        Args:
            model: the model with observers, after it has seen data.

        Raises:
            ValueError: If an observer has seen no data, or an input or a weight is one number only.
        """
        inputs, weights = self._extract_input_info(model), self._extract_weight_info(model)
        facts = self._generate_dict_info(inputs, weights, self._generate_comparison_values(inputs, weights))
        text = "Input-Weight Equalization suggestions: \n"
        for name, entry in facts.items():
            gains, count = sum(entry[self.RECOMMENDED_KEY]), len(entry[self.RECOMMENDED_KEY])
            is_advised = gains / count >= self.DEFAULT_RECOMMEND_INPUT_WEIGHT_CHANNEL_RATIO
            text += f"{name}, dimension {self.ch_axis}: {gains} of {count} channels gain, so "
            text += (
                "equalize its input and weight.\n"
                if is_advised
                else "leave its input and weight as they are.\n"
            )
        if not facts:
            text += "The model has neither linear layers nor convolutions.\n"
        return text, facts
