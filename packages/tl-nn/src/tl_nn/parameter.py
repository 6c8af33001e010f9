"""The kinds of tensor a module registers when they are assigned to it."""

from tl_core import Buffer, Parameter

__all__ = ["Buffer", "Parameter"]
