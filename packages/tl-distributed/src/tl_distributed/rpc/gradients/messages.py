"""Messages with gradients: the graph of a worker ends in what it sent, and begins with what it received."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_autograd import Function
from tl_core import Tensor, enable_grad

from .contexts import Context, Contexts, SendFunction

Mark = tuple[int, int, tuple[int, ...]]
NO_MESSAGE = -1


@dataclass
class Received:
    """A message that came with gradients.

    Args:
        context: the context.
        number: of the message.
        worker: the sender.
        start: the tensor without elements that the graph begins with.
        node: the node whose results are the tensors of the message.
    """

    context: Context
    number: int
    worker: int
    start: Tensor
    node: Any = None


class _Receive:
    """The node of a message that came; its gradients go to the sender."""

    @staticmethod
    def forward(ctx: Any, start: Tensor, received: Received, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Args:
        start: a tensor that requires gradients.
        received: the message.
        tensors: those of the message.
        """
        ctx.received = received
        return tuple(tensor.detach() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, ...]:
        """Adds to the gradients of the message."""
        received: Received = ctx.received
        running = received.context.running
        if running is not None:
            running.add_received(received.number, gradients)
        return (None, None, *(None for _ in gradients))


# The name that the node has in profiles of PyTorch.
_kind: Any = type(Function)
RecvRpc: Any = _kind("torch::distributed::autograd::RecvRpc", (_Receive, Function), {})


def record_send(agent: Any, context_id: int, worker: int, tensors: Sequence[Tensor]) -> Mark:
    """Adds a message that goes out to its context.

    Args:
        agent: the agent that sends.
        context_id: the context.
        worker: the receiver.
        tensors: those of the message.

    Returns:
        What the receiver has to know.
    """
    contexts = agent.part(Contexts)
    context = contexts.find(context_id)
    if context is None:
        return context_id, NO_MESSAGE, ()
    context.workers.add(worker)
    positions = tuple(index for index, tensor in enumerate(tensors) if tensor.requires_grad)
    if not positions:
        return context_id, NO_MESSAGE, ()
    number = contexts.new_message()
    with context.lock:
        context.sends[number] = SendFunction(worker, [tensors[index] for index in positions])
    return context_id, number, positions


def record_receive(agent: Any, mark: Mark, worker: int, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """Adds a message that came to its context.

    Args:
        agent: the agent that received it.
        mark: what the sender added.
        worker: the sender.
        tensors: those of the message.

    Returns:
        The tensors, as results of the message's node.
    """
    context_id, number, positions = mark
    context = agent.part(Contexts).at_or_new(context_id)
    if number == NO_MESSAGE:
        return tensors
    start = tl_core.zeros(0, requires_grad=True)
    received = Received(context, number, worker, start)
    inputs = [tensors[index].detach() for index in positions]
    with enable_grad():
        results: Any = RecvRpc.apply(start, received, *inputs)
    received.node = results[0].grad_fn
    with context.lock:
        context.receives[number] = received
    replaced = list(tensors)
    for index, result in zip(positions, results, strict=True):
        replaced[index] = result
    return replaced
