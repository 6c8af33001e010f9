"""The third table of the C interface: facts of tensors, generators, modes, kernels that come and go."""

from __future__ import annotations

import ctypes
import warnings

import pytest
import table_calls as table

import tl_core as tl
from tl_core.dispatch import autocast
from tl_core.schemas.tags import Tag

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


@pytest.mark.parametrize(
    "t", [tl.arange(6.0).reshape(2, 3).t(), tl.tensor(3), tl.empty(0, 4), tl.ones(2, 2)[1:]]
)
def test_geometry_without_a_call(t):
    handle, entries = table._unwrap(t), table.extension.entries
    n = ctypes.c_uint8.from_address(handle + entries["ndim_offset"]).value
    dims = P.from_address(handle + entries["sizes_offset"]).value
    numbers = (ctypes.c_int64 * (2 * n)).from_address(dims) if n else []
    assert (n, list(numbers)) == (t.dim(), [*t.shape, *t.stride()])
    assert ctypes.c_int64.from_address(handle + entries["numel_offset"]).value == t.numel()


def test_sizes_of_structures():
    assert table.extension.entries["argument_info_size"] == ctypes.sizeof(table.ArgInfo)
    assert table.extension.entries["operator_info_size"] >= ctypes.sizeof(table.OperatorInfo)


# ---- errors --------------------------------------------------------------------------------------------------------
error_set = table.core.entry("error_set", None, INT, ctypes.c_char_p)
error_take = table.core.entry("error_take", P)
raise_pending = table.python.entry("raise_pending", None)


@pytest.mark.parametrize(
    ("kind", "exception"),
    [(2, ValueError), (15, OSError), (16, BufferError), (17, AssertionError), (18, RuntimeError)],
)
def test_kinds_of_errors(kind, exception):
    error_set(kind, b"what went wrong")
    with pytest.raises(exception, match=r"^what went wrong$") as caught:
        raise_pending()
    assert type(caught.value) is exception


def test_the_source_line_and_the_cause_of_an_error():
    set_where, where = entry("error_where_set", None, ctypes.c_char_p), entry("error_where", ctypes.c_char_p)
    set_cause = entry("error_cause_set", None, P)
    set_where(b"nothing is pending")
    assert where() == b""
    error_set(15, b"no space is left")
    set_where(b"disk.c:12")
    cause = error_take()
    assert where() == b""
    error_set(1, b"the file is not written")
    set_cause(cause)
    set_where(b"files.c:34")
    assert where() == b"files.c:34"
    with pytest.raises(RuntimeError, match="the file is not written") as caught:
        raise_pending()
    assert caught.value.__notes__ == ["files.c:34"]
    assert isinstance(caught.value.__cause__, OSError)
    assert str(caught.value.__cause__) == "no space is left"
    assert caught.value.__cause__.__notes__ == ["disk.c:12"]


def test_the_source_line_of_an_error_crosses_operators(operator):
    set_where = entry("error_where_set", None, ctypes.c_char_p)

    def refuse(ctx, args, n_args, rets, n_rets):
        error_set(3, b"the kernel refuses")
        set_where(b"kernel.c:7")
        return -1

    kernel = CALL(refuse)
    exchange = entry("kernel_exchange", INT, P, INT, LayerEntry, ctypes.POINTER(LayerEntry))
    exchange(operator, 1, LayerEntry(ctypes.cast(kernel, P)), None)
    with pytest.raises(TypeError, match="the kernel refuses") as caught:
        tl.ops.exchanged.number(tl.ones(1))
    assert caught.value.__notes__ == ["kernel.c:7"]


# ---- storages ------------------------------------------------------------------------------------------------------
I64 = ctypes.c_int64
CPU, FLOAT32 = 1, (2 << 16) | 32
FREE = ctypes.CFUNCTYPE(None, P)
storage_of, storage_release = entry("storage_of", P, P), entry("storage_release", None, P)
storage_bytes, storage_data = entry("storage_bytes", I64, P), entry("storage_data", P, P)
on_storage = entry("tensor_on_storage", P, P, INT, ctypes.POINTER(I64), ctypes.POINTER(I64), I64, I64)
wrap = table.python.entry("wrap", ctypes.py_object, P)


def test_the_storage_of_a_tensor():
    t = tl.arange(6.0)
    s = storage_of(table.tensor(t[2:]).bits)
    assert (storage_bytes(s), storage_data(s)) == (24, t.data_ptr())
    assert entry("storage_device", I64, P)(s) & 0xFFFFFFFF == CPU
    count = entry("storage_refcount", I64, P)
    before = count(s)
    entry("storage_retain", None, P)(s)
    assert count(s) == before + 1
    storage_release(s)
    view = wrap(on_storage(s, 2, (I64 * 2)(2, 2), (I64 * 2)(1, 2), 1, FLOAT32))
    assert view.tolist() == [[1, 3], [2, 4]]
    view[0, 0] = 9
    assert t[1] == 9
    storage_release(s)
    storage_release(None)


