"""The parts of a rendezvous: addresses, options, kinds of handlers, refusals, stores."""

from __future__ import annotations

import errno
import os
import socket
import time
from datetime import timedelta

import pytest

import tl_distributed as dist
from tl_distributed.elastic.rendezvous import api, static_tcp_rendezvous
from tl_distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousBackend
from tl_distributed.elastic.rendezvous.utils import is_local, parse_config
from tl_distributed.stores.fake_store import FakeStore
from tl_distributed.stores.refusal import (
    is_exhausted,
    raise_refusal,
    refuse,
    told_to_others,
    wait_for,
)
from tl_distributed.stores.store import EditedStore, as_bytes, check_lengths


def test_names_of_this_machine():
    assert all(is_local(host) for host in ("localhost", "127.0.0.1", socket.gethostname()))
    assert not is_local("192.0.2.1")  # an address for documentation


def test_options_as_text():
    assert parse_config("a=1, b = x=y,") == {"a": "1", "b": "x=y"}
    with pytest.raises(ValueError, match="--rdzv-conf must look like"):
        parse_config("a")


def test_the_address_of_the_workers():
    store = dist.HashStore()
    first = api.RendezvousStoreInfo.build(0, store, "host", 1234)
    second = api.RendezvousStoreInfo.build(1, store, "elsewhere")
    assert first == second == api.RendezvousStoreInfo("host", 1234)
    info = api.RendezvousInfo(store, 1, 2, first)
    assert (info.store, info.rank, info.world_size, info.bootstrap_store_info) == (store, 1, 2, first)


def test_kinds_of_handlers_by_name():
    registry, parameters = api.RendezvousHandlerRegistry(), api.RendezvousParameters("mine", "", "job", 1, 2)

    def create(params):
        return params.run_id

    registry.register("mine", create)
    registry.register("mine", create)
    assert registry.create_handler(parameters) == "job"
    with pytest.raises(ValueError, match="already registered"):
        registry.register("mine", lambda params: None)
    with pytest.raises(ValueError, match="must not be empty"):
        registry.register("", create)
    with pytest.raises(ValueError, match="no rendezvous backend 'other'; known: mine"):
        registry.create_handler(api.RendezvousParameters("other", "", "job", 1, 2))
    for kind in (api.RendezvousHandler, RendezvousBackend, dist.Store, EditedStore):
        with pytest.raises(TypeError, match="abstract"):
            kind()
    assert issubclass(api.RendezvousClosedError, api.RendezvousError)


def test_agents_with_ranks():
    def handler(low, high, **options):
        return static_tcp_rendezvous.create_rdzv_handler(
            api.RendezvousParameters("static", "", "job", low, high, **options)
        )

    with pytest.raises(ValueError, match="needs a fixed number of agents, got 1:2"):
        handler(1, 2, rank=0)
    for options in ({}, {"rank": 2}):
        with pytest.raises(ValueError, match=r"rank must be one of 0 \.\. 1"):
            handler(2, 2, **options)
    backend = static_tcp_rendezvous.StaticRendezvousBackend(dist.HashStore(), "job")
    assert backend.name == "static" and backend.get_state() is None


def test_a_refusal_reaches_all_waiting_ranks():
    store, soon = dist.HashStore(), time.monotonic() + 0.01
    raise_refusal(store)
    assert not wait_for(store, ["key"], soon)
    store.set("key", "value")
    assert wait_for(store, ["key"], soon)
    assert str(refuse(store, "rank 1 is late")) == "rank 1 is late"
    with pytest.raises(dist.DistBackendError, match="rank 1 is late"):
        raise_refusal(store)
    with pytest.raises(dist.DistError, match="rank 1 is late"):
        wait_for(store, ["other"], time.monotonic() + 5)


def test_a_failed_system_call_is_stored_for_all_ranks():
    store = dist.HashStore()
    error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    assert is_exhausted(error) and not is_exhausted(OSError(errno.EPERM, "no"))
    with (
        pytest.raises(dist.DistBackendError, match=r"group 0: rank 1 can't take part.*ulimit -n"),
        told_to_others(store, "group 0: rank 1"),
    ):
        raise error
    with pytest.raises(dist.DistBackendError, match="group 0: rank 1 can't take part"):
        raise_refusal(store)


def test_values_of_stores():
    assert (as_bytes("é"), as_bytes(b"a"), as_bytes(bytearray(b"b"))) == (b"\xc3\xa9", b"a", b"b")
    with pytest.raises(TypeError, match="must be str or bytes, got int"):
        as_bytes(3)
    check_lengths(["a"], ["b"])
    with pytest.raises(ValueError, match="got 1 keys and 2 values"):
        check_lengths(["a"], ["b", "c"])
    store = FakeStore()
    store.set_timeout(timedelta(seconds=0.01))
    assert store.add("count", 2) == 2 and store.add("count", 3) == 5 and store.get("count") == b"5"
    assert store.delete_key("count") and not store.delete_key("count")
    with pytest.raises(dist.DistStoreError, match="no value for missing"):
        store.get("missing")


def test_the_end_of_a_connection_names_the_rank_at_its_other_end():
    store = dist.HashStore()
    refuse(store, "group 0: rank 0 can't take part: Too many open files")
    with (
        pytest.raises(dist.DistBackendError, match="rank 0 can't take part"),
        told_to_others(store, "group 0: rank 1"),
    ):
        raise ConnectionResetError(104, "Connection reset by peer")
