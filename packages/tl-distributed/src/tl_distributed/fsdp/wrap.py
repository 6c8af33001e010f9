"""The choice of modules to wrap: policies, and a region in which `wrap` wraps."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tl_nn import Module, ModuleDict, ModuleList, MultiheadAttention

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wraps every module.

    Args:
        args: unused.
        kwargs: unused.
    """
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Wraps what a function names.

    Args:
        module: the module in question.
        recurse: whether the question is if its children are looked at, which they are.
        nonwrapped_numel: how many elements of its parameters are in no wrapped module.
        lambda_fn: takes a module.
    """
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """Wraps the layers of a transformer.

    Args:
        module: the module in question.
        recurse: whether the question is if its children are looked at, which they are.
        nonwrapped_numel: how many elements of its parameters are in no wrapped module.
        transformer_layer_cls: the classes of layers.
    """
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def _module_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, module_classes: set[type[Module]]
) -> bool:
    return True if recurse else isinstance(module, tuple(module_classes))


def _or_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]
) -> bool:
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies
    )


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Wraps modules with many parameters.

    Args:
        module: the module in question.
        recurse: whether the question is if its children are looked at.
        nonwrapped_numel: how many elements of its parameters are in no wrapped module.
        min_num_params: how many are many.
        force_leaf_modules: classes whose children are not looked at; `MultiheadAttention` by default.
        exclude_wrap_modules: classes that are not wrapped; `ModuleList` and `ModuleDict` by default.
    """
    policy: Any = size_based_auto_wrap_policy
    leaves = policy.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    excluded = policy.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    unlike = leaves if recurse else excluded
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(unlike))


# Programs change the classes by these names.
size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # type: ignore[attr-defined]  # a function
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # type: ignore[attr-defined]  # a function


class _Policy:
    """The choice for each module of a model whether to wrap it, and the options."""

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, Any]
    ) -> dict[Module, dict[str, Any]]:
        settings: dict[Module, dict[str, Any]] = {}
        for module in root_module.modules():
            if module not in ignored_modules and (options := self._options(module)) is not None:
                settings[module] = {**root_kwargs, **options}
        return settings

    def _options(self, module: Module) -> dict[str, Any] | None:
        """The options of a module that is wrapped; None for the others."""
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Wraps the modules of some classes.

    Args:
        module_classes: the classes.

    Example:
        >>> import tl_nn as nn
        >>> policy = ModuleWrapPolicy({nn.Linear})
        >>> policy(nn.Linear(1, 1), recurse=False), policy(nn.ReLU(), recurse=False)
        (True, False)
    """

    def __init__(self, module_classes: Iterable[type[Module]]):
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def _options(self, module: Module) -> dict[str, Any] | None:
        return {} if isinstance(module, tuple(self._module_classes)) else None

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return _module_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes_str})"


class CustomPolicy(_Policy):
    """Wraps what a function says.

    Args:
        lambda_fn: takes a module, and returns whether it is wrapped, or with which options.
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]):
        self._lambda_fn = lambda_fn

    def _options(self, module: Module) -> dict[str, Any] | None:
        answer = self._lambda_fn(module)
        if not isinstance(answer, bool | dict):
            raise ValueError(
                "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned "
                f"{answer}"
            )
        return answer if isinstance(answer, dict) else {} if answer else None


# The wrapper and options of the innermost `enable_wrap`.
_regions: list[tuple[Callable[..., Module], dict[str, Any]]] = []


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """A region in which `wrap` wraps.

    Args:
        wrapper_cls: what wraps; it takes a module.
        wrapper_kwargs: its options.
    """
    _regions.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _regions.pop()


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """A module, wrapped if `enable_wrap` is on.

    Args:
        module: the module.
        wrap_overrides: options that take the place of those of `enable_wrap`.
    """
    if not _regions:
        return module
    wrapper, options = _regions[-1]
    return wrapper(module, **{**options, **wrap_overrides})


def _recursive_wrap(
    module: Module,
    auto_wrap_policy: Callable[..., bool],
    wrapper_cls: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_params: set[Any],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[Module, int]:
    """Wraps the modules below one, the inner ones first: the module then, and how many elements are wrapped."""
    size = sum(p.numel() for p in module.parameters() if p not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=size):
        return module, 0
    wrapped = 0
    for name, child in module.named_children():
        if child not in ignored_modules:
            replacement, count = _recursive_wrap(
                child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs
            )
            setattr(module, name, replacement)
            wrapped += count
    rest = size - wrapped
    if only_wrap_children or not auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=rest):
        return module, wrapped
    return wrapper_cls(module, **kwargs), size


def _wrap_module_cls_individually(
    module: Module, module_classes: Sequence[type], recurse: bool, *args: Any, **kwargs: Any
) -> bool:
    return True if recurse else isinstance(module, tuple(module_classes))
