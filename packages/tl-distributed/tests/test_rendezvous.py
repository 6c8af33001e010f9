"""Agents that agree: who takes part, who waits, who is gone; in a store of this process, in a file, in etcd."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
import time
from base64 import b64decode, b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from tl_distributed import FileStore, HashStore
from tl_distributed.elastic.rendezvous import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousGracefulExitError,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousTimeoutError,
    get_rendezvous_handler,
)
from tl_distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend, create_backend
from tl_distributed.elastic.rendezvous.dynamic_rendezvous import (
    DynamicRendezvousHandler,
    RendezvousTimeout,
    create_handler,
)
from tl_distributed.elastic.rendezvous.state import ANOTHER_WAITS, RendezvousState


def handler(store, low=1, high=2, **options):
    options = {"keep_alive_interval": 0.1, "heartbeat_timeout": 1.5, "last_call_timeout": 0.1, **options}
    params = RendezvousParameters("c10d", "", "job", low, high, **options)
    return create_handler(store, C10dRendezvousBackend(store, "job"), params)


def together(*calls):
    """Calls functions on threads; returns what they return, or the error that they raise."""
    results = [None] * len(calls)

    def call(number):
        try:
            results[number] = calls[number]()
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return results


def test_rounds_of_two():
    store = HashStore()
    agents = [handler(store, 2) for _ in range(2)]
    result = together(*[agent.next_rendezvous for agent in agents])
    assert sorted(each.rank for each in result) == [0, 1] and {each.world_size for each in result} == {2}
    result[0].store.set("key", "value")
    assert result[1].store.get("key") == b"value"
    agents[0].end_round("a worker failed")
    agents[1].end_round("later")
    assert [agent.why_over() for agent in agents] == ["a worker failed"] * 2
    again = together(*[agent.next_rendezvous for agent in agents])
    assert sorted(each.rank for each in again) == [0, 1]
    assert [(agent.round, agent.failures) for agent in agents] == [(1, 1)] * 2
    assert not again[0].store.check(["key"])  # each round has keys of its own
    for agent in agents:
        assert agent.shutdown()
    with pytest.raises(RendezvousClosedError, match="job"):
        agents[0].next_rendezvous()


def test_an_agent_joins_and_another_is_gone():
    store = HashStore()
    first, second = handler(store), handler(store)
    assert first.next_rendezvous().world_size == 1  # after the last call
    waiting = threading.Thread(target=second.next_rendezvous, daemon=True)
    waiting.start()
    end = time.monotonic() + 10
    while not first.num_nodes_waiting():
        assert time.monotonic() < end
        time.sleep(0.01)
    first.end_round(ANOTHER_WAITS)
    assert first.next_rendezvous().world_size == 2
    waiting.join(10)
    assert first.failures == 0  # nothing has failed
    second._stop_beating()  # as if its process were killed
    while not (why := first.why_over()):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "is gone" in why and second._name in why
    assert first.next_rendezvous().world_size == 1 and first.failures == 1
    assert "took agent" in second.why_over()
    first.shutdown()


def test_one_more_than_there_may_be_waits_and_leaves_when_the_job_is_over():
    store = HashStore()
    first, second = handler(store, 1, 1), handler(store, 1, 1)
    first.next_rendezvous()
    results = []
    waiting = threading.Thread(
        target=lambda: results.append(together(second.next_rendezvous)[0]), daemon=True
    )
    waiting.start()
    time.sleep(0.3)
    assert first.num_nodes_waiting() == 0  # it can't be let in, so nobody begins again for it
    first.shutdown()
    waiting.join(10)
    assert isinstance(results[0], RendezvousGracefulExitError)


def test_too_few_come():
    alone = handler(HashStore(), 2, join_timeout=0.2)
    start = time.monotonic()
    with pytest.raises(RendezvousTimeoutError, match=r"1 of at least 2 agents came within 0\.2 s"):
        alone.next_rendezvous()
    assert time.monotonic() - start < 5


def test_ranks_that_agents_insist_on():
    store = HashStore()
    agents = [handler(store, 2, rank=rank) for rank in (1, 0)]
    assert [each.rank for each in together(*[agent.next_rendezvous for agent in agents])] == [1, 0]
    store = HashStore()
    twins = [handler(store, 2, rank=0, join_timeout=0.3) for _ in range(2)]
    errors = together(*[agent.next_rendezvous for agent in twins])
    assert any(isinstance(error, RendezvousClosedError) and "node rank 0" in str(error) for error in errors)
    with pytest.raises(ValueError, match="fixed number"):
        get_rendezvous_handler(RendezvousParameters("static", "localhost", "job", 1, 2, rank=0))
    with pytest.raises(ValueError, match="rank must be one of 0"):
        get_rendezvous_handler(RendezvousParameters("static", "localhost", "job", 2, 2, rank=2))


def test_the_state_is_changed_by_one_agent_at_a_time(tmp_path):
    backend, store = create_backend(
        RendezvousParameters("c10d", str(tmp_path / "store"), "job", 1, 1, store_type="file")
    )
    assert isinstance(store, FileStore) and backend.name == "c10d" and backend.get_state() is None
    _, token, is_set = backend.set_state(b"first")
    assert is_set and backend.get_state() == (b"first", token)
    assert backend.set_state(b"second", token)[::2] == (b"second", True)
    assert backend.set_state(b"third", token)[::2] == (b"second", False)
    with pytest.raises(ValueError, match="store_type"):
        create_backend(RendezvousParameters("c10d", "", "job", 1, 1, store_type="pigeon"))


def at_port(port, seconds=20):
    return create_backend(
        RendezvousParameters("c10d", f"localhost:{port}", "job", 1, 2, read_timeout=seconds)
    )


def test_agents_that_all_are_refused_the_port_try_again():
    """As when two ask for it at the same moment, or another process has it for a while: nobody waited before."""
    with socket.socket() as other:
        other.bind(("", 0))  # taken, and nobody answers
        port = other.getsockname()[1]
        threading.Timer(0.6, other.close).start()
        result = together(*[lambda: at_port(port)[1]] * 3)
    assert sorted(store._server is not None for store in result) == [False, False, True], result
    result[0].set("key", "value")
    assert [store.get("key") for store in result] == [b"value"] * 3
    assert {store.timeout.total_seconds() for store in result} == {20}


def test_a_port_that_stays_taken_and_a_stranger_at_it():
    with socket.socket() as other:
        other.bind(("", 0))
        port = other.getsockname()[1]
        with pytest.raises(RendezvousConnectionError, match=f"cannot listen on port {port}.*no server at"):
            at_port(port, 1)
        other.listen()

        def greet():
            with other.accept()[0] as link:
                link.sendall(b"220 mail\r\n")
                link.recv(100)

        threading.Thread(target=greet, daemon=True).start()
        start = time.monotonic()
        with pytest.raises(RendezvousConnectionError, match=f"the store at localhost:{port} is no store"):
            at_port(port)
        assert time.monotonic() - start < 10


def test_a_beat_is_written_again_where_another_agent_was_quicker():
    class Contended(C10dRendezvousBackend):
        late = 0

        def set_state(self, state, token=None):
            if self.late:
                self.late -= 1
                other = RendezvousState.from_bytes(self.get_state()[0])
                other.waiting[f"other {self.late}"] = 1
                super().set_state(other.to_bytes(), token)
            return super().set_state(state, token)

    store = HashStore()
    backend = Contended(store, "job")
    params = RendezvousParameters("c10d", "", "job", 1, 1, keep_alive_interval=0.05)
    agent = create_handler(store, backend, params)
    agent.next_rendezvous()
    before = agent._read()[0].agents[agent._name]
    time.sleep(0.06)
    backend.late = 3
    agent._beat()
    assert agent._read()[0].agents[agent._name] > before and not backend.late


def test_a_state_that_makes_no_sense():
    store = HashStore()
    agent = handler(store)
    C10dRendezvousBackend(store, "job").set_state(b'{"rounds": 3}')
    with pytest.raises(RendezvousStateError, match="rounds"):
        agent.is_closed()
    store.set("job/job/agents", "!")
    with pytest.raises(RendezvousStateError, match="no state"):
        agent.is_closed()


def test_timeouts():
    assert RendezvousTimeout().heartbeat.total_seconds() == 5
    from datetime import timedelta

    with pytest.raises(ValueError, match="join must be positive"):
        RendezvousTimeout(join=timedelta(0))


def test_the_state_is_a_text():
    state = RendezvousState(agents={"a": 1}, ranks={"a": 0}, running=True)
    assert RendezvousState.from_bytes(state.to_bytes()) == state
    state.remove(["a", "unknown"])
    assert state.over == "agent a (rank 0) is gone" and not state.agents


class Gateway(BaseHTTPRequestHandler):
    """The few requests of etcd's JSON gateway that are used here."""

    values: ClassVar[dict] = {}
    revision = 0

    def do_GET(self):
        self.answer({"etcdserver": "3.5.0", "etcdcluster": "3.5.0"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(getattr(self, "_".join(self.path.split("/")[2:]))(body))

    def kv_range(self, body):
        first, last = body["key"], body.get("range_end")
        decoded = {key: b64decode(key) for key in self.values}
        inside = [
            key
            for key, name in decoded.items()
            if (key == first if last is None else b64decode(first) <= name < b64decode(last))
        ]
        if body.get("count_only"):
            return {"count": str(len(inside))}
        return {"kvs": [{"key": key, **self.values[key]} for key in inside]}

    def kv_txn(self, body):
        (compare,) = body["compare"]
        old = int(self.values.get(compare["key"], {}).get("mod_revision", 0))
        if old != int(compare["mod_revision"]):
            return {}
        Gateway.revision += 1
        ((kind, change),) = body["success"][0].items()
        if kind == "request_put":
            self.values[change["key"]] = {"value": change["value"], "mod_revision": str(self.revision)}
        else:
            self.values.pop(change["key"], None)
        return {"succeeded": True}

    def lease_grant(self, body):
        return {"ID": "7", "TTL": str(body["TTL"])}

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture(params=["gateway", "etcd"])
def etcd(request):
    """The address of an etcd server: of a real one where there is one, and of a small one that speaks as it does."""
    pytest.importorskip("etcd3gw")
    if request.param == "etcd":
        if not (os.environ.get("TORCHELASTIC_ETCD_BINARY_PATH") or shutil.which("etcd")):
            pytest.skip("needs etcd")
        from tl_distributed.elastic.rendezvous.etcd_server import EtcdServer

        server = EtcdServer()
        server.start()
        yield server.get_endpoint()
        server.stop()
        return
    Gateway.values, Gateway.revision = {}, 0
    server = ThreadingHTTPServer(("localhost", 0), Gateway)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"localhost:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.filterwarnings("ignore")  # of the libraries below etcd3gw
def test_agents_agree_through_etcd(etcd):
    params = RendezvousParameters("etcd", etcd, "job", 2, 2)
    agents = [get_rendezvous_handler(params) for _ in range(2)]
    assert all(isinstance(agent, DynamicRendezvousHandler) for agent in agents)
    result = together(*[agent.next_rendezvous for agent in agents])
    assert sorted(each.rank for each in result) == [0, 1]
    assert len({each.bootstrap_store_info.master_port for each in result}) == 1
    assert not agents[0].use_agent_store  # workers meet at a port of the first machine
    store = result[0].store
    store.set("key", "value")
    assert (
        result[1].store.get("key") == b"value" and store.add("count", 2) == 2 and store.add("count", 3) == 5
    )
    assert store.compare_set("key", "value", "new") == b"new"
    assert store.delete_key("key") and not store.delete_key("key") and not store.check(["key"])
    assert store.num_keys() >= 1
    agents[0].shutdown()
    assert agents[1].is_closed()
    agents[1].shutdown()


@pytest.mark.filterwarnings("ignore")
def test_etcd_that_is_not_there():
    pytest.importorskip("etcd3gw")
    from tl_distributed.elastic.rendezvous.utils import parse_endpoint

    assert parse_endpoint("host", 2379) == ("host", 2379)
    with pytest.raises(RendezvousConnectionError, match="etcd at localhost:1"):
        get_rendezvous_handler(RendezvousParameters("etcd", "localhost:1", "job", 1, 1))


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "etcd3gw", None)
    with pytest.raises(ModuleNotFoundError, match=r"tl-distributed\[etcd\]"):
        get_rendezvous_handler(RendezvousParameters("etcd", "localhost:1", "job", 1, 1))


def test_encoding_is_plain_base64():
    store = HashStore()
    C10dRendezvousBackend(store, "job").set_state(b"state")
    assert store.get("job/job/agents") == b64encode(b"state")
