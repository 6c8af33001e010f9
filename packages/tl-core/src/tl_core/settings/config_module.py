"""`torch.utils._config_module`: modules whose variables are settings: saved, compared and patched.

A module of settings ends with `install_config_module(sys.modules[__name__])`. From then on its variables are read
from a table: what a program sets stands beside the default and the environment, and classes in the module are groups of
settings with dotted names.

>>> import types
>>> settings = types.ModuleType("settings")
>>> settings.depth = 3
>>> install_config_module(settings)
>>> with settings.patch(depth=5):
...     settings.depth
5
>>> settings.depth
3
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import importlib
import inspect
import io
import os
import pickle
import tokenize
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Generic, TypeVar

__all__ = ["COMPILE_IGNORED_MARKER", "CONFIG_TYPES", "Config", "ConfigModule", "SubConfigProxy",
           "get_assignments_with_compile_ignored_comments", "get_tristate_env", "install_config_module"]  # fmt: skip

T = TypeVar("T")

CONFIG_TYPES = (int, float, bool, type(None), str, list, set, tuple, dict)
COMPILE_IGNORED_MARKER = "@compile_ignored"
_UNSET_SENTINEL = object()
_CONTAINERS = (list, set, dict)


def get_tristate_env(name: str, default: Any = None) -> bool | None:
    """A variable of the environment that is "1" or "0"; anything else is `default`.

    Example:
        >>> get_tristate_env("NOBODY_SETS_THIS", default=True)
        True
    """
    return {"1": True, "0": False}.get(os.environ.get(name, ""), default)


def _from_environment(names: list[str] | None) -> Any:
    for name in names or ():
        text = os.environ.get(name)
        if text is not None:
            return {"1": True, "0": False}.get(text, text)
    return _UNSET_SENTINEL


@dataclass(kw_only=True)
class Config(Generic[T]):
    """A setting that is more than its default.

    The first of these that is there counts: `env_name_force`, what the program set, `env_name_default`, the default.

    Args:
        default: the value where nothing else says one.
        justknob: the name of a switch that others may decide; here it is on, and so the setting is its default.
        env_name_default: variables of the environment, the first that is there counts; "1" and "0" are bools.
        env_name_force: the same, and they win over what the program sets.
        value_type: the type; that of the default otherwise.
        alias: the dotted name of another setting that this one stands for.

    Raises:
        AssertionError: a `justknob` whose default is no bool, or an `alias` with anything else.
    """

    default: Any = _UNSET_SENTINEL
    justknob: str | None = None
    env_name_default: Any = None
    env_name_force: Any = None
    value_type: Any = None
    alias: str | None = None
    deprecated: bool = False
    deprecation_message: str | None = None

    def __post_init__(self) -> None:
        self.env_name_default = _as_list(self.env_name_default)
        self.env_name_force = _as_list(self.env_name_force)
        sources = (self.justknob, self.env_name_default, self.env_name_force)
        if self.alias is not None and (self.default is not _UNSET_SENTINEL or any(sources)):
            raise AssertionError("if alias is set, default, justknob and env names must not be set")
        if self.justknob is not None and not isinstance(self.default, bool):
            raise AssertionError(f"justknobs only support booleans, {self.default} is not a boolean")


_Config = Config


def _as_list(names: Any) -> list[str] | None:
    return [names] if isinstance(names, str) else names


class _ConfigEntry:
    """A setting's line in the table."""

    def __init__(self, config: Config[Any]) -> None:
        self.default = config.default
        self.value_type = config.value_type if config.value_type is not None else type(config.default)
        self.justknob, self.alias = config.justknob, config.alias
        self.env_value_default = _from_environment(config.env_name_default)
        self.env_value_force = _from_environment(config.env_name_force)
        self.user_override: Any = _UNSET_SENTINEL
        self.hide = False

    def value(self) -> Any:
        for candidate in (self.env_value_force, self.user_override, self.env_value_default):
            if candidate is not _UNSET_SENTINEL:
                return candidate
        if isinstance(self.default, _CONTAINERS):  # so that a change of the value is no change of the default
            self.user_override = copy.deepcopy(self.default)
            return self.user_override
        return self.default

    def is_default(self) -> bool:
        if self.env_value_force is not _UNSET_SENTINEL or self.env_value_default is not _UNSET_SENTINEL:
            return False
        return self.user_override is _UNSET_SENTINEL or self.user_override == self.default


