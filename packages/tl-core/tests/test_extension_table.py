"""The third table of the C interface: facts of tensors, generators, modes, kernels that come and go."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import table_calls as table

import tl_core as tl
from tl_core.dispatch import autocast

P, U64, INT = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int
entry = table.extension.entry


class View(ctypes.Structure):
    """TlView."""

    _fields_ = [
        ("data", P),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        *((name, ctypes.c_int64) for name in ("numel", "dtype", "device")),
        *((name, ctypes.c_int32) for name in ("ndim", "is_contiguous")),
    ]


class LayerEntry(ctypes.Structure):
    """TlLayerEntry."""

    _fields_ = [("call", P), ("ctx", P)]


CALL = ctypes.PYFUNCTYPE(INT, P, ctypes.POINTER(table.Value), INT, ctypes.POINTER(table.Value), INT)


def pending() -> tuple[int, str]:
    """The kind and message of the pending error, which is cleared."""
    result = table.error_kind(), table.error_message().decode()
    table.error_clear()
    return result


# ---- tensors -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "t",
    [
        tl.arange(6.0).reshape(2, 3).t(),
        tl.tensor(3, dtype=tl.int16),
        tl.empty(0, 4, dtype=tl.bool),
        tl.empty(2, 2, device="meta"),
        tl.arange(10)[3:],
    ],
)
def test_the_view_of_a_tensor(t):
    view = View()
    entry("tensor_view", None, P, P)(table.tensor(t).bits, ctypes.addressof(view))
    assert tuple(view.sizes[: t.dim()]) == tuple(t.shape)
    assert tuple(view.strides[: t.dim()]) == t.stride()
    assert (view.ndim, view.numel, bool(view.is_contiguous)) == (t.dim(), t.numel(), t.is_contiguous())
    assert (view.data or 0) == t.data_ptr()
    assert view.device & 0xFFFFFFFF == {"cpu": 1, "meta": 0x7F}[t.device.type]
    assert view.dtype & 0xFFFF == 8 * t.element_size()


def test_sizes_of_structures():
    assert table.extension.entries["argument_info_size"] == ctypes.sizeof(table.ArgInfo)
    assert table.extension.entries["operator_info_size"] >= ctypes.sizeof(table.OperatorInfo)


# ---- generators ----------------------------------------------------------------------------------------------------
def test_generators_draw_the_twister_of_the_seed():
    np = pytest.importorskip("numpy")
    create, release = entry("generator_create", P, U64), entry("generator_release", None, P)
    g = create(1234)
    numbers = (U64 * 700)()
    entry("generator_draw", None, P, P, ctypes.c_size_t)(g, ctypes.addressof(numbers), 700)
    twister = np.random.MT19937()
    twister.state = np.random.RandomState(1234).get_state(legacy=False)
    raw = [int(x) for x in twister.random_raw(1400)]
    assert list(numbers) == [high << 32 | low for high, low in zip(raw[::2], raw[1::2], strict=True)]
    assert entry("generator_initial_seed", U64, P)(g) == 1234
    assert entry("generator_device", ctypes.c_int64, P)(g) & 0xFFFFFFFF == 1
    release(g)
    release(None)


def test_the_default_generator_is_that_of_python():
    g = entry("generator_default", P)()
    entry("generator_seed", None, P, U64)(g, 99)
    first = tl.rand(3).tolist()
    tl.manual_seed(99)
    assert tl.rand(3).tolist() == first
    assert entry("generator_initial_seed", U64, P)(g) == tl.initial_seed() == 99


def test_states_of_generators():
    create, release = entry("generator_create", P, U64), entry("generator_release", None, P)
    draw = entry("generator_draw", None, P, P, ctypes.c_size_t)
    size = entry("generator_state_bytes", ctypes.c_size_t)()
    a, b = create(1), create(2)
    state = ctypes.create_string_buffer(size)
    entry("generator_get_state", None, P, P)(a, state)
    set_state = entry("generator_set_state", INT, P, P, ctypes.c_size_t)
    assert set_state(b, state, size) == 0
    numbers = (U64 * 2)()
    draw(a, ctypes.addressof(numbers), 1)
    draw(b, ctypes.addressof(numbers) + 8, 1)
    assert numbers[0] == numbers[1]
    assert set_state(b, state, 17) == -1
    assert pending()[0] == 1
    entry("generator_retain", None, P)(a)
    for g in (a, a, b):
        release(g)


# ---- the thread ----------------------------------------------------------------------------------------------------
def test_warnings():
    warn = entry("warn", INT, ctypes.c_char_p)
    with pytest.warns(UserWarning, match="a doubt"):
        assert warn(b"a doubt") == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert warn(b"a doubt") == -1
    assert pending()[0] == 14  # a Python exception


def test_modes():
    set_inference, on = entry("set_inference_mode", None, INT), entry("autocast_enabled", INT, INT)
    set_inference(1)
    try:
        assert tl.is_inference_mode_enabled()
    finally:
        set_inference(0)
    assert not tl.is_inference_mode_enabled() and tl.is_grad_enabled()
    assert on(1) == 0
    before = autocast.get_autocast_dtype("cpu")
    autocast.set_autocast_enabled("cpu", True)
    autocast.set_autocast_dtype("cpu", tl.float16)
    try:
        assert on(1) == 1
        assert entry("autocast_dtype", ctypes.c_int64, INT)(1) == (2 << 16) | 16
    finally:
        autocast.set_autocast_enabled("cpu", False)
        autocast.set_autocast_dtype("cpu", before)
    assert on(555) == -1 and pending()[0] != 0


# ---- operators -----------------------------------------------------------------------------------------------------
def returns(number):
    """A kernel whose result is a number."""

    def call(ctx, args, n_args, rets, n_rets):
        rets[0] = table.Value(table.INT, 0, number)
        return 0

    return CALL(call)


@pytest.fixture
def operator():
    library = tl.library.Library("exchanged", "DEF")
    library.define("number(Tensor x) -> int")
    yield table.op_find(b"exchanged::number")
    library._destroy()


def test_kernels_are_exchanged(operator):
    exchange = entry("kernel_exchange", INT, P, INT, LayerEntry, ctypes.POINTER(LayerEntry))
    one, two, before = returns(1), returns(2), LayerEntry()
    for kernel, previous in ((one, None), (two, one)):
        assert exchange(operator, 1, LayerEntry(ctypes.cast(kernel, P)), ctypes.byref(before)) == 0
        assert before.call == (previous and ctypes.cast(previous, P).value)
    assert tl.ops.exchanged.number(tl.ones(1)) == 2
    assert exchange(operator, 1, before, None) == 0
    assert tl.ops.exchanged.number(tl.ones(1)) == 1
    assert exchange(operator, 1, LayerEntry(), None) == 0
    with pytest.raises(NotImplementedError):
        tl.ops.exchanged.number(tl.ones(1))
    assert exchange(operator, 999, LayerEntry(), None) == -1 and pending()[0] != 0


def test_entries_of_layers_are_set_and_taken_back(operator):
    layer = tl._C._LAYER_AUTOCAST
    set_entry = entry("layer_entry_set", INT, P, INT, LayerEntry, ctypes.POINTER(LayerEntry))
    get = entry("layer_entry_get", INT, P, INT, ctypes.POINTER(LayerEntry))
    drop = entry("layer_entry_drop", INT, P, INT)
    three, before, now = returns(3), LayerEntry(), LayerEntry()
    get(operator, layer, ctypes.byref(before))
    assert set_entry(operator, layer, LayerEntry(ctypes.cast(three, P)), ctypes.byref(now)) == 0
    assert now.call == before.call
    include = table.core.entry("thread_include", None, U64, INT)
    include(1 << layer, 1)
    try:
        assert tl.ops.exchanged.number(tl.ones(1)) == 3
    finally:
        include(1 << layer, 0)
    assert drop(operator, layer) == 0
    get(operator, layer, ctypes.byref(now))
    assert now.call == before.call
    for call in (lambda: drop(operator, 17), lambda: set_entry(operator, -1, LayerEntry(), None)):
        assert call() == -1
        assert pending()[0] == 2


def test_operators_are_removed(operator):
    remove = entry("op_remove", INT, P)
    assert remove(table.op_find(b"add.Tensor")) == -1
    assert pending() == (2, "the operator 'add.Tensor' cannot be removed")
    library = tl.library.Library("exchanged", "FRAGMENT")
    library.define("gone() -> ()")
    assert remove(table.op_find(b"exchanged::gone")) == 0
    assert table.op_find(b"exchanged::gone") is None
    table.error_clear()
    library._state.operators.clear()


def test_composites(operator):
    composite = entry("op_set_composite", INT, P, INT)
    assert composite(operator, 1) == 0
    assert tl._C._operator_facts("exchanged::number")[1]
    assert composite(operator, 0) == 0
    assert not tl._C._operator_facts("exchanged::number")[1]


def test_keys_of_slots():
    program = """
import sys; sys.path.insert(0, {folder!r})
import table_calls as table, ctypes
key = table.extension.entry("slot_key", ctypes.c_int, ctypes.c_char_p)
def show(name):
    number = key(name)
    print(number, table.error_kind(), table.error_message().decode())
    table.error_clear()
for name in (b"one", b"two", b"one", b"", None, b"three", b"four"):
    show(name)
"""
    program = program.format(folder=str(Path(__file__).parent))
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.stderr == ""
    assert process.stdout.splitlines() == [
        "14 0 ",
        "15 0 ",
        "-1 2 slot_key: 'one' has a key already",
        "-1 2 slot_key: a name is needed",
        "-1 2 slot_key: a name is needed",
        "16 0 ",
        "-1 1 slot_key: all 3 keys are in use, there is none for 'four'",
    ]
