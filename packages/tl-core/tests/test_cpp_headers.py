"""Headers of PyTorch that sources include alone."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tl_core.extensions import cpp_extension

compiles = pytest.mark.skipif(
    shutil.which(cpp_extension.get_cxx_compiler()) is None
    or not (Path(sysconfig.get_path("include")) / "Python.h").exists(),
    reason="no compiler, or no headers of Python",
)

USES = {
    "torch/autograd.h": 'TORCH_LIBRARY_IMPL(tl_headers, Autograd, m) { m.impl("f", TORCH_FN(f)); }',
    "ATen/core/ivalue.h": "std::vector<int64_t> l = c10::IValue(std::vector<int64_t>{1}).toIntVector();",
    "ATen/core/stack.h": "void g(torch::jit::Stack& s) { torch::jit::push(s, 1); }",
    "ATen/core/List.h": "c10::List<int64_t> l;",
    "ATen/DeviceGuard.h": "void g(at::Tensor x) { const at::OptionalDeviceGuard guard(at::device_of(x)); }\n"
    "bool is_cpu(at::Tensor x) { return at::device_of(x).value().is_cpu() && !at::device_of(at::Tensor()); }",
    "torch/torch.h": "void g(int n) { LOG_IF(INFO, n > 1) << n; }",
    "torch/custom_class.h": "struct S : torch::CustomClassHolder {};",
}


@compiles
@pytest.mark.parametrize("header", USES)
def test_a_header_alone_defines_its_names(header: str, tmp_path: Path) -> None:
    source = tmp_path / "alone.cpp"
    kernel = "at::Tensor f(const at::Tensor& x) { return x; }\n"
    source.write_text(f"#include <{header}>\n{kernel}{USES[header]}\n")
    folders = [*cpp_extension.include_paths(), sysconfig.get_path("include")]
    command = [
        cpp_extension.get_cxx_compiler(),
        "-std=c++17",
        "-fsyntax-only",
        *(f"-isystem{f}" for f in folders),
    ]
    process = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
