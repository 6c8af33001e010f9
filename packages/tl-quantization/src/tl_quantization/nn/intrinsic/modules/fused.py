"""Containers of layers that quantization replaces by one layer. Until then the layers run one after another."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_nn.utils.parametrize import type_before_parametrizations

__all__ = [
    "BNReLU2d",
    "BNReLU3d",
    "ConvAdd2d",
    "ConvAddReLU2d",
    "ConvBn1d",
    "ConvBn2d",
    "ConvBn3d",
    "ConvBnReLU1d",
    "ConvBnReLU2d",
    "ConvBnReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearBn1d",
    "LinearLeakyReLU",
    "LinearReLU",
    "LinearTanh",
]


class _FusedModule(nn.Sequential):
    """Layers that are quantized as one."""

    _kinds: tuple[type, ...] = ()

    def _take(self, *layers: Any) -> None:
        for layer, kind in zip(layers, self._kinds, strict=True):
            if type_before_parametrizations(layer) is not kind and not isinstance(layer, nn.Identity):
                names = ", ".join(k.__name__ for k in self._kinds)
                classes = ", ".join(type(x).__name__ for x in layers)
                raise AssertionError(
                    f"Incorrect types for input modules: {type(self).__name__} holds {names}, got {classes}"
                )
        for i, layer in enumerate(layers):
            self.add_module(str(i), layer)


class ConvReLU1d(_FusedModule):
    """A `Conv1d` and a `ReLU`.

    Args:
        conv (Conv1d): The convolution.
        relu (ReLU): What follows it.

    Raises:
        AssertionError: If they are of other classes.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.ConvReLU1d(tl_nn.Conv1d(3, 8, 3), tl_nn.ReLU())(tl_core.ones(2, 3, 5)).shape
        torch.Size([2, 8, 3])
    """

    _kinds = (nn.Conv1d, nn.ReLU)

    def __init__(self, conv: nn.Conv1d, relu: nn.ReLU) -> None:
        super().__init__()
        self._take(conv, relu)


class ConvReLU2d(_FusedModule):
    """A `Conv2d` and a `ReLU`, as in `ConvReLU1d`.

    Example:
        >>> import tl_core, tl_nn as nn
        >>> layer = ConvReLU2d(nn.Conv2d(1, 2, 3), nn.ReLU())
        >>> layer(tl_core.ones(1, 1, 5, 5)).shape
        torch.Size([1, 2, 3, 3])
    """

    _kinds = (nn.Conv2d, nn.ReLU)

    def __init__(self, conv: nn.Conv2d, relu: nn.ReLU) -> None:
        super().__init__()
        self._take(conv, relu)


class ConvReLU3d(_FusedModule):
    """A `Conv3d` and a `ReLU`, as in `ConvReLU1d`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.ConvReLU3d(tl_nn.Conv3d(3, 8, 3), tl_nn.ReLU())(tl_core.ones(2, 3, 5, 5, 5)).shape
        torch.Size([2, 8, 3, 3, 3])
    """

    _kinds = (nn.Conv3d, nn.ReLU)

    def __init__(self, conv: nn.Conv3d, relu: nn.ReLU) -> None:
        super().__init__()
        self._take(conv, relu)


class LinearReLU(_FusedModule):
    """A `Linear` and a `ReLU`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.LinearReLU(tl_nn.Linear(3, 8), tl_nn.ReLU())(tl_core.ones(2, 3)).shape
        torch.Size([2, 8])
    """

    _kinds = (nn.Linear, nn.ReLU)

    def __init__(self, linear: nn.Linear, relu: nn.ReLU) -> None:
        super().__init__()
        self._take(linear, relu)


class ConvBn1d(_FusedModule):
    """A `Conv1d` and a `BatchNorm1d`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.ConvBn1d(tl_nn.Conv1d(3, 8, 3), tl_nn.BatchNorm1d(8))(tl_core.ones(2, 3, 5)).shape
        torch.Size([2, 8, 3])
    """

    _kinds = (nn.Conv1d, nn.BatchNorm1d)

    def __init__(self, conv: nn.Conv1d, bn: nn.BatchNorm1d) -> None:
        super().__init__()
        self._take(conv, bn)


class ConvBn2d(_FusedModule):
    """A `Conv2d` and a `BatchNorm2d`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.ConvBn2d(tl_nn.Conv2d(3, 8, 3), tl_nn.BatchNorm2d(8))(tl_core.ones(2, 3, 5, 5)).shape
        torch.Size([2, 8, 3, 3])
    """

    _kinds = (nn.Conv2d, nn.BatchNorm2d)

    def __init__(self, conv: nn.Conv2d, bn: nn.BatchNorm2d) -> None:
        super().__init__()
        self._take(conv, bn)


class ConvBn3d(_FusedModule):
    """A `Conv3d` and a `BatchNorm3d`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.ConvBn3d(tl_nn.Conv3d(3, 8, 3), tl_nn.BatchNorm3d(8))(tl_core.ones(2, 3, 5, 5, 5)).shape
        torch.Size([2, 8, 3, 3, 3])
    """

    _kinds = (nn.Conv3d, nn.BatchNorm3d)

    def __init__(self, conv: nn.Conv3d, bn: nn.BatchNorm3d) -> None:
        super().__init__()
        self._take(conv, bn)


class ConvBnReLU1d(_FusedModule):
    """A `Conv1d`, a `BatchNorm1d` and a `ReLU`.

    Args:
        conv: the layer whose output is normalized or rectified.
        bn: the normalization of the first layer's output.
        relu: the activation of the normalized output.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> layer = intrinsic.ConvBnReLU1d(tl_nn.Conv1d(3, 8, 3), tl_nn.BatchNorm1d(8), tl_nn.ReLU())
        >>> bool((layer(tl_core.ones(2, 3, 5)) >= 0).all())
        True
    """

    _kinds = (nn.Conv1d, nn.BatchNorm1d, nn.ReLU)

    def __init__(self, conv: nn.Conv1d, bn: nn.BatchNorm1d, relu: nn.ReLU) -> None:
        super().__init__()
        self._take(conv, bn, relu)


class ConvBnReLU2d(_FusedModule):
    """A `Conv2d`, a `BatchNorm2d` and a `ReLU`.

    Args:
        conv: the layer whose output is normalized or rectified.
        bn: the normalization of the first layer's output.
        relu: the activation of the normalized output.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> layer = intrinsic.ConvBnReLU2d(tl_nn.Conv2d(3, 8, 3), tl_nn.BatchNorm2d(8), tl_nn.ReLU())
        >>> bool((layer(tl_core.ones(2, 3, 5, 5)) >= 0).all())
        True
    """

    _kinds = (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)

    def __init__(self, conv: nn.Conv2d, bn: nn.BatchNorm2d, relu: nn.ReLU) -> None:
        super().__init__()
        self._take(conv, bn, relu)


class ConvBnReLU3d(_FusedModule):
    """A `Conv3d`, a `BatchNorm3d` and a `ReLU`.

    Args:
        conv: the layer whose output is normalized or rectified.
        bn: the normalization of the first layer's output.
        relu: the activation of the normalized output.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> layer = intrinsic.ConvBnReLU3d(tl_nn.Conv3d(3, 8, 3), tl_nn.BatchNorm3d(8), tl_nn.ReLU())
        >>> bool((layer(tl_core.ones(2, 3, 5, 5, 5)) >= 0).all())
        True
    """

    _kinds = (nn.Conv3d, nn.BatchNorm3d, nn.ReLU)

    def __init__(self, conv: nn.Conv3d, bn: nn.BatchNorm3d, relu: nn.ReLU) -> None:
        super().__init__()
        self._take(conv, bn, relu)


class BNReLU2d(_FusedModule):
    """A `BatchNorm2d` and a `ReLU`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.BNReLU2d(tl_nn.BatchNorm2d(3), tl_nn.ReLU())(tl_core.ones(1, 3, 4, 4)).shape
        torch.Size([1, 3, 4, 4])
    """

    _kinds = (nn.BatchNorm2d, nn.ReLU)

    def __init__(self, batch_norm: nn.BatchNorm2d, relu: nn.ReLU) -> None:
        super().__init__()
        self._take(batch_norm, relu)


class BNReLU3d(_FusedModule):
    """A `BatchNorm3d` and a `ReLU`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.BNReLU3d(tl_nn.BatchNorm3d(3), tl_nn.ReLU())(tl_core.ones(1, 3, 4, 4, 4)).shape
        torch.Size([1, 3, 4, 4, 4])
    """

    _kinds = (nn.BatchNorm3d, nn.ReLU)

    def __init__(self, batch_norm: nn.BatchNorm3d, relu: nn.ReLU) -> None:
        super().__init__()
        self._take(batch_norm, relu)


class LinearBn1d(_FusedModule):
    """A `Linear` and a `BatchNorm1d`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.LinearBn1d(tl_nn.Linear(3, 8), tl_nn.BatchNorm1d(8))(tl_core.ones(2, 3)).shape
        torch.Size([2, 8])
    """

    _kinds = (nn.Linear, nn.BatchNorm1d)

    def __init__(self, linear: nn.Linear, bn: nn.BatchNorm1d) -> None:
        super().__init__()
        self._take(linear, bn)


class LinearLeakyReLU(_FusedModule):
    """A `Linear` and a `LeakyReLU`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.LinearLeakyReLU(tl_nn.Linear(3, 8), tl_nn.LeakyReLU(0.1))(tl_core.ones(2, 3)).shape
        torch.Size([2, 8])
    """

    _kinds = (nn.Linear, nn.LeakyReLU)

    def __init__(self, linear: nn.Linear, leaky_relu: nn.LeakyReLU) -> None:
        super().__init__()
        self._take(linear, leaky_relu)


class LinearTanh(_FusedModule):
    """A `Linear` and a `Tanh`.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> intrinsic.LinearTanh(tl_nn.Linear(3, 8), tl_nn.Tanh())(tl_core.ones(2, 3)).shape
        torch.Size([2, 8])
    """

    _kinds = (nn.Linear, nn.Tanh)

    def __init__(self, linear: nn.Linear, tanh: nn.Tanh) -> None:
        super().__init__()
        self._take(linear, tanh)


class ConvAdd2d(_FusedModule):
    """A `Conv2d` to whose result a second input is added.

    Args:
        conv (Conv2d): The convolution.
        add (callable): Adds two tensors.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> layer = intrinsic.ConvAdd2d(tl_nn.Conv2d(3, 8, 1), tl_core.add)
        >>> layer(tl_core.ones(1, 3, 4, 4), tl_core.ones(1, 8, 4, 4)).shape
        torch.Size([1, 8, 4, 4])
    """

    def __init__(self, conv: nn.Conv2d, add: Any) -> None:
        super().__init__(conv)
        self.add = add

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]  # a second input
        """`add(conv(x1), x2)`."""
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(_FusedModule):
    """A `Conv2d` to whose result a second input is added, and a `ReLU`.

    Args:
        conv (Conv2d): The convolution.
        add (callable): Adds two tensors.
        relu (ReLU): What follows.

    Example:
        >>> import tl_core
        >>> import tl_nn
        >>> from tl_quantization.nn import intrinsic
        >>> layer = intrinsic.ConvAddReLU2d(tl_nn.Conv2d(3, 8, 1), tl_core.add, tl_nn.ReLU())
        >>> layer(tl_core.ones(1, 3, 4, 4), tl_core.ones(1, 8, 4, 4)).shape
        torch.Size([1, 8, 4, 4])
    """

    def __init__(self, conv: nn.Conv2d, add: Any, relu: nn.ReLU) -> None:
        super().__init__(conv)
        self.add = add
        self.relu = relu

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]  # a second input
        """`relu(add(conv(x1), x2))`."""
        return self.relu(self.add(self[0](x1), x2))
