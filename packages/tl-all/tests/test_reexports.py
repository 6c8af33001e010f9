"""Names that PyTorch's modules import from elsewhere, and programs from there."""

import importlib
import math
import subprocess
import sys

import pytest

import tl
from tl import _reexports

# From PyTorch 2.13: a name, and the name that the object has at its origin.
SAME = """
nn.modules.conv._pair nn.modules.utils._pair          nn.modules.conv.F nn.functional
nn.modules.conv._reverse_repeat_tuple nn.modules.utils._reverse_repeat_tuple
nn.modules.conv._size_2_t nn.common_types._size_2_t   nn.modules.pooling._triple nn.modules.utils._triple
nn.modules.conv.init nn.init                          nn.modules.transformer.xavier_uniform_ nn.init.xavier_uniform_
nn.modules.rnn._VF _VF                                nn.functional._VF _VF
functional._VF _VF                                    cuda.random._lazy_init cuda._lazy_init
cuda.random.device_count cuda.device_count            optim.sparse_adam.ParamsT optim.optimizer.ParamsT
utils.data.dataset.randperm randperm                  utils.data.sampler.torch torch
distributed.nn.functional.dist distributed            nn.modules.batchnorm.Tensor Tensor
"""
PAIRS = list(zip(SAME.split()[::2], SAME.split()[1::2], strict=True))


def value_of(dotted):
    if dotted == "torch":
        return tl
    module, _, name = f"tl.{dotted}".rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize(("name", "origin"), PAIRS)
def test_a_name_is_the_object_of_its_origin(name, origin):
    assert value_of(name) is value_of(origin)


def test_modules_of_python():
    assert tl.nn.modules.conv.math is math
    assert tl.os is sys.modules["os"]
    assert tl.nn.modules.container.OrderedDict.__module__ == "collections"


@pytest.mark.parametrize(
    "name", ["nn.modules.conv.no_such", "nn.modules.conv._ntuples", "no_such", "cuda.maths"]
)
def test_other_names_are_missing(name):
    module, _, last = f"tl.{name}".rpartition(".")
    assert not hasattr(importlib.import_module(module), last)


def test_an_origin_is_in_tl():
    for module, words in _reexports.table().items():
        try:
            served = importlib.import_module(f"tl.{module}".rstrip("."))
            lacked = [
                name for name in (w.partition("=")[0] for w in words.split()) if not hasattr(served, name)
            ]
        except ImportError as error:  # a module that tl lacks, or one for another library
            assert not (error.name or "").startswith("tl_"), error
            continue
        assert not lacked, module


def run(*arguments):
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_program_imports_them_from_there(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from torch.nn.modules.conv import _ConvNd, _pair, math\n"
        "from torch.nn.functional import _VF\n"
        "print(_ConvNd.__name__, _pair(2), math.__name__, _VF.tanh.__name__)\n"
    )
    assert run("-m", "tl.torch", str(program)) == "_ConvNd (2, 2) math tanh\n"


def test_a_start_reads_no_list():
    assert run("-c", "import sys, tl; print('tl._reexports' in sys.modules)") == "False\n"
