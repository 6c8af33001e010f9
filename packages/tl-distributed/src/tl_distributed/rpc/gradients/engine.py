"""The backward pass on several workers.

All messages of a context are taken to be part of the pass. On each worker, a part of the graph runs when the gradients
of a sent message arrive. A received message's gradients go to its sender when all sent messages whose graphs reach it
have run, so that each message is answered once. The first message of a pass to a worker is answered when the worker's
whole part is done, and later ones at once: so the answers form a tree, whose root is the worker that began.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import tl_autograd
from tl_core import Tensor, contiguous_format
from tl_core.futures import Future

from .. import thread_context
from ..functions import async_execution
from .contexts import Context, retrieve, table

_ROOT = -1
_passes = itertools.count(1)


class Pass:
    """One backward pass, on one worker.

    Args:
        context: the context.
        id: the number of the pass, the same on all workers.
        roots: the tensors that the pass begins with; none on workers that it only comes to.
    """

    def __init__(self, context: Context, id: int, roots: Sequence[Tensor] = ()):
        self.context, self.id = context, id
        self.done: Future[None] = Future()
        self.lock = threading.RLock()
        self._nodes = {id_of(entry.node): entry for entry in context.receives.values()}
        starts = {number: send.tensors for number, send in context.sends.items()}
        if roots:
            starts[_ROOT] = list(roots)
        self._reach = {number: self._walk(tensors) for number, tensors in starts.items()}
        self._expected = Counter(each for _, reached in self._reach.values() for each in reached)
        self.waiting = set(starts)
        self._open = len(starts)
        self._received: dict[int, list[Tensor]] = {}

    def _walk(self, tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[int]]:
        """The tensors without history that a graph reaches, and the received messages."""
        leaves: dict[int, Tensor] = {}
        reached: list[int] = []
        visited: dict[int, Any] = {}  # the nodes stay alive, so that no other one gets the number of one
        stack = [node_of(tensor) for tensor in tensors]
        while stack:
            node = stack.pop()
            if node is None or id_of(node) in visited:
                continue
            visited[id_of(node)] = node
            entry = self._nodes.get(id_of(node))
            if entry is not None:
                reached.append(entry.number)
            variable = getattr(node, "variable", None)
            if variable is not None:
                leaves[id(variable)] = variable
            stack.extend(following for following, _ in node.next_functions)
        return list(leaves.values()), reached

    def run(
        self, number: int, tensors: Sequence[Tensor], gradients: Sequence[Tensor | None], retain: bool
    ) -> None:
        """Runs the part of the graph of a sent message, or of the roots.

        Args:
            number: of the message.
            tensors: those of the message.
            gradients: theirs.
            retain: whether the graph may be used again.
        """
        with self.lock:
            if number not in self.waiting:
                raise RuntimeError(f"the gradients of message {number} came twice in one backward pass")
            self.waiting.discard(number)
            leaves, reached = self._reach[number]
            try:
                self._accumulate(tensors, gradients, leaves)
            except Exception as error:
                named = self._named(number, error)
                self.fail(named)
                if named is error:
                    raise
                raise named from error
            for each in reached:
                self._expected[each] -= 1
                if self._expected[each] == 0:
                    self._answer(each, retain)
            self._close()

    def _named(self, number: int, error: Exception) -> Exception:
        """An error that names this worker, as PyTorch's engine does where gradients of another worker came."""
        if number == _ROOT:
            return error
        return RuntimeError(f"Error on Node {self.context.agent.info.id}: {error}")

    def _accumulate(
        self, tensors: Sequence[Tensor], gradients: Sequence[Tensor | None], leaves: Sequence[Tensor]
    ) -> None:
        if not leaves:
            return
        results = tl_autograd.grad(tensors, leaves, gradients, retain_graph=True, allow_unused=True)
        starts = {id(entry.start) for entry in self._nodes.values()}
        for leaf, gradient in zip(leaves, _separate(results), strict=True):
            if gradient is not None and id(leaf) not in starts:
                self.context.add_gradient(leaf, gradient)

    def add_received(self, number: int, gradients: Sequence[Tensor]) -> None:
        """Adds to the gradients of a received message."""
        before = self._received.get(number)
        if before is None:
            self._received[number] = list(gradients)
        else:
            self._received[number] = [a + b for a, b in zip(before, gradients, strict=True)]

    def _answer(self, number: int, retain: bool) -> None:
        """Sends the gradients of a received message to its sender."""
        entry = self.context.receives[number]
        gradients = self._received.pop(number, None)
        if gradients is None:
            gradients = []
        agent = self.context.agent
        self._open += 1
        call = agent.call(
            agent.roster.at(entry.worker),
            propagate,
            (self.context.id, self.id, number, [each.detach() for each in gradients], retain),
            internal=True,
        )
        call.add_done_callback(self._end_call)

    def _end_call(self, call: Future[Any]) -> None:
        try:
            call.value()
        except Exception as error:
            self.fail(error)
        else:
            with self.lock:
                self._close()

    def _close(self) -> None:
        self._open -= 1
        if self._open == 0 and not self.done.done():
            self.context.running = None
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        """Ends the pass with an error."""
        with self.lock:
            if not self.done.done():
                self.context.running = None
                self.done.set_exception(error)


