"""The index that an argument for a device names, by the rules of each kind of accelerator."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_backends import accelerator

__all__: list[str] = []


def _index(device: Any, kind: str, is_optional: bool, allow_cpu: bool) -> int:
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = tl_core.device(device)
    index = getattr(device, "idx", None)  # the context of a device
    if isinstance(device, tl_core.device):
        kinds = [kind, "cpu"] if allow_cpu else [kind]
        if device.type not in kinds:
            raise ValueError(f"Expected a {' or '.join(kinds)} device, but got: {device}")
        index = -1 if device.type == "cpu" else device.index
    if index is None and not is_optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    return 0 if index is None else index


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a CUDA device, its name, its index or None; -1 for the CPU where `allow_cpu`."""
    return _index(device, "cuda", optional, allow_cpu)


def _get_xpu_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    return _index(device, "xpu", optional, allow_cpu)


def _get_mtia_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    return _index(device, "mtia", optional, allow_cpu)


def _get_accelerator_device_index(device: Any, optional: bool = False) -> int:
    if isinstance(device, int):
        return device
    current = accelerator.current_accelerator()
    if device is not None and current is None:
        raise RuntimeError(f"Accelerator expected for {device}, and there is none")
    if device is None and optional:
        return accelerator.current_device_index()
    return _index(device, current.type if current else "cuda", optional, allow_cpu=False)
