"""Calls in other processes, which there are none of."""

import pytest

from tl_distributed import rpc


def test_it_says_that_it_is_not_there():
    assert rpc.is_available() is False
    with pytest.raises(AttributeError):
        rpc.init_rpc("worker")
