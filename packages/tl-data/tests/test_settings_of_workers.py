"""Settings that fresh worker processes receive, the main program, interrupts, and the start and end of workers."""

import logging
import os
import pickle
import signal
import sys
import types
import warnings

import pytest
from samples import Numbers, plain

import tl_core
import tl_data
from tl_data import interrupts, launch, main_program, pin
from tl_data.loader_like import Loader, LoaderLike, complete
from tl_data.processes import ProcessPool, WorkerDied
from tl_data.program_state import Environment, LoggerStates, ProgramState, plain_globals, warn_of_differences
from tl_data.sources.pieces import PieceStream, path_list
from tl_data.worker import WorkerConfig


@pytest.fixture
def module(monkeypatch):
    module = types.ModuleType("_settings_example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec("flag = 1\ntable = {'a': [1, 2]}\n__private__ = 2\nlarge = list(range(5000))\nvalue = object()\n"
         "class Options:\n    depth = 3\n    def method(self): pass\n", vars(module))  # fmt: skip
    return module


def test_plain_values_of_a_module(module):
    assert plain_globals("_settings_example") == {"flag": 1, "table": {"a": [1, 2]}, "Options.depth": 3}
    assert plain_globals("no_such_module") == {}


def test_differences_are_warned_of_once(module):
    module.number = float("nan")
    state = ProgramState.current(module.Options())
    module.number = float("nan")
    assert state.differences() == []
    module.flag, module.Options.depth = "x" * 60, 4
    rows = state.differences()
    assert rows == [
        ("_settings_example", "Options.depth", "3", "4"),
        ("_settings_example", "flag", "1", "'" + "x" * 36 + "..."),
    ]
    with pytest.warns(
        UserWarning, match="Options.depth of _settings_example is 3 in the program, 4 in a worker"
    ):
        warn_of_differences(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_differences(rows)


def test_levels_of_loggers():
    logger = logging.getLogger("_settings_example.part")
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    states = pickle.loads(pickle.dumps(LoggerStates.current()))
    assert states.loggers[logger.name] == (logging.ERROR, False, False) and "" in states.loggers
    logger.setLevel(logging.DEBUG)
    logger.propagate = True
    states.restore()
    assert logger.level == logging.ERROR and not logger.propagate


def test_the_environment_travels(monkeypatch):
    monkeypatch.setenv("TL_SETTINGS_EXAMPLE", "first")
    data = pickle.dumps(Environment())
    monkeypatch.setenv("TL_SETTINGS_EXAMPLE", "second")
    monkeypatch.setenv("TL_SETTINGS_ADDED", "1")
    pickle.loads(data)
    assert os.environ["TL_SETTINGS_EXAMPLE"] == "first" and "TL_SETTINGS_ADDED" not in os.environ
    monkeypatch.delenv("TL_SETTINGS_EXAMPLE")


def test_filters_and_dtypes_are_restored():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "quiet please")
        tl_core.set_default_dtype(tl_core.float64)
        try:
            state = pickle.loads(pickle.dumps(ProgramState.current()))
        finally:
            tl_core.set_default_dtype(tl_core.float32)
        warnings.resetwarnings()
        try:
            state.restore()
            assert tl_core.tensor(0.5).dtype == tl_core.float64
        finally:
            tl_core.set_default_dtype(tl_core.float32)
        warnings.warn("quiet please", stacklevel=1)
        with pytest.raises(UserWarning, match="loud"):
            warnings.warn("loud", stacklevel=1)


@pytest.mark.parametrize(
    ("source", "importable"),
    [
        ("import json.decoder, os\nfrom math import pi\nif __name__ == '__main__':\n    import csv\n", True),
        ("import json.decoder, os\nfrom math import pi\n", False),
        ("from . import near\nfrom .near import far\nimport json.decoder, os\nfrom math import pi\n", False),
    ],
)
def test_the_main_program(monkeypatch, tmp_path, source, importable):
    path = tmp_path / "main.py"
    path.write_text(source)
    main = types.ModuleType("__main__")
    main.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert main_program.is_a_file() and main_program.can_be_imported() is importable
    assert main_program.imports() == ["json.decoder", "os", "math"]
    main.__file__ = str(tmp_path / "missing.py")
    assert not main_program.is_a_file() and main_program.imports() == []
    del main.__file__
    assert main_program.can_be_imported() and not main_program.is_a_file()


