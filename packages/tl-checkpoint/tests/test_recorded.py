"""Saves in recordings."""

import io

import tl_checkpoint
import tl_core
from tl_checkpoint.distributed import save
from tl_core.base import recording


def test_saves_are_events(tmp_path):
    recording.start()
    try:
        tl_checkpoint.save({"weight": tl_core.ones(2)}, io.BytesIO())
        save({"weight": tl_core.ones(2)}, checkpoint_id=tmp_path / "state")
    finally:
        events = recording.stop().events()
    names = [event[1] for event in events]
    assert names.count("checkpoint.save") == 1 and names.count("checkpoint.distributed.save") == 1
