"""Saving a module's state to a dictionary and loading it back."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from tl_autograd.hooks import RemovableHandle
from tl_core import Tensor, no_grad
from tl_core.settings.conversions import get_swap_module_params_on_conversion
from tl_core.tensors.swapping import swap_tensors

from ..parameter import Parameter, is_lazy
from .key_hints import key_hints
from .named_modules import _NamedModulesMixin

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """The keys a load found missing from the dictionary and those it had no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class _StateDictMixin(_NamedModulesMixin):
    """The state dictionary of a module: parameters, persistent buffers and extra state by dotted name."""

    _version: int = 1
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]

    # Saving

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers, by dotted name.

        Args:
            destination (dict, optional): The dictionary for the result, by default a new `OrderedDict`.
            prefix (str): Put before every name.
            keep_vars (bool): Whether the tensors stay attached to the graph. They are detached by default, sharing
                memory.

        Example:
            >>> import tl_nn
            >>> list(tl_nn.Linear(2, 3).state_dict())
            ['weight', 'bias']
        """
        if args:
            destination, prefix, keep_vars = _positional_arguments(args, destination, prefix, keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in tuple(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return _run_save_hooks(self, destination, prefix, metadata)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state, without its submodules', into `destination`."""
        for name, tensor in _own_state(self):
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    # Extra state

    def get_extra_state(self) -> Any:
        """The state to save beside the tensors. A class that overrides this overrides `set_extra_state` too.

        The result is part of `state_dict` under `_extra_state` and has to be picklable.
        """
        raise RuntimeError(f"{type(self).__name__} has no extra state: it doesn't override get_extra_state()")

    def set_extra_state(self, state: Any) -> None:
        """Load a result of `get_extra_state`. `load_state_dict` calls it."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: it doesn't override set_extra_state()")

    # Loading

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy parameters and buffers from `state_dict` into this module and those below it.

        Args:
            state_dict (mapping): Tensors by dotted name, as `state_dict` gives them.
            strict (bool): Whether a name without counterpart, on either side, is an error.
            assign (bool): Whether the given tensors themselves become the module's, with their dtype and device,
                instead of being copied into the present ones.

        Returns:
            named tuple: `missing_keys` and `unexpected_keys`, both lists of str.

        Raises:
            TypeError: If `state_dict` isn't a mapping.
            RuntimeError: If a shape doesn't fit or, with `strict`, the names don't. Every reason is listed, with how
                many names were loaded, and the nearest ones of those that weren't.

        Example:
            >>> import tl_nn
            >>> source, target = tl_nn.Linear(2, 3), tl_nn.Linear(2, 3)
            >>> target.load_state_dict(source.state_dict())
            <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        load = _Load(state_dict, strict, assign)
        load.run(self)
        errors = load.error_msgs + (load.key_errors() if strict else [])
        if errors:
            reasons = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{reasons}")
        return load.incompatible

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state, without its submodules. Classes override it to read old formats.

        `missing_keys`, `unexpected_keys` and `error_msgs` are extended; nothing is raised, so that the
        caller can report all trouble at once.
        """
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, present in _own_state(self):
            if present is None:
                continue
            if prefix + name in state_dict:
                _load_member(
                    self, name, prefix + name, present, state_dict[prefix + name], assign, error_msgs
                )
            elif strict:
                missing_keys.append(prefix + name)
        _load_extra_state(self, state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys.extend(_unexpected_keys(self, state_dict, prefix))

    # Hooks

    def register_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is saved."""
        return _register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the state is saved.

        The hook changes `state_dict` in place and returns None.
        """
        return _register(self._state_dict_hooks, _InPlaceHook(hook))

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        """Like `register_state_dict_post_hook`. The hook may also return another dictionary."""
        return _register(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call a hook before the state of this module is loaded.

        It is called as ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` and may change any of the containers.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Any, with_module: bool = False) -> RemovableHandle:
        """Like the public method, but the hook gets the module only if `with_module`."""
        return _register(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module and those below it were loaded.

        The hook may change the two lists in place, which decides what `strict` complains about, and
        returns None.
        """
        return _register(self._load_state_dict_post_hooks, hook)


def _own_state(module: _StateDictMixin) -> list[tuple[str, Tensor | None]]:
    """A module's parameters and persistent buffers, None included."""
    passing = module._non_persistent_buffers_set
    buffers = [(name, buffer) for name, buffer in module._buffers.items() if name not in passing]
    return [*module._parameters.items(), *buffers]


def _overrides(module: _StateDictMixin, method: str) -> bool:
    return getattr(type(module), method) is not getattr(_StateDictMixin, method)


def _run_save_hooks(module: _StateDictMixin, destination: Any, prefix: str, metadata: dict[str, Any]) -> Any:
    """The dictionary after the hooks on saving, which may exchange it."""
    for hook in tuple(module._state_dict_hooks.values()):
        result = hook(module, destination, prefix, metadata)
        if result is not None:
            destination = result
    return destination


def _load_extra_state(
    module: _StateDictMixin,
    state_dict: Any,
    prefix: str,
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
) -> None:
    key = prefix + _EXTRA_STATE_KEY_SUFFIX
    if _overrides(module, "set_extra_state"):
        if key in state_dict:
            module.set_extra_state(state_dict[key])
        elif strict:
            missing_keys.append(key)
    elif strict and key in state_dict:
        unexpected_keys.append(key)


def _unexpected_keys(module: _StateDictMixin, state_dict: Any, prefix: str) -> list[str]:
    """The keys below `prefix` that name neither something of this module nor of a submodule."""
    own = {name for name, tensor in _own_state(module) if tensor is not None}
    unexpected = []
    for key in state_dict:
        if key.startswith(prefix) and key != prefix + _EXTRA_STATE_KEY_SUFFIX:
            head, dot, _ = key[len(prefix) :].partition(".")
            if head not in (module._modules if dot else own):
                unexpected.append(key)
    return unexpected


class _WrappedHook:
    """A hook, and the module it is given first, which it doesn't keep alive."""

    def __init__(self, hook: Any, module: Any = None) -> None:
        self.hook, self.module = hook, None if module is None else weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        if self.module is None:
            return self.hook(*args)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)

    def __getstate__(self) -> dict[str, Any]:
        """The entries that PyTorch's files have."""
        state = {"hook": self.hook, "with_module": self.module is not None}
        return state if self.module is None else state | {"module": self.module()}

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple):  # of older files
            state = dict(zip(("hook", "module"), state, strict=True))
        self.__init__(state["hook"], state.get("module"))  # type: ignore[misc]  # of this class alone


class _InPlaceHook:
    """A hook on saving that may change the dictionary but not exchange it."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook

    def __call__(self, *args: Any) -> None:
        if self.hook(*args) is not None:
            raise RuntimeError("state_dict post-hook must return None")


class _Load:
    """One call of `load_state_dict`: the state, the options, and the errors."""

    def __init__(self, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> None:
        self.metadata = getattr(state_dict, "_metadata", None)
        self.state = _copy_dictionary(state_dict, self.metadata)
        self.strict = strict
        self.assign = assign
        self.incompatible = _IncompatibleKeys([], [])
        self.error_msgs: list[str] = []

    def run(self, module: Any) -> None:
        self._load(module, self.state, "")

    def _load(self, module: Any, state: Any, prefix: str) -> None:
        metadata = dict(self.metadata.get(prefix[:-1], {})) if self.metadata else {}
        if self.assign:
            metadata["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, metadata, True, *self.incompatible, self.error_msgs)
        parts = _by_child(state, prefix)
        for name, child in module._modules.items():
            if child is not None:
                self._load(child, parts.get(name, {}), f"{prefix}{name}.")
        self._run_post_hooks(module)

    def _run_post_hooks(self, module: Any) -> None:
        for hook in tuple(module._load_state_dict_post_hooks.values()):
            if hook(module, self.incompatible) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                    "new values; modify incompatible_keys in place instead."
                )

    def key_errors(self) -> list[str]:
        key_lists = (
            ("Missing", self.incompatible.missing_keys),
            ("Unexpected", self.incompatible.unexpected_keys),
        )
        errors = [f"{kind} key(s) in state_dict: {_quote(keys)}. " for kind, keys in key_lists if keys]
        if not errors:
            return []
        loaded = len(self.state) - len(self.incompatible.unexpected_keys) - len(self.error_msgs)
        total = loaded + len(self.incompatible.missing_keys) + len(self.error_msgs)
        return errors + key_hints(*self.incompatible, loaded, total)


def _quote(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _copy_dictionary(state_dict: Mapping[str, Any], metadata: Any) -> Any:
    """A dictionary that hooks may change without changing the caller's."""
    copied: Any = OrderedDict()
    copied.update(state_dict)
    if metadata is not None:
        copied._metadata = metadata
    return copied


def _by_child(state: Mapping[str, Any], prefix: str) -> dict[str, dict[str, Any]]:
    """The entries below `prefix`, gathered in one pass by the child they belong to."""
    parts: dict[str, dict[str, Any]] = {}
    for key, value in state.items():
        head, dot, _ = key[len(prefix) :].partition(".")
        if dot and key.startswith(prefix):
            parts.setdefault(head, {})[key] = value
    return parts


def _load_member(
    module: Any, name: str, key: str, present: Tensor, value: Any, assign: bool, error_msgs: list[str]
) -> None:
    """Copy or assign one tensor. Errors are added to `error_msgs`."""
    if not isinstance(value, Tensor):
        error_msgs.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
            f"checkpoint but received {type(value)}"
        )
        return
    if is_lazy(present):  # neither has values yet
        return
    if present.dim() == 0 and tuple(value.shape) == (1,):
        value = value[0]  # scalars were once saved as vectors of one element
    if value.shape != present.shape:
        error_msgs.append(
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {present.shape}."
        )
        return
    try:
        with no_grad():
            if get_swap_module_params_on_conversion():
                _swap(present, value, assign)
            elif assign:
                _assign(module, name, present, value)
            else:
                _copy(key, present, value)
    except Exception as error:
        error_msgs.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are {present.shape} '
            f"and whose dimensions in the checkpoint are {value.shape}, an exception occurred : {error.args}."
        )


def _assign(module: Any, name: str, present: Tensor, value: Tensor) -> None:
    if isinstance(present, Parameter):
        if isinstance(value, Parameter):
            value.requires_grad_(present.requires_grad)
        else:
            value = Parameter(value, requires_grad=present.requires_grad)
    setattr(module, name, value)


def _swap(present: Tensor, value: Tensor, assign: bool) -> None:
    """Swap the result of `module_load` into the parameter or buffer, which stays the same object."""
    loaded = present.module_load(value, assign=assign)
    if loaded is present or loaded is value:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs "
            "in module_load"
        )
    if isinstance(present, Parameter):
        if not isinstance(loaded, Parameter):
            loaded = Parameter(loaded, requires_grad=present.requires_grad)
        loaded.requires_grad_(present.requires_grad)
    swap_tensors(present, loaded)


def _copy(key: str, present: Tensor, value: Tensor) -> None:
    if present.is_meta and not value.is_meta:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
            "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
            "state dictionary to their corresponding key in the module instead of copying them in place?)",
            stacklevel=2,
        )
    present.copy_(value)


def _register(hooks: OrderedDict[int, Any], hook: Any) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def _positional_arguments(
    args: tuple[Any, ...], destination: Any, prefix: str, keep_vars: bool
) -> tuple[Any, str, bool]:
    """The positional arguments of `state_dict`, for old programs."""
    warnings.warn(
        "Positional args are being deprecated, use kwargs instead. Refer to the documentation of "
        "Module.state_dict for details.",
        FutureWarning,
        stacklevel=3,
    )
    values = (*args, *(destination, prefix, keep_vars)[len(args) :])
    return values[0] if values[0] is not None else destination, values[1], values[2]
