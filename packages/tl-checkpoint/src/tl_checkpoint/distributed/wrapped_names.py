"""Names of parameters without the parts that wrappers add, so that a checkpoint doesn't depend on wrappers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["WrappedNames", "own_method"]


class WrappedNames:
    """The names in a model, with and without the parts of wrappers.

    A class of wrappers states the name of the module that it wraps in `__wrapped_module_name__`.

    Args:
        model: the model.

    Example:
        >>> import tl_nn
        >>> WrappedNames(tl_nn.Linear(2, 1)).shorten("weight")
        'weight'
    """

    def __init__(self, model: Any):
        modules = model.named_modules() if hasattr(model, "named_modules") else ()
        wrappers = [
            (name, getattr(type(module), "__wrapped_module_name__", None)) for name, module in modules
        ]
        # The innermost ones come first, so the names of the others hold until their turn.
        self._parts = sorted(
            ((f"{name}." if name else "", f"{part}.") for name, part in wrappers if part is not None),
            key=lambda pair: -len(pair[0]),
        )

    def shorten(self, name: str) -> str:
        """A name without the parts of wrappers.

        Args:
            name: the name of a parameter, a buffer or a module with a dot at its end.
        """
        for before, part in self._parts:
            if name.startswith(before + part):
                name = before + name[len(before) + len(part) :]
        return name

    def shorten_keys(self, state: Any) -> Any:
        """A state with names without the parts of wrappers.

        Args:
            state: values by name.
        """
        return {self.shorten(name): value for name, value in state.items()} if self._parts else state

    def restore_keys(self, state: Any, model: Any) -> Any:
        """A state with the names that a model uses itself.

        Args:
            state: values by name, with or without the parts of wrappers.
            model: the model.
        """
        if not self._parts:
            return state
        own = {self.shorten(name): name for name in own_method(model, "state_dict")()}
        return {own.get(name, name): value for name, value in state.items()}


def own_method(owner: Any, name: str) -> Callable[..., Any]:
    """A method of a model or an optimizer, as it was before a function of named states replaced it.

    Args:
        owner: the model or the optimizer.
        name: of the method.
    """
    method = getattr(owner, name)
    own: Callable[..., Any] = getattr(method, "own_method", method)
    return own
