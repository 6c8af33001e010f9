"""Instance normalization layers."""

from __future__ import annotations

import warnings
from typing import Any

from tl_core import Tensor

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase, refuse_dims

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    """Instance normalization, of Ulyanov, Vedaldi and Lempitsky, 2016: statistics of each channel of a sample."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        """The number of dimensions of a single sample."""
        raise NotImplementedError(f"{type(self).__name__} doesn't say which inputs it takes")

    def _check_input_dim(self, input: Tensor) -> None:
        single = self._get_no_batch_dim()
        refuse_dims(input, (single, single + 1))

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, shape (N, num_features, ...) or (num_features, ...)."""
        self._check_input_dim(input)
        single = input.dim() == self._get_no_batch_dim()
        self._check_channels(input.size(0 if single else 1))
        result = self._normalize(input.unsqueeze(0) if single else input)
        return result.squeeze(0) if single else result

    def _check_channels(self, channels: int) -> None:
        if channels == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim=-{self._get_no_batch_dim()} to match num_features "
                f"({self.num_features}), but got: {channels}."
            )
        warnings.warn(
            f"input's size at dim=-{self._get_no_batch_dim()} does not match num_features. You can silence "
            "this warning by not passing in num_features, which is not used because affine=False",
            stacklevel=3,
        )

    def _normalize(self, input: Tensor) -> Tensor:
        momentum = 0.0 if self.momentum is None else self.momentum
        from_input = self.training or not self.track_running_stats
        own = (self.running_mean, self.running_var, self.weight, self.bias)
        return F.instance_norm(input, *own, from_input, momentum, self.eps)

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
        if local_metadata.get("version") is None and not self.track_running_stats:
            stale = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if stale:
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {' and '.join(stale)} for {type(self).__name__} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be "
                    "expected because it does not track running stats by default since 0.4.0: please remove "
                    "these keys, or enable track_running_stats"
                )
            for key in stale:
                del state_dict[key]
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    r"""Normalizes each channel of each sequence by itself.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        Mean and biased variance are those of each channel of each sample, over L. `γ` is `weight` and `β` is
        `bias`, each one number a channel, or 1 and 0 without `affine`.

    Args:
        num_features (int): The number of channels C.
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None leaves them
            unchanged. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is False.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            False.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape (num_features,), or None): The factors `γ`, 1 at first.
        bias (Parameter, shape (num_features,), or None): The shifts `β`, 0 at first.
        running_mean, running_var (Tensor, shape (num_features,), or None): The running statistics, buffers, 0 and 1
            at first.

    Notes:
        - With `track_running_stats` each call in training updates the running statistics with the means over the
          batch of the samples' means and unbiased variances. Evaluation then normalizes with them. By default
          evaluation is the same as training.
        - Without `affine` the number of channels isn't used: another number emits a warning.
        - A channel without variance gives `β`. NaN in one channel of a sample affects this channel only.
        - Source: Ulyanov et al., Instance Normalization, 2016.

    Raises:
        ValueError: If the input has another number of dimensions, one spatial element in training, or with `affine`
            another number of channels, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.InstanceNorm1d(1)(tl_core.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.0000,  1.0000]]])
    """

    def _get_no_batch_dim(self) -> int:
        return 2


class InstanceNorm2d(_InstanceNorm):
    r"""Normalizes each channel of each image by itself.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        Mean and biased variance are those of each channel of each sample, over H and W. `γ` is `weight` and `β` is
        `bias`, each one number a channel, or 1 and 0 without `affine`.

    Args:
        num_features (int): The number of channels C.
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None leaves them
            unchanged. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is False.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            False.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape (num_features,), or None): The factors `γ`, 1 at first.
        bias (Parameter, shape (num_features,), or None): The shifts `β`, 0 at first.
        running_mean, running_var (Tensor, shape (num_features,), or None): The running statistics, buffers, 0 and 1
            at first.

    Notes:
        - With `track_running_stats` each call in training updates the running statistics with the means over the
          batch of the samples' means and unbiased variances. Evaluation then normalizes with them. By default
          evaluation is the same as training.
        - Without `affine` the number of channels isn't used: another number emits a warning.
        - A channel without variance gives `β`. NaN in one channel of a sample affects this channel only.
        - Source: Ulyanov et al., Instance Normalization, 2016.

    Raises:
        ValueError: If the input has another number of dimensions, one spatial element in training, or with `affine`
            another number of channels, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.InstanceNorm2d(1)(tl_core.tensor([[[[1.0, 1.0], [3.0, 3.0]]]]))
        tensor([[[[-1.0000, -1.0000],
                  [ 1.0000,  1.0000]]]])
    """

    def _get_no_batch_dim(self) -> int:
        return 3


