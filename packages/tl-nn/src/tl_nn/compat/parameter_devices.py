"""The check of `parameters_to_vector` that all parameters are on one device, one parameter at a time."""

from __future__ import annotations

from tl_core import Tensor

__all__: list[str] = []


def _check_param_device(param: Tensor, old_param_device: int | None) -> int:
    """The index of the device of a parameter, -1 for the CPU; TypeError if the one before has another device."""
    index = -1 if param.device.type == "cpu" else param.device.index
    if old_param_device is not None and index != old_param_device:
        raise TypeError(
            f"Found two parameters on different devices, {old_param_device} and {index}: "
            "this is currently not supported."
        )
    return index
