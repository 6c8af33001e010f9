"""The parts of jobs: schedulers, health, timers, settings, addresses, handles, rendezvous, plans and reports."""

from __future__ import annotations

import json
import logging
import queue
import signal
import socket
import time
import urllib.error
import urllib.request
from datetime import timedelta

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed import report, simulate
from tl_distributed.backends import backend, network
from tl_distributed.backends.bootstrap import PeerInfo
from tl_distributed.backends.checkpoint_channel import CheckpointChannel
from tl_distributed.backends.flight_recorders import FlightRecorders
from tl_distributed.base.cluster import Process
from tl_distributed.base.errors import DistBackendError
from tl_distributed.collectives.coalescing import CoalescingManager, manager_here
from tl_distributed.collectives.collective_utils import SyncPayload
from tl_distributed.collectives.functional_operators import all_gather_into_tensor_out, broadcast_
from tl_distributed.collectives.tensor_collectives import peer_rank
from tl_distributed.elastic import events
from tl_distributed.elastic.agent.server.health_check_server import HealthCheckServer
from tl_distributed.elastic.multiprocessing.api import signals_named
from tl_distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousSettings, RendezvousTimeout
from tl_distributed.elastic.timer.api import RequestQueue, TimerClient, TimerRequest
from tl_distributed.elastic.timer.kept_timers import KeptTimerServer
from tl_distributed.elastic.timer.local_timer import MultiprocessingRequestQueue
from tl_distributed.elastic.utils.store import store_timeout
from tl_distributed.nn.functional_collectives import AsyncCollectiveTensor, group_of, is_torchdynamo_compiling
from tl_distributed.planning.estimate import Estimate
from tl_distributed.stores.rendezvous import all_meet_by, register_rendezvous_handler, rendezvous

# ---- elastic


def test_the_health_of_an_agent():
    last = [time.time()]
    server = HealthCheckServer(lambda: last[0], 0, 30)
    server.start()
    try:
        url = f"http://127.0.0.1:{server.port}/"
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert (answer.status, answer.read()) == (200, b"alive\n")
        last[0] -= 31
        assert not server.is_alive()
        with pytest.raises(urllib.error.HTTPError, match="503") as caught:
            urllib.request.urlopen(url, timeout=10)
        caught.value.close()
    finally:
        server.stop()
        server.stop()


def test_events_of_a_rendezvous(caplog):
    event = events.RdzvEvent("join", "job 7", "joined", "host", 1, events.NodeState.RUNNING)
    assert json.loads(event.serialize())["run_id"] == "job 7"
    logger = events._logger("null")
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)
    try:
        events.record_rdzv_event(event)
    finally:
        logger.removeHandler(handler)
    assert [json.loads(r.getMessage())["message"] for r in records] == ["joined"]


def test_signals_by_name():
    assert signals_named(" SIGTERM, SIGUSR1 ,") == (signal.SIGTERM, signal.SIGUSR1)
    assert signals_named("") == ()
    with pytest.raises(ValueError, match="'SIGNO' is no signal"):
        signals_named("SIGTERM,SIGNO")


@pytest.mark.parametrize(("interval", "attempts", "seconds"), [(5, 3, 15.0), (1, 2, 5.0)])
def test_the_silence_of_a_dead_agent(interval, attempts, seconds):
    timeout = RendezvousTimeout(heartbeat=timedelta(seconds=5))
    settings = RendezvousSettings("job", 1, 2, timeout, timedelta(seconds=interval), attempts)
    assert settings.silence == seconds and settings.rank is None


def test_timers_that_are_over():
    requests: queue.Queue = queue.Queue()
    source = MultiprocessingRequestQueue(requests)
    assert isinstance(source, RequestQueue)

    class Server(KeptTimerServer):
        def _reap_worker(self, worker_id):
            return True

    server = Server(source, 1.0)
    for scope, end in (("a", 5.0), ("b", 9.0)):
        requests.put(TimerRequest(1, scope, end))
    requests.put(TimerRequest(2, "a", 1.0))
    assert source.size() == 3
    start = time.monotonic()
    server.register_timers(source.get(5, 0.05))
    assert 0.04 < time.monotonic() - start < 5 and source.size() == 0
    expired = {worker: [r.scope_id for r in each] for worker, each in server.get_expired_timers(5.0).items()}
    assert expired == {1: ["a"], 2: ["a"]}
    server.register_timers([TimerRequest(1, "a", -1)])
    server.clear_timers({2})
    assert server.get_expired_timers(8.0) == {} and list(server.get_expired_timers(9.0)) == [1]
    with pytest.raises(TypeError, match="abstract"):
        TimerClient()


def test_the_time_of_a_store():
    store = dist.HashStore()
    before = store.timeout
    with pytest.raises(ZeroDivisionError), store_timeout(store, 1.5):
        assert store.timeout == timedelta(seconds=1.5)
        raise ZeroDivisionError
    assert store.timeout == before


# ---- groups


def test_values_of_other_ranks():
    store, deadline = dist.HashStore(), time.monotonic() + 0.05
    store.set("at/1", "fe80::1 4711")
    assert network.read_address(store, 1, deadline) == ("fe80::1", 4711)
    assert network.read_key(store, "at/1", deadline) == b"fe80::1 4711"
    with pytest.raises(DistBackendError, match="nobody has set at/2"):
        network.read_address(store, 2, deadline)


