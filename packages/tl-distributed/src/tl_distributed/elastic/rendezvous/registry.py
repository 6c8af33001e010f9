"""The kinds of handlers."""

from __future__ import annotations

from . import c10d_rendezvous_backend, etcd_rendezvous
from .api import RendezvousHandler, RendezvousParameters, rendezvous_handler_registry
from .dynamic_rendezvous import create_handler
from .static_tcp_rendezvous import create_rdzv_handler

__all__ = ["get_rendezvous_handler"]


def _c10d(params: RendezvousParameters) -> RendezvousHandler:
    backend, store = c10d_rendezvous_backend.create_backend(params)
    return create_handler(store, backend, params)


rendezvous_handler_registry.register("static", create_rdzv_handler)
rendezvous_handler_registry.register("c10d", _c10d)
rendezvous_handler_registry.register("etcd", etcd_rendezvous.create_rdzv_handler)
rendezvous_handler_registry.register("etcd-v2", etcd_rendezvous.create_rdzv_handler)


def get_rendezvous_handler(params: RendezvousParameters) -> RendezvousHandler:
    """Makes a handler of the kind that `params.backend` names.

    Raises:
        ValueError: there is no such kind.

    Example:
        >>> from tl_distributed.elastic.rendezvous import RendezvousParameters
        >>> parameters = RendezvousParameters("static", "localhost:0", "job 7", 1, 1, rank=0)
        >>> get_rendezvous_handler(parameters).get_backend()
        'static'
    """
    return rendezvous_handler_registry.create_handler(params)
