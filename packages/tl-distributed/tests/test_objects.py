"""Objects travel pickled; messages need another process."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributed as dist

pytestmark = pytest.mark.usefixtures("world")
OBJECT = {"a": [1, "ä"], "t": (1.5, None)}


def test_objects_come_back_as_copies():
    gathered = [None]
    dist.all_gather_object(gathered, OBJECT)
    assert gathered == [OBJECT] and gathered[0] is not OBJECT
    gathered = [None, "kept"]
    dist.gather_object(OBJECT, gathered)
    assert gathered == [OBJECT, "kept"]
    several = [OBJECT, 3, tl.arange(3)]
    dist.broadcast_object_list(several, src=0)
    assert several[:2] == [OBJECT, 3] and several[2].tolist() == [0, 1, 2]
    out = [None]
    dist.scatter_object_list(out, [OBJECT], src=0)
    assert out == [OBJECT]


def test_objects_of_two_processes(mirror_of_objects):
    gathered = [None, None]
    dist.all_gather_object(gathered, OBJECT)
    assert gathered == [OBJECT, OBJECT]


@pytest.fixture
def mirror_of_objects(world, request):
    dist.destroy_process_group()
    return request.getfixturevalue("mirror")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: dist.all_gather_object([], 1), RuntimeError, "0 places for 1 objects"),
        (lambda: dist.gather_object(1), ValueError, "must be specified on destination rank"),
        (lambda: dist.gather_object(1, [None], dst=1), RuntimeError, "invalid root rank"),
        (lambda: dist.broadcast_object_list([]), ValueError, "at least one object"),
        (lambda: dist.broadcast_object_list(3), ValueError, "must be a list"),
        (lambda: dist.scatter_object_list([], [1]), ValueError, "size at least 1"),
        (lambda: dist.scatter_object_list([None], [1, 2]), RuntimeError, "has 2 objects"),
        (lambda: dist.scatter_object_list([None]), ValueError, "source rank must provide"),
        (lambda: dist.send(tl.ones(1), 0), ValueError, "destination rank should not be the same"),
        (lambda: dist.send(tl.ones(1), 1), RuntimeError, "invalid root rank: 1"),
        (lambda: dist.send(3, 1), TypeError, "must be a Tensor, got int"),
        (lambda: dist.isend(tl.ones(1), 0), RuntimeError, "nobody to send to"),
        (lambda: dist.isend(tl.ones(1)), ValueError, "Must specify"),
        (lambda: dist.recv(tl.ones(1)), RuntimeError, "nobody to receive from"),
        (lambda: dist.irecv(tl.ones(1), 0), RuntimeError, "nobody to receive from"),
        (lambda: dist.send_object_list([1], 0), ValueError, "destination rank should not be the same"),
        (lambda: dist.recv_object_list([1], 0), RuntimeError, "nobody to receive from"),
        (lambda: dist.P2POp(3, tl.ones(1), 0), ValueError, "op must be isend or irecv"),
        (lambda: dist.batch_isend_irecv([]), ValueError, "empty"),
        (lambda: dist.batch_isend_irecv([3]), ValueError, "must be a P2POp, got int"),
        (
            lambda: dist.batch_isend_irecv([dist.P2POp(dist.isend, tl.ones(1), 0)]),
            RuntimeError,
            "nobody to send to",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