def test_interrupts_come_after_the_block():
    records = []
    before = signal.signal(signal.SIGINT, lambda *_: records.append("interrupt"))
    try:
        with interrupts.hold(forked=True):
            os.kill(os.getpid(), signal.SIGINT)
            records.append("block")
        assert records == ["block", "interrupt"]
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    finally:
        signal.signal(signal.SIGINT, before)


def test_accelerators_that_do_not_answer(monkeypatch):
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert pin.accelerator_answers() is False
    monkeypatch.setattr(pin.backend_registry, "load", lambda name: name == "accelerator")
    assert pin.accelerator_answers() is True


class OtherLoader:
    """A loader of another library: its keys are in batches of 3."""

    def __init__(self, kind):
        self.dataset, self._dataset_kind, self._auto_collation = Numbers(7), kind, True
        self._index_sampler = [[0, 1, 2], [3]]


def test_loaders_of_other_libraries():
    other: Loader = complete(OtherLoader(0))
    assert isinstance(other, LoaderLike) and not other._iterable and other.batch_size is None
    assert len(other.dataset) == 7 and other._take_resumed() is None
    stream = LoaderLike(OtherLoader(1))
    assert stream._iterable and stream.batch_size == 3
    with pytest.raises(AttributeError, match="missing"):
        _ = stream.missing
    own = tl_data.DataLoader(Numbers())
    assert complete(own) is own and complete(other) is other


class Letters(PieceStream):
    def pieces(self):
        return ["ab", "", "cde", "f"]

    def read(self, piece):
        yield from piece


def test_pieces_are_shared_and_resumed():
    assert list(Letters()) == list("abcdef")
    assert [Letters(rank, 2).own_pieces() for rank in range(2)] == [["ab", "cde"], ["", "f"]]
    iterator = iter(Letters())
    assert "".join(next(iterator) for _ in range(4)) == "abcd"
    state = iterator.state_dict()
    assert state == {"piece": 2, "taken": 2}
    resumed = iter(Letters())
    resumed.load_state_dict(state)
    assert list(resumed) == ["e", "f"] and path_list("a") == ["a"]
    for method, arguments in (("pieces", ()), ("read", ("a",))):
        with pytest.raises(NotImplementedError, match=f"PieceStream must have {method}"):
            getattr(PieceStream(), method)(*arguments)


def test_paths(tmp_path):
    assert path_list(tmp_path) == [str(tmp_path)] and path_list([tmp_path, "b"]) == [str(tmp_path), "b"]


def test_workers_start_answer_and_end():
    pool = ProcessPool(WorkerConfig(Numbers(), True, list, False, None, 2, 0, False), None, 1 << 20)
    try:
        pool.begin(1, 0, 0, None)
        pool.request(1, 0, 5, [4, 2])
        worker, response = pool.receive(20)
        assert (worker, response.number, response.kind, response.value) == (1, 5, "batch", [4, 2])
        assert response.span[0] == pool.pids[1] and pool.receive(0) is None
        os.kill(pool.pids[0], signal.SIGKILL)
        with pytest.raises(
            WorkerDied, match=rf"\(pid {pool.pids[0]}\) is killed by signal: SIGKILL"
        ) as raised:
            pool.receive(20)
        assert raised.value.worker == 0
        workers = pool._workers
        assert isinstance(workers, launch.Launched) and len(workers.connections) == 2
    finally:
        pool.close()
    for pid in pool.pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_fork_server_starts_with_the_modules_of_a_loader(monkeypatch):
    modules = []
    monkeypatch.setattr(launch, "_fork_server", lambda: types.SimpleNamespace(start=modules.append))
    launch.prepare(types.SimpleNamespace(get_start_method=lambda: "forkserver"), Numbers(), plain)
    launch.prepare(types.SimpleNamespace(get_start_method=lambda: "fork"), Numbers())
    assert modules == [["samples", "samples"]]
