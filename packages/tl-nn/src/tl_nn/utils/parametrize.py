"""Parameters computed from others."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

import tl_core
from tl_core import Tensor

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor | None] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within this context, parametrized tensors are computed once and then kept.

    For modules that use a parametrized tensor several times in one call. The cached tensors are dropped at the
    end of the outermost context.

    Example:
        >>> import tl_nn
        >>> from tl_nn.utils import parametrize
        >>> layer = tl_nn.utils.parametrizations.weight_norm(tl_nn.Linear(2, 2))
        >>> with parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _cache_enabled, _cache
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order in which they are applied.

    Args:
        modules (sequence of Module): The parametrizations.
        original (Parameter or Tensor): The tensor; the attribute `original`, or `original0`, `original1`, … where
            the first `right_inverse` gives several, is what is trained.
        unsafe (bool): Whether they may change shape and type, which isn't checked then.

    Raises:
        ValueError: If there is no parametrization, or a right inverse doesn't give a tensor of the same type.
        RuntimeError: If the right inverses don't give back the shape.

    Example:
        >>> import tl_nn
        >>> from tl_nn.utils import parametrize
        >>> class Symmetric(tl_nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        ...
        >>> layer = tl_nn.Linear(2, 2)
        >>> _ = parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> len(layer.parametrizations.weight), layer.parametrizations.weight.original.shape
        (1, torch.Size([2, 2]))
    """

    original: Any
    unsafe: bool
    is_tensor: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with tl_core.no_grad():
            new = _invert(self, original)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        if self.is_tensor:
            self._take_one(original, new)
        else:
            self.ntensors = len(new)
            for number, part in enumerate(new):
                self._take_part(original, number, part)
        if not unsafe:
            _check_result(self(), original)

    def _take_one(self, original: Tensor, new: Any) -> None:
        if original.dtype != new.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
            )
        with tl_core.no_grad():
            original.data = new.data
        _register(self, "original", original)

    def _take_part(self, original: Tensor, number: int, part: Any) -> None:
        if not isinstance(part, Tensor):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got element {number} of the sequence with type {type(part).__name__}."
            )
        if isinstance(original, Parameter):
            part = Parameter(part, original.requires_grad)
        part.requires_grad_(original.requires_grad)
        _register(self, f"original{number}", part)

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`, as far as the inverses can.

        Raises:
            RuntimeError: If a parametrization has no right inverse.
            ValueError: If the inverses give something else than at first.
        """
        with tl_core.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                _check_inverse(value, self.original)
                _set(self.original, value)
                return
            if len(value) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(value)}."
                )
            for number, part in enumerate(value):
                original = getattr(self, f"original{number}")
                _check_inverse(part, original)
                _set(original, part)

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        parts = [self.original] if self.is_tensor else self._originals()
        first, *rest = self
        result: Tensor = first(*parts)
        for module in rest:
            result = module(result)
        return result

    def _originals(self) -> list[Any]:
        return [getattr(self, f"original{number}") for number in range(self.ntensors)]


def _invert(modules: ModuleList, original: Tensor) -> Any:
    """The original taken back through all parametrizations that have an inverse."""
    value: Any = original
    for module in reversed(list(modules)):
        if hasattr(module, "right_inverse"):
            with suppress(NotImplementedError):  # documented for parametrizations without an inverse
                value = module.right_inverse(value)
    return value


def _check_result(result: Any, original: Tensor) -> None:
    """Refuse a parametrization that changes type or shape."""
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    if result.dtype != original.dtype:
        raise ValueError(
            "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\n"
            f"unparametrized dtype: {original.dtype}\nparametrized dtype: {result.dtype}"
        )
    if result.shape != original.shape:
        raise ValueError(
            "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
            f"unparametrized shape: {original.shape}\nparametrized shape: {result.shape}"
        )


def _check_inverse(value: Any, original: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
    if value.dtype != original.dtype:
        raise ValueError(
            f"The tensor returned by `right_inverse` has dtype {value.dtype} "
            f"while `original` has dtype {original.dtype}"
        )


def _set(original: Tensor, value: Tensor) -> None:
    if original.shape == value.shape:
        original.copy_(value)
    else:
        original.data = value


def _register(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer by a module from an original, which is trained instead.

    The tensor becomes a property that calls the parametrization. The original moves to
    `module.parametrizations[tensor_name].original`. Several parametrizations of a tensor are applied one after the
    other. Assigning to the tensor calls `right_inverse`, where parametrizations have it.

    Args:
        module (Module): The module. Its class is replaced by a subclass with the properties.
        tensor_name (str): The name of the parameter or buffer.
        parametrization (Module): Computes the tensor from the original, of the same shape and type.
        unsafe (bool): Whether it may change shape and type, which isn't checked then.

    Returns:
        Module: `module`

    Raises:
        ValueError: If there is no such tensor, or shape or type change.

    Example:
        >>> import tl_core, tl_nn
        >>> class Symmetric(tl_nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).transpose(-1, -2)
        >>> layer = tl_nn.Linear(3, 3)
        >>> tl_nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric()).weight.shape
        torch.Size([3, 3])
        >>> bool((layer.weight == layer.weight.T).all())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        lists: Any = module.parametrizations
        if not unsafe:
            _check_further(lists[tensor_name], getattr(module, tensor_name), parametrization)
        lists[tensor_name].append(parametrization)
        lists[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        new_list = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        lists = module.parametrizations
        lists[tensor_name] = new_list
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_further(existing: ParametrizationList, before: Tensor, parametrization: Module) -> None:
    """Raise ValueError for a further parametrization that changes shape or type of the tensor."""
    after = parametrization(before)
    _check_result(after, before)
    if hasattr(parametrization, "right_inverse"):
        back = parametrization.right_inverse(after)
        if not isinstance(back, Tensor):
            raise ValueError(
                f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
            )
        if back.dtype != before.dtype:
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the same dtype as "
                f"module.{before.dtype}, unless the `unsafe` flag is enabled, got {back.dtype}"
            )
        if back.shape != before.shape:
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the same shape as the tensor, "
                f"unless the `unsafe` flag is enabled: {back.shape} and {before.shape}"
            )


def _inject_class(module: Module) -> None:
    """Give the module a class of its own, for the properties."""
    kind = type(module)

    def getstate(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        )

    def deepcopy_module(self: Any, memo: dict[int, Any]) -> Any:
        """A copy. The parametrized tensors are computed from copies of the originals."""
        if id(self) in memo:
            return memo[id(self)]
        twin = self.__new__(self.__class__)
        memo[id(self)] = twin
        object.__setattr__(twin, "__dict__", deepcopy(self.__dict__, memo))
        for name in copyreg._slotnames(self.__class__):  # type: ignore[attr-defined]
            if hasattr(self, name):
                setattr(twin, name, deepcopy(getattr(self, name), memo))
        return twin

    members: dict[str, Any] = {"__getstate__": getstate, "__module__": kind.__module__}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy_module
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _inject_property(module: Any, tensor_name: str) -> None:
    """Let the tensor be a property of the module's class."""

    def get(self: Any) -> Any:
        lists = self.parametrizations
        if not _cache_enabled:
            return lists[tensor_name]()
        key = (id(self), tensor_name)
        if _cache.get(key) is None:
            _cache[key] = lists[tensor_name]()
        return _cache[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, assign))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of its tensors has.

    Example:
        >>> import tl_nn
        >>> tl_nn.utils.parametrize.is_parametrized(tl_nn.Linear(1, 1))
        False
    """
    lists = getattr(module, "parametrizations", None)
    if lists is None or not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Turn a parametrized tensor back into a parameter or buffer.

    Args:
        module (Module): The module.
        tensor_name (str): The name of the tensor.
        leave_parametrized (bool): Whether the tensor keeps its present value instead of the original's.

    Returns:
        Module: `module`

    Raises:
        ValueError: If the tensor isn't parametrized, or `leave_parametrized` is False and it has several
            originals.

    Example:
        >>> import tl_nn
        >>> from tl_nn.utils import parametrize
        >>> class Symmetric(tl_nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        ...
        >>> layer = tl_nn.Linear(2, 2)
        >>> _ = parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> _ = parametrize.remove_parametrizations(layer, "weight")
        >>> parametrize.is_parametrized(layer)
        False
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    all_lists: Any = module.parametrizations
    parametrizations = all_lists[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            original = _left(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of "
            "a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del all_lists[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def _left(original: Tensor, value: Tensor) -> Tensor:
    """The original with the value of the parametrized tensor, or a new one where types differ."""
    with tl_core.no_grad():
        if original.dtype == value.dtype:
            original.data = value.detach().clone() if value.data is original.data else value.detach()
            return original
    return Parameter(value.detach()) if isinstance(original, Parameter) else value.detach()


def type_before_parametrizations(module: Module) -> type:
    """The module's class without parametrizations.

    Example:
        >>> import tl_nn
        >>> from tl_nn.utils import parametrize
        >>> class Symmetric(tl_nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        ...
        >>> layer = tl_nn.Linear(2, 2)
        >>> _ = parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> parametrize.type_before_parametrizations(layer).__name__
        'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another one, and the tensors they are computed from.

    Args:
        from_module, to_module (Module): From which, and to which.
        tensor_name (str, optional): The tensor, by default all.

    Returns:
        Module: `to_module`

    Example:
        >>> import tl_nn
        >>> from tl_nn.utils import parametrize
        >>> class Symmetric(tl_nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        ...
        >>> layer = tl_nn.Linear(2, 2)
        >>> _ = parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> other = parametrize.transfer_parametrizations_and_params(layer, tl_nn.Linear(2, 2))
        >>> bool((other.weight == layer.weight).all())
        True
    """
    if not is_parametrized(from_module):
        return to_module
    lists: Any = from_module.parametrizations
    names = list(lists) if tensor_name is None else [tensor_name] if tensor_name in lists else []
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in lists[name]:
            register_parametrization(to_module, name, parametrization)
        target: Any = to_module.parametrizations
        if not hasattr(lists[name], "original"):
            for number, part in enumerate(lists[name]._originals()):
                setattr(target[name], f"original{number}", part)
        else:
            target[name].original = lists[name].original
    return to_module
