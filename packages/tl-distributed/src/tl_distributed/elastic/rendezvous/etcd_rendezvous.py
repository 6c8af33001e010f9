"""Agents that agree through etcd; needs the extra `etcd`."""

from __future__ import annotations

from .api import RendezvousParameters
from .dynamic_rendezvous import DynamicRendezvousHandler, create_handler
from .etcd_rendezvous_backend import create_backend

__all__ = ["EtcdRendezvousHandler", "create_rdzv_handler"]


class EtcdRendezvousHandler(DynamicRendezvousHandler):
    """Agents that agree through one value in etcd, which outlives each of them; `create_rdzv_handler` makes one.

    Example:
        >>> handler = create_rdzv_handler(parameters)  # doctest: +SKIP
        >>> handler.next_rendezvous().rank  # doctest: +SKIP
    """


def create_rdzv_handler(params: RendezvousParameters) -> EtcdRendezvousHandler:
    """A handler whose agents agree, and whose workers find each other, through etcd.

    Args:
        params: the job; see `create_backend` of `etcd_rendezvous_backend`.

    Raises:
        ModuleNotFoundError: the extra `etcd` isn't installed.
        RendezvousConnectionError: etcd can't be reached.

    Example:
        >>> create_rdzv_handler(parameters).next_rendezvous().rank  # doctest: +SKIP
    """
    backend, store = create_backend(params)
    return create_handler(store, backend, params, EtcdRendezvousHandler)
