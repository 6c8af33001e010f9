"""What dispatch keys mean to operators: devices, layers, and functions for all devices."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import _C
from tl_core.dispatch.keys import DispatchKey, DispatchKeySet

__all__ = [
    "DEVICES",
    "DTYPES",
    "AutoDispatchBelowAutograd",
    "ExcludeDispatchKeyGuard",
    "device_key",
    "layer_of",
    "switch_autograd",
]

# The numbers by which schemas may name element types.
DTYPES: dict[int, Any] = {
    number: getattr(tl_core, name)
    for number, name in enumerate(
        ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
         "complex128", "bool")
    )
}  # fmt: skip
DTYPES[15] = tl_core.bfloat16

# The places in an operator's table of kernels; the others are devices of extensions.
DEVICES = {"CPU": 0, "Meta": 1, "CUDA": 2, "PrivateUse1": 3}
NUMBER_OF_DEVICES = 11

_DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS", "xla": "XLA", "ipu": "IPU",
                "hpu": "HPU", "lazy": "Lazy", "mtia": "MTIA", "maia": "MAIA", "ve": "VE",
                "privateuseone": "PrivateUse1"}  # fmt: skip


def device_key(device_type: str) -> str:
    """The key of a type of devices: `CPU` for `cpu`.

    Args:
        device_type: its name.

    Raises:
        RuntimeError: no device is called so.
    """
    from tl_core.settings.extension_devices import privateuse1_backend_name

    if device_type == privateuse1_backend_name():
        return "PrivateUse1"
    if device_type not in _DEVICE_KEYS:
        raise RuntimeError(
            f"Expected one of {', '.join(_DEVICE_KEYS)} device type at start of device string: {device_type}"
        )
    return _DEVICE_KEYS[device_type]


def layer_of(key: str) -> int | None:
    """The layer that a key means; None for devices and for functions of all devices."""
    if key.startswith("Autograd"):
        return _C._LAYER_AUTOGRAD
    if key.startswith("Autocast"):
        return _C._LAYER_AUTOCAST
    if key in (
        "FuncTorchBatched",
        "Batched",
        "FuncTorchBatchedDecomposition",
        "VmapMode",
        "FuncTorchVmapMode",
    ):
        return _C._LAYER_TRANSFORMS
    return {"Python": _C._LAYER_PYTHON, "Functionalize": _C._LAYER_FUNCTIONALIZE}.get(key)


def layers_of(keys: DispatchKeySet) -> set[int]:
    """The layers that the keys of a set mean.

    Args:
        keys: the keys.
    """
    layers = {layer_of(k.name) for k in keys}
    return {layer for layer in layers if layer is not None}


EVERY_KEY = DispatchKeySet(*DispatchKey)
AFTER_AUTOGRAD = DispatchKeySet(*(k for k in DispatchKey if layer_of(k.name) in (None, _C._LAYER_PYTHON)))


def switch_autograd(excluded: bool) -> bool:
    """Whether calls pass the layer that records by from now on; returns whether they did before.

    Args:
        excluded: what is set.
    """
    return _C._exclude_layer(_C._LAYER_AUTOGRAD, excluded)


class excluded_layers:
    """A region in which calls pass layers by.

    Args:
        layers: their numbers.
    """

    def __init__(self, *layers: int) -> None:
        self._layers = layers
        self._before: list[tuple[int, bool]] = []

    def __enter__(self) -> excluded_layers:
        self._before = [(layer, _C._exclude_layer(layer, True)) for layer in self._layers]
        return self

    def __exit__(self, *error: object) -> None:
        for layer, on in self._before:
            _C._exclude_layer(layer, on)
        self._before = []


class _Guard(excluded_layers):
    """A region that begins when it is made, and ends with the object or with `with`."""

    def __init__(self, *layers: int) -> None:
        super().__init__(*layers)
        super().__enter__()

    def __enter__(self) -> _Guard:
        return self

    def __del__(self) -> None:
        self.__exit__()


class AutoDispatchBelowAutograd(_Guard):
    """A region in which calls are not recorded: what is called meets the layers below."""

    def __init__(self) -> None:
        super().__init__(_C._LAYER_AUTOGRAD)


class ExcludeDispatchKeyGuard(_Guard):
    """A region in which calls pass by what is registered for the keys.

    Args:
        keys: the keys.
    """

    def __init__(self, keys: DispatchKeySet) -> None:
        super().__init__(*sorted(layers_of(keys)))


def layers_outside(keyset: DispatchKeySet) -> excluded_layers:
    """A region in which calls pass by the layers that no key of a set means.

    Args:
        keyset: the keys.
    """
    every = {layer for key in DispatchKey if (layer := layer_of(key.name)) is not None}
    return excluded_layers(*sorted(every - layers_of(keyset)))
