"""Small parts that other tests pass by: traffic of the fake backend, addresses, containers, timers, meshes, reports."""

from __future__ import annotations

import collections
import errno
import json
import os
import socket

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed import ReduceOp, report
from tl_distributed.backends import network
from tl_distributed.backends.fake import FakeGroup
from tl_distributed.backends.flight_recorder import Operation, Recording
from tl_distributed.backends.group_context import GroupContext
from tl_distributed.base.errors import DistBackendError
from tl_distributed.collectives.utils import _apply_to_tensors
from tl_distributed.elastic.timer import file_based_local_timer as timers
from tl_distributed.optim.functional_optimizer import FunctionalOptimizer

Pair = collections.namedtuple("Pair", "a b")
SECOND = 10**9


def test_containers_keep_their_types():
    x = tl.ones(2)
    ordered = collections.OrderedDict(a=x)
    result = _apply_to_tensors(lambda t: t * 2, [x, (x, 3), Pair(x, "text"), ordered, {1, 2}, None])
    assert [type(part) for part in result] == [
        tl.Tensor,
        tuple,
        Pair,
        collections.OrderedDict,
        set,
        type(None),
    ]
    tensors = (result[0], result[1][0], result[2].a, result[3]["a"])
    assert all(tl.equal(tensor, tl.full((2,), 2.0)) for tensor in tensors)
    assert result[1][1] == 3 and result[2].b == "text" and result[4] == {1, 2} and tl.equal(ordered["a"], x)


# ---- addresses


def test_an_address_leads_to_the_store_or_to_the_default_route(monkeypatch):
    requests = []
    ways = {"store.example": "10.0.0.5", "192.0.2.1": "10.0.0.7"}
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setattr(network, "_address_towards", lambda host: requests.append(host) or ways.get(host))
    monkeypatch.setattr(network, "_host_of", lambda store: store)
    assert network.own_address("store.example", False) == "10.0.0.5" and requests == ["store.example"]
    assert network.own_address(None, False) == "10.0.0.7" and requests[1:] == ["192.0.2.1"]
    assert network.own_address("unknown", False) == "10.0.0.7" and requests[2:] == ["unknown", "192.0.2.1"]
    assert network.own_address("store.example", True) == "127.0.0.1" and len(requests) == 4
    ways.clear()
    with pytest.raises(DistBackendError, match="GLOO_SOCKET_IFNAME"):
        network.own_address(None, False)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo,other")
    assert network.own_address(None, False) == "127.0.0.1"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nowhere0")
    with pytest.raises(DistBackendError, match="nowhere0"):
        network.own_address(None, False)


def test_loopback_is_no_way_to_another_machine():
    assert (
        network._address_towards("127.0.0.1") is None
        and network._address_towards("no.such.host.invalid") is None
    )
    assert network._host_of(dist.PrefixStore("a", dist.HashStore())) is None


@pytest.mark.parametrize(
    ("own", "address"), [("10.0.0.7", "10.0.0.7"), ("fd00::7", "fd00::7"), ("127.0.0.2", None), ("::1", None)]
)
def test_an_address_of_the_way_to_a_host_leaves_the_machine(monkeypatch, own, address):
    class Probe(socket.socket):
        def connect(self, address):
            pass

        def getsockname(self):
            return own, 9

    monkeypatch.setattr(network.socket, "socket", Probe)
    assert network._address_towards("192.0.2.1") == address


# ---- timers


def test_requests_go_into_a_pipe(tmp_path, monkeypatch):
    path = str(tmp_path / "timers")
    client = timers.FileTimerClient(path)
    with pytest.raises(BrokenPipeError, match="no agent reads"):
        client.acquire("scope", 5.0)
    os.mkfifo(path)
    with pytest.raises(BrokenPipeError, match="must be started first"):
        client.release("scope")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    client.acquire("scope", 5.0)
    client.release("scope")
    first, second = map(json.loads, os.read(reader, 65536).decode().splitlines())
    os.close(reader)
    assert (first["scope_id"], first["expiration_time"], first["signal"]) == ("scope", 5.0, 9)
    assert (second["expiration_time"], second["signal"]) == (-1, 0) and os.getpid() in first.values()
    with pytest.raises(ValueError, match="too long"):
        client.acquire("x" * 5000, 5.0)

    def refuse(*arguments):
        raise PermissionError(errno.EACCES, "refused")

    monkeypatch.setattr(timers.os, "open", refuse)
    with pytest.raises(PermissionError):
        client.acquire("scope", 5.0)


