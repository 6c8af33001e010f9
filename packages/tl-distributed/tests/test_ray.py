"""Jobs that Ray schedules."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tl_core
import tl_distributed as dist
from tl_distributed import ray as tl_ray

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not there")


@pytest.fixture(scope="module")
def cluster():
    if find_spec("ray") is None:
        pytest.skip("ray is not there")
    import ray

    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def total(start: float, step: float = 1.0) -> tuple[int, float, str]:
    dist.init_process_group("gloo")
    try:
        numbers = tl_core.tensor([start + step * dist.get_rank()])
        dist.all_reduce(numbers)
        return dist.get_rank(), numbers.item(), os.environ["LOCAL_WORLD_SIZE"]
    finally:
        dist.destroy_process_group()


def end_by_attempt(how: str) -> str:
    dist.init_process_group("gloo")
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    if attempt == "0" and dist.get_rank() == 1:
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise LookupError("no data")
    dist.barrier()
    return attempt


def leave(status: int) -> None:
    sys.exit(status)


def test_ranks_form_a_group_and_return_in_order(cluster):
    assert tl_ray.run(total, 3, args=[1.0], kwargs={"step": 2.0}) == [(rank, 9.0, "3") for rank in range(3)]


@pytest.mark.parametrize("how", ["kill", "raise"])
def test_a_job_starts_again_after_a_failure(cluster, how, capfd):
    assert tl_ray.run(end_by_attempt, 2, 1, args=[how]) == ["1", "1"]
    cause = "died" if how == "kill" else "raised LookupError: no data"
    assert (
        f"rank 1 on {cluster.util.get_node_ip_address()} {cause}; the job starts again"
        in capfd.readouterr().err
    )


@pytest.mark.parametrize("how, cause", [("kill", "died"), ("raise", "raised LookupError: no data")])
def test_the_error_names_the_rank_that_failed_first(cluster, how, cause):
    with pytest.raises(tl_ray.RayJobError, match=cause) as info:
        tl_ray.run(end_by_attempt, 2, args=[how])
    assert info.value.rank == 1
    assert info.value.address == cluster.util.get_node_ip_address()


def test_a_status_other_than_0_is_a_failure(cluster):
    assert tl_ray.run(leave, 1, args=[0]) == [None]
    with pytest.raises(tl_ray.RayJobError, match="exit status 3"):
        tl_ray.run(leave, 1, args=[3])


def test_a_cluster_without_room_names_what_it_has(cluster):
    with pytest.raises(dist.DistError, match=r"no room for 2 workers of \{'CPU': 2.0\}.*'CPU': 3.0"):
        tl_ray.run(total, 2, args=[1.0], resources={"CPU": 2.0}, timeout=1.0)


@pytest.mark.parametrize("workers, restarts, name", [(0, 0, "workers"), (1, -1, "max_restarts")])
def test_counts_out_of_range_are_refused(workers, restarts, name):
    with pytest.raises(ValueError, match=name):
        tl_ray.run(total, workers, restarts)


def command(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, "-m", "tl_distributed.ray", *words)
    variables = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", **variables}
    return subprocess.run(words, env=variables, capture_output=True, text=True, timeout=120)


@needs_ray
def test_the_command_runs_a_program_on_each_rank(tmp_path: Path):
    program = tmp_path / "train.py"
    program.write_text(
        "import sys, tl_core, tl_distributed as dist\n"
        "dist.init_process_group()\n"
        "x = tl_core.ones(2)\n"
        "dist.all_reduce(x)\n"
        f"open(rf'{tmp_path}/{{dist.get_rank()}}', 'w').write(f'{{x.tolist()}} {{sys.argv[1:]}}')\n"
        "dist.destroy_process_group()\n"
    )
    result = command(str(program), "--workers", "2", "--lr", "0.1")
    assert result.returncode == 0, result.stderr
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == ["[2.0, 2.0] ['--lr', '0.1']"] * 2


def test_the_command_refuses_a_program_that_is_not_there():
    result = command("nowhere.py", "--workers", "2")
    assert (result.returncode, "there is no file 'nowhere.py' to run" in result.stderr) == (2, True)


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is there")
def test_without_ray_the_error_says_what_to_install():
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tl-distributed\[ray\]'"):
        tl_ray.run(total, 2)
