"""The reference's dispatch keys, and what they are here: devices, layers, and functions for all devices."""

from __future__ import annotations

import enum
from typing import Any

import tl_core
from tl_core import _C

__all__ = ["DTYPES", "DispatchKey", "DispatchKeySet", "device_key"]

# The numbers by which schemas may name element types.
DTYPES: dict[int, Any] = {
    number: getattr(tl_core, name)
    for number, name in enumerate(
        ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
         "complex128", "bool")
    )
}  # fmt: skip
DTYPES[15] = tl_core.bfloat16

_BACKENDS = ("CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse1",
             "PrivateUse2", "PrivateUse3", "Meta")  # fmt: skip
_KEYS = (
    "Undefined",
    "Dense",
    "FPGA",
    "Vulkan",
    "Metal",
    "Quantized",
    "CustomRNGKeyId",
    "MkldnnCPU",
    "Sparse",
    "SparseCsr",
    "NestedTensor",
    "BackendSelect",
    "Python",
    "Fake",
    "FuncTorchDynamicLayerBackMode",
    "Functionalize",
    "Named",
    "Conjugate",
    "Negative",
    "ZeroTensor",
    "ADInplaceOrView",
    "AutogradOther",
    "AutogradFunctionality",
    "AutogradNestedTensor",
    "Tracer",
    "AutocastCPU",
    "AutocastXPU",
    "AutocastIPU",
    "AutocastHPU",
    "AutocastXLA",
    "AutocastMPS",
    "AutocastMTIA",
    "AutocastMAIA",
    "AutocastCUDA",
    "AutocastPrivateUse1",
    "FuncTorchBatched",
    "BatchedNestedTensor",
    "FuncTorchVmapMode",
    "Batched",
    "VmapMode",
    "FuncTorchGradWrapper",
    "DeferredInit",
    "PythonTLSSnapshot",
    "FuncTorchDynamicLayerFrontMode",
    "TESTING_ONLY_GenericWrapper",
    "TESTING_ONLY_GenericMode",
    "PreDispatch",
    "PythonDispatcher",
    *_BACKENDS,
    *(f"{kind}{b}" for kind in ("Quantized", "Sparse", "SparseCsr", "NestedTensor") for b in _BACKENDS),
    *(f"Autograd{b}" for b in _BACKENDS),
    "Autograd",
    "CompositeImplicitAutograd",
    "FuncTorchBatchedDecomposition",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
DispatchKey = enum.Enum("DispatchKey", {name: i for i, name in enumerate(_KEYS)}, module=__name__)  # type: ignore[misc]
DispatchKey.__doc__ = "What a kernel may be registered for."

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
    from tl_core.extension_devices import privateuse1_backend_name

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


class DispatchKeySet:
    """A set of dispatch keys.

    Args:
        keys: one, or several.
    """

    def __init__(self, *keys: Any) -> None:
        names: set[Any] = set()
        for key in keys:
            names |= key._keys if isinstance(key, DispatchKeySet) else {key}
        self._keys = frozenset(names)

    @staticmethod
    def from_raw_repr(raw: int) -> DispatchKeySet:
        """The set of which `raw_repr` gave the number."""
        return DispatchKeySet(*(k for k in DispatchKey if raw >> k.value & 1))

    def raw_repr(self) -> int:
        """The set as a number."""
        return sum(1 << k.value for k in self._keys)

    def has(self, key: Any) -> bool:
        """Whether a key is in the set."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """The set with a key more."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(*(self._keys - {key}))

    def highestPriorityTypeId(self) -> Any:
        """The key that a call would meet first."""
        return max(self._keys, key=lambda k: k.value, default=DispatchKey["Undefined"])

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys | other._keys))

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(k.name for k in self._keys))})"

    def layers(self) -> set[int]:
        """The layers that its keys mean."""
        found = {layer_of(k.name) for k in self._keys}
        return {layer for layer in found if layer is not None}


EVERY_KEY = DispatchKeySet(*DispatchKey)
AFTER_AUTOGRAD = DispatchKeySet(*(k for k in DispatchKey if layer_of(k.name) in (None, _C._LAYER_PYTHON)))


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
        super().__init__(*sorted(keys.layers()))


def layers_outside(keyset: DispatchKeySet) -> excluded_layers:
    """A region in which calls pass by the layers that no key of a set means.

    Args:
        keyset: the keys.
    """
    every = {layer for key in DispatchKey if (layer := layer_of(key.name)) is not None}
    return excluded_layers(*sorted(every - keyset.layers()))
