"""Modules of a few names: how tl was built, types for annotations, native frames, a plug-in's name, shared queues."""

import subprocess
import sys
import typing

import pytest

import tl_core as tl
from tl_core import multiprocessing, types
from tl_core.api import build_config
from tl_core.base import public_names
from tl_core.extensions import cpp_backtrace
from tl_core.multiprocessing.queue import ConnectionWrapper
from tl_core.settings import extension_devices


def test_the_build_is_described():
    text = build_config.show()
    assert tl.__version__ in text and tl.cpu_capability() in text and "C++ 20" in text
    assert sys.version.split()[0] in text
    assert isinstance(build_config.compiled_with_cxx11_abi(), bool)


def test_the_threads_are_described(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    before = tl.get_num_threads()
    tl.set_num_threads(1)
    try:
        text = build_config.parallel_info()
    finally:
        tl.set_num_threads(before)
    assert "threads of an operator: 1 " in text and "OMP_NUM_THREADS: 3" in text


def test_native_frames_can_be_skipped_and_counted():
    frames = cpp_backtrace.get_cpp_backtrace().splitlines()
    assert "tl_core/_C" in frames[0] and len(frames) > 2
    assert len(cpp_backtrace.get_cpp_backtrace(maximum_number_of_frames=2).splitlines()) == 2
    assert cpp_backtrace.get_cpp_backtrace(frames_to_skip=10**6) == ""
    with pytest.raises(ValueError, match="frames_to_skip must not be negative, got -1"):
        cpp_backtrace.get_cpp_backtrace(-1)


def test_an_object_is_said_to_belong_to_a_module():
    class Thing: ...

    public_names.set_module(Thing, "somewhere.public")
    assert Thing.__module__ == "somewhere.public"
    with pytest.raises(TypeError, match="should be a string"):
        public_names.set_module(Thing, None)


def test_types_are_for_annotations():
    assert isinstance(3, types.Number) and not isinstance(3j, types.Number)
    assert isinstance("cpu", types.Device) and isinstance(None, types.Device)
    assert tl.UntypedStorage in typing.get_args(types.Storage)
    assert set(types.__all__) == {"Device", "FileLike", "Number", "Storage"}


RENAME = """
import pickle
import tl_core as tl
from tl_core.dispatch import autocast
from tl_core.settings.extension_devices import privateuse1_backend_name, rename_privateuse1_backend
before = tl.device("privateuseone", 1)
for name in ("cuda", "xpu", "meta"):
    try:
        rename_privateuse1_backend(name)
    except RuntimeError as error:
        assert "in-tree device name" in str(error), error
    else:
        raise AssertionError(name)
assert privateuse1_backend_name() == "privateuseone"
rename_privateuse1_backend("npu")
rename_privateuse1_backend("npu")
assert privateuse1_backend_name() == "npu"
device = tl.device("npu:1")
assert (device.type, str(device), repr(device)) == ("npu", "npu:1", "device(type='npu', index=1)")
assert device == tl.device("privateuseone:1") == before == pickle.loads(pickle.dumps(device))
assert autocast.is_autocast_available("npu") and autocast.get_autocast_dtype("npu") is tl.float16
autocast.set_autocast_dtype("npu", tl.bfloat16)
assert autocast.get_autocast_dtype("privateuseone") is tl.bfloat16
for tensor in (lambda: tl.ones(2, device="npu"), lambda: tl.ones(2).to("npu:0")):
    try:
        tensor()
    except RuntimeError as error:
        assert "no installed plug-in provides the device 'npu'" in str(error), error
    else:
        raise AssertionError("nobody has registered the device")
try:
    rename_privateuse1_backend("other")
except RuntimeError as error:
    assert "already been set" in str(error)
else:
    raise AssertionError
"""


def test_a_plug_ins_device_is_named_once():
    subprocess.run([sys.executable, "-c", RENAME], check=True, timeout=60)


@pytest.mark.parametrize(("name", "error"), [("cuda", RuntimeError), ("a-b", RuntimeError), (3, TypeError)])
def test_a_name_that_is_taken_or_none_is_refused(name, error):
    with pytest.raises(error):
        extension_devices.rename_privateuse1_backend(name)


def test_an_end_of_a_pipe_shares_tensors():
    sender, receiver = map(ConnectionWrapper, multiprocessing.Pipe())
    x = tl.zeros(2)
    sender.send(x)
    receiver.recv().add_(1)
    assert x.tolist() == [1, 1]
    assert not receiver.poll()
    with pytest.raises(AttributeError, match="conn"):
        _ = ConnectionWrapper.__new__(ConnectionWrapper).conn


@pytest.mark.parametrize("name", sorted(tl._LATER_MODULES))
def test_modules_are_attributes_whatever_ran_before(name):
    code = f"import types, tl_core; assert isinstance(tl_core.{name}, types.ModuleType)"
    subprocess.run([sys.executable, "-c", code], check=True)
