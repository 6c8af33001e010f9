"""Tables of pipelines: orders, messages, checks, files."""

from __future__ import annotations

import pytest

from tl_distributed.pipelining import Action, check_tables, get_schedule_class
from tl_distributed.pipelining.actions import ActionKind, format_tables, passes_of
from tl_distributed.pipelining.checks import check_messages, peak_microbatches, simulate, stage_ranks
from tl_distributed.pipelining.lowering import (
    add_messages,
    add_unshard_reshard,
    defer_receipts,
    merge_backward,
    read_tables,
    write_tables,
)
from tl_distributed.pipelining.orders import (
    DualPipe,
    fill_bubbles,
    interleave_stages,
    loop_stages,
    one_forward_one_backward,
    stages_of,
)

COSTS = {"F": 1, "I": 1, "W": 1, "B": 2}


def parse(texts):
    return [Action.from_str(text) for text in texts]


def waits(tables, stages):
    """The time that ranks wait until the last has ended, if a forward pass costs 1 and a backward pass 2."""
    queues = {rank: list(passes_of(table)) for rank, table in tables.items()}
    clock, ends = dict.fromkeys(tables, 0), {}
    while any(queues.values()):
        for rank, queue in queues.items():
            while queue:
                stage, kind, microbatch, _ = queue[0]
                needs = None
                if kind.value == "F" and stage > 0:
                    needs = (stage - 1, "F", microbatch)
                elif kind.value in "BI" and stage < stages - 1:
                    needs = (stage + 1, "B", microbatch)
                if needs is not None and needs not in ends:
                    break
                clock[rank] = max(clock[rank], ends.get(needs, 0)) + COSTS[kind.value]
                name = {"F": "F", "W": "W"}.get(kind.value, "B")
                ends[stage, name, microbatch] = clock[rank]
                queue.pop(0)
    busy = {
        rank: sum(COSTS[a.computation_type.value] for a in passes_of(table)) for rank, table in tables.items()
    }
    return max(max(clock.values()) - busy[rank] for rank in tables)


