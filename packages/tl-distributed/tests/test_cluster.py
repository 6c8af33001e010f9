"""What SLURM, MPI and Kubernetes tell processes."""

from __future__ import annotations

import pytest

import tl_distributed as dist
from tl_distributed import run
from tl_distributed.base import cluster
from tl_distributed.stores.rendezvous import rendezvous

SLURM = {
    "SLURM_STEP_NUM_TASKS": "5",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NUM_NODES": "3",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2),1",
    "SLURM_STEP_NODELIST": "rack[1-2]node[07-09,12],gpu5",
    "SLURM_JOB_ID": "71",
    "SLURM_STEP_ID": "0",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "PMIX_NAMESPACE": "prterun-1",
}


def test_slurm():
    process = cluster.process(SLURM)
    assert process is not None
    assert (process.rank, process.world_size, process.local_rank, process.local_world_size) == (3, 5, 1, 2)
    assert process.address == "rack1node07" and 20000 <= process.port < 30000
    assert cluster.process({**SLURM, "SLURM_PROCID": "0"}).port == process.port
    assert cluster.process({**SLURM, "SLURM_STEP_ID": "1"}).port != process.port
    assert cluster.machine(SLURM) == cluster.Machine("SLURM", 1, 3, "rack1node07")
    # a shell that salloc opened, or a batch script: no step, so nobody else was started
    assert cluster.process({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}) is None


def test_mpi():
    process = cluster.process(OPEN_MPI)
    assert (process.scheduler, process.rank, process.address) == ("Open MPI", 1, "localhost")
    assert cluster.process({**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}).address is None
    hydra = {"PMI_RANK": "2", "PMI_SIZE": "4", "PMI_LOCAL_RANK": "0", "PMI_LOCAL_SIZE": "2"}
    assert cluster.process(hydra).scheduler == "MPICH"
    assert cluster.process({"PMI_RANK": "2"}) is None


def test_what_schedulers_do_not_write():
    with pytest.raises(ValueError, match="SLURM_PROCID must be a number, got 'x'"):
        cluster.process({**SLURM, "SLURM_PROCID": "x"})
    with pytest.raises(ValueError, match="SLURM_STEP_TASKS_PER_NODE"):
        cluster.process({**SLURM, "SLURM_STEP_TASKS_PER_NODE": "2(x"})


@pytest.fixture
def bare(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", *SLURM, *OPEN_MPI):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_world_by_a_scheduler_alone(bare):
    for name, value in {**OPEN_MPI, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}.items():
        bare.setenv(name, value)
    bare.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1")
    _, rank, size = next(iter(rendezvous("env://")))
    assert (rank, size) == (0, 1) and dist.get_node_local_rank() == 1


def test_a_scheduler_that_names_no_machine(bare):
    for name, value in {**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}.items():
        bare.setenv(name, value)
    with pytest.raises(ValueError, match="MASTER_ADDR expected"):
        next(iter(rendezvous("env://")))


def test_variables_of_a_launcher_come_first(bare):
    for name, value in OPEN_MPI.items():
        bare.setenv(name, value)
    bare.setenv("RANK", "0")
    with pytest.raises(ValueError, match="WORLD_SIZE expected"):
        next(iter(rendezvous("env://")))


def test_the_launcher_as_a_step_of_slurm(bare):
    for name, value in SLURM.items():
        bare.setenv(name, value)
    job, _, _ = run.config_from_args(run.parse_args(["--nnodes", "auto", "train.py"]))
    assert (job.min_nodes, job.max_nodes, job.rdzv_endpoint) == (3, 3, "rack1node07:29500")
    assert job.rdzv_configs["rank"] == 1
    job, _, _ = run.config_from_args(run.parse_args(["--nnodes", "3", "--node-rank", "2", "train.py"]))
    assert job.rdzv_configs["rank"] == 2
    job, _, _ = run.config_from_args(run.parse_args(["train.py"]))  # a job of one machine is none of SLURM's
    assert job.rdzv_endpoint == "127.0.0.1:29500" and job.rdzv_configs["rank"] == 0


def test_the_launcher_as_an_indexed_job_of_kubernetes(bare):
    bare.setenv("JOB_COMPLETION_INDEX", "2")
    job, _, _ = run.config_from_args(run.parse_args(["--nnodes", "3", "--master-addr", "job-0", "train.py"]))
    assert job.rdzv_configs["rank"] == 2 and job.rdzv_endpoint == "job-0:29500"
    with pytest.raises(ValueError, match="--nnodes auto"):
        run.config_from_args(run.parse_args(["--nnodes", "auto", "train.py"]))
