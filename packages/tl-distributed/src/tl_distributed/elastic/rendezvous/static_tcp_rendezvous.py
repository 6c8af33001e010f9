"""Agents that know their ranks: the first holds the store, at an address that all are told."""

from __future__ import annotations

from .api import RendezvousParameters
from .c10d_rendezvous_backend import C10dRendezvousBackend, create_backend
from .dynamic_rendezvous import DynamicRendezvousHandler, create_handler

__all__ = ["StaticRendezvousBackend", "create_rdzv_handler"]


class StaticRendezvousBackend(C10dRendezvousBackend):
    """The agents' value in the store of the agent with rank 0.

    Args:
        store: the store.
        run_id: the job's name.
    """

    @property
    def name(self) -> str:
        """`static`."""
        return "static"


def create_rdzv_handler(params: RendezvousParameters) -> DynamicRendezvousHandler:
    """A handler for agents that know their ranks.

    Args:
        params: the job; `config` has `rank`, this agent's.

    Raises:
        ValueError: there is no rank, or the number of agents isn't fixed.
        RendezvousConnectionError: nobody answers at the endpoint.
    """
    rank = params.get_as_int("rank")
    if params.min_nodes != params.max_nodes:
        raise ValueError(
            f"static rendezvous needs a fixed number of agents, got {params.min_nodes}:{params.max_nodes}"
        )
    if rank is None or not 0 <= rank < params.max_nodes:
        raise ValueError(f"rendezvous option rank must be one of 0 .. {params.max_nodes - 1}, got {rank}")
    _, store = create_backend(params)
    return create_handler(store, StaticRendezvousBackend(store, params.run_id), params)
