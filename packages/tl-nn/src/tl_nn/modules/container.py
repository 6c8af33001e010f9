"""Modules that hold other modules or parameters."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Container as _Container
from itertools import chain, islice
from operator import attrgetter, methodcaller
from operator import index as _as_index
from typing import Any, Self

from tl_core import Tensor

from ..parameter import Parameter
from .module import Module

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Numbered(Module):
    """Modules under the names "0", "1", …, the base class of `Sequential` and `ModuleList`."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, position: int, module: Any) -> None:
        setattr(self, _name_at(self, position), module)

    def __delitem__(self, position: int | slice) -> None:
        if isinstance(position, slice):
            for name in list(self._modules)[position]:
                delattr(self, name)
        else:
            delattr(self, _name_at(self, position))
        _renumber(self, self._modules.values())

    def append(self, module: Any) -> Self:
        """Add a module at the end. Returns self."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Any) -> Self:
        """Put a module before the one at `index`. Returns self.

        Raises:
            IndexError: If `index` is beyond either end.
        """
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        _check_module(module)
        modules = list(self)
        modules.insert(index, module)
        _renumber(self, modules)
        return self

    def pop(self, key: int | slice) -> Any:
        """Take the module at `key` out and return it."""
        module = self[key]
        del self[key]
        return module

    def __getitem__(self, position: Any) -> Any:
        raise NotImplementedError


class Container(Module):
    """Modules by name, of older programs; a `Module` does the same.

    Args:
        **kwargs (Module): The modules.

    Example:
        >>> import warnings, tl_nn
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     container = Container(first=tl_nn.ReLU())
        >>> container.first
        ReLU()
    """

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn("nn.Container is deprecated: subclass nn.Module", FutureWarning, stacklevel=2)
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(_Numbered):
    r"""Modules that are called one after the other, each with the result of the one before.

    Formula:
        .. math::

            y = f_n(\cdots f_2(f_1(x)))

        `f_1` to `f_n` are the modules in order.

    Args:
        *args (Module, or one OrderedDict of them): The modules in order. A dictionary also names them, otherwise
            the names are "0", "1", and so on.

    Shape:
        - Input: the input of the first module.
        - Output: the result of the last module, or the input where there are no modules.

    Notes:
        - The call passes one argument. A module that needs several, or returns several to one that accepts one,
          belongs in a `Module` of your own.
        - An index selects a module, negative ones count from the end, and a slice is a `Sequential` of the same
          modules. `append`, `insert`, `extend` and `del` renumber the names, `+` joins two models.
        - The names are the prefixes of `state_dict`: a module inserted in front changes the keys of all later ones.
        - A module that occurs twice has one set of parameters, which `parameters` lists once and `state_dict` under
          both names.

    Raises:
        TypeError: If a value isn't a module.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Linear(4, 8), tl_nn.ReLU(), tl_nn.Linear(8, 2))
        >>> model(tl_core.zeros(3, 4)).shape
        torch.Size([3, 2])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        modules = args[0].items() if named else ((str(index), module) for index, module in enumerate(args))
        for name, module in modules:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """Call the modules in order, the first with `input`."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return type(self)(OrderedDict(list(self._modules.items())[position]))
        return self._modules[_name_at(self, position)]

    def extend(self, sequential: Iterable[Any]) -> Self:
        """Add the modules of `sequential` at the end. Returns self."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*chain.from_iterable([self] * _factor(self, other)))

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        modules = list(self)
        for _ in range(_factor(self, other) - 1):
            self.extend(modules)
        return self


