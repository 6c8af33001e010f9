"""Extensions of third parties: an operator, a device and a layer, through the C interface alone."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys

import pytest
from extension_build import build, changed_headers, load, next_minor_headers, older_headers

import tl_core as tl

autograd_missing = "tl-autograd, which records derivatives, is not installed"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return load(build("plain_c", tmp_path_factory.mktemp("plain")))


@pytest.fixture(scope="module")
def hpp(tmp_path_factory):
    return load(build("cpp_hpp", tmp_path_factory.mktemp("hpp")))


@pytest.fixture
def x(hpp):
    return tl.tensor([[1.0, 2.0], [3.0, 4.0]], device="toy")


def in_fresh_process(folder, program):
    program = f"import sys; sys.path.insert(0, {str(folder)!r}); import tl_core as tl\n{program}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


# ---- versions ------------------------------------------------------------------------------------------------------


def test_asking_for_a_newer_minor_names_both_versions(plain):
    with pytest.raises(
        ImportError, match=r"needs the C interface 1\.77 of tl-core, the installed one is 1\.\d+"
    ):
        plain.need_minor(77)
    plain.need_minor(0)


def test_an_extension_built_against_fewer_entries_runs(tmp_path):
    build("plain_c", tmp_path, include=older_headers(tmp_path))
    program = """
import plain_c
known, whole = plain_c.table_size()
assert known < whole, (known, whole)
ones = tl.ones(5000, dtype=tl.float64)
print(plain_c.cube(ones * 2).sum().item(), plain_c.checked_sum(ones))
"""
    process = in_fresh_process(tmp_path, program)
    assert (process.stdout, process.stderr) == ("40000.0 5000.0\n", "")


def test_an_extension_of_another_draft_is_refused(tmp_path):
    include = changed_headers(
        tmp_path, "python.h", r"TL_API_DIGEST UINT64_C\(0x[0-9a-f]+\)", "TL_API_DIGEST UINT64_C(0x7)"
    )
    file = build("plain_c", tmp_path, include=include)
    message = r"compiled with headers of another draft .* \(0{15}7\) than the installed core \([0-9a-f]{16}\)"
    with pytest.raises(ImportError, match=message):
        load(file)


def test_extensions_of_two_minors_in_one_process(tmp_path):
    older, newer = tmp_path / "older", tmp_path / "newer"
    older.mkdir(), newer.mkdir()
    build("plain_c", older, include=older_headers(older))
    include = next_minor_headers(newer)
    build("cpp_hpp", newer, include=include, flags=("-DTL_API_TARGET=0",))
    program = f"""
sys.path.insert(0, {str(older)!r})
import plain_c, cpp_hpp
known, whole = plain_c.table_size()
assert known < whole
ones = tl.ones(5000, dtype=tl.float64)
x = tl.tensor([-1.0, 2.0])
for _ in range(2):
    sums = plain_c.cube(ones * 2).sum().item(), plain_c.checked_sum(ones)
    print(*sums, cpp_hpp.call("hpp::positive_part", x).tolist())
    try:
        cpp_hpp.call("hpp::positive_part", tl.tensor(1.0))
    except RuntimeError as e:
        print(e)
"""
    process = in_fresh_process(newer, program)
    line = "40000.0 5000.0 [0.0, 2.0]\nhpp::positive_part: a 0-d tensor has no parts\n"
    assert (process.stdout, process.stderr) == (2 * line, "")


# A core of the next minor version: tables of another version, with an entry more at their ends.
NEXT_MINOR = """
import ctypes, tl_core
from ctypes import pythonapi, py_object, c_char_p, c_void_p, c_uint32
get, new = pythonapi.PyCapsule_GetPointer, pythonapi.PyCapsule_New
get.restype, get.argtypes = c_void_p, [py_object, c_char_p]
new.restype, new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
keep = []

def longer(address):
    size = ctypes.cast(address, ctypes.POINTER(ctypes.c_size_t))[0]
    memory = ctypes.create_string_buffer(ctypes.string_at(address, size) + b"\\1" * 8)
    ctypes.cast(memory, ctypes.POINTER(ctypes.c_size_t))[0] = size + 8
    versions = ctypes.cast(memory, ctypes.POINTER(c_uint32))
    assert (versions[2], versions[3]) == (1, 0)
    versions[3] = 1
    keep.append(memory)
    return ctypes.addressof(memory)