# ---- reports


def _call(number, began):
    return Operation("0", number, "all_reduce", "all_reduce", 4, began, began + 1, "done")


@pytest.mark.parametrize(
    ("ranks", "count", "is_slow"), [(2, 8, True), (2, 7, False), (1, 20, False), (3, 8, True)]
)
def test_a_rank_is_slow_after_eight_collectives(ranks, count, is_slow):
    recordings = [
        Recording(
            rank,
            70 + rank,
            [_call(i, i * SECOND + (SECOND // 4 if rank == 0 else 0)) for i in range(1, count + 1)],
        )
        for rank in range(ranks)
    ]
    lines = report.lines(recordings, 60 * SECOND)
    assert any("rank 0 is slow" in line for line in lines) == is_slow


# ---- the fake backend


def test_the_traffic_of_a_group_that_is_alone():
    x = tl.zeros(6)  # 24 bytes
    parts = [tl.zeros(6) for _ in range(4)]
    total = ReduceOp.SUM
    cases = {
        "all_reduce": (lambda g: g.all_reduce(x, total), 6, 6 * (24 // 4), 24),
        "broadcast": (lambda g: g.broadcast(x, 1), 1, 24, 24),
        "reduce": (lambda g: g.reduce(x, 0, total), 1, 24, 24),
        "all_gather": (lambda g: g.all_gather(parts, x), 3, 3 * 24, 5 * 24),
        "scatter": (lambda g: g.scatter(x, parts, 1), 3, 3 * 24, 5 * 24),
        "reduce_scatter": (lambda g: g.reduce_scatter(x, parts, total), 3, 3 * 24, 5 * 24),
        "gather": (lambda g: g.gather([], x, 0), 1, 24, 24),
        "all_to_all": (lambda g: g.all_to_all_single(tl.zeros(8), tl.zeros(8)), 3, 3 * (32 // 4), 2 * 32),
        "barrier": (lambda g: g.barrier(), 1, 0, 0),
    }
    for name, (run, messages, message, peak) in cases.items():
        group = FakeGroup(GroupContext(1, 4))
        run(group)
        traffic = group.traffic
        assert (traffic.messages, traffic.sent, traffic.peak) == (messages, message, peak), name
        assert traffic.calls == {name: 1} and traffic.of(name).sent == message
    receiver = FakeGroup(GroupContext(0, 4))
    receiver.broadcast(x, 1)
    receiver.reduce(x, 0, total)
    receiver.scatter(x, [], 1)
    assert (receiver.traffic.messages, receiver.traffic.sent) == (0, 0)


# ---- optimizers and meshes


def test_the_state_of_an_optimizer_of_gradients():
    parameters = [tl.ones(2), tl.ones(3)]
    optimizer, again = (FunctionalOptimizer(nn.optim.SGD, parameters, lr=0.5, momentum=0.5) for _ in range(2))
    optimizer.step([tl.ones(2), None])
    state = optimizer.state_dict()
    assert [*state["state"]] == [0] and tl.equal(state["state"][0]["momentum_buffer"], tl.ones(2))
    assert state["param_groups"][0]["lr"] == 0.5 and len(state["param_groups"][0]["params"]) == 2
    assert tl.equal(parameters[0], tl.full((2,), 0.5)) and tl.equal(parameters[1], tl.ones(3))
    again.load_state_dict(state)
    again.step([tl.ones(2), None])
    assert tl.equal(parameters[0], tl.full((2,), 0.5 - 0.5 * 1.5))  # the momentum goes on
