"""Moving and converting a module: `to` and its short forms."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar

import tl_core
from tl_core import Tensor, no_grad
from tl_core.dispatch.modes import in_transform
from tl_core.overrides import overridable
from tl_core.settings.conversions import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from tl_core.subclasses.wrappers import is_traceable_wrapper_subclass
from tl_core.tensors.swapping import swap_tensors

from ..parameter import Parameter
from .named_modules import _NamedModulesMixin


class _ToMixin(_NamedModulesMixin):
    """Changes of device, element type and memory format of all parameters and buffers at once.

    All of them change the module in place and return it. A parameter stays the same object, so an
    optimizer built before keeps working, except when it moves to or from the `meta` device.
    """

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace each parameter, its gradient, and each buffer by the result of `fn`."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = _convert(parameter, fn, f"{self._get_name()}.{name}")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or convert parameters and buffers, in place.

        Called as `to(device=None, dtype=None, non_blocking=False)`, `to(dtype, non_blocking=False)`,
        `to(tensor, non_blocking=False)` or `to(memory_format=channels_last)`. Only floating-point and
        complex tensors change their element type. A memory format concerns 4-D and 5-D tensors.

        Raises:
            TypeError: If the arguments fit none of these forms, or the dtype is an integer or boolean one.
            NotImplementedError: If a parameter or buffer is on the `meta` device and `device` is another one.

        Example:
            >>> import tl_core, tl_nn
            >>> tl_nn.Linear(2, 2).to(tl_core.float64).weight.dtype
            torch.float64
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development: some modules might not work as expected "
                "when using complex tensors as parameters or buffers.",
                stacklevel=2,
            )

        def convert(tensor: Tensor) -> Tensor:
            if tensor.is_meta and device is not None and tl_core.device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            target = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            options: dict[str, Any] = {"non_blocking": non_blocking}
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            return tensor.to(device or tensor.device, target or tensor.dtype, **options)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to `device` without copying. The values there are uninitialized.

        Args:
            device (device, str or int, optional): The target. None keeps each tensor's own device.
            recurse (bool): Whether submodules are included.

        Example:
            >>> import tl_nn
            >>> tl_nn.Linear(2, 2, device="meta").to_empty(device="cpu").weight.device
            device(type='cpu')
        """
        return self._apply(lambda tensor: tl_core.empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, integer ones too, to `dst_type`."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to `float32`."""
        return _apply_floating(self, lambda tensor: tensor.float())

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to `float64`."""
        return _apply_floating(self, lambda tensor: tensor.double())

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to `float16`."""
        return _apply_floating(self, lambda tensor: tensor.half())

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to `bfloat16`."""
        return _apply_floating(self, lambda tensor: tensor.bfloat16())

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.to("cpu"))

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to a CUDA device, the current one by default."""
        return _move(self, "cuda", device)

    def ipu(self, device: Any = None) -> Self:
        """Move all parameters and buffers to an IPU."""
        return _move(self, "ipu", device)

    def mtia(self, device: Any = None) -> Self:
        """Move all parameters and buffers to an MTIA device."""
        return _move(self, "mtia", device)

    def xpu(self, device: Any = None) -> Self:
        """Move all parameters and buffers to an XPU."""
        return _move(self, "xpu", device)

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that other processes can map."""
        return self._apply(lambda tensor: tensor.share_memory_())


_C = TypeVar("_C", bound=_ToMixin)


def _apply_floating(module: _C, cast: Callable[[Tensor], Tensor]) -> _C:
    return module._apply(lambda tensor: cast(tensor) if tensor.is_floating_point() else tensor)


def _move(module: _C, kind: str, device: Any) -> _C:
    target = kind if device is None else f"{kind}:{device}" if isinstance(device, int) else device
    return module._apply(lambda tensor: tensor.to(target))


def _convert(parameter: Parameter, fn: Callable[[Tensor], Tensor], name: str) -> Parameter:
    """The parameter with converted values and gradient: the same object wherever that is possible."""
    grad = parameter.grad
    with no_grad():
        data = fn(parameter)
        grad_data = None if grad is None else fn(grad)
    if get_swap_module_params_on_conversion() or (
        data is not parameter
        and is_traceable_wrapper_subclass(data)  # `data =` leaves the tensors inside alone
    ):
        return _swap(parameter, data, grad_data, name)
    if data is parameter and grad_data is grad:
        return parameter
    replaces = get_overwrite_module_params_on_conversion() or data.is_meta != parameter.is_meta
    if replaces or in_transform():  # the memory of a transform's tensor cannot be exchanged
        parameter, grad = Parameter(data, parameter.requires_grad), grad_data
    else:
        parameter.grad = None
        parameter.data = data
        _exchange(grad, grad_data)
    parameter.grad = grad
    return parameter


def _swap(parameter: Parameter, data: Tensor, grad: Tensor | None, name: str) -> Parameter:
    """The object of the parameter with the class, device and values of the conversion's result."""
    before = parameter.grad
    parameter.grad = None
    try:
        replacement = (
            data if isinstance(data, Parameter) and data is not parameter else Parameter(data.detach())
        )
        replacement.requires_grad_(parameter.requires_grad)
        del data
        swap_tensors(parameter, replacement)
    except (RuntimeError, TypeError) as error:
        parameter.grad = before
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error
    parameter.grad = grad
    return parameter


def _exchange(grad: Tensor | None, data: Tensor | None) -> None:
    if grad is not None and data is not None:
        grad.data = data


@overridable
def _parse_to(
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    tensor: Any = None,
    memory_format: Any = None,
    copy: bool = False,
    **unknown: Any,
) -> tuple[Any, Any, bool, Any]:
    """The arguments of the forms of `to` as (device, dtype, non_blocking, memory_format)."""
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        tensor = rest.pop(0)
    elif rest and _names_device(rest[0]):
        device = rest.pop(0)
    after = tensor is not None  # non_blocking follows a tensor or a dtype, not a device alone
    if rest and tensor is None and isinstance(rest[0], (tl_core.dtype, type(None))):
        dtype, after = rest.pop(0), True
    if rest and after and isinstance(rest[0], bool):
        non_blocking = rest.pop(0)
    if rest or unknown:
        kinds = ", ".join([type(value).__name__ for value in args] + [f"{name}=..." for name in unknown])
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({kinds}), but expected one of: "
            "(device=None, dtype=None, non_blocking=False), (dtype, non_blocking=False), "
            "(tensor, non_blocking=False), (memory_format=...)"
        )
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    return (None if device is None else tl_core.device(device)), dtype, non_blocking, memory_format


def _names_device(value: Any) -> bool:
    return value is None or (isinstance(value, (str, int, tl_core.device)) and not isinstance(value, bool))