def install_config_module(module: ModuleType) -> None:
    """Makes the variables of a module settings.

    Args:
        module: one whose variables are numbers, texts, containers, `Config` objects, and classes of such. Names that
            begin with two underscores, functions and modules stay as they are.
    """
    table: dict[str, _ConfigEntry] = {}
    _collect(table, module, module, "")
    ignored = get_assignments_with_compile_ignored_comments(module)
    vars(module).update(
        _config=table, _bypass_keys=_BYPASSED, _compile_ignored_keys=ignored, _hash_digest=None
    )
    module.__class__ = ConfigModule


_BYPASSED = frozenset({"_is_dirty", "_hash_digest", "__annotations__", "_config", "_bypass_keys",
                       "_compile_ignored_keys"})  # fmt: skip


def _collect(table: dict[str, _ConfigEntry], module: ModuleType, source: Any, prefix: str) -> None:
    annotations = inspect.get_annotations(source) if isinstance(source, (type, ModuleType)) else {}
    for name, value in list(vars(source).items()):
        if name.startswith("__") or isinstance(value, (ModuleType, FunctionType)):
            continue
        if name in ("annotations", "Any", "Union", "Optional") or typing.get_origin(value) is not None:
            continue
        dotted = f"{prefix}{name}"
        if isinstance(value, Config):
            table[dotted] = _ConfigEntry(value)
        elif isinstance(value, CONFIG_TYPES):
            table[dotted] = _ConfigEntry(Config(default=value, value_type=annotations.get(name)))
        elif isinstance(value, type) and value.__module__ == module.__name__:
            _collect(table, module, value, f"{dotted}.")
            setattr(module, dotted, SubConfigProxy(module, f"{dotted}."))
            continue
        else:
            continue
        delattr(source, name)


def get_assignments_with_compile_ignored_comments(module: ModuleType) -> set[str]:
    """The variables of a module that a comment `# @compile_ignored: reason` on the line before leaves out of hashes."""
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):
        return set()  # made without a file
    ignored: set[str] = set()
    marked, names = False, []
    for token in tokenize.tokenize(io.BytesIO(source.encode()).readline):
        if token.type == tokenize.COMMENT:
            marked |= COMPILE_IGNORED_MARKER in token.string
        elif token.type == tokenize.NAME:
            names.append(token.string)
        elif token.type == tokenize.OP and token.string == "=" and marked and names:
            ignored.add(names[0])
        elif token.type == tokenize.NEWLINE:
            marked, names = False, []
    return ignored