def check(tables, stages, microbatches):
    """Checks passes and messages; returns the most microbatches at once."""
    ranks = stage_ranks(tables, len(tables), stages, microbatches)
    complete = add_messages(tables, ranks.__getitem__, stages)
    check_messages(complete, ranks.__getitem__, stages)
    check_messages(defer_receipts(complete, ranks.__getitem__), ranks.__getitem__, stages)
    return check_tables([tables[rank] for rank in sorted(tables)], stages)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_orders_end_within_their_memory_and_waits(ranks):
    for microbatches in (1, 3, 8, 16):
        single = {r: one_forward_one_backward(r, ranks, microbatches) for r in range(ranks)}
        assert check(single, ranks, microbatches) == min(ranks, microbatches)
        assert peak_microbatches(single[ranks - 1]) == 1
        assert waits(single, ranks) == 3 * (ranks - 1)
        assert (
            check({r: loop_stages([r], microbatches) for r in range(ranks)}, ranks, microbatches)
            == microbatches
        )
        for local in (1, 2, 3):
            stages = ranks * local
            looped = {r: loop_stages(stages_of(r, ranks, stages), microbatches) for r in range(ranks)}
            assert check(looped, stages, microbatches) == local * microbatches
            if microbatches % max(1, microbatches // ranks) == 0:
                for is_split in (False, True):
                    turns = {
                        r: interleave_stages(r, ranks, local, microbatches, is_split) for r in range(ranks)
                    }
                    assert check(turns, stages, microbatches) <= local * microbatches
        there_and_back = {r: stages_of(r, ranks, 2 * ranks, "v") for r in range(ranks)}
        filled = fill_bubbles(there_and_back, 2 * ranks, microbatches, 2 * ranks)
        assert check(filled, 2 * ranks, microbatches) <= 2 * ranks
        if microbatches >= 2 * ranks:
            assert waits(filled, 2 * ranks) <= ranks + 1  # nothing but the way of the first microbatch
            dual = {r: DualPipe(r, ranks, microbatches).actions() for r in range(ranks)}
            assert check(dual, 2 * ranks, microbatches) <= 2 * ranks + 1
            assert waits(dual, 2 * ranks) == ranks - 1


def test_orders_of_few_microbatches():
    assert parse(["1F0", "1B0", "1F1", "1B1", "1F2", "1B2"]) == one_forward_one_backward(1, 2, 3)
    split = interleave_stages(1, 2, 2, 2, is_split=True)
    assert split == parse(
        ["1F0", "1F1", "3F0", "3I0", "3F1", "3I1", "3W0", "1I0", "3W1", "1I1", "1W0", "1W1"]
    )
    assert [stages_of(r, 2, 5) for r in range(2)] == [[0, 2, 4], [1, 3]]
    with pytest.raises(ValueError, match="1 microbatches at once are too few"):
        fill_bubbles({0: [0, 1]}, 2, 1, 1)


def test_actions_are_texts():
    for text in ("1F0", "2I1", "0W3", "0B3", "1UNSHARD", "3RESHARD", "2SEND_B2", "1RECV_F1", "0REDUCE_GRAD"):
        action = Action.from_str(text)
        assert repr(action) == str(action) == text
        assert action.is_compute_op == (len(text) == 3)
    both = Action.from_str("(0F1;3B0)OVERLAP_F_B")
    assert both.sub_actions == (Action(0, ActionKind.FORWARD, 1), Action(3, ActionKind.FULL_BACKWARD, 0))
    assert str(both) == "(0F1;3B0)OVERLAP_F_B" and both.is_compute_op
    assert Action.from_str("  ") is None
    for text in ("F0", "1X0", "1F0 ;"):
        with pytest.raises(RuntimeError, match="Invalid action string"):
            Action.from_str(text)
    with pytest.raises(RuntimeError, match="must be one of F, I, W"):
        ActionKind.from_str("G")


def test_messages_stand_where_the_sender_sends():
    v = {
        0: ["0F0", "0F1", "", "3F0", "3B0", "3F1", "3B1", "0B0", "0B1"],
        1: ["", "1F0", "2F0", "1F1", "2F1", "2B0", "1B0", "2B1", "1B1"],
    }
    where = [0, 1, 1, 0].__getitem__
    tables = {rank: parse(row) for rank, row in v.items()}
    complete = add_messages(tables, where, 4)
    assert [str(a) for a in complete[1]] == [
        "1RECV_F0",
        "1RECV_F1",
        "1F0",
        "2F0",
        "2SEND_F0",
        "1F1",
        "2RECV_B0",
        "2F1",
        "2SEND_F1",
        "2B0",
        "2RECV_B1",
        "1B0",
        "1SEND_B0",
        "2B1",
        "1B1",
        "1SEND_B1",
    ]  # two stages of one rank need no message
    steps = simulate(complete, where, 4)
    assert {rank: len(row) for rank, row in steps.items()} == {0: 21, 1: 20}
    assert [a for a in steps[0] if a is not None] == complete[0]
    late = defer_receipts(complete, where)
    assert [str(a) for a in late[1]][:4] == ["1RECV_F0", "1F0", "2F0", "2SEND_F0"]
    lost = {0: complete[0], 1: complete[1][1:]}
    with pytest.raises(ValueError, match="rank 0 is at 3RECV_F0, which waits for 2SEND_F0"):
        simulate(lost, where, 4)
    unread = {0: complete[0], 1: [a for a in complete[1] if str(a) != "1SEND_B1"]}
    with pytest.raises(ValueError, match="waits for 1SEND_B1"):
        check_messages(unread, where, 4)


def test_parts_of_backward_passes_are_joined():
    assert merge_backward(parse(["0F0", "0F1", "0F2", "0I0", "0I1", "0W0", "0I2", "0W2", "0W1"])) == parse(
        ["0F0", "0F1", "0F2", "0I0", "0I1", "0W0", "0B2", "0W1"]
    )
    assert merge_backward([None, *parse(["0I0"]), None, *parse(["0W0", "1I0", "0W1"])]) == parse(
        ["0B0", "1I0", "0W1"]
    )


def test_parameters_are_gathered_for_the_next_stages():
    table = parse(["0F0", "0F1", "   ", "0B0", "0B1"])
    assert add_unshard_reshard(table) == parse(["0UNSHARD", "0F0", "0F1", "0B0", "0B1", "0RESHARD"])
    assert add_unshard_reshard(parse(["0F0", "1F0", "2F0", "1F1"]), 2) == parse(
        ["0UNSHARD", "1UNSHARD", "0F0", "0RESHARD", "2UNSHARD", "1F0", "2F0", "2RESHARD", "1F1", "1RESHARD"]
    )


def test_tables_are_checked_before_they_run():
    with pytest.raises(ValueError, match="rank 0 is at 0B0, which waits for 1B0"):
        check_tables([parse(["0F0", "0B0"]), parse(["1B0", "1F0"])], 2)
    with pytest.raises(ValueError, match="rank 0 has 0F0 twice"):
        check_tables([parse(["0F0", "0F0"])], 1)
    with pytest.raises(ValueError, match="rank 0 is at 0W0, which waits for 0I0"):
        check_tables([parse(["0F0", "0W0", "0I0"])], 1)
    with pytest.raises(ValueError, match="rank 0 is at 0B0, which waits for 1B0"):
        add_messages({0: parse(["0F0", "0B0"]), 1: parse(["1F0"])}, lambda stage: stage, 2)
    for tables, text in (
        ({0: parse(["0F0", "0B0"])}, "must have tables of 2 ranks"),
        (
            {0: parse(["0F0"]), 1: parse(["1F0"])},
            "stage 0 must have 1 forward and backward passes, got 1 F, 0 B",
        ),
        ({0: parse(["0F0", "0I0"]), 1: parse(["1F0", "1B0"])}, "1 I and 0 W"),
        ({0: parse(["0F0", "0B0", "1F0"]), 1: parse(["1F0", "1B0"])}, "stage 1 is on rank 0 and on rank 1"),
        ({0: parse(["0B0", "0F0"]), 1: parse(["1F0", "1B0"])}, "rank 0, step 0: 0B0 comes before 0F0"),
    ):
        with pytest.raises(AssertionError, match=text):
            stage_ranks(tables, 2, 2, 1)
    assert stage_ranks({0: parse(["0F0", "0I0", "0W0"]), 1: parse(["1F0", "1B0"])}, 2, 2, 1) == {0: 0, 1: 1}


def test_files(tmp_path):
    tables = {0: parse(["0F0", "", "(0F1;1B0)OVERLAP_F_B"]), 1: parse(["1SEND_B0"])}
    path = tmp_path / "tables.csv"
    write_tables(tables, str(path))
    assert path.read_text().splitlines() == ["0F0,,(0F1;1B0)OVERLAP_F_B", "1SEND_B0"]
    assert read_tables(str(path)) == tables
    assert format_tables(tables, 1).splitlines()[2].endswith("<-- error")
    path.write_text("0F0,later\n")
    with pytest.raises(RuntimeError, match="Invalid action string: later"):
        read_tables(str(path))


def test_schedules_by_name():
    for name in ("1F1B", "1f1b", "Interleaved1F1B", "INTERLEAVED1F1B", "gpipe", "LoopedBFS", "zbvzerobubble"):
        assert get_schedule_class(name).__name__.lower().endswith(name.lower())
    for name in ("InterleavedZeroBubble", "DualPipeV", "PipelineScheduleSingle", "PipelineScheduleMulti"):
        assert name in get_schedule_class(name).__name__
    with pytest.raises(
        ValueError, match="Unknown schedule name 'Sideways', must be one of 1F1B, Interleaved1F1B"
    ):
        get_schedule_class("Sideways")
