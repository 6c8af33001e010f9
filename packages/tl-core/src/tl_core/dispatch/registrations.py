"""What is registered for an operator from Python, and which of it a call meets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core.dispatch.layers import DEVICES, NUMBER_OF_DEVICES, layer_of

__all__ = ["NativeKernel", "Registration", "fallthrough_kernel", "of", "put", "refresh", "withdraw"]


def fallthrough_kernel() -> Any:
    """What `Library.impl` takes to make a key pass calls on. It is never called.

    Example:
        >>> import tl_core as tl
        >>> lib = tl.library.Library("aten", "IMPL")
        >>> lib.impl("relu", fallthrough_kernel, "AutocastCPU")
        >>> tl.relu(tl.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        >>> lib._destroy()
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Registration:
    """A function for an operator and a key, until it is withdrawn.

    Args:
        op: the operator.
        key: the dispatch key.
        function: the function.
        refuses_aliasing: whether results that share memory with arguments raise RuntimeError.
    """

    def __init__(
        self, op: str, key: str, function: Callable[..., Any], refuses_aliasing: bool = False
    ) -> None:
        self.op, self.key, self.function, self.refuses_aliasing = op, key, function, refuses_aliasing


class NativeKernel:
    """A kernel in machine code, in the place of a function of Python.

    Args:
        name: the operator.
        key: the dispatch key.
        capsule: the kernel.
    """

    def __init__(self, name: str, key: str, capsule: Any) -> None:
        self.name, self.key, self.capsule = name, key, capsule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"the kernel of {self.name} for {self.key} is machine code: call the operator")

    def __repr__(self) -> str:
        return f"<kernel of {self.name} for {self.key}, in machine code>"


_by_operator: dict[str, dict[str, list[Registration]]] = {}
_COMPOSITES = (
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)
# Keys of what no tensor of tl can be: their functions are kept and never met.
_ABSENT = ("Quantized", "Sparse", "NestedTensor", "Mkldnn", "Tracer", "Vulkan", "Metal", "FPGA", "HIP", "XLA", "MPS",
           "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse2", "PrivateUse3")  # fmt: skip
TRANSFORMS = "Transforms"  # our own: what tl-autograd makes of a formula, for all transforms


def put(registration: Registration) -> Registration:
    """Registers; the latest function of a key is the one that is met.

    Args:
        registration: the function.

    Raises:
        NotImplementedError: the key is none that a call of tl meets.
    """
    key = registration.key
    if not _is_met(key) and registration.function is not fallthrough_kernel:
        raise NotImplementedError(
            f"{registration.op}: no call meets the dispatch key {key!r} in tl; devices such as 'CPU' and 'Meta', the "
            "composite keys, 'Autograd', 'Autocast', 'FuncTorchBatched', 'Functionalize' and 'Python' are met"
        )
    _by_operator.setdefault(registration.op, {}).setdefault(key, []).append(registration)
    refresh(registration.op)
    return registration


def withdraw(registration: Registration) -> None:
    """Brings back what was there before.

    Args:
        registration: what `put` returned.
    """
    stack = _by_operator.get(registration.op, {}).get(registration.key, [])
    if registration in stack:
        stack.remove(registration)
        refresh(registration.op)


def forget(op: str) -> None:
    """Forgets an operator that has been removed.

    Args:
        op: its native name.
    """
    _by_operator.pop(op, None)
    _made_composite.discard(op)
    for table in (_kernels, _layers):
        for slot in [p for p in table if p[0] == op]:
            del table[slot]


def of(op: str, key: str) -> Any:
    """The function that is registered for an operator and a key from Python; None without one.

    Args:
        op: the operator's native name.
        key: the dispatch key.
    """
    stack = _by_operator.get(op, {}).get(key)
    return stack[-1] if stack else None


def _is_met(key: str) -> bool:
    has_layer = key in DEVICES or key in _COMPOSITES or layer_of(key) is not None or key == TRANSFORMS
    return has_layer or key == "BackendSelect" or key.startswith(_ABSENT)


def _first(op: str, *keys: str) -> Registration | None:
    return next((r for key in keys if (r := of(op, key))), None)


def refresh(op: str) -> None:
    """Gives the core the functions that calls of an operator meet, once it is defined.

    Args:
        op: its native name.
    """
    if not _C._is_operator(op):
        return
    explicit = _first(op, "BackendSelect", *_COMPOSITES[:2])
    implicit = of(op, "CompositeImplicitAutograd")
    for name, slot in _slots():
        _put_kernel(op, slot, (of(op, name) if name else None) or explicit or implicit)
    own = of(op, "CPU") or explicit
    if implicit or op in _made_composite:
        _C._set_composite(op, bool(implicit and not own))
        _made_composite.add(op)
    _put_layer(
        op,
        _C._LAYER_AUTOGRAD,
        _first(op, "AutogradCPU", "Autograd", "AutogradOther", "AutogradFunctionality"),
    )
    _put_layer(op, _C._LAYER_AUTOCAST, of(op, "AutocastCPU"))
    _put_layer(op, _C._LAYER_TRANSFORMS, _first(op, "FuncTorchBatched", "Batched", TRANSFORMS))
    _put_layer(op, _C._LAYER_PYTHON, of(op, "Python"))
    _put_layer(op, _C._LAYER_FUNCTIONALIZE, of(op, "Functionalize"))


_made_composite: set[str] = set()
_kernels: dict[tuple[str, int], Registration | None] = {}
_layers: dict[tuple[str, int], Registration | None] = {}


def _slots() -> list[tuple[str, int]]:
    named = {slot: name for name, slot in DEVICES.items()}
    return [(named.get(slot, ""), slot) for slot in range(NUMBER_OF_DEVICES)]


def _put_kernel(op: str, slot: int, registration: Registration | None) -> None:
    if _kernels.get((op, slot)) is registration:
        return
    _kernels[op, slot] = registration
    function = None if registration is None else registration.function
    if function is fallthrough_kernel:
        function = None  # there is nothing behind a device
    if isinstance(function, NativeKernel):
        function = function.capsule
    _C._set_kernel(op, slot, function, registration is not None and registration.refuses_aliasing)


def _put_layer(op: str, layer: int, registration: Registration | None) -> None:
    if _layers.get((op, layer)) is registration:
        return
    _layers[op, layer] = registration
    function = None if registration is None else registration.function
    if isinstance(function, NativeKernel):
        function = function.capsule
    _C._set_layer(op, layer, Ellipsis if function is fallthrough_kernel else function)
