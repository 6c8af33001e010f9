"""Binaries that are built for PyTorch's stable C interface."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from extension_build import build

import tl_core as tl
from tl_core.extensions import shared_objects, stable_abi

TORCH = ("-Wl,--no-as-needed", f"-L{stable_abi.folder()}", "-ltorch", "-ltorch_cpu", "-lc10")


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    return build("stable_cpp", tmp_path_factory.mktemp("stable"), flags=TORCH)


@pytest.fixture(scope="module")
def ops(binary):
    with pytest.raises(RuntimeError, match="with the same name and overload name"):
        stable_abi.load(compiled(binary.parent, "twice", SECOND_DEFINITION))
    tl.ops.load_library(binary)
    assert str(binary) in tl.ops.loaded_libraries
    return tl.ops.stabletest


def compiled(folder: Path, name: str, source: str, flags: tuple[str, ...] = TORCH) -> Path:
    """A shared object of a few lines."""
    if shutil.which("c++") is None:
        pytest.skip("no compiler")
    (folder / f"{name}.cpp").write_text(source)
    target = folder / f"{name}.so"
    command = [
        "c++",
        "-std=c++17",
        "-shared",
        "-fPIC",
        *flags,
        str(folder / f"{name}.cpp"),
        "-o",
        str(target),
    ]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return target


def in_fresh_process(program: str) -> str:
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return process.stdout


SECOND_DEFINITION = """
struct Library;
extern "C" int aoti_torch_library_init_fragment(const char*, const char*, unsigned, Library**);
extern "C" int aoti_torch_library_def(Library*, const char*);
namespace { const struct R { R() {
  Library* l; aoti_torch_library_init_fragment("stabletwice", "", 0, &l);
  aoti_torch_library_def(l, "one(Tensor x) -> Tensor"); aoti_torch_library_def(l, "one(Tensor x) -> Tensor");
} } r; }
"""


# ---- kernels -------------------------------------------------------------------------------------------------------
def test_a_kernel_that_came_before_its_schema_runs(ops):
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tl.float64)
    assert ops.scale(x, 2.5).tolist() == [[2.5, 5.0], [7.5, 10.0]]
    assert ops.scale(x, by=-1).tolist() == [[-1.0, -2.0], [-3.0, -4.0]]
    assert ops.scale(tl.empty(0, dtype=tl.float64), 1.0).shape == (0,)
    assert ops.scale(tl.tensor(3.0, dtype=tl.float64), 2.0).item() == 6.0


def test_values_of_every_type_come_back(ops):
    t = tl.tensor([1.0])
    dtypes = (
        tl.uint8,
        tl.int64,
        tl.float16,
        tl.bfloat16,
        tl.complex128,
        tl.bool,
        tl.float8_e4m3fn,
        tl.uint32,
    )
    for dtype in dtypes:
        r = ops.plain(t, True, -7, 0.1, "héllo\0x", dtype, "meta", tl.channels_last)
        assert (r[0].tolist(), *r[1:5]) == ([1.0], True, -7, 0.1, "héllo\0x")
        assert r[5:] == (dtype, tl.device("meta"), tl.channels_last)
    assert ops.plain(t, False, 2**62, -0.0, "", tl.int8, "cpu", tl.preserve_format)[1:5] == (
        False,
        2**62,
        0.0,
        "",
    )


def test_optional_values_come_back(ops):
    assert ops.optionals(None, None, None, None, None, None) == (None,) * 6
    t, i, f, s, n, v = ops.optionals(tl.tensor([1.0]), 5, 2.5, "", [3, 4], "cpu")
    assert (t.tolist(), i, f, s, list(n), v) == ([1.0], 5, 2.5, "", [3, 4], tl.device("cpu"))


def test_lists_come_back(ops):
    a, b = tl.tensor([1.0]), tl.tensor([2.0])
    t, o, i, f, s = ops.lists([a, b], [None, b], [1, -2, 2**40], [0.5], [True, False])
    assert [x.tolist() for x in t] == [[1.0], [2.0]]
    assert o[0] is None and o[1].tolist() == [2.0]
    assert (list(i), list(f), list(s)) == ([1, -2, 2**40], [0.5], [True, False])
    assert [list(x) for x in ops.lists([], [], [], [], [])] == [[]] * 5


def test_an_undefined_tensor_is_none(ops):
    assert ops.optional(None) is None
    assert ops.optional(tl.ones(2)).tolist() == [1.0, 1.0]


def test_writes_count(ops):
    x = tl.zeros(3, dtype=tl.float64)
    version = x._version
    assert ops.add_one_(x) is x
    assert x.tolist() == [1.0] * 3 and x._version == version + 1
    assert ops.add_one_to(1.0, x) is None
    assert x.tolist() == [2.0] * 3 and x._version == version + 2


def test_an_operator_of_python_can_be_called(ops):
    assert ops.converted(tl.tensor([1, 2])).dtype == tl.float32


def test_facts_of_tensors(ops):
    number, tensor, text = ops.facts(tl.tensor([41.0]))
    assert (number, tensor.item(), tensor.dtype, text) == (41, 2.5, tl.float64, "01 1:3")


def test_memory_of_the_library_is_freed_once(ops):
    before = ops.freed()
    x = ops.blob(4)
    view = x[1:]
    assert x.tolist() == [1.0, 2.0, 3.0, 4.0]
    del x
    assert ops.freed() == before
    del view
    assert ops.freed() == before + 4


def test_tags(ops):
    from tl_core.schemas.tags import Tag

    assert Tag.pointwise in ops.tagged.default.tags


# ---- dispatch ------------------------------------------------------------------------------------------------------
def test_a_function_of_python_replaces_the_meta_kernel(ops):
    x = tl.empty(2, 3, dtype=tl.float64, device="meta")
    assert ops.scale(x, 1.0).shape == (103,)
    with pytest.raises(RuntimeError, match="already has an DispatchKey::Meta implementation"):
        tl.library.register_fake("stabletest::scale", lambda x, by: tl.empty_like(x))
    library = tl.library.Library("stabletest", "IMPL", "Meta")
    library.impl("scale", lambda x, by: tl.empty_like(x))
    assert ops.scale(x, 1.0).shape == (2, 3)
    library._destroy()
    assert ops.scale(x, 1.0).shape == (103,)


def test_a_fake_of_python(ops):
    library = tl.library.Library("stabletest", "FRAGMENT")
    tl.library.register_fake(
        "stabletest::converted", lambda x: x.new_empty(x.shape, dtype=tl.float32), lib=library
    )
    assert ops.converted(tl.empty(2, 3, dtype=tl.int64, device="meta")).dtype == tl.float32
    tl.library.opcheck(
        ops.converted.default, (tl.tensor([1, 2]),), test_utils=("test_schema", "test_faketensor")
    )
    library._destroy()


def test_composites_differentiate(ops):
    pytest.importorskip("tl_autograd")
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    ops.twice(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert ops.twice.default.has_kernel_for_dispatch_key("CompositeImplicitAutograd")
    x.grad = None
    ops.everywhere(x).sum().backward()  # a kernel without a key
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_derivative_of_python(ops):
    pytest.importorskip("tl_autograd")
    tl.library.register_autograd("stabletest::scale", lambda ctx, g: (g * 10, None))
    x = tl.ones(2, dtype=tl.float64, requires_grad=True)
    ops.scale(x, 3.0).sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_keys(ops):
    assert ops.keyed(tl.ones(1)).item() == 1
    assert ops.keyed(tl.ones(1, device="meta")).item() == 3
    assert ops.keyed.default.has_kernel_for_dispatch_key("CPU")
    assert not ops.keyed.default.has_kernel_for_dispatch_key("Meta")


def test_a_kernel_for_autograd(ops):
    pytest.importorskip("tl_autograd")
    assert ops.keyed(tl.ones(1, requires_grad=True)).item() == 2


def test_kernels_are_no_functions(ops):
    from tl_core.dispatch import registrations

    kernel = registrations.of("stabletest::scale", "CPU").function
    with pytest.raises(TypeError, match="machine code"):
        kernel(1)


# ---- errors --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("throws", "^the kernel does not want this$"),
        ("throws_strange", "exception of unknown type"),
        ("fails_inside", r"API call failed at stable_cpp.cpp, line 1: Dimension out of range .* but got 7"),
        ("calls_nothing", r"Could not find schema for aten::no_such_operator.out"),
        ("fails_in_chunks", "^chunk 50$"),
        ("wrong_dtype", "tl has no element type with the number 77"),
        ("asks_cuda", "aoti_torch_get_current_cuda_stream: tl has no CUDA device"),
    ],
)
def test_exceptions_of_kernels(ops, name, message):
    tl.set_num_threads(2)
    with pytest.raises(RuntimeError, match=message):
        getattr(ops, name)(tl.ones(2))
    assert ops.scale(tl.ones(1, dtype=tl.float64), 2.0).item() == 2.0


def test_an_operator_without_a_kernel(ops):
    with pytest.raises(NotImplementedError, match="no_kernel"):
        ops.no_kernel(tl.ones(1))


def test_warnings(ops):
    with pytest.warns(UserWarning, match="the kernel has doubts"):
        ops.warns(tl.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ops.warns(tl.ones(1)) is None


def test_exceptions_of_python_pass_through(ops):
    library = tl.library.Library("stabletest", "FRAGMENT")

    class Odd(Exception):
        pass

    def refuse(x, dim):
        raise Odd("from Python")

    aten = tl.library.Library("aten", "IMPL")
    aten.impl("unsqueeze", refuse, "CPU")
    try:
        with pytest.raises(Odd, match="from Python"):
            ops.fails_inside(tl.ones(2))
    finally:
        aten._destroy()
        library._destroy()


# ---- threads -------------------------------------------------------------------------------------------------------
def test_chunks_have_a_thread_each(ops):
    tl.set_num_threads(2)
    *threads, count = ops.threads(1000, 10)
    assert count == 2
    assert threads == [0] * 500 + [1] * 500
    assert list(ops.threads(5, 10))[:-1] == [0] * 5
    assert list(ops.threads(0, 10)) == [2]


def test_kernels_run_on_several_threads_of_python(ops):
    x = tl.ones(100, 1000, dtype=tl.float64)
    failures: list[BaseException] = []

    def work():
        try:
            for _ in range(20):
                assert ops.scale(x, 3.0)[0, 0].item() == 3.0
                with pytest.raises(RuntimeError, match="does not want"):
                    ops.throws(x)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


# ---- libraries -----------------------------------------------------------------------------------------------------
def test_all_functions_are_there(ops):
    names = (Path(__file__).parent / "stable_functions.txt").read_text().split()
    assert len(names) == 235
    assert [n for n in names if not hasattr(stable_abi._functions, n)] == []


def test_objects_of_python(ops):
    functions, out = stable_abi._functions, ctypes.c_void_p()

    def call(name, *arguments):
        return getattr(functions, name)(*arguments, ctypes.byref(out))

    def result():
        value = ctypes.cast(out, ctypes.py_object).value
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(value))
        return value

    class Named(tl.Tensor):
        pass

    t = tl.ones(2)
    assert call("torch_tensor_from_pyobject", ctypes.py_object(t)) == 0
    handle = ctypes.c_void_p(out.value)
    assert call("torch_tensor_to_pyobject", handle, None) == 0 and result() is t
    assert call("torch_tensor_to_pyobject", handle, ctypes.py_object(Named)) == 0
    assert type(result()) is Named
    flag = ctypes.c_bool()
    assert functions.torch_has_storage(handle, ctypes.byref(flag)) == 0 and flag.value
    functions.aoti_torch_delete_tensor_object(handle)
    for value, is_tensor in ((t, True), (3, False)):
        assert functions.torch_is_tensor_pyobject(ctypes.py_object(value), ctypes.byref(flag)) == 0
        assert flag.value is is_tensor
    assert call("torch_tensor_from_pyobject", ctypes.py_object("text")) == 1
    number, index = ctypes.c_int32(), ctypes.c_int32()
    for dtype in (tl.float64, tl.bfloat16, tl.bool):
        assert functions.torch_dtype_from_pyobject(ctypes.py_object(dtype), ctypes.byref(number)) == 0
        assert call("torch_dtype_to_pyobject", number) == 0 and result() is dtype
    for wrong in ("text", None):
        assert functions.torch_dtype_from_pyobject(ctypes.py_object(wrong), ctypes.byref(number)) == 1
    device = tl.device("meta")
    pair = ctypes.byref(number), ctypes.byref(index)
    assert functions.torch_device_from_pyobject(ctypes.py_object(device), *pair) == 0 and number.value == 14
    assert call("torch_device_to_pyobject", number, index) == 0 and result() == device
    functions.torch_is_warn_always_enabled.restype = ctypes.c_bool
    assert not functions.torch_is_warn_always_enabled()


def test_other_libraries_bring_nothing(tmp_path):
    plain = compiled(tmp_path, "plain", 'extern "C" int one() { return 1; }', ())
    program = f"""
