"""Batch normalization layers."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.base import ranks

from .. import functional as F
from .. import init
from ..functional.synchronized_norm import ProcessGroup, synchronized_batch_norm
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Base class of layers that normalize each channel: affine parameters and running statistics.

    Args:
        num_features (int): The number of channels.
        eps (float): Added to the variance, against division by zero.
        momentum (float or None): The weight of the newest batch in the statistics. None makes them plain means over all
            batches.
        affine (bool): Whether a factor and a shift of each channel are learned.
        track_running_stats (bool): Whether there are running statistics, which are used in evaluation.
        device, dtype (optional): Of the parameters.
    """

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    weight: Tensor
    bias: Tensor
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = {"device": device, "dtype": dtype}
        for name, is_learned in (("weight", affine), ("bias", affine and bias)):
            parameter = Parameter(tl_core.empty(num_features, **kind)) if is_learned else None
            self.register_parameter(name, parameter)
        tracked = track_running_stats
        self.register_buffer("running_mean", tl_core.zeros(num_features, **kind) if tracked else None)
        self.register_buffer("running_var", tl_core.ones(num_features, **kind) if tracked else None)
        count = tl_core.tensor(0, dtype=tl_core.long, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Begin anew with a mean of 0 and a variance of 1."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Set factors to 1, shifts to 0, and the running statistics to their beginning."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} doesn't say which inputs it takes")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        key = prefix + "num_batches_tracked"
        old = local_metadata.get("version") is None or local_metadata["version"] < 2
        if old and self.track_running_stats and key not in state_dict:
            present = self.num_batches_tracked
            usable = present is not None and not present.is_meta
            state_dict[key] = present if usable else tl_core.tensor(0, dtype=tl_core.long)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


def count_batch(norm: Any) -> float:
    """Count a batch in training. Returns the batch's weight in the running statistics."""
    factor = 0.0 if norm.momentum is None else norm.momentum
    if norm.training and norm.track_running_stats and norm.num_batches_tracked is not None:
        norm.num_batches_tracked.add_(1)
        if norm.momentum is None:
            factor = 1.0 / float(norm.num_batches_tracked)
    return factor


