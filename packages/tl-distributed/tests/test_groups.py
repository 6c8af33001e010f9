"""Groups: how they are made, what can be asked of them, how they end."""

from __future__ import annotations

from datetime import timedelta

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_core.base import ranks

ENVIRONMENT = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in (*ENVIRONMENT, "LOCAL_RANK", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_a_world_by_the_environment(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    dist.init_process_group("gloo")
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    assert ranks.current() == (0, 1)
    dist.destroy_process_group()
    assert not dist.is_initialized()
    assert ranks.current() is None
    dist.init_process_group()
    assert dist.get_backend() == "undefined"
    assert dist.get_backend_config() == "cpu:gloo"


@pytest.mark.parametrize("missing", list(ENVIRONMENT))
def test_the_environment_lacks_something(monkeypatch, missing):
    for name, value in ENVIRONMENT.items():
        if name != missing:
            monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"environment variable {missing} expected"):
        dist.init_process_group("gloo")
    assert not dist.is_initialized()


@pytest.mark.parametrize("way", ["tcp://127.0.0.1:29511", "file://{folder}/store"])
def test_a_world_by_an_address_or_a_file(tmp_path, way):
    url = way.format(folder=tmp_path)
    dist.init_process_group("gloo", url, rank=0, world_size=1)
    assert dist.get_world_size() == 1
    dist.destroy_process_group()
    assert list(tmp_path.iterdir()) == []
    dist.init_process_group("cpu:gloo", f"{url}?rank=0&world_size=1")
    assert dist.get_backend() == "cpu:gloo"


@pytest.mark.parametrize(
    ("url", "numbers", "error", "message"),
    [
        ("tcp://127.0.0.1:1", {}, ValueError, "tcp:// rendezvous: rank parameter missing"),
        ("tcp://127.0.0.1", {"rank": 0, "world_size": 1}, ValueError, "port number missing"),
        ("file://", {"rank": 0, "world_size": 1}, ValueError, "path missing"),
        ("file:///tmp/x", {}, ValueError, "file:// rendezvous: rank parameter missing"),
        ("other://x", {}, RuntimeError, "no rendezvous handler for other://"),
        (3, {}, RuntimeError, "must be a string, got int"),
        ("tcp://127.0.0.1:1?rank=0", {"rank": 0}, AssertionError, "holds rank"),
    ],
)
def test_urls_that_lack_something(url, numbers, error, message):
    with pytest.raises(error, match=message):
        dist.init_process_group("gloo", url, **numbers)
    assert not dist.is_initialized()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"init_method": "env://"}, AssertionError, "both init_method and store"),
        ({}, AssertionError, "world_size must be positive"),
        ({"world_size": 1}, AssertionError, "rank must be non-negative"),
        ({"world_size": 1, "rank": 1}, RuntimeError, "rank 1 is out of range in a world of 1"),
        ({"world_size": 2, "rank": 1, "timeout": timedelta(seconds=0.1)}, dist.DistStoreError, "timeout"),
        (
            {"world_size": 2, "rank": 0, "timeout": timedelta(seconds=0.1)},
            dist.DistStoreError,
            r"ranks \[1\]",
        ),
        ({"world_size": 1, "rank": 0, "timeout": 3}, TypeError, "of type datetime.timedelta, got 3"),
        (
            {"world_size": 1, "rank": 0, "backend": "nonsense"},
            AssertionError,
            "unknown backend type nonsense",
        ),
        ({"world_size": 1, "rank": 0, "backend": "nccl"}, RuntimeError, "'nccl' is not there"),
        ({"world_size": 1, "rank": 0, "backend": "cpu:"}, ValueError, "DEVICE:NAME"),
        ({"world_size": 1, "rank": 0, "backend": "cpu:gloo,cpu:gloo"}, ValueError, "stands twice"),
    ],
)
def test_arguments_that_do_not_fit(arguments, error, message):
    with pytest.raises(error, match=message):
        dist.init_process_group(**{"backend": "gloo", "store": dist.HashStore(), **arguments})
    assert not dist.is_initialized()


def test_before_there_is_a_world():
    assert dist.is_available()
    for ask in (dist.get_rank, dist.get_world_size, dist.get_backend, dist.barrier, dist.new_group):
        with pytest.raises(ValueError, match="has not been initialized"):
            ask()
    with pytest.raises(AssertionError, match="cannot be None"):
        dist.destroy_process_group()
    assert dist.group.WORLD is None


def test_only_one_world(world):
    with pytest.raises(ValueError, match="initialized already"):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    assert dist.GroupMember.WORLD is dist.group.WORLD is world
    assert (world.rank(), world.size(), world.name(), world.group_desc) == (0, 1, "gloo", "default_pg")