def test_descriptors_of_connections():
    a, b = socket.socketpair()
    number = a.fileno()
    assert network.release_links({2: a}, 4) == [-1, -1, number, -1]
    assert a.fileno() == -1
    socket.socket(fileno=number).close()
    b.close()


def test_facts_of_processes():
    own = Process("slurm", 3, 8, 1, 4, "node", 29500)
    assert (own.rank // own.local_world_size, own.address) == (0, "node")
    peer = PeerInfo(7, "host", "domain", "", False, "nonce")
    assert (
        peer
        == PeerInfo(7, "host", "domain", "", False, "nonce")
        != PeerInfo(7, "host", "domain", "", False, "other")
    )
    assert backend.brings_ranks("mpi") and not backend.brings_ranks("gloo")
    payload = SyncPayload("load", False, None, ValueError("no"))
    assert (payload.stage_name, payload.success, payload.payload) == ("load", False, None)


def test_recorders_of_workers(tmp_path):
    recorders = FlightRecorders({0: tmp_path})
    variables = recorders.open(0)
    (path,) = variables.values()
    with open(path, "wb") as memory:
        memory.write(b"record")
    (file,) = recorders.files()
    assert file.read_bytes() == b"record"
    recorders.close()
    assert not file.is_symlink() and file.read_bytes() == b"record"
    empty = FlightRecorders({0: tmp_path})
    file.unlink()
    empty.open(0)
    empty.close()
    assert empty.files() == []


def test_ranks_by_one_of_two_numbers(world):
    group = dist.group.WORLD
    assert peer_rank(group, 0, None, "f") == 0 == peer_rank(group, None, 0, "f")
    with pytest.raises(ValueError, match="f: Can't specify both"):
        peer_rank(group, 0, 0, "f")
    with pytest.raises(ValueError, match="Must specify"):
        peer_rank(group, None, None, "f")
    for global_rank, group_rank in ((5, None), (None, 1), (None, -1)):
        with pytest.raises(RuntimeError, match="f: invalid root rank"):
            peer_rank(group, global_rank, group_rank, "f")


def test_handles_of_several_operations(world):
    manager = CoalescingManager()
    manager.append(None)
    manager.wait()
    x = tl.ones(2)
    manager.append(dist.all_reduce(x, async_op=True))
    manager.wait()
    assert len(manager.works) == 1 and manager.works[0].is_completed()
    assert manager_here() is None
    assert is_torchdynamo_compiling() is False and group_of(dist.group.WORLD) is dist.group.WORLD
    assert AsyncCollectiveTensor.__mro__[1] is tl.Tensor


def test_operators_that_write(ranks):
    def body(rank):
        name = dist.group.WORLD.group_name
        out = tl.zeros(4)
        result = all_gather_into_tensor_out(tl.full((2,), float(rank + 1)), 2, name, out)
        x = tl.full((2,), float(rank))
        return out.tolist(), result is out, broadcast_(x, 1, name) is x, x.tolist()

    assert ranks(2, body) == [([1.0, 1.0, 2.0, 2.0], True, True, [1.0, 1.0])] * 2


def test_objects_of_a_checkpoint(ranks):
    def body(rank):
        channel = dist.group.WORLD.__checkpoint_channel__(1)
        assert type(channel) is CheckpointChannel
        return (
            channel.gather(rank * 10),
            channel.scatter([5, 6] if rank == 1 else None),
            channel.broadcast(rank),
        )

    assert ranks(2, body) == [(None, 5, 1), ([0, 10], 6, 1)]


# ---- rendezvous


def test_ways_of_meeting():
    def alone(url, timeout=None, **options):
        yield dist.HashStore(), 3, 7

    register_rendezvous_handler("test-facts", alone)
    assert next(iter(rendezvous("test-facts://")))[1:] == (3, 7)
    with pytest.raises(RuntimeError, match="already registered"):
        register_rendezvous_handler("test-facts", alone)
    with all_meet_by(lambda url, **options: iter([(url, 1, 2)])):
        assert next(iter(rendezvous("tcp://nowhere:1?rank=0&world_size=2")))[1:] == (1, 2)
        assert next(iter(rendezvous("test-facts://")))[1:] == (1, 2)
    assert next(iter(rendezvous("test-facts://")))[1:] == (3, 7)


# ---- plans


def test_the_text_of_a_plan():
    def lines(*arguments):
        return simulate.plan_lines(
            simulate.get_parser().parse_args(["--model", "8b", "--batch", "8", *arguments])
        )

    assert lines("--mesh", "dp=2,tp=8")[0] == "8.0 B parameters on 16 ranks: dp 2 x tp 8, 4 microbatches of 1"
    assert "pp 2" in lines("--mesh", "dp=2,pp=2")[0]
    with pytest.raises(ValueError, match="expected sizes such as"):
        lines("--mesh", "dp=two")
    assert report.get_parser("tl report").parse_args(["logs"]).folder.name == "logs"
    assert report.of_files([]) == []
    estimate = Estimate({"products": 2.0, "tp": 0.5})
    assert estimate.total() == 2.5 and estimate.memory == {}
