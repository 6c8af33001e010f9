"""Configurations of observers: one for a module's result, one for its weight."""

from __future__ import annotations

from typing import Any, NamedTuple

import tl_core
import tl_nn as nn

from .dtypes import per_tensor_symmetric, qint8
from .fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_dynamic_fake_quant,
    default_embedding_fake_quant,
    default_embedding_fake_quant_4bit,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127,
)
from .observer import (
    HistogramObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_float_qparams_observer_4bit,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_reuse_input_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
)

__all__ = [
    "QConfig",
    "default_activation_only_qconfig",
    "default_debug_qconfig",
    "default_dynamic_qat_qconfig",
    "default_dynamic_qconfig",
    "default_embedding_qat_qconfig",
    "default_embedding_qat_qconfig_4bit",
    "default_per_channel_qconfig",
    "default_per_channel_symmetric_qnnpack_qat_qconfig",
    "default_per_channel_symmetric_qnnpack_qconfig",
    "default_qat_qconfig",
    "default_qat_qconfig_v2",
    "default_qconfig",
    "default_reuse_input_qconfig",
    "default_symmetric_qnnpack_qat_qconfig",
    "default_symmetric_qnnpack_qconfig",
    "default_weight_only_qconfig",
    "float16_dynamic_qconfig",
    "float16_static_qconfig",
    "float_qparams_weight_only_qconfig",
    "float_qparams_weight_only_qconfig_4bit",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "per_channel_dynamic_qconfig",
    "qconfig_equals",
]


class _Pair(NamedTuple):
    activation: Any
    weight: Any


