"""A module of fake quantization whose scale and zero point are trained.

Jain et al., Trained Quantization Thresholds for Accurate and Efficient Fixed-Point Inference, 2020; Esser et al.,
Learned Step Size Quantization, 2020.
"""

from __future__ import annotations

import math
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Parameter

from ..dtypes import per_channel_symmetric, per_tensor_symmetric
from ..fake_quantize import FakeQuantizeBase
from ..learnable_fake_quantization import (
    _fake_quantize_learnable_per_channel_affine,
    _fake_quantize_learnable_per_tensor_affine,
)
from ..utils import is_per_channel

__all__: list[str] = []


class _LearnableFakeQuantize(FakeQuantizeBase):
    """Rounds numbers by a scale and a zero point that an observer estimates, or that are trained.

    Args:
        observer: the class of the observer.
        quant_min: the smallest integer.
        quant_max: the largest integer.
        scale: the scale at the start.
        zero_point: the zero point at the start.
        channel_len: the number of channels, or -1 for one scale.
        use_grad_scaling: whether gradients are divided by the root of the number of elements times `quant_max`.
        **observer_kwargs: the arguments of the observer.

    Raises:
        AssertionError: the range isn't one of the observer's type.
    """

    static_enabled: Tensor
    learning_enabled: Tensor
    eps: Tensor

    def __init__(
        self,
        observer: Any,
        quant_min: int = 0,
        quant_max: int = 255,
        scale: float = 1.0,
        zero_point: float = 0.0,
        channel_len: int = -1,
        use_grad_scaling: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min >= quant_max:
            raise AssertionError("quant_min must be strictly less than quant_max.")
        if channel_len == 0 or channel_len < -1:
            raise AssertionError("Channel size must be a positive integer.")
        self.quant_min, self.quant_max = quant_min, quant_max
        self.use_grad_scaling = use_grad_scaling
        count = max(channel_len, 1)
        self.scale = Parameter(tl_core.tensor([scale] * count))
        self.zero_point = Parameter(tl_core.tensor([float(zero_point)] * count))
        observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        self.activation_post_process = observer(**observer_kwargs)
        limits = tl_core.iinfo(self.activation_post_process.dtype)
        if quant_min < limits.min:
            raise AssertionError("quant_min out of bound")
        if quant_max > limits.max:
            raise AssertionError("quant_max out of bound")
        self.dtype = self.activation_post_process.dtype
        self.qscheme = self.activation_post_process.qscheme
        self.ch_axis = getattr(self.activation_post_process, "ch_axis", -1)
        self.bitwidth = int(math.log2(quant_max - quant_min + 1))
        self.register_buffer("static_enabled", tl_core.tensor([1], dtype=tl_core.uint8))
        self.register_buffer("learning_enabled", tl_core.tensor([0], dtype=tl_core.uint8))
        self.register_buffer("eps", tl_core.tensor([tl_core.finfo(tl_core.float32).eps]))
        del self.observer_enabled  # `static_enabled` is the switch here

    def enable_param_learning(self) -> Any:
        """Trains the scale and the zero point, without the observer."""
        return self.toggle_qparam_learning(True).toggle_fake_quant(True).toggle_observer_update(False)

    def enable_static_estimate(self) -> None:
        """Rounds by the scale and the zero point of the observer."""
        self.toggle_qparam_learning(False).toggle_fake_quant(True).toggle_observer_update(True)

    def enable_static_observation(self) -> None:
        """Lets the observer see numbers, which pass as they are."""
        self.toggle_qparam_learning(False).toggle_fake_quant(False).toggle_observer_update(True)

    def toggle_observer_update(self, enabled: bool = True) -> Any:
        """Whether the observer sees numbers."""
        self.static_enabled[0] = int(enabled)
        return self

    def enable_observer(self, enabled: bool = True) -> None:
        """Whether the observer sees numbers."""
        self.toggle_observer_update(enabled)

    def toggle_qparam_learning(self, enabled: bool = True) -> Any:
        """Whether the scale and the zero point are trained."""
        self.learning_enabled[0] = int(enabled)
        self.scale.requires_grad = self.zero_point.requires_grad = enabled
        return self

    def toggle_fake_quant(self, enabled: bool = True) -> Any:
        """Whether numbers are rounded."""
        self.fake_quant_enabled[0] = int(enabled)
        return self

    def observe_quant_params(self) -> None:
        """Prints the scale and the zero point."""
        print(f"_LearnableFakeQuantize Scale: {self.scale.detach()}")
        print(f"_LearnableFakeQuantize Zero Point: {self.zero_point.detach()}")

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point."""
        self.scale.data.clamp_(min=float(self.eps))
        zero_point = self.zero_point.detach().round().clamp(self.quant_min, self.quant_max).long()
        return self.scale.detach(), zero_point

    def forward(self, X: Tensor) -> Tensor:
        """Observes and rounds numbers, as the switches say."""
        if int(self.static_enabled[0]):
            self.activation_post_process(X.detach())
            scale, zero_point = self.activation_post_process.calculate_qparams()
            self.scale.data.copy_(scale)
            self.zero_point.data.copy_(zero_point)
        else:
            self.scale.data.clamp_(min=float(self.eps))
        if not int(self.fake_quant_enabled[0]):
            return X
        if self.qscheme in (per_channel_symmetric, per_tensor_symmetric):
            self.zero_point.data.zero_()
        factor = 1.0 / (X.numel() * self.quant_max) ** 0.5 if self.use_grad_scaling else 1.0
        limits = self.quant_min, self.quant_max, factor
        if is_per_channel(self.qscheme):
            return _fake_quantize_learnable_per_channel_affine(
                X, self.scale, self.zero_point, self.ch_axis, *limits
            )
        return _fake_quantize_learnable_per_tensor_affine(X, self.scale, self.zero_point, *limits)
