"""PyTorch's test files are run test by test: what ends a process is named, the rest goes on."""

import pytest

from tools.peer_tests.device_tests import (
    drop,
    dtypes,
    dtypes_of_cpu,
    instantiate_device_type_tests,
    instantiate_parametrized_tests,
    parametrize,
)
from tools.peer_tests.files import File

TESTS = """
import os
import time

from torch.testing._internal.common_utils import parametrize, unheard_of
import torch

assert torch.name == "stand-in"

def test_passes():
    assert not unheard_of.more()

def test_dies():
    os.kill(os.getpid(), 11)

def test_fails():
    assert False

def test_takes_long():
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of tests, beside a module of which an import of torch gets an alias."""
    for name, text in {
        "modules/tl/__init__.py": "",
        "modules/tl/torch.py": "import sys, types\n\ndef install():\n"
        "    names = 'torch', 'torch.testing'\n"
        "    for name in names:\n        sys.modules[name] = types.ModuleType(name)\n"
        "        sys.modules[name].__path__ = []\n"
        "    sys.modules['torch'].name = 'stand-in'\n"
        "    from tools.peer_tests import stand_in\n"
        "    stand_in._names = lambda: {'parametrize': None}\n",
        "tests/test_all.py": TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    monkeypatch.setenv("TL_PEER_SECONDS", "2")
    return tmp_path / "tests"


def test_a_test_that_ends_its_process_is_named_and_the_rest_goes_on(folder):
    outcome = File(folder, "test_all.py", 60, "").run()
    assert outcome.problem == ""
    assert outcome.dead == ["test_all.py::test_dies"]
    assert outcome.tests["test_all.py::test_passes"] == "passed"
    assert outcome.tests["test_all.py::test_fails"] == "failed"
    assert outcome.tests["test_all.py::test_takes_long"] == "failed"


def test_a_file_that_cannot_be_imported_says_why(folder):
    (folder / "test_broken.py").write_text("import nothing_of_that_name")
    outcome = File(folder, "test_broken.py", 60, "").run()
    assert not outcome.tests


def test_tests_of_all_devices_become_those_of_the_cpu():
    class TestThings:
        @dtypes("torch.float32", "torch.int64")
        def test_dtypes(self, device, dtype):
            return device, dtype

        @dtypes("torch.float32")
        @dtypes_of_cpu("torch.bool")
        @parametrize("flag", [True, False])
        def test_both(self, device, flag, dtype):
            return device, flag, dtype

        @drop
        def test_elsewhere(self, device):
            raise AssertionError

    scope = {"TestThings": TestThings, "__name__": "module"}
    instantiate_device_type_tests(TestThings, scope)
    case = scope["TestThingsCPU"]()
    assert case.test_dtypes_cpu_int64() == ("cpu", "torch.int64")
    assert case.test_both_1_cpu_bool() == ("cpu", False, "torch.bool")
    assert sorted(name for name in dir(case) if name.startswith("test")) == [
        *("test_both_0_cpu_bool", "test_both_1_cpu_bool", "test_dtypes_cpu_float32", "test_dtypes_cpu_int64")
    ]


def test_tests_with_arguments_become_one_for_each_choice():
    @instantiate_parametrized_tests
    class TestThings:
        @parametrize("one,other", [(1, 2), (3, 4)])
        def test_sum(self, one, other):
            return one + other

    assert [TestThings().test_sum_0(), TestThings().test_sum_1()] == [3, 7]
