"""Extensions that are built when a program runs, and by setuptools."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import tl_core as tl
from tl_core.extensions import cpp_extension, headers, requirements
from tl_core.operators import packets as ops

compiles = pytest.mark.skipif(
    shutil.which(cpp_extension.get_cxx_compiler()) is None
    or not (Path(sysconfig.get_path("include")) / "Python.h").exists(),
    reason="no compiler, or no headers of Python",
)

MODULE = """#include <tl/tl.hpp>
static PyObject* answer(PyObject*, PyObject*) { return PyLong_FromLong(ANSWER); }
void run(void*, tl::Arguments in, tl::Results out) {
  const tl::Tensor x = in.tensor(0);
  if (!x.is_contiguous()) throw tl::Error(TL_ERROR_VALUE, "x must be contiguous");
  tl::Tensor made = tl::Tensor::empty(x.sizes(), x.dtype());
  for (int64_t i = 0; i < x.numel(); ++i) made.elements<float>()[i] = ANSWER * x.elements<float>()[i];
  out.set(0, made);
}
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define JOINED(a, b) a##b
#define INIT(name) JOINED(PyInit_, name)
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, TEXT(TORCH_EXTENSION_NAME), nullptr, -1, methods,
                             nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC INIT(TORCH_EXTENSION_NAME)() {
  if (!tl::load(0)) return nullptr;
  return tl::to_python([] {
    tl::register_operator(TEXT(TORCH_EXTENSION_NAME) "::times(Tensor x) -> Tensor", tl::boxed<run>, nullptr,
                          TL_DEVICE_CPU);
    return PyModule_Create(&module);
  });
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    return tmp_path


@compiles
def test_a_module_from_text(folder: Path) -> None:
    module = cpp_extension.load_inline(
        "tl_test_inline", MODULE, extra_cflags=["-DANSWER=3"], no_implicit_headers=True
    )
    assert module.answer() == 3 and module.__name__ == "tl_test_inline"
    assert Path(module.__file__) == folder / "tl_test_inline" / "tl_test_inline.so"
    assert ops.tl_test_inline.times(tl.ones(2)).tolist() == [3, 3]
    with pytest.raises(ValueError, match="x must be contiguous"):
        ops.tl_test_inline.times(tl.ones(2, 4)[:, ::2])
    assert (
        cpp_extension.load_inline(
            "tl_test_inline", MODULE, extra_cflags=["-DANSWER=3"], no_implicit_headers=True
        )
        is module
    )
    other = cpp_extension.load_inline(
        "tl_test_inline", MODULE, extra_cflags=["-DANSWER=4"], no_implicit_headers=True
    )
    assert other.answer() == 4 and other.__name__ == "tl_test_inline_v1" and module.answer() == 3


@compiles
def test_what_was_built_is_not_built_again(folder: Path) -> None:
    source = folder / "plain.cpp"
    source.write_text(
        'extern "C" __attribute__((visibility("default"))) int tl_test_number() { return 7; }\n'
    )
    assert cpp_extension.load("tl_test_plain", str(source), is_python_module=False) is None
    built = folder / "tl_test_plain" / "tl_test_plain.so"
    before = built.stat().st_mtime_ns
    cpp_extension.load("tl_test_plain", [source], is_python_module=False, keep_intermediates=False)
    assert built.stat().st_mtime_ns == before


@compiles
def test_a_program(folder: Path) -> None:
    source = folder / "main.cpp"
    source.write_text('#include <cstdio>\nint main() { std::puts("42"); }\n')
    path = cpp_extension.load("tl_test_program", str(source), is_standalone=True, build_directory=str(folder))
    assert subprocess.run([path], capture_output=True, text=True, check=True).stdout == "42\n"


@compiles
def test_what_the_compiler_says_is_in_the_error(folder: Path) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)Error building extension 'tl_test_wrong'.*does_not_exist"):
        cpp_extension.load_inline("tl_test_wrong", "#include <does_not_exist.h>")


@compiles
def test_functions_bound_by_pybind11(folder: Path) -> None:
    pytest.importorskip("pybind11")
    text = 'tl::Tensor neg(const tl::Tensor& x) { return tl::Operator::find("neg")(x).tensor(); }'
    module = cpp_extension.load_inline("tl_test_bound", text, functions={"neg": 'says "minus"'})
    assert module.neg(tl.ones(2)).tolist() == [-1, -1] and 'says "minus"' in module.neg.__doc__
    with pytest.raises(TypeError):
        module.neg(3)


