"""`torch.jit._recursive`: the store of the types of modules, which stays empty."""

from __future__ import annotations

from typing import Any, NoReturn

__all__: list[str] = []


class ConcreteTypeStore:
    """The types of modules that PyTorch's compiler shares among its calls. tl's compiler keeps no type after a call.

    Example:
        >>> ConcreteTypeStore().type_store
        {}
    """

    def __init__(self) -> None:
        self.type_store: dict[type, list[Any]] = {}
        self.methods_compiled: set[Any] = set()

    def get_or_create_concrete_type(self, nn_module: Any) -> NoReturn:
        """An error: types of modules exist only while a module is compiled.

        Args:
            nn_module: the module.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "ConcreteTypeStore.get_or_create_concrete_type(): tl has no types of modules outside of a compilation; "
            "torch.jit.script compiles a module"
        )


concrete_type_store = ConcreteTypeStore()
