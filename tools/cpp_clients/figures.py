"""`python -m tools.cpp_clients.figures --peer-python PYTHON`: what C++ costs on tl, relative to PyTorch.

It compiles one extension for both, in turn: seconds of CPU for the include of `torch/extension.h` and for the build,
the size of the stripped binary, and the time of calls in C++. PYTHON has torch. If tvm-ffi is installed, a call of it
with three tensors is measured as well.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from statistics import median

from tl_core.extensions import cpp_extension

# A recurrent cell with a derivative of its own, as in PyTorch's tutorial on C++, and two loops of calls.
SOURCE = r"""
#include <torch/extension.h>

#include <chrono>
#include <vector>

at::Tensor slope_of_sigmoid(at::Tensor z) {
  auto s = torch::sigmoid(z);
  return (1 - s) * s;
}
at::Tensor slope_of_tanh(at::Tensor z) { return 1 - z.tanh().pow(2); }
at::Tensor slope_of_elu(at::Tensor z, at::Scalar alpha = 1.0) {
  auto e = z.exp();
  auto mask = (alpha * (e - 1)) < 0;
  return (z > 0).type_as(z) + mask.type_as(z) * (alpha * e);
}
std::vector<at::Tensor> forward(at::Tensor input, at::Tensor weights, at::Tensor bias, at::Tensor h, at::Tensor cell) {
  auto X = torch::cat({h, input}, /*dim=*/1);
  auto gate_weights = torch::addmm(bias, X, weights.transpose(0, 1));
  auto gates = gate_weights.chunk(3, /*dim=*/1);
  auto in = torch::sigmoid(gates[0]), out = torch::sigmoid(gates[1]), candidate = torch::elu(gates[2], 1.0);
  auto new_cell = cell + candidate * in;
  auto new_h = torch::tanh(new_cell) * out;
  return {new_h, new_cell, in, out, candidate, X, gate_weights};
}
std::vector<torch::Tensor> backward(torch::Tensor grad_h, torch::Tensor grad_cell, torch::Tensor new_cell,
                                    torch::Tensor in, torch::Tensor out, torch::Tensor candidate, torch::Tensor X,
                                    torch::Tensor gate_weights, torch::Tensor weights) {
  auto d_out = torch::tanh(new_cell) * grad_h;
  auto d_new_cell = slope_of_tanh(new_cell) * (out * grad_h) + grad_cell;
  auto d_candidate = in * d_new_cell, d_in = candidate * d_new_cell;
  auto gates = gate_weights.chunk(3, /*dim=*/1);
  d_in *= slope_of_sigmoid(gates[0]);
  d_out *= slope_of_sigmoid(gates[1]);
  d_candidate *= slope_of_elu(gates[2]);
  auto d_gates = torch::cat({d_in, d_out, d_candidate}, /*dim=*/1);
  auto d_X = d_gates.mm(weights);
  const auto size = grad_h.size(1);
  return {d_X.slice(/*dim=*/1, 0, size), d_X.slice(/*dim=*/1, size), d_gates.t().mm(X),
          d_gates.sum(/*dim=*/0, /*keepdim=*/true), d_new_cell};
}
double nanoseconds(std::chrono::steady_clock::duration d, int64_t n) {
  return std::chrono::duration<double, std::nano>(d).count() / double(n);
}
double time_of_add(at::Tensor x, int64_t n) {
  at::NoGradGuard off;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < n; ++i) at::add(x, x);
  return nanoseconds(std::chrono::steady_clock::now() - start, n);
}
double time_of_geometry(at::Tensor x, int64_t n) {
  int64_t total = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < n; ++i) {
    total += x.size(0) + x.numel();
    total += int64_t(reinterpret_cast<intptr_t>(x.data_ptr<float>()) & 1);
  }
  const auto end = std::chrono::steady_clock::now();
  TORCH_CHECK(total != 1);
  return nanoseconds(end - start, n);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "LLTM forward");
  m.def("backward", &backward, "LLTM backward");
  m.def("time_of_add", &time_of_add);
  m.def("time_of_geometry", &time_of_geometry);
}
"""
TIMES = """
import importlib.util, json, sys
torch = importlib.import_module(sys.argv[1])
torch.set_num_threads(1)
spec = importlib.util.spec_from_file_location("cell", sys.argv[2])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
x = torch.ones(4, 4)
n = 200_000
print(json.dumps([min(f(x, n) for _ in range(5)) for f in (module.time_of_add, module.time_of_geometry)]))
"""
# A call of a function of tvm-ffi with three tensors, which come through DLPack's table of functions.
FOREIGN = """
import importlib, sys, time
torch = importlib.import_module(sys.argv[1])
import tvm_ffi
nop = tvm_ffi.get_global_func("testing.nop")
x, y, z = (torch.ones(4) for _ in range(3))
best, n = float("inf"), 5_000
for _ in range(60):
    start = time.perf_counter_ns()
    for _ in range(n):
        nop(x, y, z)
    best = min(best, (time.perf_counter_ns() - start) / n)
