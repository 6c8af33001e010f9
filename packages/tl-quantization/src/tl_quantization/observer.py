"""Modules that watch the numbers that pass through, to choose scales and zero points for them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tl_core.base.former_names import attributes_of
from tl_nn import Module

from .dtypes import (
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_symmetric,
    qint8,
    quint4x2,
    quint8,
)
from .histogram_observer import HistogramObserver
from .observer_base import ObserverBase, UniformQuantizationObserverBase
from .range_observers import (
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from .rangeless_observers import (
    FixedQParamsObserver,
    NoopObserver,
    PlaceholderObserver,
    RecordingObserver,
    ReuseInputObserver,
)

__all__ = [
    "FixedQParamsObserver",
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "RecordingObserver",
    "ReuseInputObserver",
    "UniformQuantizationObserverBase",
    "default_debug_observer",
    "default_dynamic_quant_observer",
    "default_affine_fixed_qparams_observer",
    "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer",
    "default_float_qparams_observer_4bit",
    "default_histogram_observer",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_reuse_input_observer",
    "default_symmetric_fixed_qparams_observer",
    "default_weight_observer",
    "get_observer_state_dict",
    "load_observer_state_dict",
    "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]


def get_observer_state_dict(mod: Module) -> OrderedDict[str, Any]:
    """A module's state, the part of its observers: names with `activation_post_process` or `observer`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.get_observer_state_dict(tq.MinMaxObserver())
        OrderedDict()
    """
    state: OrderedDict[str, Any] = OrderedDict()
    for name, value in mod.state_dict().items():
        if "observer" in name or "activation_post_process" in name:
            state[name] = value
    return state


def load_observer_state_dict(mod: Module, obs_dict: dict[str, Any]) -> None:
    """Gives a module's observers the state that `get_observer_state_dict` took from an equal one.

    Raises:
        ValueError: If names of the state fit no observer, or observers find no state.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.MinMaxObserver()
        >>> tq.load_observer_state_dict(observer, tq.get_observer_state_dict(observer))
    """
    own = {name for name in mod.state_dict() if "observer" in name or "activation_post_process" in name}
    if own != set(obs_dict):
        raise ValueError(
            f"the observers' states differ: missing {sorted(own - set(obs_dict))}, "
            f"unexpected {sorted(set(obs_dict) - own)}"
        )
    mod.load_state_dict(obs_dict, strict=False)


#: The smallest and the largest number, one bit left unused.
default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
#: For numbers that are only converted.
default_placeholder_observer = PlaceholderObserver
#: Keeps all tensors.
default_debug_observer = RecordingObserver
#: Signed and symmetric, for weights.
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
#: The same without -128.
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=qint8, qscheme=per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
#: A histogram, one bit left unused.
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
#: Signed and symmetric, a scale for each channel of a weight.
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric
)
#: The same without -128.
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
#: Numbers are quantized at each call.
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=quint8, quant_min=0, quant_max=255, is_dynamic=True
)
#: Floating zero points, for embeddings.
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
#: The same with 16 steps.
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=quint4x2, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
#: For results between -1 and 1, such as tanh.
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128
)
#: For results between 0 and 1, such as sigmoid.
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(scale=1.0 / 256.0, zero_point=0)
#: The same, under its older name.
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
#: For operators that keep their input's scale.
default_reuse_input_observer = ReuseInputObserver

__getattr__ = attributes_of(__name__)  # of names that pickles hold
