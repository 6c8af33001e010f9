"""Changes of exported programs."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.tensors.parameter
from tl_core.subclasses import FakeTensor

from ..exported_program import ExportedProgram

__all__ = ["move_to_device_pass"]


def move_to_device_pass(ep: ExportedProgram, location: Any) -> ExportedProgram:
    """The program on another device: its tensors, and the devices that its operators name.

    Args:
        ep: the program.
        location: the device, or a mapping from devices to devices.

    Returns:
        The program.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import export
        >>> ep = move_to_device_pass(export(tl_nn.Linear(2, 1), (tl_core.ones(1, 2),)), "cpu")
        >>> ep.state_dict["weight"].device
        device(type='cpu')
    """

    def target_device(device: Any) -> Any:
        if isinstance(location, dict):
            return tl_core.device(location.get(str(device), device))
        return tl_core.device(location)

    for tensors in (ep.state_dict, ep.constants):
        for name, value in tensors.items():
            if isinstance(value, tl_core.Tensor):
                new = value.to(target_device(value.device))
                is_parameter = isinstance(value, tl_core.tensors.parameter.Parameter) and not isinstance(
                    new, type(value)
                )
                tensors[name] = (
                    tl_core.tensors.parameter.Parameter(new, value.requires_grad) if is_parameter else new
                )
    for node in ep.graph.nodes:
        if "device" in node.kwargs and node.kwargs["device"] is not None:
            node.kwargs = {**node.kwargs, "device": target_device(node.kwargs["device"])}
        value = node.meta.get("val")
        if isinstance(value, FakeTensor):
            node.meta["val"] = value.on_device(target_device(value.device))
    ep.graph_module.recompile()
    ep.validate()
    return ep