import tl_core
tl_core.ops.load_library({str(plain)!r})
print("stable_abi" in open("/proc/self/maps").read())
"""
    assert in_fresh_process(program) == "False\n"


def test_the_cxx_interface_is_refused(tmp_path):
    source = 'namespace c10 { void warn(int); } extern "C" void use() { c10::warn(1); }'
    file = compiled(tmp_path, "cxx", source)
    with pytest.raises(
        ImportError, match=r"cxx\.so is built for torch itself, needs its C\+\+ ABI: c10::warn\(int\)"
    ):
        tl.ops.load_library(file)


def test_a_newer_interface_is_refused(tmp_path):
    source = (
        'extern "C" int torch_newer_than_all(int); extern "C" int use() { return torch_newer_than_all(1); }'
    )
    file = compiled(tmp_path, "newer", source)
    with pytest.raises(
        ImportError, match=r"newer stable interface .* \(2\.13\): it needs torch_newer_than_all"
    ):
        tl.ops.load_library(file)


def test_a_library_that_is_missing_beside_is_named(tmp_path):
    compiled(tmp_path, "libbeside", "int beside() { return 1; }", ("-Wl,-soname,libbeside.so",))
    source = "int beside(); int use() { return beside(); }"
    file = compiled(tmp_path, "user", source, (*TORCH, f"-L{tmp_path}", "-lbeside"))
    (tmp_path / "libbeside.so").unlink()
    with pytest.raises(OSError, match=r"libbeside\.so"):
        tl.ops.load_library(file)


def test_a_real_torch_in_the_process_is_refused(tmp_path, binary):
    real = compiled(tmp_path, "libtorch_cpu", "int real() { return 1; }", ("-Wl,-soname,libtorch_cpu.so",))
    program = f"""
