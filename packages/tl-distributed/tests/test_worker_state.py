"""The parts of remote calls in one process: deadlines, threads, references, errors, pickles, contexts, names."""

from __future__ import annotations

import os
import threading
import time
import types

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_core.futures import Future
from tl_distributed import rpc
from tl_distributed.rpc import api, backend_registry, failures, pickling, references, thread_context
from tl_distributed.rpc.agent import Agent
from tl_distributed.rpc.connection import admit
from tl_distributed.rpc.current import current as current_agent
from tl_distributed.rpc.deadlines import Deadlines
from tl_distributed.rpc.gathering import Meetings
from tl_distributed.rpc.gradients import contexts
from tl_distributed.rpc.internal import PythonUDF, RPCExecMode, _build_rpc_profiling_key
from tl_distributed.rpc.options import RpcBackendOptions
from tl_distributed.rpc.roster import Roster
from tl_distributed.rpc.rref_proxy import RRefProxy, call_method
from tl_distributed.rpc.threads import Threads, Turn
from tl_distributed.rpc.wire import FrameError
from tl_distributed.rpc.worker_info import WorkerInfo


@pytest.fixture
def alone():
    options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
    rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    yield current_agent()
    rpc.shutdown()


# ---- time and threads


def test_deadlines_come_in_their_order():
    over, finish = [], threading.Event()

    def expire(number, limit):
        over.append((number, limit))
        if len(over) == 3:
            finish.set()

    deadlines = Deadlines(expire)
    for number, limit in ((1, 0.06), (2, 0.02), (3, 0.04), (4, 60.0)):
        deadlines.add(number, limit)
    assert finish.wait(10)
    deadlines.stop()
    assert over == [(2, 0.02), (3, 0.04), (1, 0.06)]


def test_threads_take_turns():
    names, jobs = [], threading.Semaphore(0)
    threads = Threads("turns", lambda: names.append(threading.current_thread().name))
    threads.start()
    reader, writer = os.pipe()
    content = []

    def event(turn):
        assert isinstance(turn, Turn)
        content.append(os.read(reader, 1))
        turn.release()
        turn.release()  # the second time does nothing
        jobs.release()

    def wait():
        assert jobs.acquire(timeout=10)

    threads.watch(reader, event)
    os.write(writer, b"a")
    wait()
    os.write(writer, b"b")
    threads.submit(jobs.release)  # runs although nothing is watched
    wait()
    assert content == [b"a"]
    threads.watch(reader, event)
    wait()
    assert content == [b"a", b"b"] and names[0] == "turns 1"
    threads.pause(reader)
    threads.resume(reader)
    os.write(writer, b"c")
    wait()
    threads.forget(reader)
    threads.forget(reader)
    threads.stop()
    threads.join(5)
    assert content == [b"a", b"b", b"c"]
    os.close(reader), os.close(writer)


# ---- errors and pickles


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a)


def test_errors_of_another_worker():
    import pickle

    def again(kind, text):
        return failures.unpack(pickle.dumps((kind.__module__, kind.__qualname__, text)))

    assert type(again(KeyError, "x")) is KeyError and type(again(FrameError, "x")) is FrameError
    odd = again(Odd, "text")
    assert type(odd) is RuntimeError and "can't be made from a text here" in str(odd)
    missing = failures.unpack(pickle.dumps(("no.such", "Error", "what it said")))
    assert type(missing) is RuntimeError and str(missing) == "what it said"
    own, other = WorkerInfo("a", 0), WorkerInfo("b", 3)
    assert "a can't reach b (rank 3): " in str(failures.unreachable(own, other, OSError("no way")))
    assert str(failures.unsent(own, [1], TypeError("t"))) == "a can't send the result, a list: TypeError: t"
    assert issubclass(FrameError, ConnectionError)


def test_tensors_that_travel_as_bytes():
    plain = pickling.is_plain
    assert plain(tl.ones(2)) and plain(tl.nn.Parameter(tl.ones(2)) if hasattr(tl, "nn") else tl.ones(1))
    assert not plain(tl.empty(2, device="meta")) and plain(tl.eye(2).to_sparse())
    small = pickling.small_tensor(b"\x00\x00\x80\x3f\x00\x00\x00\x40", 0, (2, 1))
    assert small.tolist() == [[1.0], [2.0]] and small.dtype is tl.float32


class Secret:
    def __init__(self, text):
        self.text = text


class Derived(Secret):
    pass


def test_a_class_has_a_pickled_form_of_its_own():
    pickling.register_reducer(Secret, lambda each: (Secret, (each.text.upper(),)))
    try:
        content, tensors = pickling.serialize([Secret("a"), Derived("a"), tl.ones(200)])
        first, second, third = pickling.deserialize(content, tensors)
    finally:
        del pickling._reducers[Secret]
    assert (first.text, second.text) == ("A", "a") and tl.equal(third, tl.ones(200)) and len(tensors) == 1


# ---- workers


def test_options_of_backends():
    options = RpcBackendOptions(5)
    assert (options.rpc_timeout, options.init_method) == (5.0, "env://")
    for value in (True, "5"):
        with pytest.raises(TypeError, match="rpc_timeout must be a number"):
            options.rpc_timeout = value
    names = [_build_rpc_profiling_key(mode, "f", "a", "b") for mode in RPCExecMode]
    assert names == [f"rpc_{way}#f(a -> b)" for way in ("sync", "async", "async_jit", "remote")]
    assert PythonUDF(len, ([1],), None).func([1, 2]) == 2


