"""Device modules have PyTorch's names, parameters and answers without a device.

`device_answers.json` was recorded once from PyTorch 2.13 for the CPU by `record_device_answers.py`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "device_answers.json").read_text(encoding="utf-8"))
# PyTorch 2.7 doesn't have these; 2.13 does.
NEWER_MODULES = {"cuda.green_contexts", "mtia.mtia_graph", "xpu.graphs"}
# fmt: off
NEWER = {
    "cuda": "GreenContext caching_allocator_disabled current_solver_handle",
    "cuda.memory": "caching_allocator_disabled",
    "cuda.streams": "annotations",
    "cuda.tunable": "set_numerical_check_tolerances",
    "mps": "load_metallib",
    "mtia": "MTIAGraph get_device_properties get_rng_state_all graph graph_pool_handle initial_seed is_bf16_supported "
            "manual_seed manual_seed_all max_memory_allocated memory_allocated reset_peak_memory_stats seed seed_all "
            "set_rng_state_all",
    "mtia.memory": "max_memory_allocated memory_allocated reset_peak_memory_stats",
    "xpu": "MemPool XPUGraph XPUPluggableAllocator can_device_access_peer change_current_allocator clock_rate "
           "default_generators device_memory_used get_per_process_memory_fraction graph graph_pool_handle "
           "is_tf32_supported make_graphed_callables memory_snapshot memory_usage "
           "power_draw set_per_process_memory_fraction temperature use_mem_pool utilization",
    "xpu.memory": "MemPool XPUPluggableAllocator change_current_allocator get_per_process_memory_fraction "
                  "memory_snapshot set_per_process_memory_fraction use_mem_pool",
    "xpu.streams": "annotations",
}
# fmt: on
# What PyTorch's modules hold and its manual does not list: codes of the CUDA runtime, storages on CUDA devices, an
# observer that only a device calls.
UNLISTED = {
    "cuda": "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage CudaError "
    "DeferredCudaCallError DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage cudaStatus",
    "mtia": "attach_out_of_memory_observer",
}
OTHER_PACKAGES = {"cpu.amp", "cuda.amp"}  # of tl-amp
# What tl answers instead, and why.
DIFFERENT = {
    "cpu.Event": ["class", ["enable_timing"], "returns Event"],  # events of the CPU measure time
    "cuda.is_current_stream_capturing": ["function", [], "returns bool False"],  # nothing is captured
    "cuda.graphs.is_current_stream_capturing": ["function", [], "returns bool False"],
    "xpu.is_current_stream_capturing": ["function", [], "returns bool False"],
    # PyTorch gives a sentence about a Python package that is absent.
    "cuda.list_gpu_processes": ["function", ["device"], "raises AssertionError"],
    "cuda.memory.list_gpu_processes": ["function", ["device"], "raises AssertionError"],
    "cuda.use_mem_pool": ["class", ["pool", "device"], "raises TypeError"],  # PyTorch's is a generator's block
    "cuda.memory.use_mem_pool": ["class", ["pool", "device"], "raises TypeError"],
    "mtia.get_rng_state": ["function", ["device"], "raises RuntimeError"],  # as MTIA's other functions
    # PyTorch records nothing, and says nothing.
    "mtia.record_memory_history": [
        "function", ["enabled", "stacks", "max_entries"], "raises RuntimeError",
    ],
}  # fmt: skip
# Answers where PyTorch's own build lacks the function that it calls.
REFUSALS = {"raises AssertionError", "raises RuntimeError", "returns bool False", "returns tuple ()"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Today's answers, of a fresh interpreter: other tests select streams and devices."""
    file = tmp_path_factory.mktemp("answers") / "answers.json"
    command = [sys.executable, str(HERE / "record_device_answers.py"), str(file), "tl_backends"]
    subprocess.run(command, check=True, cwd=file.parent)  # calls may write files
    return json.loads(file.read_text(encoding="utf-8"))


def test_the_modules_are_those_of_pytorch(answers):
    assert set(EXPECTED) - set(answers) == NEWER_MODULES | OTHER_PACKAGES


@pytest.mark.parametrize("module", sorted(set(EXPECTED) - NEWER_MODULES - OTHER_PACKAGES))
def test_the_names_are_those_of_pytorch(answers, module):
    absent = f"{NEWER.get(module, '')} {UNLISTED.get(module, '')}".split()
    assert set(EXPECTED[module]) - set(answers[module]) == set(absent)


@pytest.mark.parametrize("module", sorted(set(EXPECTED) - NEWER_MODULES - OTHER_PACKAGES))
def test_each_name_answers_as_in_pytorch(answers, module):
    for name in set(EXPECTED[module]) & set(answers[module]):
        kind, parameters, answer = (*EXPECTED[module][name], None)[:3]
        own = answers[module][name]
        if f"{module}.{name}" in DIFFERENT:
            assert own == DIFFERENT[f"{module}.{name}"] != EXPECTED[module][name], name
        elif answer == "refuses":
            assert own[:2] == [kind, parameters], name
            assert own[2] in REFUSALS, name
        elif parameters is None and kind == "class":  # a type without a signature
            assert (own[0], own[2]) == (kind, answer), name
        else:
            assert own == EXPECTED[module][name], name
