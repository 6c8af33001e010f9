"""`torch._library.simple_registry`: what is registered for operators beside their functions."""

from __future__ import annotations

from typing import Any

from tl_core.dispatch import registrations
from tl_core.operators.names import native_name
from tl_core.subclasses import fake_impl

__all__ = ["SimpleLibraryRegistry", "SimpleOperatorEntry", "singleton"]


class FakeImplHolder:
    """The fake implementation of an operator.

    Args:
        qualname: the operator's name.
    """

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname

    @property
    def kernel(self) -> Any:
        """The implementation, with `func` and `source`; None without one."""
        return fake_impl.entries.get(self.qualname)


class SimpleOperatorEntry:
    """What is registered for one operator.

    Args:
        qualname: its name.
    """

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.fake_impl = self.abstract_impl = FakeImplHolder(qualname)

    @property
    def torch_dispatch_rules(self) -> Any:
        """What modes and classes with `__torch_dispatch__` do with it, by their class."""
        registration = registrations.of(native_name(self.qualname), "Python")
        return registration.function.rules if registration else {}


class SimpleLibraryRegistry:
    """The entries of all operators."""

    def find(self, qualname: str) -> SimpleOperatorEntry:
        """The entry of an operator.

        Args:
            qualname: its name.
        """
        return SimpleOperatorEntry(qualname.removesuffix(".default"))


singleton = SimpleLibraryRegistry()