def test_backends_of_one_s_own():
    assert backend_registry.backend_registered("TENSORPIPE") and not backend_registry.backend_registered(
        "mine"
    )
    value = backend_registry.BackendValue(lambda **options: options, lambda *args, **options: (args, options))
    backend = types.SimpleNamespace(value=value)
    options = backend_registry.construct_rpc_backend_options(backend, rpc_timeout=3, more=1)
    assert options == {"rpc_timeout": 3, "init_method": "env://", "more": 1}
    assert backend_registry.init_backend(backend, 1, name="w") == ((1,), {"name": "w"})


def test_names_are_unique():
    store = dist.HashStore()
    first = Roster(store, "a", 0, 2)
    assert first.info == WorkerInfo("a", 0) and first.is_complete
    with pytest.raises(RuntimeError, match="name 'a' is not unique"):
        Roster(store, "a", 1, 2)
    with pytest.raises(RuntimeError, match="rank 0 is not unique"):
        Roster(store, "b", 0, 2)
    free = Roster(dist.HashStore(), "c", -1, None)
    assert free.info.id == 0 and not free.is_complete
    assert len(first.token) >= 16 and first.token != free.token


def test_a_caller_that_lacks_the_token():
    from tl_distributed.rpc.connection import _ANSWER

    answer = _ANSWER.pack(1, b"c" * 16, b"p" * 32)
    assert admit(None, 0, b"token", b"challenge", answer) is None


def test_objects_of_all_workers():
    agent = types.SimpleNamespace(listeners=[], lost={})
    meetings, names = Meetings(agent), frozenset("ab")
    assert [meetings.next_round(names) for _ in range(2)] == [1, 2]
    future = meetings.add(names, 1, "a", 10)
    assert not future.done() and not meetings.add(names, 2, "a", 30).done()
    meetings.add(names, 1, "b", 20)
    assert future.value() == {"a": 10, "b": 20}
    assert agent.listeners


# ---- references


def test_the_values_of_a_worker(alone):
    assert isinstance(alone, Agent) and api.get_rpc_timeout() == 60.0
    table = references.table()
    assert isinstance(table, references.References)
    first, second = table.new_id(), table.new_id()
    assert first != second and str(first) == f"GloballyUniqueId(created_on=0, local_id={first.local_id})"
    fork = references.GloballyUniqueId(1, 7)
    references.add_fork(first, fork)
    owned = table.owned_value(first)
    assert isinstance(owned, references.Owned) and owned.forks == {fork}
    owned.value.set_result([1, 2])
    assert references.fetch(first).value() == [1, 2] and references.kind_of(first).value() is list
    table.kept[fork] = object()
    references.free_parent(fork)
    references.free_parent(fork)
    assert not table.kept
    references.drop_fork(first, fork)
    assert first not in table.owned and not owned.forks


def test_values_that_others_still_have(alone):
    table = references.table()
    lost = references.References(alone)
    lost.add_fork(lost.owned_value(lost.new_id()), references.GloballyUniqueId(1, 7))
    alone_table, table_of = table, references.table
    assert table_of(alone) is alone_table
    reference = rpc.RRef([1, 2])
    assert isinstance(reference, references.PyRRef) and reference.is_owner() and reference.to_here() == [1, 2]


class Counter:
    def add(self, n, times=1):
        return n * times

    @rpc.functions.async_execution
    def later(self):
        future = Future()
        future.set_result(5)
        return future

    @rpc.functions.async_execution
    def wrong(self):
        return 3


def test_methods_of_a_reference():
    reference = types.SimpleNamespace(local_value=Counter)
    assert call_method(reference, "add", (2,), {"times": 4}).value() == 8
    assert call_method(reference, "later", (), {}).value() == 5
    with pytest.raises(RuntimeError, match="wrong returned a int"):
        call_method(reference, "wrong", (), {})


def test_a_proxy_calls_where_the_value_is(alone):
    reference = rpc.RRef(Counter())
    for api_function, result in ((rpc.rpc_sync, lambda x: x), (rpc.rpc_async, lambda x: x.wait())):
        assert result(RRefProxy(reference, api_function).add(3, times=2)) == 6
    assert RRefProxy(reference, rpc.remote, 9.0).rpc_timeout == 9.0


# ---- contexts


def test_the_context_of_a_thread():
    assert thread_context.context_id() is None
    with thread_context.in_context((7, "rest")):
        assert thread_context.context_id() == 7
        with thread_context.in_context(None):
            assert thread_context.context_id() is None
        assert thread_context.context_id() == 7
        thread_context.set_context_id(8)
        assert thread_context.context_id() == 8
    assert thread_context.context_id() is None


def test_contexts_of_derivatives(alone):
    context = contexts.enter()
    try:
        assert isinstance(context, contexts.Context) and contexts.max_id() >= context.id
        with pytest.raises(RuntimeError, match="Already have an autograd context id"):
            contexts.enter()
        x = tl.ones(2)
        context.add_gradient(x, tl.ones(2))
        context.add_gradient(x, tl.full((2,), 3.0))
        assert context.gradients[x].tolist() == [4.0, 4.0]
        assert contexts.retrieve(context.id) is context
        with pytest.raises(RuntimeError, match=str(context.id + 1)):
            contexts.retrieve(context.id + 1)
    finally:
        thread_context.set_context_id(None)
        contexts.table().release(context.id)
    assert contexts.table().find(context.id) is None
    table = contexts.Contexts(types.SimpleNamespace(info=WorkerInfo("w", 3)))
    ids = [table.new().id, table.new().id]
    assert ids[1] == ids[0] + 1 and ids[0] >> 48 == 3 and table.at_or_new(ids[0]) is table.find(ids[0])
    assert time.monotonic() > 0
