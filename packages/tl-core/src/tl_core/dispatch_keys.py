"""Dispatch keys: names of the stages at which operators are handled, as other libraries spell them."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["DispatchKey", "DispatchKeySet"]

_NAMES = (
    "Undefined Dense FPGA Vulkan Metal Quantized CustomRNGKeyId MkldnnCPU Sparse SparseCsr NestedTensor BackendSelect "
    "Python Fake FuncTorchDynamicLayerBackMode Functionalize Named Conjugate Negative ZeroTensor ADInplaceOrView "
    "AutogradOther AutogradFunctionality AutogradNestedTensor Tracer AutocastCPU AutocastXPU AutocastCUDA Batched "
    "VmapMode FuncTorchGradWrapper FuncTorchBatched BatchedNestedTensor FuncTorchVmapMode "
    "FuncTorchDynamicLayerFrontMode PreDispatch PythonDispatcher PythonTLSSnapshot TESTING_ONLY_GenericWrapper "
    "TESTING_ONLY_GenericMode CPU CUDA Meta PrivateUse1 AutogradCPU AutogradCUDA AutogradMeta AutogradPrivateUse1 "
    "SparseCPU SparseCsrCPU QuantizedCPU NestedTensorCPU Autograd Autocast CompositeImplicitAutograd "
    "CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional CompositeImplicitAutogradNestedTensor"
)
DispatchKey = enum.Enum("DispatchKey", {name: i for i, name in enumerate(_NAMES.split())})  # type: ignore[misc]
DispatchKey.__doc__ = "A stage at which operators are handled; `PreDispatch` stands above autograd."


class DispatchKeySet:
    """A set of keys.

    Args:
        *keys: what it holds.

    Example:
        >>> DispatchKeySet(DispatchKey.CPU).has(DispatchKey.CPU)
        True
    """

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def has(self, key: Any) -> bool:
        """Whether the key is in the set."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one more key."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(*(self._keys - {key}))

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
        return iter(sorted(self._keys, key=lambda key: -key.value))

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in self)})"


def keys_of(tensor: Tensor) -> DispatchKeySet:
    """The stages that a call with this tensor passes.

    Args:
        tensor: the tensor.

    Example:
        >>> keys_of(ones(2)).has(DispatchKey.CPU)
        True
    """
    device = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(tensor.device.type, "PrivateUse1")
    names = [device, f"Autograd{device}", "ADInplaceOrView"]
    names += ["Python", "PythonTLSSnapshot"] * _C._has_torch_dispatch(type(tensor))
    names += ["Conjugate"] * tensor.is_conj() + ["Negative"] * tensor.is_neg()
    if tensor.layout is not _C.strided:
        names[0] = "SparseCPU" if tensor.layout is _C.sparse_coo else "SparseCsrCPU"
    return DispatchKeySet(*(DispatchKey[name] for name in names))
