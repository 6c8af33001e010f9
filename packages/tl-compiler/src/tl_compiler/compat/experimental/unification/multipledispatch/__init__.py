"""Functions whose implementation is chosen by the classes of all arguments."""

from .core import dispatch
from .dispatcher import Dispatcher, MDNotImplementedError, halt_ordering, restart_ordering

__all__ = ["Dispatcher", "MDNotImplementedError", "dispatch", "halt_ordering", "restart_ordering"]
