"""Collectives of what functions return, and what wrappers of modules share."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.collectives.collective_utils import all_gather, all_gather_object_enforce_type, broadcast
from tl_distributed.collectives.utils import (
    _apply_to_tensors,
    _pack_kwargs,
    _recursive_to,
    _to_kwargs,
    _unpack_kwargs,
    _verify_param_shape_across_processes,
)


def test_what_one_has_all_have(ranks):
    def body(rank):
        group = dist.group.WORLD
        result = broadcast(lambda: f"of {rank}", rank=1, pg=group)
        every = all_gather(lambda: rank * 2, pg=group)
        types, other = [None] * 3, [None] * 3
        all_gather_object_enforce_type(group, types, rank)
        with pytest.raises(TypeError, match="rank 0 has a int, rank 1 a str"):
            all_gather_object_enforce_type(group, other, "text" if rank == 1 else 3)
        return result, every, types

    assert ranks(3, body) == [("of 1", [0, 2, 4], [0, 1, 2])] * 3


def test_a_failure_of_one_is_raised_by_all(ranks):
    def body(rank):
        def fail():
            if rank == 1:
                raise OSError("no disk")
            return rank

        with pytest.raises(RuntimeError, match="rank 1 failed in stage load: OSError"):
            broadcast(fail, stage_name="load", rank=1, pg=dist.group.WORLD)
        with pytest.raises(RuntimeError, match="ranks failed in stage load: rank 1: OSError"):
            all_gather(fail, "load", dist.group.WORLD)
        with pytest.raises(RuntimeError, match="said that it failed"):
            broadcast(3, success=rank != 0, pg=dist.group.WORLD)

    ranks(2, body)
    with pytest.raises(RuntimeError, match="rank 0 failed"):
        broadcast(lambda: 1 // 0)


def test_parameters_that_differ(ranks):
    def body(rank):
        group = dist.group.WORLD
        _verify_param_shape_across_processes(group, [tl.zeros(3)])
        with pytest.raises(RuntimeError, match="Rank 0 has 1 params, while rank 1 has inconsistent 2 params"):
            _verify_param_shape_across_processes(group, [tl.zeros(1)] * (1 + rank))
        with pytest.raises(RuntimeError, match=r"\[1\]: params\[0\].*sizes \[2\].*appears not to match"):
            _verify_param_shape_across_processes(group, [tl.zeros(1 + rank)])

    ranks(2, body)


def test_arguments_that_travel():
    flat, names = _pack_kwargs(1, 2, a=3, b=4)
    assert _unpack_kwargs(flat, names) == ((1, 2), {"a": 3, "b": 4}) and _unpack_kwargs((1,), ()) == (
        (1,),
        {},
    )
    with pytest.raises(ValueError, match="2 names for 1"):
        _unpack_kwargs((1,), ("a", "b"))
    args, kwargs = _to_kwargs((tl.ones(2), 3), None, "cpu")
    assert args[0][0].tolist() == [1, 1] and args[0][1] == 3 and kwargs == ({},)
    (moved,) = _recursive_to({"x": [tl.ones(1)]}, "cpu")
    assert moved["x"][0].tolist() == [1]
    assert _apply_to_tensors(lambda t: t.tolist(), (tl.ones(1), {"k": tl.zeros(1)})) == ([1.0], {"k": [0.0]})
