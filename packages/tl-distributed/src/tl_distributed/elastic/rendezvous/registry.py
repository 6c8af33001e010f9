"""Which kinds of handlers there are."""

from __future__ import annotations

from .api import RendezvousHandler, RendezvousParameters, rendezvous_handler_registry
from .store_rendezvous import create_handler

__all__ = ["get_rendezvous_handler"]

rendezvous_handler_registry.register("static", create_handler)
rendezvous_handler_registry.register("c10d", create_handler)


def get_rendezvous_handler(params: RendezvousParameters) -> RendezvousHandler:
    """Makes a handler of the kind that `params.backend` names.

    Raises:
        ValueError: there is no such kind.
    """
    return rendezvous_handler_registry.create_handler(params)
