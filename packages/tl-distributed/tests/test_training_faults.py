"""What happens to the other ranks when one dies in a step of sharded training, of a pipeline or of remote calls."""

from __future__ import annotations

import random
import statistics
import sys
from pathlib import Path

import pytest

pytest.importorskip("tl_nn")
sys.path.insert(0, str(Path(__file__).parent))

from test_faults import LIMITS, outcomes_of_a_kill


@pytest.mark.parametrize("action", ["unshard", "reduce", "stages"])
def test_kills_in_training_steps_are_named(tmp_path, action, transport, times):
    """100 of each kind for each transport in the long run: survivors name the dead rank, and leave nothing."""
    draw = random.Random(action)
    limit, waits = LIMITS[transport], []
    for number in range(times(100, 2)):
        size = draw.choice((2, 3))
        victim, pause = draw.randrange(size), draw.uniform(0.02, 0.15)
        for _, output, wait in outcomes_of_a_kill(tmp_path / str(number), size, action, victim, pause):
            assert output.endswith("\n0 descriptors left\n"), (size, victim, output)
            waits.append(wait)
    late = [wait for wait in waits if wait > limit]
    print(
        f"{action} over {transport}: {number + 1} killed, all named, the median after {statistics.median(waits):.3f} "
        f"s, the slowest after {max(waits):.2f} s; {len(late)} of {len(waits)} later than {limit} s"
    )
    if times(True, False):  # another machine may be busy
        assert len(late) <= 0.01 * len(waits)
