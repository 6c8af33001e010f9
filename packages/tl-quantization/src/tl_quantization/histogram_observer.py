"""The observer whose range has the smallest squared error of rounding, by a histogram."""

from __future__ import annotations

import warnings
from typing import Any

import tl_core
from tl_core import Tensor

from .dtypes import per_tensor_affine, quint8
from .observer_base import UniformQuantizationObserverBase, _check_tensor_scheme
from .qparams import single

__all__ = ["HistogramObserver"]


class HistogramObserver(UniformQuantizationObserverBase):
    """A histogram of all observed numbers. The range is its part with the smallest squared error of rounding.

    The range is searched from both ends inwards, whichever side costs less, as in PyTorch (its origin is Caffe2's
    norm minimization). A histogram that a batch does not fit into is spread over the wider range first.

    Args:
        bins (int): The bins of the histogram.
        dtype: the type of the integers.
        qscheme: how numbers become integers: per tensor or channel, affine or symmetric.
        reduce_range: whether a bit less of the type is used.
        quant_min: the least integer, by default the type's.
        quant_max: the largest integer, by default the type's.
        factory_kwargs: device and type of the buffers.
        eps: the least scale.
        is_dynamic: whether the range is taken anew at each call.
        kwargs: arguments of the base class.

    See `UniformQuantizationObserverBase` for the others.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> observer = tq.HistogramObserver(bins=8)
        >>> _ = observer(tl_core.tensor([0.0, 1.0]))
        >>> float(observer.max_val)
        1.0
    """

    histogram: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        bins: int = 2048,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = tl_core.finfo(tl_core.float32).eps,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        _check_tensor_scheme(type(self).__name__, qscheme)
        if is_dynamic:
            raise NotImplementedError(
                "HistogramObserver isn't there for numbers that are quantized at each call"
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs
        )
        self.bins = bins
        self.register_buffer("histogram", tl_core.zeros(bins))
        self.register_buffer("min_val", tl_core.tensor(float("inf")))
        self.register_buffer("max_val", tl_core.tensor(float("-inf")))

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def forward(self, x_orig: Tensor) -> Tensor:
        """Adds the tensor's numbers, without infinities, to the histogram and returns it.

        Raises:
            RuntimeError: If a number is nan.
        """
        x = x_orig.detach().flatten()
        if not x.numel():
            return x_orig
        low, high = x.aminmax()
        if bool(tl_core.isinf(low) | tl_core.isinf(high)):
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            x = x[x.abs() != float("inf")]
            if not x.numel():
                return x_orig
            low, high = x.aminmax()
        self._add(x, low, high)
        return x_orig

    def _add(self, x: Tensor, low: Tensor, high: Tensor) -> None:
        before, after = self.min_val, self.max_val
        is_empty = float(before) == float("inf") or float(after) == float("-inf")
        if not is_empty:
            low, high = before.minimum(low), after.maximum(high)
        counts = tl_core.histc(x, self.bins, float(low), float(high))
        if not is_empty:
            counts = counts + self._spread(before, after, low, high)
        self.histogram.copy_(counts)
        self.min_val.copy_(low)
        self.max_val.copy_(high)

    def _spread(self, before: Tensor, after: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The histogram over [before, after] as one over [low, high].

        The counts of _PARTS parts of each bin go to the new bins that contain their middles.
        """
        if float(low) == float(before) and float(high) == float(after):
            return self.histogram
        if float(before) == float(after):
            return tl_core.histc(before, self.bins, float(low), float(high)) * self.histogram.sum()
        parts = self.bins * _PARTS
        begins = tl_core.linspace(float(before), float(after), parts + 1)[:-1]
        middles = begins + 0.5 * ((after - before) / parts)
        ends = tl_core.linspace(float(low), float(high), self.bins + 1)
        bins = (tl_core.bucketize(middles, ends, right=True) - 1).clamp_(0, self.bins - 1)
        counts = self.histogram.repeat_interleave(_PARTS) / _PARTS
        return tl_core.bincount(bins, counts, self.bins)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]  # no keywords
        """The scale and the zero point of the best range."""
        low, high = self.min_val, self.max_val
        if float(low) < float(high):
            low, high = self._best_range(low, high)
        return self._calculate_qparams(low, high)

    def _best_range(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        mass, sums = float(self.histogram.sum()), self.histogram.cumsum(0).tolist()
        first, last, best = 0, self.bins - 1, float("inf")
        alpha, beta = 0.0, 1.0
        while alpha < beta:
            left, right = first, last
            low_mass, high_mass = single((alpha + _STEP) * mass), single((beta - _STEP) * mass)
            while left < last and sums[left] < low_mass:
                left += 1
            while right > first and sums[right] > high_mass:
                right -= 1
            inward_left = left - first > last - right
            next_first, next_last = (left, last) if inward_left else (first, right)
            alpha, beta = (alpha + _STEP, beta) if inward_left else (alpha, beta - _STEP)
            if (next_first, next_last) == (first, last):
                continue
            error = self._error(next_first, next_last)
            if error > best:
                break
            best, first, last = error, next_first, next_last
        width = (high - low) / self.bins
        return low + width * first, low + width * (last + 1)

    def _error(self, first: int, last: int) -> float:
        """The squared error if the integers cover the bins from first to last, each bin filled evenly.

        The integers are all integers of the type, whatever the range of the observer.
        """
        width = (float(self.max_val) - float(self.min_val)) / self.bins
        steps = 2 ** tl_core.iinfo(self.dtype).bits
        step = width * (last - first + 1) / steps
        if step == 0.0:
            return 0.0
        begins = (tl_core.arange(self.bins) - first) * width
        ends = begins + width
        left, right = ((x / step).floor().clamp(0, steps - 1) for x in (begins, ends))
        density = self.histogram / width
        half = tl_core.tensor(step / 2)
        error = density * _integrate_square(begins - (left + 0.5) * step, half)
        error = error + (right - left - 1) * (density * _integrate_square(-half, half))
        error = error + density * _integrate_square(-half, ends - (right * step + step / 2))
        return float(error.sum())


_STEP = 1e-5  # the share of the counts by which the search for a range moves an end
_PARTS = 16  # the parts of a bin whose counts are spread over a wider range


def _integrate_square(begin: Tensor, end: Tensor) -> Tensor:
    """The integral of x² from begin to end."""
    return (end * end * end - begin * begin * begin) / 3