class ModuleList(_Numbered):
    r"""A list of registered modules, which has no `forward`.

    Args:
        modules (iterable of Module, optional): The modules.

    Notes:
        - A plain list in an attribute hides its modules from `parameters`, `state_dict`, `to` and `train`. This
          list registers them under the names "0", "1", and so on.
        - The list supports indices, slices, `append`, `insert`, `extend`, `pop`, `del` and `+`. A call raises
          NotImplementedError: a loop in your `forward` decides the order, unlike in `Sequential`.

    Raises:
        TypeError: If a value isn't a module.

    Example:
        >>> import tl_nn
        >>> layers = tl_nn.ModuleList(tl_nn.Linear(2, 2) for _ in range(3))
        >>> len(layers), len(list(layers.parameters()))
        (3, 6)
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return type(self)(list(self)[position])
        return self._modules[_name_at(self, position)]

    def _get_abs_string_index(self, idx: int) -> str:
        """The name of the module at a position, which counts from the end if it is negative. Subclasses call it."""
        return str(_wrapped_index(idx, len(self)))

    def extend(self, modules: Iterable[Any]) -> Self:
        """Add modules at the end. Returns self.

        Raises:
            TypeError: If `modules` isn't iterable.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """Equal neighbours are shown once, with their range and number."""
        runs: list[tuple[str, list[int]]] = []
        for index, text in enumerate(map(repr, self)):
            if runs and runs[-1][0] == text:
                runs[-1][1].append(index)
            else:
                runs.append((text, [index]))
        if not runs:
            return f"{self._get_name()}()"
        lines = "\n".join(_numbered_line(text, indices) for text, indices in runs)
        return f"{self._get_name()}(\n{lines}\n)"


def _numbered_line(text: str, indices: list[int]) -> str:
    label, count = f"({indices[0]})", ""
    if len(indices) > 1:
        label, count = f"({indices[0]}-{indices[-1]})", f"{len(indices)} x "
    return f"  {label}: {count}{text}".replace("\n", "\n  ")


class ModuleDict(Module):
    r"""A dictionary of registered modules, in the order of their insertion.

    Args:
        modules (mapping or iterable of pairs, optional): The modules by name.

    Notes:
        - A plain dictionary in an attribute hides its modules from `parameters`, `state_dict`, `to` and `train`.
        - Names are parts of the keys of `state_dict`, so they contain no dot, and a name of a method, such as
          "keys", isn't available.
        - A call raises NotImplementedError: your `forward` selects the module.

    Raises:
        TypeError: If a name isn't text, or a value isn't a module.
        KeyError: If a name contains a dot or is an attribute.

    Example:
        >>> import tl_nn
        >>> heads = tl_nn.ModuleDict({"a": tl_nn.Linear(2, 3), "b": tl_nn.Tanh()})
        >>> list(heads), "a" in heads
        (['a', 'b'], True)
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take the module named `key` out and return it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The pairs of name and module."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping or of an iterable of pairs, replacing entries of the same name.

        Raises:
            TypeError: If `modules` isn't iterable, or one of its elements isn't.
            ValueError: If an element isn't a pair.
        """
        for key, module in _pairs(modules, "ModuleDict", "ModuleDict"):
            self[key] = module


