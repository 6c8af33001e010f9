"""The observer of reports: ranges of batches and of all data, and the ratio of outliers, by channel."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from ...dtypes import qint8
from ...observer_base import ObserverBase

__all__ = ["ModelReportObserver"]


class ModelReportObserver(ObserverBase):
    """Watches the range of each batch and of all data, and by channel the range and the ratio of outliers.

    Args:
        ch_axis (int): The dimension of the channels.
        comp_percentile (float): The share of the numbers of a channel below the one that the largest is divided by.

    Attributes:
        num_batches_tracked: the number of batches.
        average_batch_activation_range: the mean range of a batch.
        epoch_activation_min: the smallest number of all batches.
        epoch_activation_max: the largest number of all batches.
        min_val: the smallest number of each channel.
        max_val: the largest number of each channel.
        average_percentile_ratio: by channel the mean of the largest number divided by the one at `comp_percentile`.
        percentile_batches_tracked: by channel the number of batches in this mean, which leaves out those of zeros.
        constant_channels: by channel the number of batches with one number only.

    Example:
        >>> import tl_core
        >>> observer = ModelReportObserver()
        >>> for batch in ([[0.0, 1.0]], [[2.0, 4.0]]):
        ...     _ = observer(tl_core.tensor(batch))
        >>> observer.get_batch_to_epoch_ratio()
        tensor(0.3750)
    """

    epoch_activation_min: Tensor
    epoch_activation_max: Tensor
    min_val: Tensor
    max_val: Tensor
    comp_percentile: Tensor
    average_percentile_ratio: Tensor
    percentile_batches_tracked: Tensor
    constant_channels: Tensor
    average_batch_activation_range: Tensor
    num_batches_tracked: int

    def __init__(self, ch_axis: int = 1, comp_percentile: float = 0.9) -> None:
        super().__init__(qint8)
        self.ch_axis = ch_axis
        self.register_buffer("comp_percentile", tl_core.tensor([comp_percentile]))
        for name in (
            "epoch_activation_min",
            "epoch_activation_max",
            "min_val",
            "max_val",
            "constant_channels",
        ):
            self.register_buffer(name, tl_core.tensor([]))
        for name in ("average_percentile_ratio", "percentile_batches_tracked"):
            self.register_buffer(name, tl_core.tensor([]))
        self.reset_batch_and_epoch_values()

    def forward(self, x: Tensor) -> Tensor:
        """Watches `x` and returns it."""
        numbers = x.detach().to(self.epoch_activation_min.dtype)
        self._watch_range(numbers)
        channels = numbers.transpose(0, self.ch_axis).flatten(1)
        low, high = tl_core.aminmax(channels, dim=1)
        if self.min_val.numel():
            low, high = tl_core.minimum(low, self.min_val), tl_core.maximum(high, self.max_val)
        self.min_val, self.max_val = low, high
        self._watch_percentiles(channels)
        return x

    def _watch_range(self, numbers: Tensor) -> None:
        low, high = tl_core.aminmax(numbers)
        self.epoch_activation_min = tl_core.minimum(self.epoch_activation_min, low)
        self.epoch_activation_max = tl_core.maximum(self.epoch_activation_max, high)
        total = self.average_batch_activation_range * self.num_batches_tracked + (high - low)
        self.num_batches_tracked += 1
        self.average_batch_activation_range = total / self.num_batches_tracked

    def _watch_percentiles(self, channels: Tensor) -> None:
        shares = tl_core.tensor(
            [0, float(self.comp_percentile), 1], dtype=channels.dtype, device=channels.device
        )
        low, middle, high = tl_core.quantile(channels, shares, dim=1, interpolation="lower")
        is_counted = ((middle != 0) | (high != 0)).int()  # channels of zeros say nothing of outliers
        is_constant = (high == low).int()
        # 0/0 and x/0 have no meaning as ratios: 0 and the largest number stand for them.
        ratio = is_counted * tl_core.nan_to_num(high / middle)
        if not self.percentile_batches_tracked.numel():
            self.percentile_batches_tracked = tl_core.zeros_like(is_counted)
            self.average_percentile_ratio = tl_core.zeros_like(ratio)
        if not self.constant_channels.numel():
            self.constant_channels = tl_core.zeros_like(is_constant)
        total = self.average_percentile_ratio * self.percentile_batches_tracked + ratio
        self.percentile_batches_tracked = self.percentile_batches_tracked + is_counted
        self.average_percentile_ratio = tl_core.nan_to_num(total / self.percentile_batches_tracked)
        self.constant_channels = self.constant_channels + is_constant

    def get_batch_to_epoch_ratio(self) -> Tensor:
        """The mean range of a batch divided by the range of all data.

        Raises:
            ValueError: If that range is 0 or infinite, as before the first batch.
        """
        span = self.epoch_activation_max - self.epoch_activation_min
        if span == 0:
            raise ValueError("the range of all data is 0: the observer has seen one number only")
        if span.isinf():
            raise ValueError(
                "the range of all data is infinite: the observer has seen an infinite number or no data"
            )
        return self.average_batch_activation_range / span

    def reset_batch_and_epoch_values(self) -> None:
        """Forgets all data."""
        device = self.comp_percentile.device
        self.num_batches_tracked = 0
        self.average_batch_activation_range = tl_core.tensor(0.0, device=device)
        self.epoch_activation_min = tl_core.tensor(float("inf"), device=device)
        self.epoch_activation_max = tl_core.tensor(float("-inf"), device=device)
        self.min_val, self.max_val = tl_core.tensor([], device=device), tl_core.tensor([], device=device)
        self.average_percentile_ratio = tl_core.tensor([], device=device)
        self.percentile_batches_tracked = tl_core.tensor([], device=device)
        self.constant_channels = tl_core.tensor([], device=device)

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Raises NotImplementedError: the observer only serves reports.

        Args:
            **kwargs: of no effect.
        """
        raise NotImplementedError("a ModelReportObserver has no scale and zero point: it only serves reports")
