"""Numbers below the smallest normal one, taken for zero on request."""

import threading

import pytest

import tl_core as tl

SMALL = 2.0**-130


@pytest.fixture
def flushing():
    if not tl.set_flush_denormal(True):
        pytest.skip("the processor cannot")
    yield
    tl.set_flush_denormal(False)


def products(n=1):
    return tl.full((n,), 2.0**-100) * 2.0**-30


def test_they_are_kept_by_default():
    assert products().item() == SMALL


def test_they_are_flushed_on_request(flushing):
    assert products().item() == 0
    tl.set_flush_denormal(False)
    assert products().item() == SMALL


def test_helpers_of_a_call_follow_their_caller(flushing):
    before = tl.get_num_threads()
    tl.set_num_threads(4)
    try:
        for _ in range(20):
            assert not products(1 << 20).any()
        tl.set_flush_denormal(False)
        for _ in range(20):
            assert products(1 << 20).all()
    finally:
        tl.set_num_threads(before)


def test_other_threads_keep_theirs():
    ready, request, records = threading.Event(), threading.Event(), []

    def work():
        ready.set()
        request.wait(10)
        records.append(products().item())

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(10)
    tl.set_flush_denormal(True)
    request.set()
    thread.join()
    tl.set_flush_denormal(False)
    assert records == [SMALL]


def test_only_a_bool_is_taken():
    with pytest.raises(TypeError, match="bool"):
        tl.set_flush_denormal(1)