class QConfig(_Pair):
    """The factories of a module's observers, for its result and for its weight.

    Args:
        activation, weight (class, or its `with_args`): Called without arguments for each module.

    Raises:
        ValueError: If an argument is a module instead of a factory.

    Example:
        >>> from tl_quantization.observer import MinMaxObserver, default_weight_observer
        >>> QConfig(MinMaxObserver.with_args(dtype=quint8), default_weight_observer).activation().dtype
        torch.quint8
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        from tl_nn import Module

        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig takes what makes observers, a class or its with_args(), but got an observer"
            )
        return super().__new__(cls, activation, weight)


_NOOP = NoopObserver.with_args(dtype=tl_core.float32)
_HISTOGRAM = HistogramObserver.with_args(reduce_range=True)
_WHOLE_HISTOGRAM = HistogramObserver.with_args(reduce_range=False)
_ROUNDED_MEAN = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=True
)
_WHOLE_ROUNDED_MEAN = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=False
)

#: One scale for the result and one for the weight.
default_qconfig = QConfig(default_observer, default_weight_observer)
#: Keeps all tensors.
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
#: A scale for each channel of the weight.
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
#: Weights are quantized, results at each call.
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
#: Weights are kept as float16.
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=tl_core.float16, is_dynamic=True),
    PlaceholderObserver.with_args(dtype=tl_core.float16),
)
#: Weights and results are float16.
float16_static_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=tl_core.float16), PlaceholderObserver.with_args(dtype=tl_core.float16)
)
#: As `default_dynamic_qconfig`, with a scale for each channel of the weight.
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)
#: For embeddings: floating zero points.
float_qparams_weight_only_qconfig = QConfig(default_placeholder_observer, default_float_qparams_observer)
#: The same with 16 steps.
float_qparams_weight_only_qconfig_4bit = QConfig(
    default_placeholder_observer, default_float_qparams_observer_4bit
)
#: For training: results and weights are rounded.
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
#: The same for layers that quantize at each call.
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
#: For training: only weights are rounded.
default_weight_only_qconfig = QConfig(nn.Identity, default_weight_fake_quant)
#: For training: only results are rounded.
default_activation_only_qconfig = QConfig(default_fake_quant, nn.Identity)
#: `default_qat_qconfig` with the classes named after fused kernels.
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
#: For operators that keep their input's scale.
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, NoopObserver)
#: For embeddings, in training.
default_embedding_qat_qconfig = QConfig(_NOOP, default_embedding_fake_quant)
#: The same with 16 steps.
default_embedding_qat_qconfig_4bit = QConfig(_NOOP, default_embedding_fake_quant_4bit)
#: Signed activations and weights without -128.
default_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(dtype=qint8, reduce_range=False, eps=2**-12),
    default_weight_observer.with_args(quant_min=-127, quant_max=127, eps=2**-12),
)
#: The same with a scale for each channel of the weight.
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(dtype=qint8, reduce_range=False, eps=2**-12),
    per_channel_weight_observer_range_neg_127_to_127,
)
_SIGNED_MEAN = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    reduce_range=False,
    eps=2**-12,
)
#: `default_symmetric_qnnpack_qconfig` for training.
default_symmetric_qnnpack_qat_qconfig = QConfig(
    _SIGNED_MEAN,
    FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=-127, quant_max=127, dtype=qint8,
        qscheme=per_tensor_symmetric, eps=2**-12,
    ),
)  # fmt: skip
#: `default_per_channel_symmetric_qnnpack_qconfig` for training.
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _SIGNED_MEAN, fused_per_channel_wt_fake_quant_range_neg_127_to_127
)

# Each backend's observers of (results, weights), for calibration and for training.
_CALIBRATED = {
    "fbgemm": (_HISTOGRAM, default_per_channel_weight_observer),
    "x86": (_HISTOGRAM, default_per_channel_weight_observer),
    "qnnpack": (_WHOLE_HISTOGRAM, default_weight_observer),
    "onednn": (_WHOLE_HISTOGRAM, default_per_channel_weight_observer),
}
_TRAINED = {
    "fbgemm": (_ROUNDED_MEAN, default_fused_per_channel_wt_fake_quant),
    "x86": (_ROUNDED_MEAN, default_fused_per_channel_wt_fake_quant),
    "qnnpack": (_WHOLE_ROUNDED_MEAN, default_fused_wt_fake_quant),
    "onednn": (_WHOLE_ROUNDED_MEAN, default_fused_per_channel_wt_fake_quant),
}


def _of(table: dict[str, Any], backend: str) -> QConfig:
    if backend not in table:
        raise AssertionError(f"backend {backend!r} is not supported, it must be one of {', '.join(table)}")
    return QConfig(
        *(factory.with_args() for factory in table[backend])
    )  # factories of their own, as in PyTorch


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The configuration for calibration that suits a backend's kernels.

    Args:
        backend (str): "x86", "fbgemm", "qnnpack" or "onednn".
        version (int): 0.

    Raises:
        AssertionError: If there is no such backend or version.

    Example:
        >>> import tl_quantization as tq
        >>> type(tq.get_default_qconfig("x86").activation()).__name__
        'HistogramObserver'
    """
    if version != 0:
        raise AssertionError(f"version must be 0, but got {version}")
    return _of(_CALIBRATED, backend)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The configuration for training that suits a backend's kernels.

    Args:
        backend (str): "x86", "fbgemm", "qnnpack" or "onednn".
        version (int): 0 for `FakeQuantize`, 1 for `FusedMovingAvgObsFakeQuantize`.

    Raises:
        AssertionError: If there is no such backend or version.

    Example:
        >>> import tl_quantization as tq
        >>> type(tq.get_default_qat_qconfig("x86").weight()).__name__
        'FusedMovingAvgObsFakeQuantize'
    """
    if version not in (0, 1):
        raise AssertionError(f"version must be 0 or 1, but got {version}")
    config = _of(_TRAINED, backend)
    if version == 1:
        return config
    reduce = backend in ("fbgemm", "x86")
    activation = FakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=reduce
    )
    weight = default_weight_fake_quant if backend == "qnnpack" else default_per_channel_weight_fake_quant
    return QConfig(activation, weight)


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two configurations construct equal observers.

    Example:
        >>> import tl_quantization as tq
        >>> tq.qconfig_equals(tq.get_default_qconfig("x86"), tq.get_default_qconfig("x86"))
        True
    """
    if q1 is None or q2 is None:
        return q1 is q2
    return all(_made_alike(a, b) for a, b in zip(q1, q2))


def _assert_valid_qconfig(qconfig: QConfig | None, mod: Any) -> None:
    """Raises AssertionError for a transposed convolution whose weight would have a scale for each channel."""
    is_transposed = isinstance(mod, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d))
    if qconfig is None or not is_transposed:
        return
    if isinstance(qconfig.weight(), PerChannelMinMaxObserver):
        raise AssertionError(
            f"the weight of a {type(mod).__name__} has one scale, but the qconfig gives each channel one"
        )


def _made_alike(one: Any, two: Any) -> bool:
    first, second = getattr(one, "p", one), getattr(two, "p", two)
    if hasattr(first, "func") and hasattr(second, "func"):
        return first.func is second.func and first.args == second.args and first.keywords == second.keywords
    return first is second or first == second
