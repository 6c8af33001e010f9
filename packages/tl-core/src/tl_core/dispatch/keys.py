"""Dispatch keys: names of the stages at which operators are handled, as other libraries spell them."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["DispatchKey", "DispatchKeySet"]

_BACKENDS = ("CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse1",
             "PrivateUse2", "PrivateUse3", "Meta")  # fmt: skip
# What the names of keys for single backends begin with, and the key that stands for that of all.
_OF_BACKENDS = (
    ("", "Dense"),
    ("Quantized", "Quantized"),
    ("Sparse", "Sparse"),
    ("SparseCsr", "SparseCsr"),
    ("NestedTensor", "NestedTensor"),
    ("Autograd", "AutogradFunctionality"),
)
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
    "Autocast",
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
DispatchKey = enum.Enum("DispatchKey", {name: i for i, name in enumerate(dict.fromkeys(_KEYS))})  # type: ignore[misc]
DispatchKey.__doc__ = "A stage at which operators are handled; `PreDispatch` stands above autograd."


def _key(key: Any) -> Any:
    return DispatchKey[key] if isinstance(key, str) else key


class DispatchKeySet:
    """A set of keys.

    Args:
        *keys: what it holds: keys, their names, sets of keys.

    Example:
        >>> DispatchKeySet(DispatchKey.CPU).has(DispatchKey.CPU)
        True
    """

    def __init__(self, *keys: Any) -> None:
        sets = [key._keys if isinstance(key, DispatchKeySet) else {_key(key)} for key in keys]
        self._keys: frozenset[Any] = frozenset().union(*sets)

    @staticmethod
    def from_raw_repr(raw: int) -> DispatchKeySet:
        """The set of which `raw_repr` gave the number.

        Args:
            raw: the number.
        """
        return DispatchKeySet(*(k for k in DispatchKey if raw >> k.value & 1))

    def raw_repr(self) -> int:
        """The set as a number."""
        return sum(1 << k.value for k in self._keys)

    def highestPriorityTypeId(self) -> Any:
        """The key that a call would meet first."""
        return max(self._keys, key=_priority, default=DispatchKey["Undefined"])

    def has(self, key: Any) -> bool:
        """Whether the key is in the set."""
        return _key(key) in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one more key."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(*(self._keys - {_key(key)}))

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

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(self._keys, key=_priority, reverse=True))

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in sorted(self._keys, key=_priority))})"


def _priority(key: Any) -> tuple[int, int]:
    """Greater where a call meets the key earlier: keys of single backends stand where those of all backends do."""
    for kind, functionality in _OF_BACKENDS:
        if key.name.startswith(kind) and key.name.removeprefix(kind) in _BACKENDS:
            return DispatchKey[functionality].value, key.value
    return key.value, 0


def keys_of(tensor: Tensor) -> DispatchKeySet:
    """The stages that a call with this tensor passes.

    Args:
        tensor: the tensor.

    Example:
        >>> keys_of(ones(2)).has(DispatchKey.CPU)
        True
    """
    device = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(tensor.device.type, "PrivateUse1")
    names = [device, *(["AutocastCPU"] if device == "CPU" else [])]
    names += [] if tensor.is_inference() else [f"Autograd{device}", "ADInplaceOrView"]
    names += ["Python", "PythonTLSSnapshot"] * _C._has_torch_dispatch(type(tensor))
    names += ["Conjugate"] * tensor.is_conj() + ["Negative"] * tensor.is_neg()
    if tensor.layout is not _C.strided:
        names[0] = "SparseCPU" if tensor.layout is _C.sparse_coo else "SparseCsrCPU"
    return DispatchKeySet(*(DispatchKey[name] for name in names)) | getattr(
        tensor, "_extra_dispatch_keys", DispatchKeySet()
    )


def text_of_keys(tensor: Tensor) -> str:
    """The stages that a call with this tensor passes, written out.

    Args:
        tensor: the tensor.
    """
    return repr(keys_of(tensor))


def is_tensor_subclass_like(tensor: Tensor) -> bool:
    """Whether a tensor's class handles operators, or it stands for others.

    Args:
        tensor: the tensor.
    """
    return _C._has_torch_dispatch(type(tensor)) or _C._is_hollow(tensor) or tensor._hides_batch()
