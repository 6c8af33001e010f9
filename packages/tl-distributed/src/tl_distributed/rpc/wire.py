"""Frames: a message on a connection, its tensors as bytes that are received into place.

A frame has a head of 32 bytes, the descriptions of its tensors, the pickled content, the bytes of small tensors, and
then the bytes of each larger tensor. A receiver reads the bytes of a larger tensor into the memory of the new tensor.
"""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_core import Tensor

_HEAD = struct.Struct("<IBBHIIQQ")
_MAGIC = 0x52506C74
_INLINE = 4096
_MOST_PIECES = 512  # of one system call; the limit of Linux is 1,024
_LARGEST = 1 << 40

_AT_ONCE = 1 << 16  # bytes that are likely there as a whole
REQUEST, RESPONSE, FAILURE = 1, 2, 3
INTERNAL = 1


def _nothing() -> None:
    """Does no work."""


class FrameError(ConnectionError):
    """What came is no frame, so the connection is of no more use."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A message.

    Args:
        kind: `REQUEST`, `RESPONSE` or `FAILURE`.
        flags: `INTERNAL` for a call of the package's own.
        number: the number of the request.
        content: pickled.
        tensors: the tensors that the content refers to by position.
    """

    kind: int
    flags: int
    number: int
    content: bytes | bytearray | memoryview
    tensors: Sequence[Tensor]


def send(link: socket.socket, frame: Frame) -> None:
    """Sends a frame; the tensors may not change meanwhile.

    Raises:
        OSError: the connection is broken.
    """
    facts: list[Any] = []
    small: list[Any] = []
    large: list[Any] = []
    for tensor in frame.tensors:
        _describe(tensor, facts, small, large)
    described = pickle.dumps(facts, 5) if facts else b""
    inline = b"".join(small)
    head = _HEAD.pack(
        _MAGIC, frame.kind, frame.flags, 0, len(described), len(inline), frame.number, len(frame.content)
    )
    _send_all(link, [b"".join((head, described, frame.content, inline)), *large])


def receive(link: socket.socket, before_waiting: Callable[[], None] = _nothing) -> Frame:
    """Waits for a frame.

    Args:
        link: the connection.
        before_waiting: called, perhaps more than once, when the frame isn't there as a whole.

    Raises:
        FrameError: something else came.
        OSError: the connection is broken, or ends.
    """
    head = bytearray(_HEAD.size)
    _fill(link, memoryview(head), before_waiting)
    magic, kind, flags, zero, described, inline, number, length = _HEAD.unpack(head)
    if magic != _MAGIC or zero or kind not in (REQUEST, RESPONSE, FAILURE) or length > _LARGEST:
        raise FrameError(f"a message begins with {bytes(head[:8])!r}, which no frame does")
    body = memoryview(bytearray(described + length + inline))
    _fill(link, body, before_waiting)
    tensors: list[Tensor] = []
    if described:
        source = _Source(link, body[described + length :], before_waiting)
        facts = iter(pickle.loads(body[:described]))
        tensors.extend(_receive_tensor(source, fact, facts) for fact in facts)
    return Frame(kind, flags, number, body[described : described + length], tensors)


def _send_all(link: socket.socket, pieces: list[Any]) -> None:
    views = [memoryview(piece) for piece in pieces]
    while views:
        count = link.sendmsg(views[:_MOST_PIECES])
        while views and count >= len(views[0]):
            count -= len(views.pop(0))
        if count:
            views[0] = views[0][count:]


def _fill(link: socket.socket, view: memoryview, before_waiting: Callable[[], None]) -> None:
    if 0 < len(view) <= _AT_ONCE:
        try:
            count = link.recv_into(view, 0, socket.MSG_DONTWAIT)
        except BlockingIOError:
            count = -1
        if count == len(view):
            return
        if count == 0:
            raise ConnectionResetError("the connection ended")
        view = view[max(count, 0) :]
    if len(view):
        before_waiting()
    while len(view):
        count = link.recv_into(view, 0, socket.MSG_WAITALL)
        if count == 0:
            raise ConnectionResetError("the connection ended")
        view = view[count:]


def _describe(tensor: Tensor, facts: list[Any], small: list[Any], large: list[Any]) -> None:
    """Adds what a receiver must know of a tensor, and its bytes."""
    if tensor.layout == tl_core.sparse_coo:
        indices, values = tensor._indices(), tensor._values()
        facts.append(("sparse", tuple(tensor.shape), tensor.is_coalesced(), tensor.requires_grad))
        for part in (indices, values):
            _describe(part.detach(), facts, small, large)
        return
    plain = tensor.detach().resolve_conj().resolve_neg()
    if not _is_packed(plain):
        plain = plain.contiguous()
    span = _span(plain)
    facts.append(
        (str(plain.dtype).rpartition(".")[2], tuple(plain.shape), plain.stride(), span, tensor.requires_grad)
    )
    if span == 0:
        return
    view = memoryview(plain.as_strided((span,), (1,)).view(tl_core.uint8))
    if view.nbytes <= _INLINE:
        small.append(view)
    else:
        large.append(view)


def _is_packed(tensor: Tensor) -> bool:
    """True if the memory that a tensor spans is at most twice its elements: it keeps its strides."""
    return tensor.is_contiguous() or _span(tensor) <= 2 * tensor.numel()


def _span(tensor: Tensor) -> int:
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))


class _Source:
    """The bytes of tensors: small ones from the frame, large ones from the connection."""

    def __init__(self, link: socket.socket, inline: memoryview, before_waiting: Callable[[], None]):
        self._link, self._inline, self._before_waiting = link, inline, before_waiting

    def fill(self, target: memoryview) -> None:
        """Writes the bytes of the next tensor."""
        if target.nbytes > _INLINE:
            _fill(self._link, target, self._before_waiting)
            return
        target[:] = self._inline[: target.nbytes]
        self._inline = self._inline[target.nbytes :]


def _receive_tensor(source: _Source, fact: Any, facts: Iterator[Any]) -> Tensor:
    if fact[0] == "sparse":
        _, size, is_coalesced, requires_grad = fact
        indices, values = (_receive_tensor(source, next(facts), facts) for _ in range(2))
        sparse: Any = tl_core.sparse_coo_tensor
        tensor: Tensor = sparse(indices, values, size, is_coalesced=is_coalesced, requires_grad=requires_grad)
        return tensor
    name, shape, strides, span, requires_grad = fact
    memory: Tensor = tl_core.empty(span, dtype=getattr(tl_core, name))
    if span:
        source.fill(memoryview(memory.view(tl_core.uint8)))
    dense = memory.as_strided(shape, strides)
    return dense.requires_grad_() if requires_grad else dense
