"""Programs of two files: a module, and a main program that changes things before it starts workers."""

import json
import os
import subprocess
import sys

import pytest

MODULE = """
import logging, os, sys, warnings
import tl_core
import tl_data

FLAG = "imported"
TABLE = {"a": 1}
REGISTRY = {}

def helper():
    return "imported"

class Settings:
    depth = 1

class Data(tl_data.Dataset):
    scale = 1

    def __len__(self):
        return 1

    def __getitem__(self, index):
        main = sys.modules["__main__"]
        with warnings.catch_warnings(record=True) as caught:
            warnings.warn("quiet please")
        return {
            "global of main": getattr(main, "ARGS", "missing"),
            "class of main": getattr(main, "Options", type).__dict__.get("size", "missing"),
            "class of the dataset": self.scale,
            "global of a module": FLAG,
            "container of a module": TABLE["a"],
            "class of a module": Settings.depth,
            "function of a module": helper(),
            "registry": sorted(REGISTRY),
            "attribute": getattr(self, "own", "missing"),
            "environment": (os.environ.get("TL_TEST_ADDED"), os.environ.get("TL_TEST_GONE"), ENVIRONMENT),
            "folder": os.path.basename(os.getcwd()),
            "sys.path": "/nowhere/added" in sys.path,
            "logging": (logging.getLogger("lib.part").level, logging.root.level, logging.root.manager.disable),
            "warnings": len(caught),
            "dtype": str(tl_core.tensor(0.5).dtype),
            "device": str(tl_core.empty(1).device),
            "printing": str(tl_core.tensor([1 / 3])),
            "deterministic": (
                tl_core.are_deterministic_algorithms_enabled(),
                tl_core.is_deterministic_algorithms_warn_only_enabled(),
            ),
            "filled": bool(tl_core.empty(1000).isnan().all()),
            "precision": tl_core.get_float32_matmul_precision(),
            "grad": tl_core.is_grad_enabled(),
            "warn always": tl_core.is_warn_always_enabled(),
        }

ENVIRONMENT = os.environ.get("TL_TEST_ADDED")
"""

PROGRAM = """
import json, logging, os, sys, warnings
import tl_core
import tl_data
import library

ARGS = None

class Options:
    size = 1

def first(batch):
    return batch[0]

if __name__ == "__main__":
    context = sys.argv[1]
    options = {"num_workers": 1, "multiprocessing_context": context if context != "none" else None}
    options |= {"collate_fn": first} if context != "none" else {"num_workers": 0, "collate_fn": first}
    if context == "forkserver":  # its server starts with the first loader, and knows nothing of what follows
        list(tl_data.DataLoader(range(2), **options))
    ARGS = 7
    Options.size = 2
    library.FLAG, library.TABLE["a"], library.Settings.depth = "set", 2, 2
    library.helper = lambda: "replaced"
    library.REGISTRY["x"] = print
    library.Data.scale = 3
    os.environ["TL_TEST_ADDED"] = "1"
    del os.environ["TL_TEST_GONE"]
    os.chdir("below")
    sys.path.append("/nowhere/added")
    logging.getLogger("lib.part").setLevel(11)
    logging.root.setLevel(12)
    logging.disable(9)
    warnings.filterwarnings("ignore", message="quiet")
    tl_core.set_default_dtype(tl_core.float64)
    tl_core.set_default_device("cpu")
    tl_core.set_printoptions(precision=2)
    tl_core.use_deterministic_algorithms(True, warn_only=True)
    tl_core.set_float32_matmul_precision("high")
    tl_core.set_warn_always(True)
    data = library.Data()
    data.own = 5
    with tl_core.no_grad(), warnings.catch_warnings(record=True) as caught:
        found = [b for _ in range(2) for b in tl_data.DataLoader(data, **options)]
    print(json.dumps([found[1], [str(w.message) for w in caught]]))
"""

# What no fresh process can be told.
LOST = {
    "global of main": None,
    "class of main": 1,
    "class of the dataset": 1,
    "global of a module": "imported",
    "container of a module": 1,
    "class of a module": 1,
    "function of a module": "imported",
    "registry": [],
}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "library.py").write_text(MODULE)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "below").mkdir()

    def found(context):
        process = subprocess.run(
            [sys.executable, "program.py", context],
            cwd=tmp_path,
            env={**os.environ, "TL_TEST_GONE": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return json.loads(process.stdout)

    return found


def test_forked_workers_see_all(run):
    expected, _ = run("none")
    assert expected["global of main"] == 7 and expected["class of the dataset"] == 3, "it was set"
    result, warned = run("fork")
    assert result == expected and not warned


def test_worker_threads_see_all(run):
    expected, _ = run("none")
    result, warned = run("thread")
    assert result == expected and not warned


@pytest.mark.parametrize("context", ["forkserver", "spawn"])
def test_fresh_processes_are_told_what_can_be_told(run, context):
    expected, _ = run("none")
    result, warned = run(context)
    if context == "spawn":  # where the module is loaded anew, with the variables as they are now
        expected["environment"][2] = "1"
    assert result == expected | LOST
    (text,) = warned
    for named in (
        "ARGS of __main__ is 7 in the program, None in a worker",
        "Options.size of __main__ is 2",
        "Data.scale of library is 3 in the program, 1 in a worker",
        "FLAG of library is 'set' in the program, 'imported'",
        "TABLE of library is {'a': 2}",
        "Settings.depth of library is 2",
        "multiprocessing_context='fork'",
    ):
        assert named in text
    assert "REGISTRY" not in text and ("ENVIRONMENT" in text) == (context == "spawn")
