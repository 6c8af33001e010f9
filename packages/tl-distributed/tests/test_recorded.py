"""Collectives in recordings."""

import tl_core
import tl_distributed as dist
from tl_core.base import recording


def test_collectives_are_events():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    recording.start()
    try:
        dist.all_reduce(tl_core.ones(3))
        dist.broadcast(tl_core.ones(2), 0)
    finally:
        events = recording.stop().events()
        dist.destroy_process_group()
    shapes = {event[1]: event[10] for event in events if event[1].startswith("c10d::")}
    assert set(shapes) == {"c10d::all_reduce", "c10d::broadcast"} and shapes["c10d::all_reduce"] == ("[3]",)