class _BatchNorm(_NormBase):
    """Batch normalization, of Ioffe and Szegedy, 2015: statistics over all dimensions but the channels."""

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, shape (N, num_features, ...)."""
        self._check_input_dim(input)
        factor = count_batch(self)
        mean, variance = self.running_mean, self.running_var
        from_batch = self.training or (mean is None and variance is None)
        tracked = (mean, variance) if not self.training or self.track_running_stats else (None, None)
        return F.batch_norm(input, *tracked, self.weight, self.bias, from_batch, factor, self.eps)


def refuse_dims(input: Tensor, allowed: tuple[int, ...]) -> None:
    """Raise ValueError unless the input has one of these numbers of dimensions."""
    if input.dim() not in allowed:
        choices = " or ".join(f"{dims}D" for dims in allowed)
        raise ValueError(f"expected {choices} input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    r"""Normalizes each channel of feature vectors or sequences over the batch.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        In training, mean and variance are those of the batch: of all elements of a channel, over N and L. The
        variance is the biased one. In evaluation they are `running_mean` and `running_var`. `γ` is `weight` and `β`
        is `bias`, each one number a channel. Each call in training updates the statistics with the `momentum` `m`:

        .. math::

            r \leftarrow (1 - m) \, r + m \, s

        `r` is a running statistic and `s` the batch's mean or its unbiased variance.

    Args:
        num_features (int): The number of channels C.
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None makes them plain
            means over all batches. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C)` or `(N, C, L)`.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape (num_features,), or None): The factors `γ`, 1 at first.
        bias (Parameter, shape (num_features,), or None): The shifts `β`, 0 at first.
        running_mean, running_var (Tensor, shape (num_features,), or None): The running statistics, buffers, 0 and 1
            at first.
        num_batches_tracked (Tensor, shape (), or None): The number of batches in training, an int64 buffer, 0 at
            first.

    Notes:
        - The variance is computed in two passes, as the mean of squared deviations, so a large mean doesn't cancel
          it.
        - float16 and bfloat16 input may have float32 parameters. Statistics are computed in float32.
        - Without running statistics evaluation normalizes with the batch, too.
        - A channel without variance gives `β`: `eps` prevents the division by zero.
        - The result of a sample depends on its batch in training. `GroupNorm` and `LayerNorm` have no such
          dependence.
        - A layer before this one needs no bias: the mean removes it.
        - Source: Ioffe and Szegedy, Batch Normalization, 2015.

    Raises:
        ValueError: If the input has another number of dimensions, or one value for each channel in training, when
            the layer is called.
        RuntimeError: If the number of channels differs, or input and parameters have types that don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.BatchNorm1d(2, affine=False)(tl_core.tensor([[1.0, 5.0], [3.0, 5.0]]))
        tensor([[-1.0000,  0.0000],
                [ 1.0000,  0.0000]])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        refuse_dims(input, (2, 3))


class BatchNorm2d(_BatchNorm):
    r"""Normalizes each channel of images over the batch.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        In training, mean and variance are those of the batch: of all elements of a channel, over N, H and W. The
        variance is the biased one. In evaluation they are `running_mean` and `running_var`. `γ` is `weight` and `β`
        is `bias`, each one number a channel. Each call in training updates the statistics with the `momentum` `m`:

        .. math::

            r \leftarrow (1 - m) \, r + m \, s

        `r` is a running statistic and `s` the batch's mean or its unbiased variance.

    Args:
        num_features (int): The number of channels C.
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None makes them plain
            means over all batches. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, H, W)`.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape (num_features,), or None): The factors `γ`, 1 at first.
        bias (Parameter, shape (num_features,), or None): The shifts `β`, 0 at first.
        running_mean, running_var (Tensor, shape (num_features,), or None): The running statistics, buffers, 0 and 1
            at first.
        num_batches_tracked (Tensor, shape (), or None): The number of batches in training, an int64 buffer, 0 at
            first.

    Notes:
        - The variance is computed in two passes, as the mean of squared deviations, so a large mean doesn't cancel
          it.
        - float16 and bfloat16 input may have float32 parameters. Statistics are computed in float32.
        - Without running statistics evaluation normalizes with the batch, too.
        - A channel without variance gives `β`: `eps` prevents the division by zero.
        - The result of a sample depends on its batch in training. `GroupNorm` and `LayerNorm` have no such
          dependence.
        - A layer before this one needs no bias: the mean removes it.
        - Source: Ioffe and Szegedy, Batch Normalization, 2015.

    Raises:
        ValueError: If the input has another number of dimensions, or one value for each channel in training, when
            the layer is called.
        RuntimeError: If the number of channels differs, or input and parameters have types that don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> norm = tl_nn.BatchNorm2d(3)
        >>> norm(tl_core.arange(24.0).view(2, 3, 2, 2)).shape, norm.running_mean
        (torch.Size([2, 3, 2, 2]), tensor([0.7500, 1.1500, 1.5500]))
    """

    def _check_input_dim(self, input: Tensor) -> None:
        refuse_dims(input, (4,))


class BatchNorm3d(_BatchNorm):
    r"""Normalizes each channel of volumes over the batch.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        In training, mean and variance are those of the batch: of all elements of a channel, over N, D, H and W. The
        variance is the biased one. In evaluation they are `running_mean` and `running_var`. `γ` is `weight` and `β`
        is `bias`, each one number a channel. Each call in training updates the statistics with the `momentum` `m`:

        .. math::

            r \leftarrow (1 - m) \, r + m \, s

        `r` is a running statistic and `s` the batch's mean or its unbiased variance.

    Args:
        num_features (int): The number of channels C.
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None makes them plain
            means over all batches. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, D, H, W)`.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape (num_features,), or None): The factors `γ`, 1 at first.
        bias (Parameter, shape (num_features,), or None): The shifts `β`, 0 at first.
        running_mean, running_var (Tensor, shape (num_features,), or None): The running statistics, buffers, 0 and 1
            at first.
        num_batches_tracked (Tensor, shape (), or None): The number of batches in training, an int64 buffer, 0 at
            first.

    Notes:
        - The variance is computed in two passes, as the mean of squared deviations, so a large mean doesn't cancel
          it.
        - float16 and bfloat16 input may have float32 parameters. Statistics are computed in float32.
        - Without running statistics evaluation normalizes with the batch, too.
        - A channel without variance gives `β`: `eps` prevents the division by zero.
        - The result of a sample depends on its batch in training. `GroupNorm` and `LayerNorm` have no such
          dependence.
        - A layer before this one needs no bias: the mean removes it.
        - Source: Ioffe and Szegedy, Batch Normalization, 2015.

    Raises:
        ValueError: If the input has another number of dimensions, or one value for each channel in training, when
            the layer is called.
        RuntimeError: If the number of channels differs, or input and parameters have types that don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.BatchNorm3d(4)(tl_core.zeros(2, 4, 3, 5, 6)).shape
        torch.Size([2, 4, 3, 5, 6])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        refuse_dims(input, (5,))


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """Takes the number of channels from the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**kind)
            if bias:
                self.bias = UninitializedParameter(**kind)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**kind)
            self.running_var = UninitializedBuffer(**kind)
            self.num_batches_tracked = tl_core.tensor(0, dtype=tl_core.long, device=device)

    def reset_parameters(self) -> None:
        """Set parameters and statistics to their beginning, once they have a shape."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and statistics their shapes, for inputs like this one."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[self._channel_dim(input)]
        own: tuple[Any, ...] = (self.weight, self.bias, self.running_mean, self.running_var)
        for value in own:
            if value is not None:
                value.materialize((self.num_features,))
        self.reset_parameters()

    def _channel_dim(self, input: Tensor) -> int:
        return 1


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    r"""`BatchNorm1d` without `num_features`, which the first input determines.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        In training, mean and variance are those of the batch: of all elements of a channel, over N and L. The
        variance is the biased one. In evaluation they are `running_mean` and `running_var`. `γ` is `weight` and `β`
        is `bias`, each one number a channel. Each call in training updates the statistics with the `momentum` `m`:

        .. math::

            r \leftarrow (1 - m) \, r + m \, s

        `r` is a running statistic and `s` the batch's mean or its unbiased variance.

    Args:
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None makes them plain
            means over all batches. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C)` or `(N, C, L)`.
        - Output: the shape of the input.

    Attributes:
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `BatchNorm1d`.
        running_mean, running_var (UninitializedBuffer): Without a shape before the first call.

    Notes:
        - The first call reads `num_features` from the input, creates and initializes the parameters, and changes
          the class of the layer to `BatchNorm1d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

    Raises:
        ValueError: If the input has another number of dimensions, or one value for each channel in training, when
            the layer is called.
        RuntimeError: If the number of channels differs, or input and parameters have types that don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.LazyBatchNorm1d()
        >>> layer(tl_core.zeros(4, 3)).shape, layer.weight.shape
        (torch.Size([4, 3]), torch.Size([3]))
    """

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    r"""`BatchNorm2d` without `num_features`, which the first input determines.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        In training, mean and variance are those of the batch: of all elements of a channel, over N, H and W. The
        variance is the biased one. In evaluation they are `running_mean` and `running_var`. `γ` is `weight` and `β`
        is `bias`, each one number a channel. Each call in training updates the statistics with the `momentum` `m`:

        .. math::

            r \leftarrow (1 - m) \, r + m \, s

        `r` is a running statistic and `s` the batch's mean or its unbiased variance.

    Args:
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None makes them plain
            means over all batches. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, H, W)`.
        - Output: the shape of the input.

    Attributes:
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `BatchNorm2d`.
        running_mean, running_var (UninitializedBuffer): Without a shape before the first call.

    Notes:
        - The first call reads `num_features` from the input, creates and initializes the parameters, and changes
          the class of the layer to `BatchNorm2d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

    Raises:
        ValueError: If the input has another number of dimensions, or one value for each channel in training, when
            the layer is called.
        RuntimeError: If the number of channels differs, or input and parameters have types that don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> norm = tl_nn.LazyBatchNorm2d()
        >>> norm(tl_core.zeros(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
        >>> norm
        BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    """

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    r"""`BatchNorm3d` without `num_features`, which the first input determines.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        In training, mean and variance are those of the batch: of all elements of a channel, over N, D, H and W. The
        variance is the biased one. In evaluation they are `running_mean` and `running_var`. `γ` is `weight` and `β`
        is `bias`, each one number a channel. Each call in training updates the statistics with the `momentum` `m`:

        .. math::

            r \leftarrow (1 - m) \, r + m \, s

        `r` is a running statistic and `s` the batch's mean or its unbiased variance.

    Args:
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None makes them plain
            means over all batches. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, D, H, W)`.
        - Output: the shape of the input.

    Attributes:
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `BatchNorm3d`.
        running_mean, running_var (UninitializedBuffer): Without a shape before the first call.

    Notes:
        - The first call reads `num_features` from the input, creates and initializes the parameters, and changes
          the class of the layer to `BatchNorm3d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

    Raises:
        ValueError: If the input has another number of dimensions, or one value for each channel in training, when
            the layer is called.
        RuntimeError: If the number of channels differs, or input and parameters have types that don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> norm = tl_nn.LazyBatchNorm3d()
        >>> norm(tl_core.zeros(2, 3, 4, 4, 4)).shape, norm.num_features
        (torch.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim


class SyncBatchNorm(_BatchNorm):
    r"""Batch normalization over the batches of all processes of a group.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        In training, mean and variance are those of the batch: of all elements of a channel, over the samples of all
        processes and the spatial dimensions. The variance is the biased one. In evaluation they are `running_mean`
        and `running_var`. `γ` is `weight` and `β` is `bias`, each one number a channel. Each call in training
        updates the statistics with the `momentum` `m`:

        .. math::

            r \leftarrow (1 - m) \, r + m \, s

        `r` is a running statistic and `s` the batch's mean or its unbiased variance.

    Args:
        num_features (int): The number of channels C.
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None makes them plain
            means over all batches. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        process_group (optional): The processes whose batches are joined. None selects all. A process outside of the
            group normalizes by itself.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C)` or `(N, C, *)`, with any N in each process, also 0.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape (num_features,), or None): The factors `γ`, 1 at first.
        bias (Parameter, shape (num_features,), or None): The shifts `β`, 0 at first.
        running_mean, running_var (Tensor, shape (num_features,), or None): The running statistics, buffers, 0 and 1
            at first.
        num_batches_tracked (Tensor, shape (), or None): The number of batches in training, an int64 buffer, 0 at
            first.

    Notes:
        - In training the result, the running statistics and the gradient of the input are those of the joined
          batch. Gradients of `weight` and `bias` are the part of this process, as of other parameters: data
          parallelism sums them.
        - All processes of the group call the layer, and go backward through it, in the same order. Otherwise they
          wait for each other.
        - The gradients can't be differentiated again.
        - In evaluation, and without a group of several processes, the layer is plain batch normalization.
        - `convert_sync_batchnorm` exchanges all batch normalization layers of a model.

    Raises:
        ValueError: If the input has fewer than two dimensions, or the group has one value a channel in training.
        TypeError: If `process_group` is no group.
        RuntimeError: If the number of channels differs.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Conv2d(3, 8, 3), tl_nn.BatchNorm2d(8))
        >>> tl_nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
        SyncBatchNorm(8, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    """

    process_group: Any

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, shape (N, num_features, ...)."""
        group = self._group() if self.training else None
        if group is None:
            return super().forward(input)
        self._check_input_dim(input)
        if input.shape[1] != self.num_features:
            raise RuntimeError(
                f"expected {self.num_features} channels (got an input of size {list(input.shape)})"
            )
        factor = count_batch(self)
        tracked = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        return synchronized_batch_norm(input, *tracked, self.weight, self.bias, factor, self.eps, group)

    def _group(self) -> ProcessGroup | None:
        """The group, if it has several processes of which this one is one."""
        group: Any = ranks.default_group() if self.process_group is None else self.process_group
        if group is None:
            return None
        if not hasattr(group, "size"):
            raise TypeError(f"process_group must be a group of processes, got {type(group).__name__}")
        return group if group.size() > 1 else None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with all its batch normalization layers exchanged for synchronized ones.

        Args:
            module (Module): A module, whose layers are replaced in place.
            process_group (optional): The processes whose batches belong together.

        Example:
            >>> import tl_nn
            >>> model = tl_nn.Sequential(tl_nn.Linear(3, 4), tl_nn.BatchNorm1d(4))
            >>> tl_nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
            SyncBatchNorm(4, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = _sync_layer(cls, module, process_group)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


def _sync_layer(kind: Any, norm: _BatchNorm, process_group: Any) -> Module:
    """A layer that shares the parameters and statistics of `norm`."""
    layer: Any = kind(
        norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats, process_group
    )
    if norm.affine:
        layer.weight, layer.bias = norm.weight, norm.bias
    layer.running_mean, layer.running_var = norm.running_mean, norm.running_var
    layer.num_batches_tracked = norm.num_batches_tracked
    layer.training = norm.training
    if hasattr(norm, "qconfig"):  # how tl-quantization is to treat the layer
        layer.qconfig = norm.qconfig
    return layer
