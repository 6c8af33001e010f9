"""Frames of remote calls: what arrives over a pair of sockets is what was sent, and broken frames are refused."""

import socket
import struct
import threading

import pytest

import tl_autograd  # noqa: F401 - tensors of these tests need gradients
import tl_core as tl
from tl_distributed.rpc import wire
from tl_distributed.rpc.wire import FAILURE, INTERNAL, REQUEST, RESPONSE, Frame, FrameError, receive, send


def exchange(frame, before_waiting=lambda: None):
    """The frame at the other end of a connection."""
    here, there = socket.socketpair()
    with here, there:
        errors = []

        def sender():
            try:
                send(here, frame)
            except OSError as error:
                errors.append(error)

        thread = threading.Thread(target=sender)
        thread.start()
        try:
            result = receive(there, before_waiting)
        finally:
            thread.join(10)
        assert errors == []
        return result


TENSORS = {
    "number": lambda: tl.tensor(2.5),
    "empty": lambda: tl.empty(0, 3),
    "bool": lambda: tl.tensor([True, False]),
    "half": lambda: tl.tensor([1.5, -2.0], dtype=tl.float16),
    "bfloat16": lambda: tl.tensor([1.5, -2.0], dtype=tl.bfloat16),
    "int8": lambda: tl.tensor([[1, -2]], dtype=tl.int8),
    "int64": lambda: tl.tensor([2**62, -1]),
    "double": lambda: tl.tensor([0.1], dtype=tl.float64),
    "complex": lambda: tl.tensor([1 + 2j, -3j]),
    "conjugated": lambda: tl.tensor([1 + 2j, -3j]).conj(),
    "negated": lambda: tl.tensor([1 + 2j, -3j]).conj().imag,
    "transposed": lambda: tl.arange(6.0).reshape(2, 3).t(),
    "expanded": lambda: tl.arange(3.0).expand(2, 3),
    "small_limit": lambda: tl.arange(1024.0),  # 4,096 bytes, the largest that is inside of the frame
    "above_the_limit": lambda: tl.arange(1025.0),
    "large": lambda: tl.arange(300_000.0).reshape(3, -1),
    "large_transposed": lambda: tl.arange(6000.0).reshape(2, 3000).t(),
}


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("grad", [False, True])
def test_tensors_arrive_as_they_were(name, grad):
    tensor = TENSORS[name]()
    if grad and (tensor.is_floating_point() or tensor.is_complex()):
        tensor = tensor.detach().requires_grad_() if not (tensor.is_conj() or tensor.is_neg()) else tensor
    frame = exchange(Frame(REQUEST, INTERNAL, 7, b"content", [tensor, tl.ones(2)]))
    assert (frame.kind, frame.flags, frame.number, bytes(frame.content)) == (REQUEST, INTERNAL, 7, b"content")
    copy, second = frame.tensors
    assert copy.dtype is tensor.dtype and copy.shape == tensor.shape
    assert copy.detach().resolve_conj().resolve_neg().tolist() == tensor.detach().tolist()
    assert copy.requires_grad is tensor.requires_grad and second.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("view", "strides"),
    [
        (lambda: tl.zeros(4, 6)[:, :3], (6, 1)),  # spans 21 elements for 12: it keeps its strides
        (lambda: tl.zeros(4, 9)[:, :3], (3, 1)),  # spans 30: it is packed first
        (lambda: tl.zeros(3, 4).t(), (1, 4)),
    ],
)
def test_strides_that_span_little_are_kept(view, strides):
    (copy,) = exchange(Frame(RESPONSE, 0, 1, b"", [view()])).tensors
    assert copy.stride() == strides


@pytest.mark.parametrize("is_coalesced", [False, True])
def test_sparse_tensors_arrive(is_coalesced):
    indices, values = tl.tensor([[0, 0, 2], [1, 1, 0]]), tl.tensor([1.0, 2.0, 3.0])
    tensor = tl.sparse_coo_tensor(indices, values, (3, 2))
    tensor = tensor.coalesce() if is_coalesced else tensor
    copy, dense = exchange(Frame(REQUEST, 0, 1, b"", [tensor, tl.arange(2000.0)])).tensors
    assert (
        copy.is_sparse and copy.is_coalesced() is is_coalesced and copy._nnz() == (2 if is_coalesced else 3)
    )
    assert copy.to_dense().tolist() == [[0.0, 3.0], [0.0, 0.0], [3.0, 0.0]]
    assert dense.tolist() == list(map(float, range(2000)))


def test_many_tensors_and_long_contents():
    tensors = [tl.full((1100,), float(i)) for i in range(700)]  # more pieces than one system call takes
    content = bytes(range(256)) * 4000
    frame = exchange(Frame(FAILURE, 0, 2**40, content, tensors))
    assert (frame.kind, frame.number, bytes(frame.content)) == (FAILURE, 2**40, content)
    assert [t[0].item() for t in frame.tensors] == list(map(float, range(700)))
    assert all((t == t[0]).all() for t in frame.tensors)


def test_a_receiver_hears_that_it_waits():
    here, there = socket.socketpair()
    calls = []
    with here, there:
        send(here, Frame(REQUEST, 0, 1, b"whole", []))
        assert bytes(receive(there, lambda: calls.append(1)).content) == b"whole" and calls == []

        def before_waiting():
            if not calls:
                send(here, Frame(REQUEST, 0, 2, b"late", []))
            calls.append(1)

        assert bytes(receive(there, before_waiting).content) == b"late" and len(calls) == 1


def bytes_of(frame):
    """The bytes of a frame on its connection."""
    here, there = socket.socketpair()
    with here, there:
        send(here, frame)
        return there.recv(1 << 20)


def answer_to(data):
    """What a receiver makes of bytes, after which the connection ends."""
    here, there = socket.socketpair()
    with here, there:
        here.sendall(data)
        here.shutdown(socket.SHUT_WR)
        return receive(there)


def test_a_frame_that_ends_early_is_an_error():
    data = bytes_of(Frame(REQUEST, 0, 1, b"content", [tl.arange(3.0), tl.arange(1500.0)]))
    assert len(answer_to(data).tensors) == 2
    for length in (0, 1, 31, 32, 33, 60, len(data) - 6001, len(data) - 6000, len(data) - 1):
        with pytest.raises(ConnectionResetError, match="the connection ended"):
            answer_to(data[:length])


def test_foreign_bytes_are_no_frame():
    good = bytearray(bytes_of(Frame(REQUEST, 0, 1, b"content", [])))
    head = struct.Struct("<IBBHIIQQ")
    fields = list(head.unpack(good[:32]))
    assert len(good) == 32 + 7 and fields[1:6] == [REQUEST, 0, 0, 0, 0] and fields[7] == 7
    for position, value in ((0, fields[0] + 1), (1, 0), (1, 4), (3, 1), (7, (1 << 40) + 1)):
        wrong = [*fields[:position], value, *fields[position + 1 :]]
        with pytest.raises(FrameError, match=r"a message begins with .*, which no frame does"):
            answer_to(head.pack(*wrong) + b"content")
    with pytest.raises(FrameError, match="GET / HT"):
        answer_to(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert wire._LARGEST == 1 << 40
