"""The parameters, buffers and submodules of a module by name, and their assignment."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NoReturn, Self

from tl_autograd.hooks import RemovableHandle
from tl_core import Tensor, typename
from tl_core.base.public_names import name_constructor

from ..parameter import Buffer, Parameter

_global_buffer_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Any] = OrderedDict()


def register_module_buffer_registration_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever any module registers a buffer.

    The hook returns None, or the buffer to register in its place.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.modules.module import register_module_buffer_registration_hook
        >>> handle = register_module_buffer_registration_hook(lambda module, name, buffer: print(name))
        >>> tl_nn.Module().register_buffer("mean", tl_core.zeros(2))
        mean
        >>> handle.remove()
    """
    return _register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever any module registers a submodule.

    The hook returns None, or the submodule to register in its place.

    Example:
        >>> import tl_nn
        >>> from tl_nn.modules.module import register_module_module_registration_hook
        >>> handle = register_module_module_registration_hook(lambda module, name, child: print(name, child))
        >>> model = tl_nn.Sequential(tl_nn.ReLU())
        0 ReLU()
        >>> handle.remove()
    """
    return _register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever any module registers a parameter.

    The hook returns None, or the parameter to register in its place.

    Example:
        >>> import tl_nn
        >>> from tl_nn.modules.module import register_module_parameter_registration_hook
        >>> handle = register_module_parameter_registration_hook(lambda module, name, value: print(name))
        >>> layer = tl_nn.Linear(3, 2)
        weight
        bias
        >>> handle.remove()
    """
    return _register(_global_parameter_registration_hooks, hook)


