"""Stores: every kind does the same."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta

import pytest

import tl_distributed as dist

KINDS = ["hash", "file", "prefix"]


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    stores = {
        "hash": lambda: dist.HashStore(),
        "file": lambda: dist.FileStore(str(tmp_path / "store")),
        "prefix": lambda: dist.PrefixStore("a", dist.PrefixStore("b", dist.HashStore())),
    }
    return stores[request.param]()


def test_values_are_bytes(store):
    store.set("text", "välue")
    store.set("bytes", b"\x00\xff")
    store.set("empty", "")
    assert store.get("text") == "välue".encode()
    assert store.multi_get(["bytes", "empty"]) == [b"\x00\xff", b""]
    assert store.num_keys() == 3
    with pytest.raises(TypeError, match="must be str or bytes, got int"):
        store.set("number", 3)


def test_counters(store):
    assert store.add("c", 1) == 1
    assert store.add("c", 6) == 7
    assert store.get("c") == b"7"
    store.set("word", "xyz")
    with pytest.raises(ValueError, match="xyz"):
        store.add("word", 1)
    assert store.get("word") == b"xyz"


def test_append_delete_and_many(store):
    store.append("k", "po")
    store.append("k", "tato")
    assert store.get("k") == b"potato"
    assert store.delete_key("k") is True
    assert store.delete_key("k") is False
    assert store.check(["k"]) is False
    store.multi_set(["x", "y"], ["1", b"2"])
    assert store.multi_get(["y", "x"]) == [b"2", b"1"]
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        store.multi_set(["x", "y"], ["1"])
    assert store.has_extended_api()


def test_compare_set(store):
    assert store.compare_set("k", "", "v") == b"v"
    assert store.compare_set("k", "other", "u") == b"v"
    assert store.compare_set("k", "v", "u") == b"u"
    assert store.compare_set("absent", "w", "u") == b"w"
    assert not store.check(["absent"])


def test_waiting_ends_in_time(store):
    assert store.timeout == timedelta(minutes=5)
    store.set_timeout(timedelta(milliseconds=20))
    assert store.timeout == timedelta(milliseconds=20)
    store.set("there", "1")
    with pytest.raises(dist.DistStoreError, match=r"no value for ([\w/]+/)?nope$"):
        store.wait(["there", "nope"])
    with pytest.raises(dist.DistStoreError, match=r"0\.01 s"):
        store.wait(["nope"], timedelta(milliseconds=10))
    with pytest.raises(RuntimeError):
        store.get("nope")


def test_another_thread_is_waited_for(store):
    timer = threading.Timer(0.05, store.set, ("late", "here"))
    timer.start()
    assert store.get("late") == b"here"
    timer.join()


def test_threads_count_together(store):
    threads = [threading.Thread(target=lambda: [store.add("n", 1) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get("n") == b"200"


def test_prefixes_stand_before_keys():
    base = dist.HashStore()
    outer = dist.PrefixStore("p", base)
    outer.set("k", "1")
    assert base.get("p/k") == b"1"
    assert outer.underlying_store is base
    outer.set_timeout(timedelta(seconds=1))
    assert base.timeout == timedelta(seconds=1)


def test_processes_share_a_file(tmp_path):
    path = str(tmp_path / "store")
    first = dist.FileStore(path, 2)
    code = (
        "import sys, tl_distributed as d; s = d.FileStore(sys.argv[1], 2); s.set('from', 'child');"
        "[s.add('n', 1) for _ in range(100)]; s.close()"
    )
    child = subprocess.Popen([sys.executable, "-c", code, path])
    for _ in range(100):
        first.add("n", 1)
    assert first.get("from") == b"child"
    assert child.wait() == 0
    assert first.get("n") == b"200"
    assert first.path == path
    assert (tmp_path / "store").exists()
    first.close()
    assert not (tmp_path / "store").exists()


def test_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_bytes(b"dear diary, " * 9)
    with pytest.raises(dist.DistStoreError, match=r"notes\.txt is no file of a FileStore"):
        dist.FileStore(str(tmp_path / "notes.txt"))
    assert (tmp_path / "notes.txt").read_bytes() == b"dear diary, " * 9