def _separate(gradients: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Gradients without memory in common, so that a write to one changes no other one and none of its own elements."""
    counts = Counter(_address(each) for each in gradients if each is not None)

    def separate(gradient: Tensor | None) -> Tensor | None:
        if gradient is None or (counts[_address(gradient)] == 1 and _values(gradient).is_contiguous()):
            return gradient
        return gradient.clone() if gradient.is_sparse else gradient.clone(memory_format=contiguous_format)

    return [separate(each) for each in gradients]


def _address(tensor: Tensor) -> int:
    address: int = _values(tensor).untyped_storage().data_ptr()
    return address


def _values(tensor: Tensor) -> Tensor:
    return tensor._values() if tensor.is_sparse else tensor


def id_of(node: Any) -> int:
    """A number of a node, the same for each object of it."""
    return hash(node)


def node_of(tensor: Tensor) -> Any:
    """The node that a tensor is a result of, or that adds to its gradient."""
    return tl_autograd.graph.get_gradient_edge(tensor).node


@async_execution
def propagate(
    context_id: int, pass_id: int, number: int, gradients: Sequence[Tensor], retain: bool
) -> Future[None]:
    """Goes on with a backward pass at a message that this worker sent.

    Args:
        context_id: the number of the context.
        pass_id: the number of the backward pass.
        number: the number of the message.
        gradients: the gradients of the message's tensors, or none for zeros.
        retain: whether the graph stays for another pass.
    """
    context = retrieve(context_id)
    with context.lock:
        is_first = context.running is None or context.running.id != pass_id
        if is_first:
            context.running = Pass(context, pass_id)
        running = context.running
        assert running is not None
    send = context.sends[number]
    roots: list[Any] = list(gradients) or [tensor.new_zeros(tensor.shape) for tensor in send.tensors]
    running.run(number, send.tensors, roots, retain)
    if is_first:
        return running.done.then(lambda done: done.value())
    answered: Future[None] = Future()
    answered.set_result(None)
    return answered


def backward(context_id: int, roots: Sequence[Tensor], retain_graph: bool = False) -> None:
    """Runs a backward pass on all workers of a context.

    Args:
        context_id: the context.
        roots: scalars of this worker.
        retain_graph: whether the graph may be used again.
    """
    _check_roots(context_id, roots)
    context = retrieve(context_id)
    if context.is_spent:
        raise RuntimeError(
            "Trying to backward through the graph a second time: the context's graph was freed by the first backward "
            "pass. Specify retain_graph=True in all passes but the last"
        )
    with context.lock:
        number = (context.agent.info.id << 48) | next(_passes)
        running = context.running = Pass(context, number, roots)
    finished = threading.Event()
    running.done.add_done_callback(lambda _: finished.set())
    with thread_context.in_context(None):
        running.run(_ROOT, list(roots), [None] * len(roots), retain_graph)
        _wait(context, running, finished)
    running.done.value()
    context.is_spent = not retain_graph


def _wait(context: Context, running: Pass, finished: threading.Event) -> None:
    limit = context.agent.timeout
    if finished.wait(limit or None):
        return
    names = sorted({context.agent.roster.at(context.sends[each].worker).name for each in running.waiting})
    running.fail(
        RuntimeError(
            f"the backward pass waited {limit:g} s: {len(running.waiting)} messages to {', '.join(names)} in this "
            "context have no gradients. Results that a loss doesn't depend on belong outside of the context"
        )
    )


def _check_roots(context_id: int, roots: Any) -> None:
    if isinstance(context_id, bool) or not isinstance(context_id, int) or not isinstance(roots, list | tuple):
        raise TypeError(
            "backward(): incompatible function arguments: expected (context_id: int, roots: list of tensors, "
            f"retain_graph: bool), got {type(context_id).__name__} and {type(roots).__name__}"
        )
    table()
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    for root in roots:
        if not isinstance(root, Tensor):
            raise TypeError(f"backward(): incompatible function arguments: a root is a {type(root).__name__}")
        if not root.requires_grad:
            raise RuntimeError(f"requires_grad not set on: {root}")
        if root.numel() != 1:
            raise RuntimeError(f"{root} is not a scalar, all roots need to be scalar")
        if root.grad_fn is None:
            raise RuntimeError(f"{root} does not have a valid gradient function.")
