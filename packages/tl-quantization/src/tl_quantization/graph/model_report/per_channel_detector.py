"""Layers whose weights have one scale, although their channels could have one each."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_compiler.fx import GraphModule

from ...engine import engine
from ...fake_quantize import FakeQuantize
from ...nn import qat
from ...observer_base import ObserverBase
from ...qconfig import QConfig
from .detector_base import DetectorBase, DetectorQConfigInfo

__all__ = ["PerChannelDetector"]

_LAYERS = frozenset(
    getattr(room, name) for room in (nn, qat) for name in ("Linear", "Conv1d", "Conv2d", "Conv3d")
)


class PerChannelDetector(DetectorBase):
    """Finds linear layers and convolutions whose weights have one scale, although each channel could have one.

    Args:
        backend (str, optional): The engine, by default the selected one.

    Raises:
        ValueError: If the engine isn't known.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> from tl_quantization.quantize_fx import prepare_fx
        >>> mapping = tq.QConfigMapping().set_global(tq.default_qconfig)
        >>> model = prepare_fx(tl_nn.Sequential(tl_nn.Linear(2, 2)).eval(), mapping, (tl_core.ones(1, 2),))
        >>> PerChannelDetector("x86").generate_detector_report(model)[1]["0"]["per_channel_quantization_used"]
        False
    """

    BACKEND_KEY = "backend"
    PER_CHAN_SUPPORTED_KEY = "per_channel_quantization_supported"
    PER_CHAN_USED_KEY = "per_channel_quantization_used"
    DEFAULT_BACKEND_PER_CHANNEL_SUPPORTED_MODULES: dict[str, frozenset[Any]] = dict.fromkeys(
        ("fbgemm", "qnnpack", "onednn", "x86"), _LAYERS
    )

    def __init__(self, backend: str | None = None) -> None:
        super().__init__()
        self.backend_chosen = engine() if backend is None else backend
        table = self.DEFAULT_BACKEND_PER_CHANNEL_SUPPORTED_MODULES
        if self.backend_chosen not in table:
            raise ValueError(
                f"backend must be one of {', '.join(sorted(table))}, but got {self.backend_chosen!r}"
            )
        self.supported_modules = table[self.backend_chosen]

    def get_detector_name(self) -> str:
        """The name of the detector."""
        return "per_channel_detector"

    def get_qconfig_info(self, model: GraphModule) -> dict[str, DetectorQConfigInfo]:
        """The advice by the name of the layer.

        Args:
            model: the prepared model.
        """
        result = {}
        for name, facts in self._detect_per_channel_helper(model).items():
            result[name] = DetectorQConfigInfo(name)
            result[name].is_weight_per_channel = facts[self.PER_CHAN_SUPPORTED_KEY]
        return result

    def determine_observer_insert_points(self, model: GraphModule) -> dict[str, dict[str, Any]]:
        """No observers: the configurations say all.

        Args:
            model: the prepared model.
        """
        return {}

    def _detect_per_channel_helper(self, model: GraphModule) -> dict[str, dict[str, Any]]:
        result = {}
        for name, module in model.named_modules():
            if isinstance(module, tuple(self.supported_modules)):
                result[name] = {
                    self.PER_CHAN_SUPPORTED_KEY: True,
                    self.PER_CHAN_USED_KEY: _has_channels(name, _config_of(model, name)),
                    self.BACKEND_KEY: self.backend_chosen,
                }
        return result

    def generate_detector_report(self, model: GraphModule) -> tuple[str, dict[str, Any]]:
        """The report as a text, and its facts by the name of the layer.

        Args:
            model: the prepared model.

        Raises:
            AssertionError: If a layer has no configuration, or one whose weight is neither observed nor rounded.
        """
        facts = self._detect_per_channel_helper(model)
        text = f"Further Optimizations for backend {self.backend_chosen}: \n"
        names = [name for name, entry in facts.items() if not entry[self.PER_CHAN_USED_KEY]]
        for name in names:
            text += f"The weight of {name} can have a scale for each channel.\n"
        if names:
            text += "Give these layers a qconfig whose weight observer is one of channels."
        else:
            text += "No further per_channel optimizations possible."
        return text, facts


def _config_of(model: GraphModule, name: str) -> Any:
    """The configuration of a layer, or of the fused layer that it is in."""
    while name:
        config = getattr(model.get_submodule(name), "qconfig", None)
        if config is not None:
            return config
        name = name.rpartition(".")[0]
    return None


def _has_channels(name: str, config: Any) -> bool:
    """Whether the configuration of a layer gives each channel of the weight a scale."""
    if not isinstance(config, QConfig):
        raise AssertionError(f"the qconfig of {name} must be a QConfig, but got {type(config).__name__}")
    observer = config.weight()
    if isinstance(observer, FakeQuantize):
        return bool(observer.is_per_channel)
    if isinstance(observer, ObserverBase):
        return hasattr(observer, "ch_axis")
    raise AssertionError(
        f"the weight of {name}'s qconfig must make a FakeQuantize or an observer, but got {type(observer).__name__}"
    )
