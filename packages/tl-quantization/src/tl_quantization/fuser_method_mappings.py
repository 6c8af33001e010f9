"""Sequences of layers and the functions that fuse them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_nn as nn
from tl_nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from tl_nn.utils.parametrize import type_before_parametrizations

from .nn import intrinsic as nni

__all__ = [
    "fuse_conv_bn",
    "fuse_conv_bn_relu",
    "fuse_convtranspose_bn",
    "fuse_linear_bn",
    "get_fuser_method",
    "sequential_fuser",
]

_TRAINED: dict[type, tuple[Any, Any]] = {
    nn.Conv1d: (nni.ConvBn1d, nni.ConvBnReLU1d),
    nn.Conv2d: (nni.ConvBn2d, nni.ConvBnReLU2d),
    nn.Conv3d: (nni.ConvBn3d, nni.ConvBnReLU3d),
}
_RECTIFIED: dict[type, Any] = {
    nn.Conv1d: nni.ConvReLU1d,
    nn.Conv2d: nni.ConvReLU2d,
    nn.Conv3d: nni.ConvReLU3d,
}


def _check_modes(is_qat: bool, *layers: Any) -> None:
    if len({layer.training for layer in layers}) != 1:
        names = ", ".join(type(layer).__name__ for layer in layers)
        raise AssertionError(f"{names} must all be in training or all in evaluation")
    if layers[0].training != is_qat:
        mode, call = ("training", "fuse_modules_qat") if is_qat else ("evaluation", "fuse_modules")
        raise AssertionError(f"{call} takes layers in {mode}")


def _check_norm(conv: Any, bn: Any) -> None:
    if bn.num_features != conv.out_channels:
        raise AssertionError("Output channel of Conv must match num_features of BatchNorm")
    if not (bn.affine and bn.track_running_stats):
        raise AssertionError(
            "Only support fusing BatchNorm with affine and with tracking_running_stats set to True"
        )


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """A convolution and a batch normalization as one convolution, or, to be trained, as a fused layer.

    Args:
        is_qat: whether the layers are to be trained with rounding.
        conv: the layer whose output is normalized or rectified.
        bn: the normalization of the first layer's output.

    Raises:
        AssertionError: If one is in training and the other is not, or they don't fit.

    >>> import tl_nn as nn
    >>> type(fuse_conv_bn(False, nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval())).__name__
    'Conv2d'
    """
    _check_modes(is_qat, conv, bn)
    _check_norm(conv, bn)
    return (
        _TRAINED[type_before_parametrizations(conv)][0](conv, bn) if is_qat else fuse_conv_bn_eval(conv, bn)
    )


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """A convolution, a batch normalization and a ReLU as one layer.

    Args:
        is_qat: whether the layers are to be trained with rounding.
        conv: the layer whose output is normalized or rectified.
        bn: the normalization of the first layer's output.
        relu: the activation of the normalized output.

    Raises:
        AssertionError: If they are of different modes, or don't fit.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> conv, norm = tl_nn.Conv2d(3, 8, 3).eval(), tl_nn.BatchNorm2d(8).eval()
        >>> type(tq.fuse_conv_bn_relu(False, conv, norm, tl_nn.ReLU().eval())).__name__
        'ConvReLU2d'
    """
    _check_modes(is_qat, conv, bn, relu)
    _check_norm(conv, bn)
    if is_qat:
        return _TRAINED[type_before_parametrizations(conv)][1](conv, bn, relu)
    return _RECTIFIED[type_before_parametrizations(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """A linear layer and a batch normalization as one layer. Raises AssertionError if they don't fit.

    Args:
        is_qat: whether the layers are to be trained with rounding.
        linear: the linear layer.
        bn: the normalization of the first layer's output.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> type(tq.fuse_linear_bn(False, tl_nn.Linear(3, 8).eval(), tl_nn.BatchNorm1d(8).eval())).__name__
        'Linear'
    """
    _check_modes(is_qat, linear, bn)
    if bn.num_features != linear.out_features:
        raise AssertionError("Output features of Linear must match num_features of BatchNorm1d")
    return nni.LinearBn1d(linear, bn) if is_qat else fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """A transposed convolution and a batch normalization as one layer. Raises NotImplementedError in training.

    Args:
        is_qat: whether the layers are to be trained with rounding.
        convt: the transposed convolution.
        bn: the normalization of the first layer's output.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> conv, norm = tl_nn.ConvTranspose2d(3, 8, 3).eval(), tl_nn.BatchNorm2d(8).eval()
        >>> type(tq.fuse_convtranspose_bn(False, conv, norm)).__name__
        'ConvTranspose2d'
    """
    _check_modes(is_qat, convt, bn)
    if is_qat:
        raise NotImplementedError("transposed convolutions and normalizations are fused in evaluation only")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def sequential_fuser(kind: Any) -> Callable[..., Any]:
    """A function that fuses layers into a container of a class, in training and in evaluation.

    Args:
        kind: the class.

    Example:
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> type(sequential_fuser(intrinsic.LinearReLU)(False, tl_nn.Linear(1, 1), tl_nn.ReLU())).__name__
        'LinearReLU'
    """

    def fuse(is_qat: bool, *layers: Any) -> Any:
        return kind(*layers)

    return fuse


_CONVS = ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d))
_TRANSPOSED = (
    (nn.ConvTranspose1d, nn.BatchNorm1d),
    (nn.ConvTranspose2d, nn.BatchNorm2d),
    (nn.ConvTranspose3d, nn.BatchNorm3d),
)
_METHODS: dict[tuple[type, ...], Callable[..., Any]] = {
    **dict.fromkeys(_CONVS, fuse_conv_bn),
    **{(*pair, nn.ReLU): fuse_conv_bn_relu for pair in _CONVS},
    **{(conv, nn.ReLU): sequential_fuser(kind) for conv, kind in _RECTIFIED.items()},
    **dict.fromkeys(_TRANSPOSED, fuse_convtranspose_bn),
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): sequential_fuser(nni.LinearReLU),
    (nn.Linear, nn.LeakyReLU): sequential_fuser(nni.LinearLeakyReLU),
    (nn.Linear, nn.Tanh): sequential_fuser(nni.LinearTanh),
    (nn.BatchNorm2d, nn.ReLU): sequential_fuser(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): sequential_fuser(nni.BNReLU3d),
}


def get_fuser_method(op_list: Any, additional_fuser_method_mapping: dict[Any, Any] | None = None) -> Any:
    """The function that fuses layers of these classes: called with `is_qat` and the layers.

    Raises:
        AssertionError: If the table has no such entry.

    Example:
        >>> import tl_nn, tl_quantization as tq
        >>> tq.get_fuser_method((tl_nn.Linear, tl_nn.BatchNorm1d)).__name__
        'fuse_linear_bn'
    """
    method = (_METHODS | (additional_fuser_method_mapping or {})).get(tuple(op_list))
    if method is None:
        names = ", ".join(kind.__name__ for kind in op_list)
        raise AssertionError(f"did not find fuser method for: {names}")
    return method
