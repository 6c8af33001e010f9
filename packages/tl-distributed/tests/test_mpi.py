"""The backend `mpi` under mpirun."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tl_distributed as dist

PROGRAM = Path(__file__).with_name("mpi_program.py")
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMP_NUM_THREADS": "1",
}


def mpirun(size: int, action: str, *options: str) -> str:
    if find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not there")
    command = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if command is None:
        pytest.skip("no mpirun")
    result = subprocess.run(
        [command, *options, "-n", str(size), sys.executable, str(PROGRAM), action],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=200,
    )
    return result.stdout + result.stderr


def test_operations_beside_numpy():
    output = mpirun(3, "operations")
    for rank in range(3):
        assert f"rank {rank}: well" in output, output


def test_a_wait_ends_with_its_time():
    output = mpirun(2, "late")
    assert re.search(r"rank 0: 2\.\d+ rank 0 reached its timeout of 2 s in all_reduce of group", output), (
        output
    )


def test_survivors_name_the_dead_rank_and_go_on():
    if not has_ulfm():
        pytest.skip("this MPI ends the job when a rank dies")
    output = mpirun(3, "death", "--with-ft", "ulfm")
    for rank in range(2):
        wanted = (
            rf"rank {rank}: rank 2 died during all_reduce of group .*; then 2 ranks and \[2.0, 2.0, 2.0\]"
        )
        assert re.search(wanted, output), output


def has_ulfm() -> bool:
    command = shutil.which("ompi_info", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if command is None:
        return False
    return "FT MPI support: yes" in subprocess.run([command], capture_output=True, text=True).stdout


def test_without_mpi4py_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(RuntimeError, match=r"'mpi' is not there: it needs mpi4py .*tl-distributed\[mpi\]"):
        dist.init_process_group("mpi")
    assert not dist.is_initialized()