for name in ("python_v1", "extension_v1", "rules_v1", "recording_v1"):
    full = f"tl_core._C.{name}".encode()
    keep.append(full)
    setattr(tl_core._C, name, new(longer(get(getattr(tl_core._C, name), full)), full, None))
GET = ctypes.PYFUNCTYPE(c_void_p, c_uint32, c_uint32)
table = longer(GET(get(tl_core._C.api_v1, b"tl_core._C.api_v1"))(1, 0))
keep.append(GET(lambda major, minor: table if major == 1 and minor <= 1 else None))
keep.append(b"tl_core._C.api_v1")
tl_core._C.api_v1 = new(ctypes.cast(keep[-2], c_void_p).value, keep[-1], None)
"""


def test_an_extension_runs_on_the_next_minor(tmp_path):
    build("plain_c", tmp_path), build("cpp_hpp", tmp_path)
    use = """
import plain_c, cpp_hpp
known, whole = plain_c.table_size()
assert whole == known + 8, (known, whole)
ones = tl.ones(5000, dtype=tl.float64)
print(plain_c.cube(ones * 2).sum().item(), plain_c.checked_sum(ones))
print(cpp_hpp.call("hpp::positive_part", tl.tensor([-1.0, 2.0])).tolist())
"""
    process = in_fresh_process(tmp_path, NEXT_MINOR + use)
    assert (process.stdout, process.stderr) == ("40000.0 5000.0\n[0.0, 2.0]\n", "")


def test_an_extension_of_another_major_is_refused(tmp_path):
    include = changed_headers(tmp_path, "c_api.h", "TL_API_MAJOR 1", "TL_API_MAJOR 2")
    file = build("plain_c", tmp_path, include=include)
    message = r"reads \d+ bytes of the table .* with the major version 2 .* the version 1\.0"
    with pytest.raises(ImportError, match=message):
        load(file)


NEWER = r"""
#include <tl/python.h>
PyMODINIT_FUNC PyInit_newer(void) {
  const TlApi* api = tl_import_api(TL_API_TARGET);
  return api ? PyLong_FromLong(api->newer(1)) : NULL;
}
"""


def test_entries_of_newer_minors_are_hidden(tmp_path):
    include = next_minor_headers(tmp_path)
    source = tmp_path / "sources" / "newer.c"
    source.parent.mkdir()
    source.write_text(NEWER)
    with pytest.raises(AssertionError, match="no member named"):
        build(source, tmp_path, include=include, flags=("-DTL_API_TARGET=0",))
    file = build(source, tmp_path, include=include)
    with pytest.raises(
        ImportError, match=r"needs the C interface 1\.1 of tl-core, the installed one is 1\.0"
    ):
        load(file)


def test_a_longer_table_is_refused(tmp_path):
    longer = r"int (*frames)(const void** out, int n);\n  void* newer[4];"
    include = changed_headers(tmp_path, "python.h", r"int \(\*frames\)\(const void\*\* out, int n\);", longer)
    file = build("plain_c", tmp_path, include=include)
    with pytest.raises(
        ImportError, match=r"reads \d+ bytes of the table tl_core\._C\.python_v1 .* has \d+ bytes"
    ):
        load(file)


# ---- an operator -----------------------------------------------------------------------------------------------------


def test_an_operator_in_c_computes(plain):
    values = tl.arange(20000, dtype=tl.float64)
    assert plain.cube(values).tolist() == [float(i) ** 3 for i in range(20000)]
    assert plain.cube(tl.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tl.float64).t()).tolist() == [
        [1.0, 27.0],
        [8.0, 64.0],
    ]


def test_its_kernels_meet_elements_that_are_written_out(plain):
    assert plain.cube(tl._neg_view(tl.tensor([1.0, -2.0], dtype=tl.float64))).tolist() == [-1, 8]


def test_its_errors_become_exceptions(plain):
    with pytest.raises(TypeError, match="argument 'self' must be of float64"):
        plain.cube(tl.ones(2))
    with pytest.raises(TypeError, match="expected a Tensor, got str"):
        plain.cube("x")


def test_an_error_in_parallel_work_reaches_the_caller(plain):
    values = tl.ones(100_000, dtype=tl.float64)
    assert plain.checked_sum(values) == 100_000.0
    values[77_777] = -1
    with pytest.raises(ValueError, match="a negative element"):
        plain.checked_sum(values)
    assert plain.checked_sum(values[:1000]) == 1000.0


def test_its_program_differentiates_twice(plain):
    autograd = pytest.importorskip("tl_autograd", reason=autograd_missing)
    values = tl.tensor([1.0, -2.0, 3.0], dtype=tl.float64, requires_grad=True)
    (first,) = autograd.grad(plain.cube(values).sum(), values, create_graph=True)
    (second,) = autograd.grad(first.sum(), values)
    assert first.tolist() == [3.0, 12.0, 27.0]
    assert second.tolist() == [6.0, -12.0, 18.0]


def test_operators_in_cpp_stop_exceptions_at_the_boundary(hpp):
    assert hpp.call("hpp::positive_part", tl.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert [part.tolist() for part in hpp.call("hpp::halves", tl.arange(5))] == [[0, 1], [2, 3, 4]]
    with pytest.raises(RuntimeError, match="a 0-d tensor has no parts"):
        hpp.call("hpp::positive_part", tl.tensor(1.0))
    with pytest.raises(IndexError, match=r"^chunk 2 has no element$"):
        hpp.call("hpp::throw_in_chunk", tl.ones(1000))
    with pytest.raises(AttributeError, match="there is no operator named 'nope'"):
        hpp.call("nope", tl.ones(1))


# ---- a layer ---------------------------------------------------------------------------------------------------------


def test_a_layer_counts_calls_while_it_is_on(plain):
    before = plain.calls_of("add.Tensor")
    one = tl.ones(3)
    plain.set_counting(True)
    try:
        assert (one + one + one).tolist() == [3.0, 3.0, 3.0]
    finally:
        plain.set_counting(False)
    assert plain.calls_of("add.Tensor") == before + 2
    one + one
    assert plain.calls_of("add.Tensor") == before + 2


def test_a_layer_hears_of_operators_registered_after_it(plain, hpp):
    before = plain.calls_of("hpp::positive_part")
    plain.set_counting(True)
    try:
        hpp.call("hpp::positive_part", tl.ones(2))
    finally:
        plain.set_counting(False)
    assert plain.calls_of("hpp::positive_part") == before + 1


# ---- a device --------------------------------------------------------------------------------------------------------


def test_tensors_are_made_on_the_device_and_print(x):
    assert repr(x) == "tensor([[1., 2.],\n        [3., 4.]], device='toy:0')"
    assert repr(tl.zeros(2, device="toy:1")) == "tensor([0., 0.], device='toy:1')"
    assert (x.device, x.is_cpu) == (tl.device("toy", 0), False)
    assert tl.arange(3, device="toy").tolist() == [0, 1, 2]
    assert tl.full((2,), 7, device="toy").tolist() == [7, 7]
    with tl.device("toy"):
        assert tl.ones(2).device == tl.device("toy:0")


def test_its_own_kernels_run(hpp, x):
    calls = hpp.statistics()[2]
    assert (x + x).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert (x * x).tolist() == [[1.0, 4.0], [9.0, 16.0]]
    assert tl.add(x, x, alpha=3).tolist() == [[4.0, 8.0], [12.0, 16.0]]
    assert hpp.statistics()[2] == calls + 3


def test_what_its_kernels_do_not_handle_runs_on_the_cpu(hpp, x):
    calls = hpp.statistics()[2]
    assert (x + 1).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert (x + x[0]).tolist() == [[2.0, 4.0], [4.0, 6.0]]
    assert (x + x.to(tl.float64)).dtype is tl.float64
    assert hpp.statistics()[2] == calls


def test_everything_else_runs_by_copying(x):
    host = x.cpu()
    for f in (
        tl.exp,
        tl.sum,
        tl.mean,
        lambda t: t @ t,
        lambda t: t[t > 2],
        lambda t: t[:, 1],
        lambda t: t.cumsum(0),
        lambda t: t.softmax(1),
        lambda t: tl.cat([t, t]),
        lambda t: tl.where(t > 2, t, 0),
        lambda t: t.t(),
    ):
        result = f(x)
        assert result.device == x.device
        assert result.tolist() == f(host).tolist()
    values, indices = x.max(1)
    assert (values.tolist(), indices.tolist(), indices.device) == ([2.0, 4.0], [1, 1], x.device)


def test_in_place_through_views_and_out(x):
    y = x.clone()
    y[0, 0] = 9
    y[:, 1] = tl.tensor([5.0, 6.0])
    assert y.tolist() == [[9.0, 5.0], [3.0, 6.0]]
    y.t()[0].zero_()
    assert y.tolist() == [[0.0, 5.0], [0.0, 6.0]]
    version = y._version
    y.exp_()
    assert y._version == version + 1
    out = tl.empty(0, device="toy")
    assert tl.exp(x, out=out) is out
    assert out.tolist() == x.cpu().exp().tolist()


def test_to_moves_and_converts(x):
    assert x.to("cpu").tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.to("cpu", tl.int64).tolist() == [[1, 2], [3, 4]]
    assert repr(x.to(tl.float64)[0]) == "tensor([1., 2.], device='toy:0', dtype=torch.float64)"
    assert x.to("toy:1").tolist() == x.tolist()
    assert x.to("toy") is x
    assert tl.zeros(2, 2).copy_(x).tolist() == x.tolist()
    assert tl.zeros(2, 2, dtype=tl.float64, device="toy:1").copy_(x[0]).tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_random_numbers_are_the_cpus(x):
    for draw in (
        lambda d: tl.rand(5, device=d),
        lambda d: tl.randn(20, device=d),
        lambda d: tl.randperm(9, device=d),
        lambda d: tl.zeros(3, 4, device=d).t().uniform_(),
        lambda d: tl.randint(0, 99, (7,), device=d),
    ):
        tl.manual_seed(3)
        expected = draw("cpu")
        tl.manual_seed(3)
        result = draw("toy")
        assert result.device == x.device
        assert result.tolist() == expected.tolist()


def test_gradients_live_on_the_device(x):
    pytest.importorskip("tl_autograd", reason=autograd_missing)
    leaf = x.clone().requires_grad_()
    (leaf * leaf + leaf.exp()).sum().backward()
    host = x.cpu()
    assert leaf.grad.device == x.device
    assert leaf.grad.tolist() == (2 * host + host.exp()).tolist()


def test_pickles_and_copies_stay_on_the_device(x):
    for result in (pickle.loads(pickle.dumps(x.t())), copy.deepcopy(x.t())):
        assert (result.device, result.stride(), result.tolist()) == (
            x.device,
            (1, 2),
            [[1.0, 3.0], [2.0, 4.0]],
        )


def test_devices_do_not_mix(x):
    with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device.*toy:0 and cpu"):
        x + tl.ones(2, 2)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + x.to("toy:1")
    assert (x + tl.tensor(1.0)).tolist() == [[2.0, 3.0], [4.0, 5.0]]


def test_what_the_device_cannot_do_is_said(x):
    with pytest.raises(RuntimeError, match="there is no device 'toy:5': the number of toy devices is 2"):
        tl.ones(2, device="toy:5")
    with pytest.raises(BufferError, match="cannot be exported through DLPack"):
        x.__dlpack__()
    with pytest.raises(TypeError, match="can't convert toy:0 device type tensor to numpy"):
        memoryview(x)
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, cuda, .*, meta, .*, toy device type"):
        tl.device("toyy")


def test_the_devices_memory_comes_back(hpp):
    gc.collect()
    live = hpp.statistics()[0]
    result = [tl.ones(100, device="toy").exp() for _ in range(5)]
    assert hpp.statistics()[0] == live + 5 * 400
    del result
    gc.collect()
    assert hpp.statistics()[0] == live


@pytest.mark.parametrize("plug_in_first", [True, False])
def test_the_name_of_a_plug_ins_device(tmp_path, plug_in_first):
    build("cpp_hpp", tmp_path)
    steps = ["import cpp_hpp", "extension_devices.rename_privateuse1_backend('toy')"]
    program = f"""
from tl_core.settings import extension_devices
{chr(10).join(steps if plug_in_first else reversed(steps))}
x = tl.ones(2, device="privateuseone:0")
print(x.device, x.device == tl.device("toy:0"), (x + 1).cpu().tolist())
"""
    process = in_fresh_process(tmp_path, program)
    assert (process.stdout, process.stderr) == ("toy:0 True [2.0, 2.0]\n", "")
