"""The base of detectors: where they insert observers, and the configurations that they advise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tl_compiler.fx import GraphModule, Node
from tl_nn import Module

from ...observer import (
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)
from ...qconfig import QConfig, _assert_valid_qconfig, default_qconfig
from ..equalize import EqualizationQConfig, default_equalization_qconfig
from .model_report_observer import ModelReportObserver

__all__ = [
    "DETECTOR_IS_POST_OBS_KEY",
    "DETECTOR_OBS_ARGS_KEY",
    "DETECTOR_OBS_TO_INSERT_KEY",
    "DETECTOR_TARGET_NODE_KEY",
    "DetectorBase",
    "DetectorQConfigInfo",
]

# The entries that describe an observer to insert.
DETECTOR_TARGET_NODE_KEY = "target_node"
DETECTOR_OBS_TO_INSERT_KEY = "observer_to_insert"
DETECTOR_IS_POST_OBS_KEY = "is_post_observer"
DETECTOR_OBS_ARGS_KEY = "observer_args"

#: The names of the inserted observers below their layers.
PRE_OBSERVER = "model_report_pre_observer"
POST_OBSERVER = "model_report_post_observer"


class DetectorQConfigInfo:
    """What a detector advises for one layer.

    Args:
        module_fqn (str): The name of the layer.

    Attributes:
        is_activation_dynamic: whether its input is quantized at each call.
        is_weight_per_channel: whether each channel of its weight has a scale.
        is_equalization_recommended: whether its input and weight are equalized.

    Example:
        >>> import tl_nn
        >>> info = DetectorQConfigInfo("layer")
        >>> info.is_weight_per_channel = True
        >>> info.generate_quantization_qconfig(tl_nn.Linear(1, 1)).weight().ch_axis
        0
    """

    def __init__(self, module_fqn: str) -> None:
        self.module_fqn = module_fqn
        self.is_activation_dynamic: Any = False
        self.is_weight_per_channel = False
        self.is_equalization_recommended: Any = False

    def generate_quantization_qconfig(self, module: Module) -> QConfig:
        """The configuration of quantization. Advice that the layer can't follow is left out.

        Args:
            module: the layer.
        """
        dynamic, per_channel = bool(self.is_activation_dynamic), self.is_weight_per_channel
        for is_dynamic, is_per_channel in ((dynamic, per_channel), (dynamic, False), (False, per_channel)):
            config = QConfig(
                default_dynamic_quant_observer if is_dynamic else default_observer,
                default_per_channel_weight_observer if is_per_channel else default_weight_observer,
            )
            try:
                _assert_valid_qconfig(config, module)
            except AssertionError:
                continue  # the layer refuses this pair: the next one asks for less
            return config
        return default_qconfig

    def generate_equalization_qconfig(self) -> EqualizationQConfig:
        """The configuration of equalization."""
        return default_equalization_qconfig


class DetectorBase(ABC):
    """The base class of detectors, which watch a prepared model and report by layer.

    Example:
        >>> from tl_quantization.graph.model_report.detector import OutlierDetector
        >>> issubclass(OutlierDetector, DetectorBase)
        True
    """

    def __init__(self) -> None:
        self.detector_config_info: Any = None

    @abstractmethod
    def determine_observer_insert_points(self, model: GraphModule) -> dict[str, dict[str, Any]]:
        """The observers that the detector needs by their names, each with the entries of `DETECTOR_..._KEY`.

        Args:
            model: the prepared model.
        """

    @abstractmethod
    def get_detector_name(self) -> str:
        """The name of the detector."""

    @abstractmethod
    def get_qconfig_info(self, model: GraphModule) -> dict[str, DetectorQConfigInfo]:
        """The advice by the name of the layer.

        Args:
            model: the model with observers, after it has seen data.
        """

    @abstractmethod
    def generate_detector_report(self, model: GraphModule) -> tuple[str, dict[str, Any]]:
        """The report as a text, and its numbers by the name of the layer.

        Args:
            model: the model with observers, after it has seen data.
        """

    def _get_targeting_node(self, prepared_fx_model: GraphModule, target_fqn: str) -> Node:
        """The call of a layer, or of the fused layer that it is in. Raises ValueError without such a call."""
        name = target_fqn
        while name:
            for node in prepared_fx_model.graph.nodes:
                if node.target == name:
                    return node
            name = name.rpartition(".")[0]
        raise ValueError(f"the graph calls neither {target_fqn} nor a module that contains it")

    def _insertion(
        self, model: GraphModule, name: str, is_post: bool = False, **options: Any
    ) -> dict[str, Any]:
        """The entries of an observer before or behind a layer."""
        node = self._get_targeting_node(model, name)
        return {
            DETECTOR_TARGET_NODE_KEY: node,
            DETECTOR_OBS_TO_INSERT_KEY: ModelReportObserver(**options),
            DETECTOR_IS_POST_OBS_KEY: is_post,
            DETECTOR_OBS_ARGS_KEY: (node,) if is_post else node.args,
        }
