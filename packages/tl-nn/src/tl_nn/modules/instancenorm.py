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
    """Normalizes each channel of each sample of shape (N, C, L) or (C, L) (Ulyanov et al., 2016).

    Args:
        num_features (int): The number of channels C.
        eps (float): Added to the variance, against division by zero.
        momentum (float or None): How fast the running statistics change.
        affine (bool): Whether a factor and a shift of each channel are learned.
        track_running_stats (bool): Whether there are running statistics, which are used in evaluation.
        device, dtype (optional): Of the parameters.
        bias (bool): Whether there is a shift.

    Raises:
        ValueError: If the input has another number of dimensions, or, with `affine`, of channels.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.InstanceNorm1d(1)(tl_core.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.0000,  1.0000]]])
    """

    def _get_no_batch_dim(self) -> int:
        return 2


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each channel of each sample of shape (N, C, H, W) or (C, H, W). See `InstanceNorm1d`.

    Args:
        num_features: the number of channels C.
        eps: added to the variance, against division by zero.
        momentum: the weight of the newest batch in the running statistics. None makes them plain means over all
            batches.
        affine: whether a factor and a shift of each channel are learned.
        track_running_stats: whether running statistics are kept, which are used in evaluation.
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.
        bias: whether the layer adds a shift. Ignored unless `affine`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.InstanceNorm2d(1)(tl_core.tensor([[[[1.0, 1.0], [3.0, 3.0]]]]))
        tensor([[[[-1.0000, -1.0000],
                  [ 1.0000,  1.0000]]]])
    """

    def _get_no_batch_dim(self) -> int:
        return 3


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each channel of each sample of shape (N, C, D, H, W) or (C, D, H, W). See `InstanceNorm1d`.

    Args:
        num_features: the number of channels C.
        eps: added to the variance, against division by zero.
        momentum: the weight of the newest batch in the running statistics. None makes them plain means over all
            batches.
        affine: whether a factor and a shift of each channel are learned.
        track_running_stats: whether running statistics are kept, which are used in evaluation.
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.
        bias: whether the layer adds a shift. Ignored unless `affine`.

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
    """`InstanceNorm1d` without `num_features`, which the first input determines. Affine and tracking by default.

    Args:
        eps: added to the variance, against division by zero.
        momentum: the weight of the newest batch in the running statistics. None makes them plain means over all
            batches.
        affine: whether a factor and a shift of each channel are learned.
        track_running_stats: whether running statistics are kept, which are used in evaluation.
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.
        bias: whether the layer adds a shift. Ignored unless `affine`.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.LazyInstanceNorm1d()
        >>> layer(tl_core.zeros(4, 3, 5)).shape, layer.weight.shape
        (torch.Size([4, 3, 5]), torch.Size([3]))
    """

    cls_to_become = InstanceNorm1d
    _get_no_batch_dim = InstanceNorm1d._get_no_batch_dim


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """`InstanceNorm2d` without `num_features`, which the first input determines.

    Args:
        eps: added to the variance, against division by zero.
        momentum: the weight of the newest batch in the running statistics. None makes them plain means over all
            batches.
        affine: whether a factor and a shift of each channel are learned.
        track_running_stats: whether running statistics are kept, which are used in evaluation.
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.
        bias: whether the layer adds a shift. Ignored unless `affine`.

    Example:
        >>> import tl_core, tl_nn
        >>> norm = tl_nn.LazyInstanceNorm2d()
        >>> norm(tl_core.zeros(2, 3, 4, 4)).shape, norm.num_features
        (torch.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm2d
    _get_no_batch_dim = InstanceNorm2d._get_no_batch_dim


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """`InstanceNorm3d` without `num_features`, which the first input determines.

    Args:
        eps: added to the variance, against division by zero.
        momentum: the weight of the newest batch in the running statistics. None makes them plain means over all
            batches.
        affine: whether a factor and a shift of each channel are learned.
        track_running_stats: whether running statistics are kept, which are used in evaluation.
        device: the device of the parameters. None selects the default device.
        dtype: the type of the parameters. None selects the default type.
        bias: whether the layer adds a shift. Ignored unless `affine`.

    Example:
        >>> import tl_core, tl_nn
        >>> norm = tl_nn.LazyInstanceNorm3d()
        >>> norm(tl_core.zeros(2, 3, 4, 4, 4)).shape, norm.num_features
        (torch.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm3d
    _get_no_batch_dim = InstanceNorm3d._get_no_batch_dim