class ParameterList(Module):
    r"""A list whose tensors are registered parameters. It may contain other values too.

    Args:
        values (iterable, optional): The values. Tensors become parameters.

    Notes:
        - A plain list in an attribute hides its parameters from `parameters`, `state_dict` and optimizers.
        - Parameters have the names "0", "1", and so on in `state_dict`. Values that aren't tensors are in the list,
          but not in `state_dict`.
        - The list supports indices, slices, `append`, `extend` and `+=`.

    Example:
        >>> import tl_core, tl_nn
        >>> factors = tl_nn.ParameterList([tl_core.ones(2), tl_core.zeros(3)])
        >>> len(list(factors.parameters()))
        2
    """

    _size: int

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return type(self)([self[index] for index in range(*position.indices(len(self)))])
        return getattr(self, self._get_abs_string_index(position))

    def _get_abs_string_index(self, idx: int) -> str:
        """The name of the value at a position, which counts from the end if it is negative. Subclasses call it."""
        return str(_wrapped_index(idx, len(self)))

    def __setitem__(self, position: int, value: Any) -> None:
        setattr(self, self._get_abs_string_index(position), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[index] for index in range(len(self)))

    def append(self, value: Any) -> Self:
        """Add a value at the end. Returns self."""
        setattr(self, str(len(self)), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end. Returns self.

        Raises:
            TypeError: If `values` isn't iterable, or is a single tensor.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        kind_of = attrgetter("dtype")
        return "\n".join(f"  ({index}): {_describe(value, kind_of)}" for index, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    r"""A dictionary whose tensors are registered parameters. It may contain other values too.

    Args:
        parameters (mapping or iterable of pairs, optional): The values by name. Tensors become parameters.

    Notes:
        - A plain dictionary in an attribute hides its parameters from `parameters`, `state_dict` and optimizers.
        - Values that aren't tensors are in the dictionary, but not in `state_dict`. The order is that of insertion.
        - The dictionary has the methods of Python's, and `|` joins two of them.

    Example:
        >>> import tl_core, tl_nn
        >>> factors = tl_nn.ParameterDict({"left": tl_core.ones(2), "right": tl_core.zeros(3)})
        >>> [name for name, _ in factors.named_parameters()]
        ['left', 'right']
    """

    _keys: dict[str, None]

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _checked_key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, _checked_key(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dictionary of the same values."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of `key`, which is set to `default` first if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all values out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take the value of `key` out and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the pair out that came last and return it."""
        key, _ = self._keys.popitem()
        self._keys[key] = None  # pop() finds the key in place
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with these keys and one value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The pairs of name and value."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping or of an iterable of pairs, replacing entries of the same name.

        Raises:
            TypeError: If `parameters` isn't iterable, or one of its elements isn't.
            ValueError: If an element isn't a pair.
        """
        for key, value in _pairs(parameters, "ParametersDict", "ParameterDict"):
            self[key] = value

    def extra_repr(self) -> str:
        kind_of = methodcaller("type")
        return "\n".join(f"  ({key}): {_describe(value, kind_of)}" for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self


def _wrapped_index(position: Any, size: int) -> int:
    """A position counted from either end, as one counted from the beginning."""
    index = _as_index(position)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return index % size


def _name_at(module: Module, position: Any) -> str:
    """The name of the submodule at a position."""
    return next(islice(module._modules, _wrapped_index(position, len(module._modules)), None))


def _renumber(module: Module, modules: Iterable[Any]) -> None:
    """Replace a module's children by these, under their numbers."""
    numbered = {str(index): child for index, child in enumerate(modules)}
    module._modules.clear()
    module._modules.update(numbered)


def _factor(sequential: Sequential, value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(sequential)} and {type(value)}")
    if value <= 0:
        raise ValueError(f"Non-positive multiplication factor {value} for {type(sequential)}")
    return value


def _check_module(module: Any) -> None:
    if not isinstance(module, Module):
        raise AssertionError(f"module should be of type: {Module}")


def _as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _checked_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string "
            f"(type is '{type(key).__name__}')."
        )
    return key


def _describe(value: Any, kind_of: Callable[[Tensor], Any]) -> str:
    """One line about a value: `kind_of` and the shape of a tensor, the class of any other value."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(length) for length in value.shape)
    where = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    return f"{kind} containing: [{kind_of(value)} of size {size}{where}]"


def _pairs(source: Any, method: str, kind: str) -> Iterable[tuple[str, Any]]:
    """The pairs of name and value in a mapping, a dictionary-like module, or an iterable of pairs."""
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{method}.update should be called with an iterable of key/value pairs, "
            f"but got {type(source).__name__}"
        )
    if isinstance(source, (Mapping, ModuleDict, ParameterDict)):
        return list(source.items())
    elements = list(source)
    for index, element in enumerate(elements):
        _check_pair(element, index, kind)
    return [(element[0], element[1]) for element in elements]


def _check_pair(element: Any, index: int, kind: str) -> None:
    if not isinstance(element, (Iterable, _Container)):
        raise TypeError(
            f"{kind} update sequence element #{index} should be Iterable; is {type(element).__name__}"
        )
    if len(element) != 2:  # type: ignore[arg-type]
        raise ValueError(
            f"{kind} update sequence element #{index} has length {len(element)}; 2 is required"  # type: ignore[arg-type]
        )