class ConfigModule(ModuleType):
    """A module of settings."""

    _config: dict[str, _ConfigEntry]
    _bypass_keys: frozenset[str]
    _compile_ignored_keys: set[str]
    _hash_digest: bytes | None

    def __init__(self) -> None:
        raise NotImplementedError(f"use {__name__}.install_config_module(sys.modules[__name__])")

    def _entry(self, name: str) -> _ConfigEntry:
        entry = self._config.get(name)
        if entry is None or entry.hide:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        return entry

    def _other(self, entry: _ConfigEntry) -> tuple[Any, str]:
        module, _, name = str(entry.alias).rpartition(".")
        return importlib.import_module(module), name

    def __getattr__(self, name: str) -> Any:
        entry = self._entry(name)
        return getattr(*self._other(entry)) if entry.alias is not None else entry.value()

    def __setattr__(self, name: str, value: object) -> None:
        if name in self._bypass_keys or name.startswith("__"):  # the import machinery sets `__spec__`
            super().__setattr__(name, value)
            return
        if name not in self._config:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        entry = self._config[name]
        if entry.alias is not None:
            setattr(*self._other(entry), value)
            return
        entry.user_override, entry.hide = value, False
        super().__setattr__("_hash_digest", None)

    def __delattr__(self, name: str) -> None:
        entry = self._entry(name)  # `unittest.mock` deletes, and sets again
        entry.user_override, entry.hide = _UNSET_SENTINEL, True
        super().__setattr__("_hash_digest", None)

    def _is_default(self, name: str) -> bool:
        return self._entry(name).is_default()

    def _get_dict(self, ignored_keys: list[str] | None = None, ignored_prefixes: list[str] | None = None,
                  skip_default: bool = False) -> dict[str, Any]:  # fmt: skip
        left_out, prefixes = set(ignored_keys or ()), tuple(ignored_prefixes or ())
        return {
            name: copy.deepcopy(getattr(self, name))
            for name, entry in self._config.items()
            if not (entry.hide or entry.alias is not None or name in left_out or name.startswith(prefixes))
            and not (skip_default and entry.is_default())
        }

    def get_type(self, config_name: str) -> type:
        """The type that a setting was declared with."""
        declared: type = self._entry(config_name).value_type
        return declared

    def to_dict(self) -> dict[str, Any]:
        """All settings by their dotted names; the values are copies."""
        return self._get_dict()

    shallow_copy_dict = get_config_copy = get_serializable_config_copy = to_dict

    def save_config(self) -> bytes:
        """All settings as a pickle, but those whose names `_save_config_ignore` lists."""
        return pickle.dumps(self._get_dict(ignored_keys=self._names_in("_save_config_ignore")), protocol=2)

    def save_config_portable(self, *, ignore_private_configs: bool = True) -> dict[str, Any]:
        """The settings that make sense elsewhere: those with neither an underscore before, nor a prefix that
        `_cache_config_ignore_prefix` lists."""
        prefixes = self._names_in("_cache_config_ignore_prefix")
        return self._get_dict(ignored_prefixes=prefixes + ["_"] * ignore_private_configs)

    def _names_in(self, name: str) -> list[str]:
        return list(getattr(self, name)) if name in self._config else []

    def load_config(self, maybe_pickled_config: bytes | dict[str, Any]) -> None:
        """Sets what `save_config` or `to_dict` gave. A pickle may run code: only load your own."""
        config = maybe_pickled_config
        settings = config if isinstance(config, dict) else pickle.loads(config)
        for name, value in settings.items():
            if name in self._config:
                setattr(self, name, value)

    def codegen_config(self) -> str:
        """The settings that differ from their defaults, as lines of Python."""
        changed = self._get_dict(skip_default=True)
        return "\n".join(f"{self.__name__}.{name} = {value!r}" for name, value in changed.items())

    def get_hash(self) -> bytes:
        """A digest of all settings but those marked `# @compile_ignored`."""
        if self._hash_digest is None:
            settings = self._get_dict(ignored_keys=list(self._compile_ignored_keys))
            text = repr(sorted(settings.items())).encode()
            self._hash_digest = hashlib.md5(text, usedforsecurity=False).digest()
        return self._hash_digest

    def patch(self, arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> Any:
        """A `with` block or a decorator in which settings have other values.

        Args:
            arg1: a name, with the value as `arg2`, or a dict of values by name; names may also be keywords.
        """
        if isinstance(arg1, str):
            changes = {arg1: arg2}
        else:
            changes = dict(arg1 or {})
            if arg2 is not None:
                raise AssertionError("patch(): a second argument needs a name as the first")
        changes.update(kwargs)
        for name in changes:
            if name not in self._config:
                raise AssertionError(f"{self.__name__}.{name} does not exist")
        return _Patch(self, changes)

    def _make_closure_patcher(self, **changes: Any) -> Callable[[], Callable[[], None]]:
        def change() -> Callable[[], None]:
            block = self.patch(changes)
            block.__enter__()
            return lambda: block.__exit__(None, None, None)

        return change


class _Patch(contextlib.ContextDecorator):
    """A block in which settings have other values."""

    def __init__(self, module: ConfigModule, changes: dict[str, Any]) -> None:
        self._module, self._changes = module, changes
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append({name: getattr(self._module, name) for name in self._changes})
        for name, value in self._changes.items():
            setattr(self._module, name, value)

    def __exit__(self, *error: object) -> None:
        for name, value in self._before.pop().items():
            setattr(self._module, name, value)

    def __call__(self, func: Callable[..., Any]) -> Any:
        if not isinstance(func, type):
            return super().__call__(func)
        return self._around_tests(func)

    def _around_tests(self, cls: type) -> type:
        for name, method in _test_methods(cls):
            setattr(cls, name, functools.wraps(method)(super().__call__(method)))
        return cls


def _test_methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(cls):
        if name.startswith("test") and callable(getattr(cls, name)):
            yield name, getattr(cls, name)


class SubConfigProxy:
    """A group of a module's settings: its attributes are those whose names begin with the group's."""

    def __init__(self, config: Any, prefix: str) -> None:
        super().__setattr__("_config", config)
        super().__setattr__("_prefix", prefix)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._config, self._prefix + name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._config, self._prefix + name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._config, self._prefix + name)
