"""What all higher-order operators have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
import tl_core.operators.packets
from tl_autograd.func.interpreter import retrieve_current_functorch_interpreter
from tl_autograd.func.level_stack import TransformType, peek_interpreter_stack
from tl_core import overrides
from tl_core.dispatch.keys import DispatchKey, keys_of
from tl_core.dispatch.modes import innermost_off, modes_in_force
from tl_core.pytree import tree_leaves
from tl_core.subclasses.python_dispatch import TorchDispatchMode

__all__ = ["HigherOrderOperator"]

Tensor = tl_core.Tensor
_ABOVE_BACKENDS = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")


class HigherOrderOperator:
    """An operator some of whose arguments are functions. What a call does, functions say that `py_impl` registers.

    A call asks, in this order: what overrides functions of Python; the innermost transform; modes, of whose class a
    function is registered, the innermost first; tensors among the arguments, likewise by their class; then the keys of
    the arguments: `Autograd` where a gradient is recorded, autograd of the device, the device,
    `CompositeExplicitAutograd`, `CompositeImplicitAutograd`. Subclasses may say what a call does themselves.

    Args:
        name: its name, under which `torch.ops.higher_order` has it.
        cacheable: whether a graph with it may be kept for other runs of the program.

    Example:
        >>> twice = HigherOrderOperator("twice_of_docs")
        >>> @twice.py_impl(DispatchKey.CompositeExplicitAutograd)
        ... def _(f, x):
        ...     return f(f(x))
        >>> twice(lambda x: x + 1, tl_core.zeros(1))
        tensor([2.])
    """

    by_name: dict[str, HigherOrderOperator] = {}  # noqa: RUF012 - filled as they are made

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self.namespace = self._ns = "higher_order"
        self._cacheable = cacheable
        self.py_kernels: dict[Any, Callable[..., Any]] = {}  # by keys
        self.python_key_table: dict[type, Callable[..., Any]] = {}  # by classes of modes and tensors
        self._fallthrough: set[Any] = set()
        HigherOrderOperator.by_name[name] = self
        setattr(tl_core.operators.packets.higher_order, name, self)

    # ---- what is registered
    def py_impl(self, k: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator that registers a function for a key, or for a class of modes or of tensors.

        Args:
            k: a `DispatchKey`, a class of `TorchDispatchMode`, whose object the function gets first, one of tensors, or
                a transform, whose level it gets first.

        Returns:
            The decorator.

        Raises:
            AssertionError: it is none of these, or has a function already.
        """
        is_class = isinstance(k, type) and issubclass(k, (TorchDispatchMode, Tensor))
        if not is_class and not isinstance(k, (DispatchKey, TransformType)):
            raise AssertionError(
                f"py_impl(): expected a DispatchKey, a TransformType or a class of modes or tensors, got {k!r}"
            )
        table: dict[Any, Callable[..., Any]] = self.python_key_table if is_class else self.py_kernels

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if k in table:
                raise AssertionError(f"Trying to override a python impl for {k} on operator {self._name}")
            table[k] = function
            self._fallthrough.discard(k)
            return function

        return register

    def fallthrough(self, dispatch_key: Any) -> None:
        """From now on calls pass a key by.

        Args:
            dispatch_key: the key.
        """
        self._fallthrough.add(dispatch_key)

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Whether a function is registered for a key.

        Args:
            k: the key.
        """
        return k in self.py_kernels

    def has_kernel_for_any_dispatch_key(self, ks: Any) -> bool:
        """Whether a function is registered for one of the keys.

        Args:
            ks: the keys.
        """
        return any(k in self.py_kernels for k in ks)

    def cacheable(self) -> bool:
        """Whether a graph with it may be kept."""
        return self._cacheable

    # ---- a call
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [a for a in tree_leaves((args, kwargs)) if isinstance(a, Tensor)]
        if overrides.has_torch_function(tensors):
            return overrides.handle_torch_function(self, tensors, *args, **kwargs)
        return self.dispatch(tensors, args, kwargs)

    def dispatch(self, tensors: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the registered functions make of a call.

        Args:
            tensors: the tensors among its arguments.
            args, kwargs: its arguments.

        Raises:
            NotImplementedError: no function is registered for them.
        """
        level = peek_interpreter_stack()
        if level is not None and level.key() in self.py_kernels:
            return self.py_kernels[level.key()](retrieve_current_functorch_interpreter(), *args, **kwargs)
        modes = modes_in_force()
        function = self._of_class(type(modes[-1])) if modes else None
        if function is not None:
            with innermost_off() as mode:
                return function(mode, *args, **kwargs)
        for t in tensors:
            function = self._of_class(type(t))
            if function is not None:
                result = function(*args, **kwargs)
                if result is not NotImplemented:
                    return result
        return self._of_keys(tensors)(*args, **kwargs)

    def _of_class(self, cls: type) -> Callable[..., Any] | None:
        return next((self.python_key_table[c] for c in cls.__mro__ if c in self.python_key_table), None)

    def _of_keys(self, tensors: list[Any]) -> Callable[..., Any]:
        names = ["Autograd"] if tl_core.is_grad_enabled() and any(t.requires_grad for t in tensors) else []
        devices = [
            k.name for t in tensors for k in keys_of(t) if k.name in ("CPU", "CUDA", "Meta", "PrivateUse1")
        ]
        backends = dict.fromkeys([*devices, "CPU"])
        for name in (*names, *(f"Autograd{device}" for device in backends), *backends, *_ABOVE_BACKENDS):
            key = DispatchKey.__members__.get(name)
            if key in self.py_kernels and key not in self._fallthrough:
                return self.py_kernels[key]
        raise NotImplementedError(
            f"could not find kernel for HigherOrderOperator {self._name} at dispatch key {(devices or ['CPU'])[0]} "
            f"(resolved from {', '.join(k.name for k in self.py_kernels) or 'no registered function'})"
        )

    # ---- its name
    def name(self) -> str:
        """The operator's name."""
        return self._name

    def __str__(self) -> str:
        return f"{self._name}"

    def __repr__(self) -> str:
        return f"<HigherOrderOperator {self._name}>"

    def __deepcopy__(self, memo: Any) -> HigherOrderOperator:
        return self

    def __reduce__(self) -> Any:
        return _known, (self._name,)


def _known(name: str) -> HigherOrderOperator:
    return HigherOrderOperator.by_name[name]
