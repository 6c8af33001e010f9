"""The GPT of the examples, cut among processes: the losses of one process, whatever the cut."""

from __future__ import annotations

import argparse
import threading

import pytest

import tl
import tl.distributed as dist
from tl.examples import _resume, gpt
from tl.examples._cuts import Cut, Sizes, loss_of_scores, sizes_of
from tl_distributed.groups.world import world_of_thread

BUILDING = threading.Lock()  # ranks are threads, which share the generator
SIZES = {"symbols": 12, "width": 24, "heads": 12, "layers": 4, "context": 24}  # for 2, 3 and 4 ranks
STEPS, BATCH = 4, 24


def build():
    with BUILDING:
        tl.manual_seed(0)
        return gpt.GPT(*SIZES.values())


def batches():
    drawn = tl.Generator().manual_seed(1)
    stretches = [tl.randint(0, 12, (BATCH, 25), generator=drawn) for _ in range(STEPS)]
    return [(stretch[:, :-1], stretch[:, 1:]) for stretch in stretches]


def optimizer_of(model):
    return tl.optim.AdamW(gpt.groups(model), lr=3e-2, betas=(0.9, 0.99), foreach=False)


@pytest.fixture(scope="module")
def curve():
    """The losses of one process, and its parameters at the end."""
    model = build()
    optimizer, losses = optimizer_of(model), []
    for text, follow in batches():
        loss = loss_of_scores(model(text), follow)
        optimizer.zero_grad()
        loss.backward()
        tl.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, dict(model.named_parameters())


def run_ranks(size, body):
    store, errors, results = dist.HashStore(), {}, [None] * size

    def main(rank):
        with world_of_thread():
            try:
                dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
                results[rank] = body(rank)
            except BaseException as error:
                errors[rank] = error
            finally:
                dist.destroy_process_group()

    threads = [threading.Thread(target=main, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank in sorted(errors):
        raise errors[rank]
    return results


CUTS = [  # every mix of up to 4 ranks
    *(({name: size}, "1f1b") for name in ("ddp", "fsdp", "tp", "pp", "cp") for size in (3, 4)),
    ({"ddp": 2}, "1f1b"),
    ({"fsdp": 2}, "1f1b"),
    ({"tp": 2}, "1f1b"),
    ({"pp": 2}, "1f1b"),
    ({"pp": 2}, "zbv"),
    ({"cp": 2}, "1f1b"),
    ({"fsdp": 2, "tp": 2}, "1f1b"),
    ({"ddp": 2, "fsdp": 2}, "1f1b"),
    ({"ddp": 2, "tp": 2}, "1f1b"),
    ({"pp": 2, "ddp": 2}, "zbv"),
    ({"pp": 2, "tp": 2}, "zbv"),
    ({"pp": 2, "fsdp": 2}, "zb1p"),
    ({"pp": 2, "cp": 2}, "1f1b"),
    ({"cp": 2, "tp": 2}, "1f1b"),
    ({"cp": 2, "fsdp": 2}, "1f1b"),
    ({"cp": 2, "ddp": 2}, "1f1b"),
    ({"pp": 4}, "gpipe"),
]


@pytest.mark.parametrize(("cut", "schedule"), CUTS, ids=lambda value: str(value))
def test_the_losses_of_one_process(curve, cut, schedule):
    losses_of_one, parameters_of_one = curve
    sizes = Sizes(**cut)

    def body(rank):
        model = Cut(build(), sizes, schedule, microbatches=4)
        optimizer, losses = optimizer_of(model.model), []
        for text, follow in batches():
            losses.append(model.mean(model.learn(text, follow)))
            optimizer.step()
        return losses, model.assemble(build)

    for losses, whole in run_ranks(sizes.pp * sizes.ddp * sizes.fsdp * sizes.cp * sizes.tp, body):
        tl.testing.assert_close(tl.tensor(losses), tl.tensor(losses_of_one), rtol=1e-4, atol=1e-5)
        for name, parameter in whole.named_parameters():
            tl.testing.assert_close(parameter, parameters_of_one[name], rtol=1e-3, atol=2e-4)


def options_of(folder, resume, **cut):
    ones = {"fsdp": 1, "tp": 1, "pp": 1, "cp": 1}
    return argparse.Namespace(checkpoint=str(folder), resume=resume, every=2, **{**ones, **cut})


def test_a_checkpoint_of_one_cut_goes_on_in_another(curve, tmp_path):
    def train(cut, schedule, steps, resume, end):
        def body(rank):
            model = Cut(build(), Sizes(**cut), schedule, microbatches=4)
            optimizer, record, losses = optimizer_of(model.model), {}, []
            options = options_of(tmp_path, resume, **cut)
            checkpoints = _resume.Checkpoints(options, model.model, optimizer, record)
            assert checkpoints.steps == end - len(steps)
            for text, follow in steps:
                losses.append(model.mean(model.learn(text, follow)))
                optimizer.step()
                checkpoints.step()
            return losses

        return run_ranks(2, body)[0]

    every = batches()
    losses = train({"fsdp": 2}, "1f1b", every[:2], False, 2)
    losses += train({"tp": 2}, "1f1b", every[2:], True, 4)
    tl.testing.assert_close(tl.tensor(losses), tl.tensor(curve[0]), rtol=1e-4, atol=1e-5)
    assert train({"pp": 2}, "zbv", [], True, 4) == []


@pytest.mark.parametrize(
    ("given", "world", "text"),
    [
        (["--fsdp", "2", "--tp", "2"], 2, "--fsdp 2 --tp 2 --pp 1 --cp 1 needs 4 processes"),
        (["--tp", "2", "--heads", "5"], 2, "--heads must be a multiple of 2, got 5"),
        (["--cp", "2", "--context", "18"], 2, "--context must be a multiple of 4, got 18"),
        (
            ["--fsdp", "2", "--tp", "2", "--heads", "4", "--checkpoint", "x"],
            4,
            "no checkpoints of --fsdp with --tp",
        ),
    ],
)
def test_cuts_that_make_no_sense(given, world, text):
    with pytest.raises(SystemExit, match=text):
        sizes_of(gpt.arguments().parse_args(given), world)


def test_too_few_blocks_for_the_stages():
    def body(rank):
        with pytest.raises(SystemExit, match="8 stages need at least as many --layers, got 4"):
            Cut(build(), Sizes(pp=4), "zbv")

    run_ranks(4, body)
    assert sizes_of(gpt.arguments().parse_args([]), 1) is None
    assert sizes_of(gpt.arguments().parse_args(["--pp", "2", "--ddp"]), 4) == Sizes(pp=2, ddp=2)
