"""The base class of all neural network modules, its call, and the hooks around the call.

This module contains the tables of hooks for all modules under PyTorch's names, which programs read and set.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

from tl_autograd.hooks import RemovableHandle
from tl_core import Tensor
from tl_core.base import backend_registry, operator_hooks
from tl_core.base.open_parameters import open_parameters

from .backward_hook import BackwardHook
from .error_notes import NOTED_ERRORS, add_error_notes
from .registration import _global_buffer_registration_hooks as _global_buffer_registration_hooks
from .registration import _global_module_registration_hooks as _global_module_registration_hooks
from .registration import _global_parameter_registration_hooks as _global_parameter_registration_hooks
from .registration import (
    _RegistrationMixin,
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .state_dict import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from .state_dict import _IncompatibleKeys as _IncompatibleKeys
from .state_dict import _StateDictMixin
from .to import _ToMixin

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_global_forward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Any] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Any] = OrderedDict()
_global_partial_hooks: OrderedDict[int, bool] = OrderedDict()


class _HooksMixin(_RegistrationMixin):
    """The call of a module: hooks before it, `forward`, hooks after it and in backward."""

    _forward_hooks: OrderedDict[int, Any]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Any]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _backward_hooks: OrderedDict[int, Any]
    _backward_pre_hooks: OrderedDict[int, Any]
    _is_full_backward_hook: bool | None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            ):
                return self._call_impl(*args, **kwargs)
            return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
        except NOTED_ERRORS as error:
            add_error_notes(self, error, args, kwargs)
            raise

    @open_parameters
    def forward(self, *input: Any) -> Any:
        """The computation of this module. Every class defines it.

        Call the module itself, not this method: only the call runs the hooks.
        """
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """The call with its hooks."""
        ran: set[int] = set()
        try:
            return _call_with_hooks(self, args, kwargs, ran)
        except Exception:
            _run_always_called(self, args, kwargs, ran)
            raise

    _wrapped_call_impl = __call__

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """The hooks called in backward: the full ones, and the older, partial ones."""
        everywhere, here = list(_global_backward_hooks.values()), list(self._backward_hooks.values())
        full = ([] if _global_partial_hooks else everywhere) + (
            here if self._is_full_backward_hook is True else []
        )
        partial = (everywhere if _global_partial_hooks else []) + (
            here if self._is_full_backward_hook is False else []
        )
        return full, partial

    def _get_backward_pre_hooks(self) -> list[Any]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    # Registering

    def register_forward_pre_hook(
        self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before every call of `forward`.

        Args:
            hook (callable): Returns None, or new arguments: a tuple, or a single value. With `with_kwargs` it is
                called as `hook(module, args, kwargs)` and returns None or `(args, kwargs)`.
            prepend (bool): Whether it runs before this module's other pre-hooks, instead of after them.
            with_kwargs (bool): Whether it is given the keyword arguments.

        Returns:
            RemovableHandle: Its `remove()` takes the hook out.

        Example:
            >>> import tl_core, tl_nn
            >>> layer = tl_nn.Identity()
            >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
            >>> layer(tl_core.zeros(2))
            tensor([1., 1.])
        """
        handle = RemovableHandle(self._forward_pre_hooks, extra_dict=self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return _insert(self._forward_pre_hooks, handle, hook, prepend)

    def register_forward_hook(
        self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after every call of `forward`.

        Args:
            hook (callable): Returns None, or the output to use instead. With `with_kwargs` it is called as
                `hook(module, args, kwargs, output)`.
            prepend (bool): Whether it runs before this module's other forward hooks, instead of after them.
            with_kwargs (bool): Whether it is given the keyword arguments.
            always_call (bool): Whether it also runs, with None for the output, when the call raises an error.

        Returns:
            RemovableHandle: Its `remove()` takes the hook out.

        Example:
            >>> import tl_core, tl_nn
            >>> layer = tl_nn.Identity()
            >>> handle = layer.register_forward_hook(lambda module, args, output: output * 2)
            >>> layer(tl_core.ones(2))
            tensor([2., 2.])
        """
        handle = RemovableHandle(
            self._forward_hooks,
            extra_dict=[self._forward_hooks_with_kwargs, self._forward_hooks_always_called],
        )
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return _insert(self._forward_hooks, handle, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the module's outputs are known.

        The hook returns None, or gradients to go on with instead: a tuple with one for each output.
        """
        return _insert(self._backward_pre_hooks, RemovableHandle(self._backward_pre_hooks), hook, prepend)

    def register_full_backward_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        `grad_input` has one entry for each positional argument, `grad_output` one for each output.
        Entries of values other than tensors are None. The hook returns None, or gradients of the inputs to go on
        with instead. Inputs and outputs may not be changed in place.

        Raises:
            RuntimeError: If the module has hooks registered with `register_backward_hook`.

        Example:
            >>> import tl_core, tl_nn
            >>> layer = tl_nn.Identity()
            >>> handle = layer.register_full_backward_hook(lambda module, grad_in, grad_out: (grad_in[0] * 3,))
            >>> x = tl_core.ones(2, requires_grad=True)
            >>> layer(x).sum().backward()
            >>> x.grad
            tensor([3., 3.])
        """
        _decide_backward_kind(self, full=True)
        return _insert(self._backward_hooks, RemovableHandle(self._backward_hooks), hook, prepend)

    def register_backward_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` with the gradients of the last operation only.

        For old programs: the hooks of `register_full_backward_hook` get the gradients of the complete module.
        """
        _decide_backward_kind(self, full=False)
        return _insert(self._backward_hooks, RemovableHandle(self._backward_hooks), hook, False)


def register_module_forward_pre_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, args)` before every module's forward and its own pre-hooks.

    The hook returns None or new arguments.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.modules.module import register_module_forward_pre_hook
        >>> handle = register_module_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> tl_nn.Identity()(tl_core.zeros(2))
        tensor([1., 1.])
        >>> handle.remove()
    """
    return _insert(_global_forward_pre_hooks, RemovableHandle(_global_forward_pre_hooks), hook, False)


def register_module_forward_hook(
    hook: Any, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module's forward, before its own forward hooks.

    See `Module.register_forward_hook` for the arguments.

    Args:
        hook: the function. Its result, unless None, replaces the output.
        with_kwargs: whether it takes the keyword arguments of the call too, before the output.
        always_call: whether it is called also after an error.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.modules.module import register_module_forward_hook
        >>> handle = register_module_forward_hook(lambda module, args, result: print(module, tuple(result.shape)))
        >>> result = tl_nn.Linear(2, 1)(tl_core.zeros(4, 2))
        Linear(in_features=2, out_features=1, bias=True) (4, 1)
        >>> handle.remove()
    """
    flags = [_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called]
    handle = RemovableHandle(_global_forward_hooks, extra_dict=flags)
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return _insert(_global_forward_hooks, handle, hook, False)


def register_module_full_backward_pre_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, grad_output)` in backward at every module's outputs.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.modules.module import register_module_full_backward_pre_hook
        >>> handle = register_module_full_backward_pre_hook(lambda module, grad_out: print(grad_out[0]))
        >>> tl_nn.Linear(2, 1)(tl_core.zeros(1, 2)).sum().backward()
        tensor([[1.]])
        >>> handle.remove()
    """
    return _insert(_global_backward_pre_hooks, RemovableHandle(_global_backward_pre_hooks), hook, False)


def register_module_full_backward_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` in backward at every module's inputs.

    Raises:
        RuntimeError: If hooks of `register_module_backward_hook` are registered.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.modules.module import register_module_full_backward_hook
        >>> handle = register_module_full_backward_hook(lambda module, grad_in, grad_out: print(grad_out[0]))
        >>> tl_nn.Linear(2, 1)(tl_core.zeros(1, 2, requires_grad=True)).sum().backward()
        tensor([[1.]])
        >>> handle.remove()
    """
    return _register_global_backward(hook, full=True)


def register_module_backward_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` for the last operation of every module.

    Kept for old programs: `register_module_full_backward_hook` gives the whole module's gradients.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.modules.module import register_module_backward_hook
        >>> handle = register_module_backward_hook(lambda module, grad_in, grad_out: print(grad_out[0]))
        >>> tl_nn.Linear(2, 1)(tl_core.zeros(1, 2)).sum().backward()
        tensor([[1.]])
        >>> handle.remove()
    """
    return _register_global_backward(hook, full=False)


def _register_global_backward(hook: Any, full: bool) -> RemovableHandle:
    if _global_backward_hooks and full is bool(_global_partial_hooks):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    handle = RemovableHandle(_global_backward_hooks, extra_dict=_global_partial_hooks)
    if not full:
        _global_partial_hooks[handle.id] = True
    return _insert(_global_backward_hooks, handle, hook, False)


def _call_with_hooks(
    module: _HooksMixin, args: tuple[Any, ...], kwargs: dict[str, Any], ran: set[int]
) -> Any:
    """Call a module, and add the numbers of its forward hooks to `ran`."""
    args, kwargs = _run_forward_pre_hooks(module, args, kwargs)
    border = _backward_border(module)
    if border is not None:
        args = border.setup_input_hook(args)
    result = module.forward(*args, **kwargs)
    for number, hook, with_kwargs in _all_forward_hooks(module):
        ran.add(number)
        new_result = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if new_result is not None:
            result = new_result
    if border is not None:
        result = border.setup_output_hook(result)
    _attach_partial_hooks(module, args, result)
    return result


def _run_forward_pre_hooks(
    module: _HooksMixin, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    hooks = [(hook, False) for hook in _global_forward_pre_hooks.values()]
    wanting = module._forward_pre_hooks_with_kwargs
    hooks += [(hook, number in wanting) for number, hook in module._forward_pre_hooks.items()]
    for hook, with_kwargs in hooks:
        if with_kwargs:
            args, kwargs = _checked_arguments(hook(module, args, kwargs), args, kwargs)
        else:
            new_args = hook(module, args)
            if new_args is not None:
                args = new_args if isinstance(new_args, tuple) else (new_args,)
    return args, kwargs


def _all_forward_hooks(module: _HooksMixin) -> list[tuple[int, Any, bool]]:
    """The forward hooks in the order they run, each with its number and whether it wants keywords."""
    everywhere, here = _global_forward_hooks_with_kwargs, module._forward_hooks_with_kwargs
    return [
        *((number, hook, number in everywhere) for number, hook in _global_forward_hooks.items()),
        *((number, hook, number in here) for number, hook in module._forward_hooks.items()),
    ]


def _run_always_called(
    module: _HooksMixin, args: tuple[Any, ...], kwargs: dict[str, Any], ran: set[int]
) -> None:
    """After an error: run the hooks registered for that case which haven't run yet."""
    always = {*module._forward_hooks_always_called, *_global_forward_hooks_always_called}
    for number, hook, with_kwargs in _all_forward_hooks(module):
        if number in ran or number not in always:
            continue
        try:
            if with_kwargs:
                hook(module, args, kwargs, None)
            else:
                hook(module, args, None)
        except Exception as error:
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was silenced as "
                f"another error was raised in forward: {error}",
                stacklevel=2,
            )


def _backward_border(module: _HooksMixin) -> BackwardHook | None:
    hooks, pre_hooks = module._get_backward_hooks()[0], module._get_backward_pre_hooks()
    return BackwardHook(module, hooks, pre_hooks) if hooks or pre_hooks else None


def _attach_partial_hooks(module: _HooksMixin, args: tuple[Any, ...], result: Any) -> None:
    hooks = module._get_backward_hooks()[1]
    if not hooks:
        return
    _warn_of_partial_hooks(args, result)
    node = _first_tensor(result).grad_fn
    if node is not None:
        for hook in hooks:
            node.register_hook(partial(hook, module))


def _warn_of_partial_hooks(args: tuple[Any, ...], result: Any) -> None:
    """FutureWarning where the gradients of the last operation differ from the module's gradients."""
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(value, Tensor) for value in args):
        reason = "on a Module that does not take as input a single Tensor or a tuple of Tensors"
    elif not all(isinstance(value, Tensor) for value in results):
        reason = "on a Module that does not return a single Tensor or a tuple of Tensors"
    else:
        nodes = {value.grad_fn for value in results} - {None}
        if len(nodes) > 1:
            reason = "when outputs are generated by different autograd Nodes"
        elif nodes and _before(nodes.pop()) - {value.grad_fn for value in args}:
            reason = "when the forward contains multiple autograd Nodes"
        else:
            return
    warnings.warn(
        f"Using non-full backward hooks {reason} is deprecated: the hook misses some of grad_input or grad_output. "
        "Use register_full_backward_hook.",
        FutureWarning,
        stacklevel=4,
    )


def _before(node: Any) -> set[Any]:
    """The nodes that a node hands gradients to, leaves left out."""
    return {edge[0] for edge in node.next_functions if edge[0] and not hasattr(edge[0], "variable")}


def _decide_backward_kind(module: _HooksMixin, full: bool) -> None:
    if module._backward_hooks and module._is_full_backward_hook is not full:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks on a single Module. "
            "Please use only one of them."
        )
    module._is_full_backward_hook = full


def _insert(
    hooks: OrderedDict[int, Any], handle: RemovableHandle, hook: Any, prepend: bool
) -> RemovableHandle:
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _checked_arguments(
    value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The result of a pre-hook with keyword arguments, or the present arguments for None."""
    if value is None:
        return args, kwargs
    if not (isinstance(value, tuple) and len(value) == 2):
        raise RuntimeError(
            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {value}."
        )
    return value


def _first_tensor(result: Any) -> Tensor:
    """The tensor whose producer a partial backward hook is attached to."""
    while not isinstance(result, Tensor):
        values: Iterator[Any] = iter(result.values() if isinstance(result, dict) else result)
        result = next(values)
    return result


class Module(_HooksMixin, _ToMixin, _StateDictMixin):
    """Base class of everything that computes with parameters.

    A subclass calls `super().__init__()`, assigns its parts, and defines `forward`. Assigning a
    `Parameter`, a `Buffer` or another module registers it: it is then found by
    `parameters`, `state_dict`, `to` and the other methods that reach all parts.

    Attributes:
        training (bool): Whether the module is in training mode, see `train`.
        call_super_init (bool): On the class: whether `__init__` passes its arguments on to the next base class.

    Example:
        >>> import tl_core, tl_nn
        >>> class Scale(tl_nn.Module):
        ...     def __init__(self, size):
        ...         super().__init__()
        ...         self.factor = tl_nn.Parameter(tl_core.full((size,), 2.0))
        ...
        ...     def forward(self, input):
        ...         return input * self.factor
        >>> Scale(3)(tl_core.ones(3)).tolist()
        [2.0, 2.0, 2.0]
    """

    dump_patches: bool = False
    _compiled_call_impl: Any = None

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and in every submodule. Layers such as dropout depend on it.

        Raises:
            ValueError: If `mode` isn't a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: the same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients are recorded for all parameters: False freezes the module.

        Example:
            >>> import tl_nn
            >>> frozen = tl_nn.Linear(2, 2).requires_grad_(False)
            >>> any(parameter.requires_grad for parameter in frozen.parameters())
            False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zero where `set_to_none` is False."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                _zero(parameter.grad)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile `forward` in place, as `torch.compile` compiles a function: its graphs go to a backend.

        Args:
            args, kwargs: the arguments of `torch.compile` after the function.

        Example:
            >>> import tl_nn, warnings
            >>> layer = tl_nn.Identity()
            >>> with warnings.catch_warnings():
            ...     warnings.simplefilter("ignore")
            ...     layer.compile()
            >>> layer(3)
            3
        """
        if "compile" not in operator_hooks.makers:
            backend_registry.load("tracer")
        if "compile" not in operator_hooks.makers:
            warnings.warn(
                "Module.compile: tl-compiler isn't installed; the module runs eagerly", stacklevel=2
            )
            return
        compiled_forward = operator_hooks.maker("compile")(self.forward, *args, **kwargs)
        self._compiled_call_impl = compiled_forward
        object.__setattr__(self, "forward", compiled_forward)

    # Printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text between the brackets of the module's `repr`, empty by default."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _indent(repr(module)) for name, module in self._modules.items()]
        if len(lines) <= 1 and not children:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _zero(grad: Any) -> None:
    """Zero a gradient in place, cutting it off from the graph it may belong to."""
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines after the first are indented: modules outside call it in their `__repr__`."""
    return s_.replace("\n", "\n" + " " * numSpaces)
