"""Programs on several processes: examples under the launcher, checkpoints, data; ranks that are killed.

`TL_DISTRIBUTED_TROUBLE=full` makes the long run of the killing.
"""

import os
import random
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest

RUN = [sys.executable, "-m", "tl.distributed.run", "--standalone"]
FULL = os.environ.get("TL_DISTRIBUTED_TROUBLE") == "full"
needs_extra = pytest.mark.skipif(
    find_spec("sklearn") is None or find_spec("tqdm") is None, reason="the extra `examples` is not installed"
)


def launch(count, *program, **variables):
    """Runs a program on several processes; returns its output."""
    process = subprocess.run(
        [*RUN, "--nproc-per-node", str(count), *program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **variables},
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout


def written(tmp_path, name, code):
    path = tmp_path / name
    path.write_text(textwrap.dedent(code))
    return str(path)


@needs_extra
@pytest.mark.parametrize("name", ["gpt", "resnet"])
def test_examples_learn_on_two_processes(name, tmp_path):
    options = {
        "gpt": [
            "--steps=6",
            "--batch-size=2",
            "--context=16",
            "--layers=1",
            "--heads=2",
            "--width=16",
            "--sample=8",
        ],
        "resnet": ["--epochs=1", "--batch-size=100"],
    }[name]
    common = ["-m", f"tl.examples.{name}", "--ddp", "--quiet", *options]
    plain = launch(2, *common, f"--checkpoint={tmp_path / 'a'}", "--every=3")
    again = launch(2, *common, f"--checkpoint={tmp_path / 'b'}", "--every=2")
    figures = [
        text.splitlines()[-1].split(" seconds=")[0].split(" tokens_per_s")[0] for text in (plain, again)
    ]
    assert figures[0] == figures[1] and "=" in figures[0]  # one process says so, and twice the same
    assert len(plain.splitlines()) == len(launch(1, *common).splitlines())


def test_an_example_without_the_launcher():
    env = {name: value for name, value in os.environ.items() if name != "RANK"}
    process = subprocess.run(
        [sys.executable, "-m", "tl.examples.gpt", "--ddp"],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert process.returncode == 1 and "tl run --nproc-per-node" in process.stderr


def test_programs_that_say_torch(tmp_path):
    program = written(
        tmp_path,
        "train.py",
        """
        import os, torch, torch.distributed as dist
        dist.init_process_group("gloo")
        x = torch.ones(2) * (dist.get_rank() + 1)
        dist.all_reduce(x)
        os.write(1, f"{torch.__version__} {x.tolist()}\\n".encode())  # at once: the other one writes too
        dist.destroy_process_group()
        """,
    )
    command = [sys.executable, "-m", "tl.torch", "-m", "torch.distributed.run", "--standalone"]
    process = subprocess.run(
        [*command, "--nproc-per-node=2", program], capture_output=True, text=True, timeout=100, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines() == ["2.7.0+tl [3.0, 3.0]"] * 2


SHARDS = """
    import os, sys, time
    import tl, tl.distributed as dist
    from tl.distributed.checkpoint import ChunkedTensor, CheckpointManager

    ROWS = 7

    def state(step, fill):
        rank, size = dist.get_rank(), dist.get_world_size()
        first, last = ROWS * rank // size, ROWS * (rank + 1) // size
        part = tl.full((last - first, 3), -1.0)
        if fill:
            part.copy_(tl.arange(first * 3.0, last * 3.0).view(-1, 3) + step)
        empty = tl.zeros(0, 3)
        return {
            "rows": ChunkedTensor((ROWS, 3), [((first, 0), part)]),
            "few": ChunkedTensor((1, 3), [((0, 0), part[:1].clone() if rank == 0 else tl.zeros(0, 3))][: rank == 0]),
            "same": tl.full((5,), float(step)),
            "step": step,
        }, part

    def check(folder):
        held, part = state(-1, False)
        del held["few"]
        step = CheckpointManager(folder).load(held)
        rank, size = dist.get_rank(), dist.get_world_size()
        first, last = ROWS * rank // size, ROWS * (rank + 1) // size
        assert held["step"] == step and held["same"].tolist() == [float(step)] * 5
        assert part.tolist() == (tl.arange(first * 3.0, last * 3.0).view(-1, 3) + step).tolist(), part
        return step

    dist.init_process_group("gloo")
    folder, action = sys.argv[1:3]
    manager = CheckpointManager(folder, keep=2)
    if action == "check":
        os.write(1, f"step {check(folder)}\\n".encode())  # at once: the others write too
    elif action == "once":
        manager.save(5, state(5, True)[0])
    else:
        step = manager.latest() or 0
        while True:
            step += 1
            if action == "async":
                done = manager.async_save(step, state(step, True)[0])
                dist.all_reduce(tl.ones(3))  # on the program's own group, while it is written
                done.result()
            else:
                manager.save(step, state(step, True)[0])
            if dist.get_rank() == 0:
                print("saved", step, flush=True)
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("before", [1, 3] if not FULL else [1, 2, 3, 4])
@pytest.mark.parametrize("after", [2, 4] if not FULL else [1, 2, 3, 4])
def test_a_checkpoint_of_n_ranks_is_loaded_by_m(tmp_path, before, after):
    program = written(tmp_path, "shards.py", SHARDS)
    launch(before, program, str(tmp_path / "kept"), "once")
    text = launch(after, program, str(tmp_path / "kept"), "check")
    assert text.splitlines() == ["step 5"] * after


@pytest.mark.parametrize("action", ["save", "async"])
def test_a_rank_is_killed_while_ranks_save(tmp_path, action):
    program, folder = written(tmp_path, "shards.py", SHARDS), tmp_path / "kept"
    draw, saved, loaded = random.Random(3), 0, 0
    for _ in range(150 if FULL else 2):
        job = subprocess.Popen(
            [*RUN, "--nproc-per-node", "3", program, str(folder), action],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        lines = [job.stdout.readline() for _ in range(draw.randint(2, 6))]
        workers = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        os.kill(int(draw.choice(workers)), 9)
        out, errors = job.communicate(timeout=60)
        assert job.returncode == 1 and "SIGKILL" in errors
        words = [line.split() for line in [*lines, *out.splitlines()] if line.strip()]
        saved = max([saved, *(int(step) for _, step in words)])
        text = launch(2, program, str(folder), "check").split()
        assert text[1] == text[3]
        assert int(text[1]) >= max(saved, loaded)  # the newest that was complete, and no older one
        loaded = int(text[1])


DATA = """
    import json, os, sys
    import tl, tl.distributed as dist
    from tl.distributed.elastic.utils.data import ElasticDistributedSampler
    from tl.utils.data import DataLoader, DistributedSampler

    dist.init_process_group("gloo")
    first, epoch, steps = (int(word) for word in sys.argv[1:])
    if first:
        sampler = ElasticDistributedSampler(range(48), start_index=first)
    else:
        sampler = DistributedSampler(range(48))
    sampler.set_epoch(epoch)
    seen = []
    for number, batch in enumerate(DataLoader(range(48), batch_size=2, sampler=sampler)):
        if number == steps:
            break
        seen += batch.tolist()
    os.write(1, (json.dumps(seen) + "\\n").encode())  # at once: the others write too
    dist.destroy_process_group()
"""


def test_an_epoch_goes_on_with_another_number_of_ranks(tmp_path):
    import json

    program = written(tmp_path, "data.py", DATA)
    starts = [json.loads(line) for line in launch(2, program, "0", "3", "4").splitlines()]
    records = [index for part in starts for index in part]
    assert len(records) == len(set(records)) == 16
    rest = [json.loads(line) for line in launch(4, program, "16", "3", "100").splitlines()]
    assert sorted([index for part in rest for index in part] + records) == list(range(48))