def test_groups_in_the_world(world):
    group = dist.new_group([0], timeout=timedelta(seconds=7), group_desc="mine")
    assert dist.get_pg_count() == 2
    assert (dist.get_rank(group), dist.get_world_size(group), dist.get_backend(group)) == (0, 1, "gloo")
    assert dist.get_process_group_ranks(group) == dist.get_process_group_ranks(None) == [0]
    assert (group.group_desc, group.timeout) == ("mine", timedelta(seconds=7))
    assert group.group_name != world.group_name
    assert dist.get_group_rank(group, 0) == dist.get_global_rank(group, 0) == 0
    assert dist.get_group_rank(world, 7) == dist.get_global_rank(world, 7) == 7
    with pytest.raises(ValueError, match="Global rank 1 is not part"):
        dist.get_group_rank(group, 1)
    with pytest.raises(ValueError, match="Group rank 1 is not part"):
        dist.get_global_rank(group, 1)
    dist.destroy_process_group(group)
    for use in (dist.get_rank, dist.get_process_group_ranks, dist.destroy_process_group, dist.barrier):
        with pytest.raises(ValueError, match="has been destroyed"):
            use(group)
    assert dist.get_pg_count() == 1


@pytest.mark.parametrize(
    ("members", "message"),
    [([1], "Rank 1 is out of range"), ([0, 1], "less or equal"), ([], "empty"), ([0, 0], "less or equal")],
)
def test_members_that_are_not_there(world, members, message):
    with pytest.raises(ValueError, match=message):
        dist.new_group(members)


def test_subgroups(world):
    mine, every = dist.new_subgroups(1)
    assert every == [mine]
    mine, every = dist.new_subgroups_by_enumeration([[0]])
    assert dist.get_process_group_ranks(mine) == [0]
    with pytest.raises(ValueError, match="must not exceed the world size"):
        dist.new_subgroups(2)
    with pytest.raises(ValueError, match="in two groups"):
        dist.new_subgroups_by_enumeration([[0], [0]])


def test_a_group_of_others(mirror):
    other = dist.new_group([1])
    assert other is dist.GroupMember.NON_GROUP_MEMBER
    assert (dist.get_rank(other), dist.get_world_size(other)) == (-1, -1)
    assert dist.all_reduce(tl.ones(1), group=other) is None
    assert mirror.seen == []
    with pytest.raises(ValueError, match="not in it"):
        dist.get_backend(other)
    assert dist.new_group([1, 0]).ranks == [0, 1]
    unsorted = dist.new_group([1, 0], sort_ranks=False)
    assert unsorted.ranks == [1, 0] and dist.get_rank(unsorted) == 1
    mine, every = dist.new_subgroups(1)
    assert mine is every[0] and every[1] is other


def test_a_backend_of_ones_own_may_have_more_processes(mirror):
    assert (dist.get_world_size(), dist.get_backend()) == (2, "mirror")
    assert dist.Backend.MIRROR == "mirror"
    with pytest.raises(RuntimeError, match="named 'mirror' already"):
        dist.Backend.register_backend("mirror", None)
    with pytest.raises(NotImplementedError, match="'mirror' has no reduce_scatter"):
        dist.reduce_scatter(tl.ones(1), [tl.ones(1), tl.ones(1)])


def test_names_of_backends():
    assert dist.Backend("GLOO") == dist.Backend.GLOO == "gloo"
    with pytest.raises(ValueError, match="must be a str, got int"):
        dist.Backend(3)
    assert dist.is_gloo_available()
    assert not (dist.is_nccl_available() or dist.is_mpi_available() or dist.is_ucc_available())
    assert dist.get_default_backend_for_device("cuda:1") == "nccl"
    assert dist.get_default_backend_for_device(tl.device("cpu")) == "gloo"


def test_what_a_launcher_says(monkeypatch, world):
    assert not dist.is_torchelastic_launched()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    assert dist.is_torchelastic_launched()
    with pytest.raises(RuntimeError, match="LOCAL_RANK"):
        dist.get_node_local_rank()
    assert dist.get_node_local_rank(3) == 3
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert dist.get_node_local_rank(3) == 2


def test_how_much_is_told(monkeypatch):
    assert dist.get_debug_level() is dist.DebugLevel.OFF
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "detail")
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    dist.set_debug_level(dist.DebugLevel.OFF)
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "loud")
    with pytest.raises(RuntimeError, match="got 'LOUD'"):
        dist.set_debug_level_from_env()