def test_storages_are_created_and_resized():
    s = entry("storage_create", P, I64, I64)(8, CPU)
    t = wrap(on_storage(s, 1, (I64 * 1)(2), (I64 * 1)(1), 0, FLOAT32))
    t.copy_(tl.tensor([1.0, 2.0]))
    resize = entry("storage_resize", INT, P, I64)
    assert resize(s, 400) == 0
    assert storage_bytes(s) == t.untyped_storage().nbytes() == 400
    assert t.tolist() == [1, 2]
    for size, stride, offset in ((101, 1, 0), (2, 100, 0), (1, 1, 100), (1, 1, -1), (2, 2**62, 0)):
        assert on_storage(s, 1, (I64 * 1)(size), (I64 * 1)(stride), offset, FLOAT32) is None
        assert pending()[0] == 1
    assert resize(s, -1) == -1
    assert pending() == (2, "storage_resize: the number of bytes is negative: -1")
    storage_release(s)
    assert entry("storage_create", P, I64, I64)(-8, CPU) is None and pending()[0] == 2
    sparse = tl.eye(2).to_sparse()
    assert storage_of(table.tensor(sparse).bits) is None
    assert pending()[1].startswith("storage_of: the tensor has no storage")


def test_a_storage_of_another_library():
    freed = []
    free = FREE(freed.append)
    data = (ctypes.c_float * 3)(1, 2, 3)
    create = entry("storage_from_memory", P, P, I64, I64, FREE, P)
    s = create(ctypes.addressof(data), 12, CPU, free, 77)
    t = wrap(on_storage(s, 1, (I64 * 1)(3), (I64 * 1)(1), 0, FLOAT32))
    storage_release(s)
    assert t.tolist() == [1, 2, 3] and not freed
    del t
    assert freed == [77]
    assert create(None, 12, CPU, free, 0) is None
    assert pending() == (2, "storage_from_memory: the pointer to 12 bytes is NULL")


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
    warn = entry("warn", INT, INT, ctypes.c_char_p)
    categories = [UserWarning, DeprecationWarning, FutureWarning, RuntimeWarning]
    for number, category in enumerate(categories):
        with pytest.warns(category, match="a doubt") as caught:
            assert warn(number, b"a doubt") == 0
        assert [w.category for w in caught] == [category]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert warn(0, b"a doubt") == -1
    assert pending()[0] == 14  # a Python exception
    assert warn(4, b"a doubt") == -1
    assert pending() == (2, "warn: there is no category of warnings with the number 4")


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
    for call in (lambda: drop(operator, 19), lambda: set_entry(operator, -1, LayerEntry(), None)):
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
    key = entry("slot_key", INT, ctypes.c_char_p)
    first = key(b"test.first")
    assert first >= 64
    assert [key(b"test.%d" % i) for i in range(40)] == list(range(first + 1, first + 41))
    assert key(b"test.first") == -1 and pending() == (2, "slot_key: 'test.first' has a key already")
    for name in (b"", None):
        assert key(name) == -1 and pending() == (2, "slot_key: a name is needed")


class SlotType(ctypes.Structure):
    """TlSlotType."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("destroy", P), ("traverse", P), ("clear", P)]


def test_slots_of_others():
    destroyed = []
    destroy = FREE(destroyed.append)
    kind = SlotType(ctypes.sizeof(SlotType), ctypes.cast(destroy, P))
    key = entry("slot_key", INT, ctypes.c_char_p)(b"test.slots")
    set_slot = table.core.entry("slot_set", INT, P, INT, P, P)
    get_slot = table.core.entry("slot_get", P, P, INT)
    t = tl.ones(2)
    handle = table._unwrap(t)
    assert set_slot(handle, key, 5, ctypes.addressof(kind)) == 0
    assert get_slot(handle, key) == 5 and not destroyed
    assert set_slot(handle, key, 6, ctypes.addressof(kind)) == 0
    assert destroyed == [5]
    assert t.names == (None,)  # the core's own slots stay apart
    del t
    assert destroyed == [5, 6]
    small = SlotType(8)
    t = tl.ones(2)
    assert set_slot(table._unwrap(t), key, 7, ctypes.addressof(small)) == -1
    assert pending() == (2, "TlSlotType.struct_size is 8, too small")
    assert get_slot(table._unwrap(t), key) is None


# ---- registration --------------------------------------------------------------------------------------------------
class OperatorDef(ctypes.Structure):
    """TlOperatorDef."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("schema", ctypes.c_char_p),
        ("call", P),
        ("ctx", P),
        ("device_type", INT),
        ("program", P),
        ("flags", ctypes.c_uint32),
        ("n_tags", ctypes.c_uint32),
        ("tags", ctypes.POINTER(ctypes.c_char_p)),
        ("functional", P),
    ]


value_own = table.core.entry("value_own", INT, ctypes.POINTER(table.Value), ctypes.POINTER(table.Value))
KERNELS = []


