"""Layers whose inputs have outliers."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_compiler.fx import GraphModule
from tl_core import Tensor
from tl_nn import Module

from ..observers import is_observer
from .detector_base import PRE_OBSERVER, DetectorBase, DetectorQConfigInfo

__all__ = ["OutlierDetector"]


class OutlierDetector(DetectorBase):
    """Finds channels of inputs whose largest number is far above the others.

    Args:
        ratio_threshold (float): An outlier is larger than the number at the percentile by this factor.
        reference_percentile (float): The share of the numbers below that number.
        fraction_batches_used_threshold (float): The share of batches with other numbers than 0, from which on the ratio
            of a channel is certain.
        ch_axis (int): The dimension of the channels.

    Raises:
        AssertionError: If a share isn't between 0 and 1.

    Example:
        >>> OutlierDetector().get_detector_name()
        'outlier_detector'
    """

    DEFAULT_PRE_OBSERVER_NAME = PRE_OBSERVER
    INPUT_ACTIVATION_PREFIX = "input_activation_"
    OUTLIER_KEY = "outliers_detected"
    NUM_BATCHES_KEY = "outlier_detection_batches_used"
    IS_SUFFICIENT_BATCHES_KEY = "outlier_detection_is_sufficient_batches"
    COMP_METRIC_KEY = "outlier_detection_percentile_ratios"
    RATIO_THRES_KEY = "outlier_detection_ratio_threshold"
    REF_PERCENTILE_KEY = "outlier_detection_reference_percentile"
    CHANNEL_AXIS_KEY = "outlier_detection_channel_axis"
    MAX_VALS_KEY = INPUT_ACTIVATION_PREFIX + "per_channel_max"
    CONSTANT_COUNTS_KEY = "constant_batch_counts"

    def __init__(
        self,
        ratio_threshold: float = 3.5,
        reference_percentile: float = 0.975,
        fraction_batches_used_threshold: float = 0.95,
        ch_axis: int = 1,
    ) -> None:
        super().__init__()
        shares = {
            "reference_percentile": reference_percentile,
            "fraction_batches_used_threshold": fraction_batches_used_threshold,
        }
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise AssertionError(f"{name} must be between 0 and 1, but got {share}")
        self.ratio_threshold = ratio_threshold
        self.reference_percentile = reference_percentile
        self.fraction_batches_used_threshold = fraction_batches_used_threshold
        self.ch_axis = ch_axis

    def get_detector_name(self) -> str:
        """The name of the detector."""
        return "outlier_detector"

    def _supports_insertion(self, module: Module) -> bool:
        return not list(module.children()) and not is_observer(module)

    def _supports_report_gen(self, module: Module) -> bool:
        return hasattr(module, PRE_OBSERVER)

    def get_qconfig_info(self, model: GraphModule) -> dict[str, DetectorQConfigInfo]:
        """No advice: outliers are to be looked at.

        Args:
            model: the model with observers.
        """
        return {}

    def determine_observer_insert_points(self, model: GraphModule) -> dict[str, dict[str, Any]]:
        """Observers before all layers without parts.

        Args:
            model: the prepared model.
        """
        options: dict[str, Any] = {"ch_axis": self.ch_axis, "comp_percentile": self.reference_percentile}
        return {
            f"{name}.{PRE_OBSERVER}": self._insertion(model, name, **options)
            for name, module in model.named_modules()
            if self._supports_insertion(module)
        }

    def _calculate_outlier_info(
        self, percentile_ratios: Tensor, counted_batches: Tensor, total_batches: int
    ) -> dict[str, list[bool]]:
        """By channel, whether there are outliers, and whether enough batches say so."""
        share = self.fraction_batches_used_threshold
        return {
            self.OUTLIER_KEY: [ratio > self.ratio_threshold for ratio in percentile_ratios.tolist()],
            self.IS_SUFFICIENT_BATCHES_KEY: [n / total_batches >= share for n in counted_batches.tolist()],
        }

    def _generate_info_dict(self, model: GraphModule) -> dict[str, dict[str, Any]]:
        result = {}
        for name, module in model.named_modules():
            if not self._supports_report_gen(module):
                continue
            observer: Any = getattr(module, PRE_OBSERVER)
            ratios = observer.average_percentile_ratio.abs()
            # Of negative numbers, the largest is the one near zero.
            ratios = tl_core.where(ratios < 1, 1 / ratios, ratios)
            counts = observer.percentile_batches_tracked
            result[name] = {
                self.CHANNEL_AXIS_KEY: self.ch_axis,
                self.REF_PERCENTILE_KEY: self.reference_percentile,
                self.RATIO_THRES_KEY: self.ratio_threshold,
                self.COMP_METRIC_KEY: ratios,
                self.NUM_BATCHES_KEY: counts,
                **self._calculate_outlier_info(ratios, counts, observer.num_batches_tracked),
                self.CONSTANT_COUNTS_KEY: observer.constant_channels,
                self.MAX_VALS_KEY: observer.max_val,
            }
        return result

    def generate_detector_report(self, model: GraphModule) -> tuple[str, dict[str, Any]]:
        """The report as a text, and its numbers by the name of the layer.

        Args:
            model: the model with observers, after it has seen data.
        """
        facts = self._generate_info_dict(model)
        advice = [text for name, entry in facts.items() for text in self._advice(name, entry)]
        text = "Outlier detection report: \n" + "".join(advice)
        if advice:
            text += "Outliers are certain where the data are stationary: ask the detector of dynamic quantization."
        else:
            text += "No input has outliers or constant channels.\n"
        return text, facts

    def _advice(self, name: str, facts: dict[str, Any]) -> list[str]:
        lines = []
        for i, has_outliers in enumerate(facts[self.OUTLIER_KEY]):
            if has_outliers:
                lines.append(
                    f"\tChannel {i} of its input has outliers up to {float(facts[self.MAX_VALS_KEY][i])}.\n"
                )
            constant = int(facts[self.CONSTANT_COUNTS_KEY][i])
            if constant:
                lines.append(f"\tChannel {i} of its input is one number only in {constant} batches.\n")
        return [f"{name}, dimension {self.ch_axis}: \n", *lines] if lines else []