print(best)
"""
MOST_FOREIGN = 400  # nanoseconds
BOUNDS = {
    "include": 0.2,
    "build": 0.25,
    "stripped binary": 1.0,
    "at::add of 16 floats": 0.12,
    "geometry": 1.0,
}


def seconds(command: list[str]) -> float:
    """The CPU time of a command.

    Args:
        command (list[str]): The command.

    Returns:
        float: The seconds.

    Raises:
        SystemExit: The command failed.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(process.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(peer: str) -> dict[str, tuple[list[str], list[str]]]:
    """The compiler's command and the linker's flags, for tl and for PyTorch.

    Args:
        peer (str): The interpreter that has torch.

    Returns:
        dict[str, tuple[list[str], list[str]]]: Both, by the name of the module of Python.
    """
    # Builds by setuptools have NDEBUG for both.
    compiler = [cpp_extension.get_cxx_compiler(), "-fPIC", "-w", "-DNDEBUG", "-DTORCH_EXTENSION_NAME=cell"]
    python = f"-isystem{sysconfig.get_path('include')}"
    own = [*cpp_extension.include_paths(), *cpp_extension._pybind_include()]
    ours = [*compiler, "-std=c++17", "-fvisibility=hidden", *(f"-isystem{f}" for f in own), python]
    query = "import json, torch.utils.cpp_extension as e; print(json.dumps([e.include_paths(), e.library_paths()]))"
    found = subprocess.run([peer, "-c", query], capture_output=True, text=True, check=True).stdout
    include, libraries = json.loads(found)
    theirs = [*compiler, "-std=c++20", *(f"-isystem{f}" for f in include), python]
    links = [f"-L{f}" for f in libraries] + [f"-Wl,-rpath,{f}" for f in libraries]
    names = ["torch", "torch_cpu", "torch_python", "c10"]
    return {"tl": (ours, []), "torch": (theirs, links + [f"-l{name}" for name in names])}


def main() -> int:
    """Measures; the status is 1 above a bound."""
    parser = argparse.ArgumentParser(prog="python -m tools.cpp_clients.figures", description=__doc__)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    measured: dict[str, dict[str, float]] = {name: {} for name in BOUNDS}
    ratios: dict[str, list[float]] = {"include": [], "build": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "include.cpp").write_text("#include <torch/extension.h>\n")
        (folder / "cell.cpp").write_text(SOURCE)
        both = commands(options.peer_python)
        for _ in range(options.rounds):
            include, build = {}, {}
            for which, (compiler, links) in both.items():
                library = folder / which / "cell.so"
                library.parent.mkdir(exist_ok=True)
                include[which] = seconds([*compiler, "-fsyntax-only", str(folder / "include.cpp")])
                target = ["-O2", "-shared", "-o", str(library), str(folder / "cell.cpp"), *links]
                build[which] = seconds([*compiler, *target])
            ratios["include"].append(include["tl"] / include["torch"])
            ratios["build"].append(build["tl"] / build["torch"])
            print(f"include {include}, build {build}", flush=True)
        for which in both:
            library = folder / which / "cell.so"
            subprocess.run(["strip", str(library)], check=True)
            measured["stripped binary"][which] = library.stat().st_size
            python = sys.executable if which == "tl" else options.peer_python
            times = subprocess.run(
                [python, "-c", TIMES, which, str(library)],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            add, geometry = json.loads(times.stdout)
            measured["at::add of 16 floats"][which], measured["geometry"][which] = add, geometry
    wrong = 0
    for name, bound in BOUNDS.items():
        pair = measured[name]
        ratio = median(ratios[name]) if name in ratios else pair["tl"] / pair["torch"]
        wrong += ratio > bound
        detail = "" if name in ratios else f"  ({pair['tl']:.4g} and {pair['torch']:.4g})"
        print(f"{name:22}{ratio:.3f}  at most {bound}{'' if ratio <= bound else ' MISSED'}{detail}")
    if importlib.util.find_spec("tvm_ffi") is None:
        print("tvm-ffi is not installed")
        return 1 if wrong else 0
    found = subprocess.run(
        [sys.executable, "-c", FOREIGN, "tl"], capture_output=True, text=True, check=True
    ).stdout
    wrong += float(found) > MOST_FOREIGN
    print(f"a call of tvm-ffi     {float(found):.0f} ns  at most {MOST_FOREIGN}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
