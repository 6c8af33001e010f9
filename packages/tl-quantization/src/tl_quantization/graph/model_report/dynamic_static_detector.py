"""Layers whose inputs are quantized better at each call, or better with one scale."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_compiler.fx import GraphModule
from tl_nn import Module

from .detector_base import POST_OBSERVER, PRE_OBSERVER, DetectorBase, DetectorQConfigInfo

__all__ = ["DynamicStaticDetector"]


class DynamicStaticDetector(DetectorBase):
    """Advises dynamic quantization for layers whose results have other ranges in each batch, static for the others.

    The measure is the mean range of a batch divided by the range of all data.

    Args:
        tolerance (float): Data with a measure above it are stationary.

    Example:
        >>> DynamicStaticDetector().get_detector_name()
        'dynamic_vs_static_detector'
    """

    DEFAULT_PRE_OBSERVER_NAME = PRE_OBSERVER
    DEFAULT_POST_OBSERVER_NAME = POST_OBSERVER
    STATIONARY_STR = "stationary"
    NON_STATIONARY_STR = "non-stationary"
    INPUT_ACTIVATION_PREFIX = "input_activation_"
    OUTPUT_ACTIVATION_PREFIX = "output_activation_"
    TOLERANCE_KEY = "dynamic_static_tolerance"
    DEFAULT_DYNAMIC_REC_KEY = "dynamic_recommended"
    PRE_OBS_COMP_STAT_KEY = INPUT_ACTIVATION_PREFIX + "dynamic_static_comp_stat"
    POST_OBS_COMP_STAT_KEY = OUTPUT_ACTIVATION_PREFIX + "dynamic_static_comp_stat"
    PRE_OBS_DATA_DIST_KEY = INPUT_ACTIVATION_PREFIX + "dynamic_static_data_classification"
    POST_OBS_DATA_DIST_KEY = OUTPUT_ACTIVATION_PREFIX + "dynamic_static_data_classification"
    IS_CURRENTLY_SUPPORTED_KEY = "is_dynamic_supported"
    DEFAULT_DYNAMIC_STATIC_CHECK_SUPPORTED: frozenset[Any] = frozenset({nn.Linear})
    DEFAULT_DYNAMIC_STATIC_FUTURE_SUPPORTED: frozenset[Any] = frozenset({nn.Conv1d, nn.Conv2d, nn.Conv3d})

    def __init__(self, tolerance: float = 0.5) -> None:
        super().__init__()
        self.tolerance = tolerance
        self.useful_observer_fqns: set[str] = set()

    def determine_observer_insert_points(self, model: GraphModule) -> dict[str, dict[str, Any]]:
        """Observers before and behind linear layers and convolutions.

        Args:
            model: the prepared model.
        """
        result = {}
        for name, module in model.named_modules():
            if self._is_supported(module, insert=True):
                result[f"{name}.{PRE_OBSERVER}"] = self._insertion(model, name)
                result[f"{name}.{POST_OBSERVER}"] = self._insertion(model, name, is_post=True)
        return result

    def get_detector_name(self) -> str:
        """The name of the detector."""
        return "dynamic_vs_static_detector"

    def get_qconfig_info(self, model: GraphModule) -> dict[str, DetectorQConfigInfo]:
        """The advice by the name of the layer.

        Args:
            model: the model with observers, after it has seen data.
        """
        result = {}
        for name, facts in self._generate_dict_info(model).items():
            result[name] = DetectorQConfigInfo(name)
            result[name].is_activation_dynamic = facts[self.DEFAULT_DYNAMIC_REC_KEY]
        return result

    def _is_supported(self, module: Module, insert: bool = False) -> bool:
        kinds = self.DEFAULT_DYNAMIC_STATIC_CHECK_SUPPORTED | self.DEFAULT_DYNAMIC_STATIC_FUTURE_SUPPORTED
        if not isinstance(module, tuple(kinds)):
            return False
        return insert or (hasattr(module, PRE_OBSERVER) and hasattr(module, POST_OBSERVER))

    def _generate_dict_info(self, model: GraphModule) -> dict[str, dict[str, Any]]:
        result = {}
        for name, module in model.named_modules():
            if not self._is_supported(module):
                continue
            before: Any = getattr(module, PRE_OBSERVER)
            behind: Any = getattr(module, POST_OBSERVER)
            stats = before.get_batch_to_epoch_ratio(), behind.get_batch_to_epoch_ratio()
            kinds = [self.STATIONARY_STR if s > self.tolerance else self.NON_STATIONARY_STR for s in stats]
            result[name] = {
                self.TOLERANCE_KEY: self.tolerance,
                self.DEFAULT_DYNAMIC_REC_KEY: stats[1] <= self.tolerance,
                self.PRE_OBS_COMP_STAT_KEY: stats[0],
                self.PRE_OBS_DATA_DIST_KEY: kinds[0],
                self.POST_OBS_COMP_STAT_KEY: stats[1],
                self.POST_OBS_DATA_DIST_KEY: kinds[1],
                self.IS_CURRENTLY_SUPPORTED_KEY: isinstance(
                    module, tuple(self.DEFAULT_DYNAMIC_STATIC_CHECK_SUPPORTED)
                ),
            }
        return result

    def generate_detector_report(self, model: GraphModule) -> tuple[str, dict[str, Any]]:
        """The report as a text, and its numbers by the name of the layer.

        Args:
            model: the model with observers, after it has seen data.

        Raises:
            ValueError: If an observer has seen no data, infinite numbers or one number only.
        """
        facts = self._generate_dict_info(model)
        text = "Dynamic vs. Static Quantization suggestions: \n"
        text += "".join(self._advice(name, entry) for name, entry in facts.items())
        if not facts:
            text += "The model has neither linear layers nor convolutions.\n"
        return text, facts

    def _advice(self, name: str, facts: dict[str, Any]) -> str:
        before, behind = facts[self.PRE_OBS_DATA_DIST_KEY], facts[self.POST_OBS_DATA_DIST_KEY]
        is_dynamic = bool(facts[self.DEFAULT_DYNAMIC_REC_KEY])
        kind, gain = ("dynamic", "more accurate") if is_dynamic else ("static", "faster")
        text = f"{name}: {kind} quantization is {gain}. The data before it are {before}, the data behind it {behind}."
        if is_dynamic and not facts[self.IS_CURRENTLY_SUPPORTED_KEY]:
            text += " No layer of its kind quantizes at each call."
        if before == self.NON_STATIONARY_STR and behind == self.STATIONARY_STR:
            text += " If it is static, quantize its input at each call, since the input is non-stationary."
        return text + "\n"