def _register(hooks: OrderedDict[int, Any], hook: Any) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class _RegistrationMixin:
    """The named members of a module.

    Parameters, buffers and submodules stand in the dictionaries `_parameters`, `_buffers` and
    `_modules`, which are the only record of them: changing a dictionary changes the module.
    Everything else is an ordinary attribute. Helpers are functions of this file, not methods: subclasses,
    written by anybody, own all names but the documented ones.
    """

    training: bool
    call_super_init: bool = False
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            _refuse_arguments(self, args, kwargs)
        for name, make in _INITIAL_STATE:
            object.__setattr__(self, name, make())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("tl_"):
            name_constructor(cls)
        # Before __init__, a subclass's __getattr__ would be called for missing attributes and may recurse forever.
        if "__getattr__" in cls.__dict__:
            for name in _MEMBER_DICTS:
                if name not in cls.__dict__:
                    setattr(cls, name, _UNSET)

    # Reading, writing and deleting an attribute. None of it touches __dict__: an instance keeps its attributes
    # in a compact form until a program reads its dictionary.

    def __getattr__(self, name: str) -> Any:
        if (
            name in _MEMBER_DICTS
        ):  # before __init__: an error would ask the __getattr__ of a subclass, without end
            return _UNSET
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        parameters, buffers, modules = self._parameters, self._buffers, self._modules
        if modules is _UNSET:
            _set_before_init(self, name, value)
            return
        # `isinstance` with Parameter or Buffer runs Python, so only tensors are tested.
        is_tensor = isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            _assign_parameter(self, name, value)
        elif name in parameters:
            _replace_parameter(self, name, value)
        elif isinstance(value, _RegistrationMixin):
            _assign_module(self, name, value)
        elif name in modules:
            _replace_module(self, name, value)
        elif name in buffers or (is_tensor and isinstance(value, Buffer)):
            _assign_buffer(self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = set(object.__dir__(self)).union(self._parameters, self._buffers, self._modules)
        return sorted(name for name in names if not name[:1].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if state.pop("_compiled_call_impl", None) is not None:
            state.pop("forward", None)  # `compile` makes it anew
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a pickled `__dict__`, completing one that an older version wrote."""
        for name, value in state.items():
            if hasattr(type(self), name):
                self.__dict__[name] = value
            else:
                object.__setattr__(self, name, value)
        for name, make in _INITIAL_STATE:
            if name not in state:
                object.__setattr__(self, name, make())

    # Registering

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`, so that `parameters` yields it.

        A name registered with None is an attribute that reads None and stays out of `state_dict`.

        Raises:
            TypeError: If `name` isn't a string or `param` isn't a `Parameter`.
            KeyError: If `name` is empty, holds a dot, or names another attribute.
            ValueError: If `param` is the result of a differentiable computation.

        Example:
            >>> import tl_core, tl_nn
            >>> module = tl_nn.Module()
            >>> module.register_parameter("scale", tl_nn.Parameter(tl_core.ones(3)))
            >>> [name for name, _ in module.named_parameters()]
            ['scale']
        """
        _check_registration(self, "parameter", name, "_parameters")
        if param is not None:
            _check_parameter(name, param)
            param = _ask_hooks(self, _global_parameter_registration_hooks, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module's state but isn't learned, such as a running mean.

        Buffers move and convert with the module. Persistent ones are part of `state_dict`.

        Raises:
            TypeError: If `name` isn't a string or `tensor` isn't a tensor.
            KeyError: If `name` is empty, holds a dot, or names another attribute.

        Example:
            >>> import tl_core, tl_nn
            >>> module = tl_nn.Module()
            >>> module.register_buffer("mean", tl_core.zeros(2))
            >>> list(module.state_dict())
            ['mean']
        """
        _check_registration(self, "buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _ask_hooks(self, _global_buffer_registration_hooks, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule under `name`. None reserves the name.

        Raises:
            TypeError: If `name` isn't a string or `module` isn't a module.
            KeyError: If `name` is empty, holds a dot, or names another attribute.
        """
        if module is not None and not isinstance(module, _RegistrationMixin):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _check_registration(self, "module", name, "_modules")
        self._modules[name] = _ask_hooks(self, _global_module_registration_hooks, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """Alias of `add_module`."""
        self.add_module(name, module)

    def _replicate_for_data_parallel(self) -> Self:
        """A shallow copy with member dictionaries of its own, whose parameters may be replaced."""
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica.__dict__.update(
            _parameters={}, _buffers=self._buffers.copy(), _modules=self._modules.copy(), _is_replica=True
        )
        return replica


def _refuse_arguments(module: _RegistrationMixin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    kind = type(module).__name__
    if kwargs:
        raise TypeError(f"{kind}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if args:
        raise TypeError(f"{kind}.__init__() takes 1 positional argument but {len(args) + 1} were given")


def _set_before_init(module: _RegistrationMixin, name: str, value: Any) -> None:
    for kind, what in ((Parameter, "parameters"), (_RegistrationMixin, "module"), (Buffer, "buffer")):
        if isinstance(value, kind):
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
    object.__setattr__(module, name, value)


def _check_registration(module: _RegistrationMixin, kind: str, name: str, members: str) -> None:
    registered = getattr(module, members)
    if registered is _UNSET:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
    if not name:
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if name not in registered and hasattr(module, name):
        raise KeyError(f"attribute '{name}' already exists")


def _check_parameter(name: str, param: Any) -> None:
    if not isinstance(param, Parameter):
        raise TypeError(
            f"cannot assign '{typename(param)}' object to parameter '{name}' "
            "(torch.nn.Parameter or None required)"
        )
    if not param.is_leaf:
        raise ValueError(
            f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
            "explicitly: to compute one from another tensor, do so in forward()."
        )


def _ask_hooks(module: _RegistrationMixin, hooks: OrderedDict[int, Any], name: str, member: Any) -> Any:
    for hook in tuple(hooks.values()):
        replacement = hook(module, name, member)
        if replacement is not None:
            member = replacement
    return member


def _assign_parameter(module: _RegistrationMixin, name: str, param: Parameter) -> None:
    _forget(module, name, module._buffers, module._modules)
    module.register_parameter(name, param)


def _replace_parameter(module: _RegistrationMixin, name: str, value: Any) -> None:
    if value is not None:
        _refuse_value("parameter", name, value, "torch.nn.Parameter or None expected")
    module.register_parameter(name, None)


def _assign_module(module: _RegistrationMixin, name: str, value: _RegistrationMixin) -> None:
    _forget(module, name, module._parameters, module._buffers)
    module._modules[name] = _ask_hooks(module, _global_module_registration_hooks, name, value)


def _replace_module(module: _RegistrationMixin, name: str, value: Any) -> None:
    if value is not None:
        _refuse_value("child module", name, value, "torch.nn.Module or None expected")
    module._modules[name] = _ask_hooks(module, _global_module_registration_hooks, name, None)


def _assign_buffer(module: _RegistrationMixin, name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Tensor):
        _refuse_value("buffer", name, value, "torch.nn.Buffer, torch.Tensor or None expected")
    if isinstance(value, Buffer):
        # Persistence is passed only where it is unusual: a subclass may override register_buffer without it.
        options = () if getattr(value, "persistent", True) else (False,)
        module.register_buffer(name, value, *options)
    else:
        module._buffers[name] = _ask_hooks(module, _global_buffer_registration_hooks, name, value)


def _refuse_value(kind: str, name: str, value: Any, expected: str) -> NoReturn:
    raise TypeError(f"cannot assign '{typename(value)}' as {kind} '{name}' ({expected})")


def _forget(module: _RegistrationMixin, name: str, *kinds: dict[str, Any]) -> None:
    """Drop an attribute or member that a new member of the same name takes the place of."""
    with suppress(AttributeError):
        object.__delattr__(module, name)
    for members in kinds:
        members.pop(name, None)
    if name not in module._buffers:
        module._non_persistent_buffers_set.discard(name)


_UNSET: Mapping[str, Any] = MappingProxyType({})  # the members of a module before its __init__
_MEMBER_DICTS = frozenset(("_parameters", "_buffers", "_modules"))

_INITIAL_STATE: tuple[tuple[str, Any], ...] = (
    ("training", lambda: True),
    ("_parameters", dict),
    ("_buffers", dict),
    ("_non_persistent_buffers_set", set),
    ("_backward_pre_hooks", OrderedDict),
    ("_backward_hooks", OrderedDict),
    ("_is_full_backward_hook", lambda: None),
    ("_forward_hooks", OrderedDict),
    ("_forward_hooks_with_kwargs", OrderedDict),
    ("_forward_hooks_always_called", OrderedDict),
    ("_forward_pre_hooks", OrderedDict),
    ("_forward_pre_hooks_with_kwargs", OrderedDict),
    ("_state_dict_hooks", OrderedDict),
    ("_state_dict_pre_hooks", OrderedDict),
    ("_load_state_dict_pre_hooks", OrderedDict),
    ("_load_state_dict_post_hooks", OrderedDict),
    ("_modules", dict),
)
