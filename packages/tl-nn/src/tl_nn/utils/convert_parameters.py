"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import tl_core
from tl_core import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, one after the other, as a vector.

    Raises:
        TypeError: If they aren't all on one device.

    Example:
        >>> import tl_nn
        >>> tl_nn.utils.parameters_to_vector(tl_nn.Linear(2, 3).parameters()).shape
        torch.Size([9])
    """
    parameter_list = list(parameters)
    _check_device(parameter_list)
    return tl_core.cat([parameter.reshape(-1) for parameter in parameter_list])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters views of consecutive parts of a vector.

    Raises:
        TypeError: If `vec` isn't a tensor, or the parameters aren't all on one device.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.Linear(1, 2)
        >>> tl_nn.utils.vector_to_parameters(tl_core.arange(4.0), layer.parameters())
        >>> layer.bias.tolist()
        [2.0, 3.0]
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameter_list = list(parameters)
    _check_device(parameter_list)
    start = 0
    for parameter in parameter_list:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view(parameter.shape).data
        start = end


def _check_device(parameters: list[Tensor]) -> None:
    devices = {str(parameter.device) for parameter in parameters}
    if len(devices) > 1:
        raise TypeError(
            f"Found two parameters on different devices, {' and '.join(sorted(devices))}: "
            "this is currently not supported."
        )
