"""The context of distributed derivatives that a message belongs to, for the agent, which knows nothing else of it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tl_core import Tensor

from . import thread_context

MARKED = 2  # the flag of a frame whose content has a mark


def _messages() -> Any:
    """The module that records what is sent: a program that never opens a context doesn't load it."""
    return importlib.import_module("tl_distributed.rpc.gradients.messages")


def outgoing(agent: Any, worker: int, tensors: Sequence[Tensor]) -> Any:
    """The mark of a message that goes out, in a thread that is in a context.

    Args:
        agent: the agent that sends.
        worker: to whom.
        tensors: those of the message.
    """
    return _messages().record_send(agent, thread_context.context_id(), worker, tensors)


def incoming(agent: Any, worker: int, mark: Any, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """The tensors of a message that came, as those of a graph.

    Args:
        agent: the agent that received it.
        worker: from whom.
        mark: what `outgoing` returned there.
        tensors: those of the message.
    """
    received: Sequence[Tensor] = _messages().record_receive(agent, mark, worker, tensors)
    return received
