"""Tensors and modules within a module, by dotted names: read, set, removed, exchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tl_core import Tensor

from ..modules.module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

_MISSING: Any = object()


def _check(module: Any, name: str, kind: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not name:
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')


def _check_tensor(tensor: Any) -> None:
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")


def _slot(module: Module, name: str) -> dict[str, Any]:
    """The dictionary that holds a tensor of the module, or would: its parameters, its buffers, its attributes."""
    slots: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
    return next((slot for slot in slots if name in slot), module.__dict__)


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Puts a tensor in the place of a module's: of a parameter or a buffer where there is one, or of an attribute.

    Args:
        module: the module.
        name: the tensor's name, without dots.
        tensor: the new one.

    Raises:
        TypeError: it is no tensor, or there is no module.
        KeyError: the name is empty or has dots.
    """
    _check(module, name, "tensor")
    _check_tensor(tensor)
    _slot(module, name)[name] = tensor


def swap_tensor(module: Module, name: str, tensor: Tensor, allow_missing: bool = False) -> Tensor:
    """Replaces a tensor of a module, and returns the previous one.

    Args:
        module: the module.
        name: the tensor's name, without dots.
        tensor: the new tensor. Where no tensor was, the result removes the new one again.
        allow_missing: whether there need be none.

    Raises:
        TypeError: it is no tensor, or there is no module.
        KeyError: the name is empty or has dots.
        AttributeError: the module has no such tensor.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.Linear(1, 1)
        >>> before = swap_tensor(layer, "weight", tl_core.zeros(1, 1))
        >>> layer.weight, type(before).__name__
        (tensor([[0.]]), 'Parameter')
    """
    _check(module, name, "tensor")
    if tensor is not _MISSING:
        _check_tensor(tensor)
    slot = _slot(module, name)
    if name not in slot and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    before = slot.get(name, _MISSING)
    if before is not _MISSING:
        _check_tensor(before)
    if tensor is _MISSING:
        slot.pop(name, None)
    else:
        slot[name] = tensor
    previous: Tensor = before
    return previous


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Puts a module in the place of another one's child, and gives the one that was there.

    Args:
        module: the module.
        name: the child's name, without dots.
        submodule: the new one.

    Raises:
        TypeError: one of them is no module.
        KeyError: the name is empty or has dots, or there is no such child.
    """
    _check(module, name, "submodule")
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    before = module._modules.get(name)
    if before is None:
        raise KeyError(f"submodule {name} does not exist")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """Reads and exchanges the tensors and modules of a module by dotted names. Modules are cached.

    Args:
        module: the module.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {"": module}

    def get_submodule(self, name: str) -> Module:
        """The module of that name. AttributeError if there is none."""
        if name in self.memo:
            return self.memo[name]
        prefix, _, attribute = name.rpartition(".")
        owner = self.get_submodule(prefix)
        submodule = getattr(owner, attribute, None)
        if submodule is None:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{attribute}`")
        if not isinstance(submodule, Module):
            raise TypeError(f"submodule `{name}`: {submodule} is not an instance of torch.nn.Module")
        self.memo[name] = submodule
        return submodule

    def _owner(self, name: str) -> tuple[Module, str]:
        prefix, _, attribute = name.rpartition(".")
        return self.get_submodule(prefix), attribute

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Puts a module in the place of the one of that name, and gives that."""
        owner, attribute = self._owner(path)
        before = swap_submodule(owner, attribute, value)
        self.memo = {"": self.module}  # the children of the previous module are gone
        return before

    def get_tensor(self, name: str) -> Tensor:
        """The tensor of that name. AttributeError if there is none."""
        owner, attribute = self._owner(name)
        try:
            tensor: Tensor = getattr(owner, attribute)
        except AttributeError:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`") from None
        _check_tensor(tensor)
        return tensor

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Puts a tensor in the place of the one of that name."""
        owner, attribute = self._owner(name)
        set_tensor(owner, attribute, value)

    def del_tensor(self, name: str) -> None:
        """Removes the tensor of that name. AttributeError if there is none."""
        owner, attribute = self._owner(name)
        if not hasattr(owner, attribute):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        delattr(owner, attribute)

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Tensor:
        """Puts a tensor in the place of the one of that name, and gives that."""
        owner, attribute = self._owner(name)
        return swap_tensor(owner, attribute, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """The tensors of those names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """Sets the tensors of those names. ValueError unless there are as many names as tensors."""
        for name, value in _pairs(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: Mapping[str, Tensor]) -> None:
        """Sets tensors by their names."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Removes the tensors of those names."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False
    ) -> list[Tensor]:
        """Sets the tensors of those names, and gives those that were there."""
        return [self.swap_tensor(name, value, allow_missing) for name, value in _pairs(names, values)]

    def swap_tensors_dict(
        self, named_tensors: Mapping[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Tensor], list[str]]:
        """Sets tensors by their names. Returns the previous tensors, and the names that were missing."""
        before: dict[str, Tensor] = {}
        missing = []
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing=True)
                if before[name] is _MISSING:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, value in before.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names of tensors that are not among the keys, and the keys that name none, both sorted."""
        names, own = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(own - names), sorted(names - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """The parameters with their names. A tied parameter has its first name, unless `remove_duplicate` is False."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """The buffers with their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """The parameters and the buffers with their names."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Module]]:
        """The modules with their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


def _pairs(names: Iterable[str], values: Iterable[Any]) -> list[tuple[str, Any]]:
    keys, tensors = list(names), list(values)
    if len(keys) != len(tensors):
        raise ValueError(
            f"names and values must have the same length, got {len(keys)} names and {len(tensors)} values"
        )
    return list(zip(keys, tensors))