class InstanceNorm3d(_InstanceNorm):
    r"""Normalizes each channel of each volume by itself.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        Mean and biased variance are those of each channel of each sample, over D, H and W. `γ` is `weight` and `β`
        is `bias`, each one number a channel, or 1 and 0 without `affine`.

    Args:
        num_features (int): The number of channels C.
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None leaves them
            unchanged. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is False.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            False.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape (num_features,), or None): The factors `γ`, 1 at first.
        bias (Parameter, shape (num_features,), or None): The shifts `β`, 0 at first.
        running_mean, running_var (Tensor, shape (num_features,), or None): The running statistics, buffers, 0 and 1
            at first.

    Notes:
        - With `track_running_stats` each call in training updates the running statistics with the means over the
          batch of the samples' means and unbiased variances. Evaluation then normalizes with them. By default
          evaluation is the same as training.
        - Without `affine` the number of channels isn't used: another number emits a warning.
        - A channel without variance gives `β`. NaN in one channel of a sample affects this channel only.
        - Source: Ulyanov et al., Instance Normalization, 2016.

    Raises:
        ValueError: If the input has another number of dimensions, one spatial element in training, or with `affine`
            another number of channels, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.InstanceNorm3d(4, affine=True)(tl_core.zeros(2, 4, 3, 5, 6)).shape
        torch.Size([2, 4, 3, 5, 6])
    """

    def _get_no_batch_dim(self) -> int:
        return 4


class _LazyInstanceNorm(_LazyNormBase, _InstanceNorm):
    """Takes the number of channels from the first input, which may be a single sample."""

    def _channel_dim(self, input: Tensor) -> int:
        return 0 if input.dim() == self._get_no_batch_dim() else 1


class LazyInstanceNorm1d(_LazyInstanceNorm):
    r"""`InstanceNorm1d` without `num_features`, which the first input determines.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        Mean and biased variance are those of each channel of each sample, over L. `γ` is `weight` and `β` is
        `bias`, each one number a channel, or 1 and 0 without `affine`.

    Args:
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None leaves them
            unchanged. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: the shape of the input.

    Attributes:
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `InstanceNorm1d`.
        running_mean, running_var (UninitializedBuffer): Without a shape before the first call.

    Notes:
        - The first call reads `num_features` from the input, creates and initializes the parameters, and changes
          the class of the layer to `InstanceNorm1d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.
        - Other than in `InstanceNorm1d`, `affine` and `track_running_stats` are True by default.

    Raises:
        ValueError: If the input has another number of dimensions, one spatial element in training, or with `affine`
            another number of channels, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.LazyInstanceNorm1d()
        >>> layer(tl_core.zeros(4, 3, 5)).shape, layer.weight.shape
        (torch.Size([4, 3, 5]), torch.Size([3]))
    """

    cls_to_become = InstanceNorm1d
    _get_no_batch_dim = InstanceNorm1d._get_no_batch_dim


class LazyInstanceNorm2d(_LazyInstanceNorm):
    r"""`InstanceNorm2d` without `num_features`, which the first input determines.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        Mean and biased variance are those of each channel of each sample, over H and W. `γ` is `weight` and `β` is
        `bias`, each one number a channel, or 1 and 0 without `affine`.

    Args:
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None leaves them
            unchanged. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`.
        - Output: the shape of the input.

    Attributes:
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `InstanceNorm2d`.
        running_mean, running_var (UninitializedBuffer): Without a shape before the first call.

    Notes:
        - The first call reads `num_features` from the input, creates and initializes the parameters, and changes
          the class of the layer to `InstanceNorm2d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.
        - Other than in `InstanceNorm2d`, `affine` and `track_running_stats` are True by default.

    Raises:
        ValueError: If the input has another number of dimensions, one spatial element in training, or with `affine`
            another number of channels, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> norm = tl_nn.LazyInstanceNorm2d()
        >>> norm(tl_core.zeros(2, 3, 4, 4)).shape, norm.num_features
        (torch.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm2d
    _get_no_batch_dim = InstanceNorm2d._get_no_batch_dim


class LazyInstanceNorm3d(_LazyInstanceNorm):
    r"""`InstanceNorm3d` without `num_features`, which the first input determines.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        Mean and biased variance are those of each channel of each sample, over D, H and W. `γ` is `weight` and `β`
        is `bias`, each one number a channel, or 1 and 0 without `affine`.

    Args:
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        momentum (float or None): The weight of the newest batch in the running statistics. None leaves them
            unchanged. The default is 0.1.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        track_running_stats (bool): Whether the layer has running statistics, which evaluation uses. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: the shape of the input.

    Attributes:
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `InstanceNorm3d`.
        running_mean, running_var (UninitializedBuffer): Without a shape before the first call.

    Notes:
        - The first call reads `num_features` from the input, creates and initializes the parameters, and changes
          the class of the layer to `InstanceNorm3d`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.
        - Other than in `InstanceNorm3d`, `affine` and `track_running_stats` are True by default.

    Raises:
        ValueError: If the input has another number of dimensions, one spatial element in training, or with `affine`
            another number of channels, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> norm = tl_nn.LazyInstanceNorm3d()
        >>> norm(tl_core.zeros(2, 3, 4, 4, 4)).shape, norm.num_features
        (torch.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm3d
    _get_no_batch_dim = InstanceNorm3d._get_no_batch_dim