@compiles
def test_setuptools_builds_an_extension(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    (tmp_path / "mine.cpp").write_text(MODULE)
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\n"
        "from tl_core.extensions.cpp_extension import BuildExtension, CppExtension\n"
        "made = CppExtension('tl_test_built', ['mine.cpp'], extra_compile_args={'cxx': ['-DANSWER=5']})\n"
        "setup(name='mine', ext_modules=[made],\n"
        "      cmdclass={'build_ext': BuildExtension.with_options(no_python_abi_suffix=True)})\n"
    )
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    process = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "tl_test_built.so").exists()
    code = "import tl_core, tl_test_built; print(tl_test_built.answer())"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout == "5\n"


def test_the_version_that_an_extension_needs(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    needed = f"tl-core>={tl.__version__}"
    assert requirements.requirement([("TL_API_TARGET", "0")], []) == needed
    with pytest.raises(ValueError, match="TL_API_TARGET is 99, the headers have the minor versions 0 to"):
        requirements.requirement([], ["-DTL_API_TARGET=99"])
    (tmp_path / "mine.cpp").write_text(MODULE)
    for name, stated, listed in (
        ("bare", [], [needed]),
        ("stated", ["numpy", "tl_core>=0.7"], ["numpy", "tl_core>=0.7"]),
    ):
        (tmp_path / "setup.py").write_text(
            "from setuptools import setup\n"
            "from tl_core.extensions.cpp_extension import BuildExtension, CppExtension\n"
            f"setup(name={name!r}, version='1', install_requires={stated!r}, py_modules=[],\n"
            "      ext_modules=[CppExtension('mine', ['mine.cpp'])], cmdclass={'build_ext': BuildExtension})\n"
        )
        command = [sys.executable, "setup.py", "-q", "egg_info"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        text = (tmp_path / f"{name}.egg-info" / "requires.txt").read_text()
        assert text.split() == listed


def test_what_tl_cannot_build(tmp_path: Path) -> None:
    for call in (
        lambda: cpp_extension.CUDAExtension("a", ["a.cu"]),
        lambda: cpp_extension.SyclExtension("a", ["a.sycl"]),
        lambda: cpp_extension.load("a", ["a.cu"]),
        lambda: cpp_extension.load("a", ["a.cpp"], with_cuda=True),
        lambda: cpp_extension.load_inline("a", "", cuda_sources="x"),
        lambda: cpp_extension.include_paths("cuda"),
    ):
        with pytest.raises(RuntimeError, match="tl"):
            call()
    with pytest.raises(OSError, match="does not exist"):
        cpp_extension.load("a", ["a.cpp"], build_directory=str(tmp_path / "absent"))


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert cpp_extension.get_compiler_abi_compatibility_and_version("no-such-compiler") == (False, "0.0.0")
    with pytest.raises(RuntimeError, match="no compiler 'no-such-compiler'"):
        cpp_extension.load_inline("tl_test_none", "")


PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(cmake_extension CXX)
find_package(Torch REQUIRED)
add_library(cmake_extension MODULE cmake_extension.cpp)
target_link_libraries(cmake_extension PRIVATE "${TORCH_LIBRARIES}")
set_target_properties(cmake_extension PROPERTIES PREFIX "")
"""
CMAKE_SOURCE = """
#include <torch/library.h>
at::Tensor lower(const at::Tensor& x, double most) { return x - at::Scalar(most); }
TORCH_LIBRARY(tl_cmake_extension, m) { m.def("lower", &lower); }
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_cmake_finds_torch(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "cmake_extension.cpp").write_text(CMAKE_SOURCE)
    build = tmp_path / "build"
    options = [f"-DCMAKE_PREFIX_PATH={headers.cmake_prefix_path}", f"-DPython3_EXECUTABLE={sys.executable}"]
    for command in (["-S", str(tmp_path), "-B", str(build), *options], ["--build", str(build)]):
        process = subprocess.run(["cmake", *command], capture_output=True, text=True)
        assert process.returncode == 0, process.stdout + process.stderr
    tl.ops.load_library(str(build / "cmake_extension.so"))
    assert tl.ops.tl_cmake_extension.lower(tl.ones(2), 0.5).tolist() == [0.5, 0.5]


@compiles
def test_a_library_serves_no_other_library(folder: Path) -> None:
    source = folder / "exported.cpp"
    source.write_text(
        'extern "C" __attribute__((visibility("default"))) int tl_test_exported() { return 1; }\n'
    )
    assert cpp_extension.load("tl_test_exported", str(source), is_python_module=False) is None
    assert not hasattr(ctypes.CDLL(None), "tl_test_exported")
