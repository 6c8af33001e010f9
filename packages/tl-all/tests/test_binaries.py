"""Extension modules that are built for PyTorch, under `tl.torch`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tl_core.extensions import stable_abi

MODULE = """
#include <Python.h>
struct Library;
extern "C" int aoti_torch_library_init_def(const char*, const char*, unsigned, Library**);
extern "C" int aoti_torch_library_def(Library*, const char*);
static const struct Registration { Registration() {
  Library* l; aoti_torch_library_init_def("NAME", "", 0, &l); aoti_torch_library_def(l, "SCHEMA");
} } registration;
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "NAME", nullptr, -1};
PyMODINIT_FUNC PyInit_NAME() { return PyModule_Create(&definition); }
"""
CXX = """
#include <Python.h>
namespace at { struct Tensor { Tensor sin() const; }; }
PyMODINIT_FUNC PyInit_NAME() { at::Tensor().sin(); return nullptr; }
"""


def build(folder: Path, name: str, source: str) -> None:
    """An extension module that needs PyTorch's libraries."""
    if shutil.which("c++") is None or not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("no compiler, or no headers of Python")
    (folder / f"{name}.cpp").write_text(source.replace("NAME", name))
    needed = ["-Wl,--no-as-needed", f"-L{stable_abi.folder()}", "-ltorch", "-lc10"]
    command = ["c++", "-std=c++17", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", *needed]
    target = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    process = subprocess.run(
        [*command, str(folder / f"{name}.cpp"), "-o", str(target)], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr


def run(folder: Path, program: str) -> str:
    command = [sys.executable, "-m", "tl.torch", "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_an_extension_module_is_imported_with_its_operators(tmp_path):
    build(tmp_path, "built_for_torch", MODULE.replace("SCHEMA", "half(Tensor x) -> Tensor"))
    program = """
import built_for_torch, torch
print(built_for_torch.__name__, torch.ops.built_for_torch.half.default._schema)
"""
    assert run(tmp_path, program) == "built_for_torch built_for_torch::half(Tensor x) -> Tensor\n"


def test_what_its_registrations_refuse_is_raised(tmp_path):
    build(tmp_path, "wrong_schema", MODULE.replace("SCHEMA", "half("))
    program = """
try:
    import wrong_schema
except (RuntimeError, ValueError) as error:
    print("refused")
"""
    assert run(tmp_path, program) == "refused\n"


def test_the_cxx_interface_is_refused(tmp_path):
    build(tmp_path, "cxx_module", CXX)
    program = """
try:
    import cxx_module
except ImportError as error:
    print(error)
"""
    assert "is built for torch itself, needs its C++ ABI: at::Tensor::sin() const" in run(tmp_path, program)


def test_other_extension_modules_bring_nothing(tmp_path):
    program = """
import numpy.linalg, sqlite3
print("stable_abi" in open("/proc/self/maps").read())
"""
    assert run(tmp_path, program) == "False\n"


def test_names_of_the_version(tmp_path):
    program = """
from torch.version import __version__, cuda, hip
import torch
print(cuda, hip, __version__ == torch.__version__)
"""
    assert run(tmp_path, program) == "None None True\n"