import ctypes, tl_core
ctypes.CDLL({str(real)!r})
try:
    tl_core.ops.load_library({str(binary)!r})
except ImportError as error:
    print(error)
"""
    assert str(real) in in_fresh_process(program)


@pytest.mark.parametrize(
    "schema", ["no schema at all", "f(Tensor x", "f(Unheard x) -> Tensor", "elsewhere::f(Tensor x) -> Tensor"]
)
def test_a_schema_that_cannot_be_read_is_an_error_of_loading(tmp_path, schema):
    source = SECOND_DEFINITION.replace("one(Tensor x) -> Tensor", schema)
    file = compiled(tmp_path, "schema", source)
    program = f"""
import tl_core
try:
    tl_core.ops.load_library({str(file)!r})
except (RuntimeError, ValueError, NotImplementedError) as error:
    print("refused")
"""
    assert in_fresh_process(program) == "refused\n"


def test_cuda_binaries_find_its_runtime(tmp_path):
    folder = stable_abi.folder()
    source = """
extern "C" int cudaGetDeviceCount(int*); extern "C" const char* cudaGetErrorString(int);
extern "C" int count() { int n = 7; return cudaGetDeviceCount(&n) == 100 ? n : -1; }
"""
    for major in (12, 13):
        file = compiled(tmp_path, f"cuda{major}", source, (*TORCH, str(folder / f"libcudart.so.{major}")))
        program = f"""
import ctypes, tl_core
tl_core.ops.load_library({str(file)!r})
print(ctypes.CDLL({str(file)!r}).count())
"""
        assert in_fresh_process(program) == "0\n"


def test_files_that_are_none(tmp_path):
    text = tmp_path / "text.so"
    text.write_text("not a library")
    short = tmp_path / "short.so"
    short.write_bytes(Path(tl._C.__file__).read_bytes()[:3000])
    for path in (text, tmp_path / "absent.so"):
        assert not shared_objects.needs(path, ("libtorch",))
    for path in (text, short, tmp_path / "absent.so"):
        with pytest.raises(OSError, match=path.name):
            tl.ops.load_library(path)