def register(schema, call=None, **fields):
    """The operator; None with the error pending."""
    kernel = CALL(call) if call else None
    KERNELS.append(kernel)
    definition = OperatorDef(
        ctypes.sizeof(OperatorDef), schema, ctypes.cast(kernel, P) if call else None, **fields
    )
    operator = P()
    op_register = table.core.entry("op_register", INT, ctypes.POINTER(OperatorDef), ctypes.POINTER(P))
    status = op_register(ctypes.byref(definition), ctypes.byref(operator))
    return operator.value if status == 0 else None


def forward(ctx, args, n_args, rets, n_rets):
    """A kernel that returns its first argument."""
    return value_own(ctypes.byref(args[0]), ctypes.byref(rets[0]))


def test_tags_and_composites_are_told_at_registration():
    tags = (ctypes.c_char_p * 2)(b"pointwise", b"pt2_compliant_tag")
    register(b"registered::tagged(Tensor x) -> Tensor", forward, flags=1, n_tags=2, tags=tags)
    assert tl._C._operator_facts("registered::tagged")[1]
    assert tl.ops.registered.tagged.default.tags == [Tag.pointwise, Tag.pt2_compliant_tag]
    register(b"registered::plain(Tensor x) -> Tensor", forward)
    assert not tl._C._operator_facts("registered::plain")[1]
    assert tl.ops.registered.plain.default.tags == []


def test_an_older_definition():
    definition = OperatorDef(40, b"registered::older(Tensor x) -> Tensor", flags=0xFFFFFFFF, n_tags=99)
    op_register = table.core.entry("op_register", INT, ctypes.POINTER(OperatorDef), P)
    assert op_register(ctypes.byref(definition), None) == 0
    assert not tl._C._operator_facts("registered::older")[1]


class OperatorForms(ctypes.Structure):
    """The beginning of TlOperatorInfo, to its last entry before the program."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("schema", ctypes.c_char_p),
        ("n_args", INT),
        ("n_rets", INT),
        ("args", P),
        ("rets", P),
        *((name, ctypes.c_uint8) for name in ("variant", "is_view", "is_random")),
        ("functional", P),
    ]


def forms(operator):
    """Variant and functional form."""
    info = table.core.entry("op_info", ctypes.POINTER(OperatorForms), P)(operator)[0]
    return info.variant, info.functional


def test_forms_of_an_operator():
    def write(ctx, args, n_args, rets, n_rets):
        assert (n_args, n_rets) == (1, 1)  # an output is a result
        return value_own(ctypes.byref(rets[0]), ctypes.byref(rets[0]))

    base = register(b"registered::base(Tensor x) -> Tensor", forward)
    inplace = register(b"registered::base_(Tensor(a!) x) -> Tensor(a!)", forward, functional=base)
    out = register(b"registered::base.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", write, functional=base)
    assert [forms(op) for op in (base, inplace, out)] == [(0, base), (1, base), (2, base)]
    x, y = tl.ones(2), tl.zeros(2)
    before = y._version
    assert tl.ops.registered.base.out(x, out=y) is y
    assert y._version == before + 1
    again = b"registered::base_.again(Tensor(a!) x) -> Tensor(a!)"
    assert register(again, forward, functional=base) is None
    assert pending() == (2, "the operator 'registered::base' has this form already: 'registered::base_'")
    assert register(b"registered::other(Tensor x) -> Tensor", forward, functional=base) is None
    assert pending()[1].startswith("the operator 'registered::other' cannot be a form of 'registered::base'")
    remove = entry("op_remove", INT, P)
    assert remove(inplace) == 0
    assert register(again, forward, functional=base) is not None


# ---- lists of texts ------------------------------------------------------------------------------------------------
def test_lists_of_texts():
    received = []

    def note(ctx, args, n_args, rets, n_rets):
        items = ctypes.cast(args[0].bits, ctypes.POINTER(table.Value))
        received.append([ctypes.string_at(items[i].bits, items[i].len) for i in range(args[0].len)])
        return forward(ctx, args, n_args, rets, n_rets)

    operator = register(b"registered::texts(str[] names, str[]? more=None) -> str[]", note)
    assert tl.ops.registered.texts(["a", "bc", ""]) == ["a", "bc", ""]
    assert tl.ops.registered.texts(("é",)) == ["é"]
    assert tl.ops.registered.texts([]) == []
    assert received == [[b"a", b"bc", b""], ["é".encode()], []]
    for wrong in (["a", 1], [None], 3):
        with pytest.raises(TypeError):
            tl.ops.registered.texts(wrong)
    numbers = table.listed(table.STRINGS, (table.Value * 1)(table.Value(table.INT, 0, 1)))
    start = "registered::texts(): argument 'names' (position 1) must be list of strs, not "
    none = table.Value()
    assert table.outcome(operator, [numbers, none], 1) == start + "a list with an element that is no str"
    assert (
        table.outcome(operator, [table.Value(table.STRINGS, 2, 0), none], 1)
        == start + "list whose pointer is NULL"
    )
    assert table.outcome(operator, [table.X, none], 1) == start + "Tensor"
