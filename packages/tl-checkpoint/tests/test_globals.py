"""Names in files and the objects in their place: classes, enumerations, keys, states and tensors."""

from __future__ import annotations

import collections
import enum
import io
import pickle
import types

import pytest

import tl_core as tl
from tl_checkpoint import class_names, nested, quantized, rebuild, safe_globals
from tl_checkpoint.enumerations import imported_enum
from tl_checkpoint.globals import Global, RefusedGlobal
from tl_checkpoint.inert import Inert
from tl_checkpoint.keys import check_key, check_keys
from tl_checkpoint.object_unpickler import unpickle
from tl_checkpoint.unfinished import Unfinished
from tl_checkpoint.unpickler import CutOff, DataUnpickler
from tl_core.storage import TypedStorage


class Color(enum.Enum):
    RED = 1
    BLUE = "blue"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Point:
    """A class with attributes."""

    def __init__(self, x=0):
        self.x = x


class Slotted:
    __slots__ = ("x",)


class Labelled(tl.Tensor):
    """A subclass of tensors."""


class Wrapper(tl.Tensor):
    """A subclass whose elements are in its attributes."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(func)


@pytest.fixture(autouse=True)
def no_global_stays_allowed():
    yield
    safe_globals.clear_safe_globals()


# ---- names


def test_paths_of_classes():
    assert class_names.own_path("torch._C._nn.gelu") == "tl_nn.functional.gelu"
    assert class_names.reference("tl_core._nn.gelu") == "torch._C._nn.gelu"
    assert class_names.own_path("torch._C._linalg.linalg_det") == "tl_core._linalg.linalg_det"
    assert class_names.reference("tl_core._linalg.linalg_det") == "torch._C._linalg.linalg_det"
    assert class_names.own_path("torch.nn.parameter.Parameter") == "tl_core.Parameter"
    assert class_names.own_path("project.Model") == "project.Model"
    assert class_names.resolve("torch.nn.parameter.Parameter") is tl.Parameter
    assert class_names.resolve("collections.OrderedDict") is collections.OrderedDict
    with pytest.raises(ImportError, match="has Nothing"):
        class_names.resolve("torch.serialization.Nothing")
    assert class_names.storage_name(tl.float32) == "torch.FloatStorage"
    assert class_names.storage_name(tl.uint16) is None


def test_values_of_imported_enumerations():
    entry = imported_enum(__name__, "Color")
    assert isinstance(entry, Global) and entry.name == f"{__name__}.Color"
    assert entry.make(1) is Color.RED and entry.make("blue") is Color.BLUE
    assert imported_enum(__name__, "Access").make(3) is Access.READ | Access.WRITE
    assert imported_enum(__name__, "Point") is None is imported_enum("no_such_module", "Color")
    for value, text in ((True, "has no value True"), (5, "has no value 5"), ([1], "is a 'list'")):
        with pytest.raises(pickle.UnpicklingError, match=text):
            entry.make(value)


def test_globals_that_users_allow():
    safe_globals.add_safe_globals([Point, (Slotted, "other.Name"), Point])
    assert safe_globals.get_safe_globals() == [Point, (Slotted, "other.Name")]
    entry = safe_globals.find_user_global(Point)
    assert entry.make is Point and repr(entry) == "Global(Point)" and not hasattr(entry.create(), "x")
    assert (
        safe_globals.find_user_global(Slotted).name == "Slotted"
        and safe_globals.find_user_global(Color) is None
    )
    assert safe_globals.known_global("other", "Name") is Slotted
    with pytest.raises(ValueError, match="pairs of one and its full name"):
        safe_globals.add_safe_globals([(Point, 3)])
    safe_globals.clear_safe_globals()
    assert safe_globals.get_safe_globals() == [] and safe_globals.known_global("other", "Name") is None


def test_names_that_are_not_allowed():
    refused = RefusedGlobal("os.system", ValueError("no"))
    assert not refused.is_inert and refused.record() == Inert("os.system") and refused.is_inert
    with pytest.raises(ValueError, match="no"):
        rebuild.from_type(rebuild.tensor, refused, (), None)


# ---- keys and states


def test_keys_that_take_long_are_refused():
    check_keys([1, "a", (1, ("b", frozenset([2]))), None, 2**60 - 1, Color.RED])
    twice = ()
    for _ in range(40):
        twice = (twice, twice)
    for key, text in (
        (2**60, "too large"),
        ([], "can't be one: 'list'"),
        ((1, {}), "can't be one: 'dict'"),
        (Inert("a"), "'Inert'"),
        (twice, "too many parts"),
        ((1,) * 10_001, "too many parts"),
    ):
        with pytest.raises(pickle.UnpicklingError, match=text):
            check_key(key)
    with pytest.raises(pickle.UnpicklingError, match="too large"):
        check_keys(["a", -(2**60)])


class Sum(Unfinished):
    """A placeholder of a sum."""

    def finish(self, state):
        return sum(state)


def test_states_of_objects():
    space = safe_globals.restore(types.SimpleNamespace(), {"a": 1})
    assert space.a == 1 and safe_globals.restore(Sum("ignored"), [1, 2]) == 3 and Sum().remembered == []
    with pytest.raises(NotImplementedError):
        Unfinished().finish(None)
    tensor = tl.ones(1)
    assert safe_globals.restore(tensor, {"label": "x"}) is tensor and tensor.label == "x"
    with pytest.raises(pickle.UnpicklingError, match="must be a dict of names"):
        safe_globals.restore(types.SimpleNamespace(), {1: 1})
    with pytest.raises(pickle.UnpicklingError, match="the state of 'Point', which isn't allowed"):
        safe_globals.restore(Point(), {"x": 1})
    with safe_globals.safe_globals([Point]):
        assert safe_globals.restore(Point(), {"x": 5}).x == 5


def test_states_as_pickle_sets_them():
    point, slotted = Point(), Slotted()
    rebuild.set_object_state(point, {"x": 1})
    rebuild.set_object_state(slotted, (None, {"x": 2}))
    assert (point.x, slotted.x) == (1, 2)
    counter = types.SimpleNamespace(__setstate__=None)
    counter.__setstate__ = lambda state: setattr(counter, "state", state)
    rebuild.set_object_state(counter, [3])
    assert counter.state == [3]
    tensor = tl.ones(1)
    rebuild.set_tensor_state(tensor, ({"a": 1}, None, {"b": 2}))
    assert (tensor.a, tensor.b) == (1, 2)
    for state in ({"__class__": int}, [1], {1: 2}):
        with pytest.raises(pickle.UnpicklingError, match="must be a dict of attributes"):
            rebuild.set_tensor_state(tensor, state)


# ---- tensors


def test_views_of_storages():
    storage = tl.arange(6.0).untyped_storage()
    x = rebuild.tensor_of_dtype(storage, 1, (2, 2), (2, 1), False, None, tl.float32)
    assert x.tolist() == [[1, 2], [3, 4]]
    same = rebuild.tensor_of_dtype(
        TypedStorage(wrap_storage=storage, dtype=tl.float32), 0, (3,), (2,), False, None, tl.int32
    )
    assert same.dtype == tl.int32 and same.untyped_storage().data_ptr() == storage.data_ptr()
    for arguments in ((storage, -1, (2,), (1,)), (storage, 0, (2.0,), (1,)), (storage, 0, (2,), ("1",))):
        with pytest.raises(pickle.UnpicklingError, match="must be whole numbers"):
            rebuild.tensor_of_dtype(*arguments, False, None, tl.float32)
    with pytest.raises(pickle.UnpicklingError, match="storage or dtype is something else"):
        rebuild.tensor_of_dtype(storage, 0, (1,), (1,), False, None, "float32")


def test_tensors_without_memory_and_parameters():
    meta = rebuild.meta_tensor(tl.int8, (2, 3), (1, 2), False)
    assert meta.is_meta and meta.dtype == tl.int8 and meta.stride() == (1, 2)
    data = tl.ones(2)
    param = rebuild.parameter_with_state(data, False, None, {"label": "bias"})
    assert type(param) is tl.Parameter and param.label == "bias" and param.data_ptr() == data.data_ptr()
    with pytest.raises(pickle.UnpicklingError, match="no tensor"):
        rebuild.parameter_with_state([1], False, None, {})


def test_tensors_of_subclasses():
    typed = TypedStorage(wrap_storage=tl.arange(3.0).untyped_storage(), dtype=tl.float32)
    x = rebuild.from_type(Global("f", rebuild.tensor), Labelled, (typed, 0, (3,), (1,)), {"label": 1})
    assert type(x) is Labelled and x.label == 1 and x.as_subclass(tl.Tensor).tolist() == [0, 1, 2]
    for function, kind, text in (
        (print, Labelled, "made by something else"),
        (rebuild.tensor, int, "class is something"),
    ):
        with pytest.raises(pickle.UnpicklingError, match=text):
            rebuild.from_type(function, kind, (typed, 0, (3,), (1,)), None)
    wrapper = rebuild.wrapper_subclass(
        Wrapper, tl.float16, (2, 3), (3, 1), 0, tl.strided, tl.device("cpu"), False
    )
    assert type(wrapper) is Wrapper and wrapper.shape == (2, 3) and wrapper.dtype == tl.float16
    with pytest.raises(pickle.UnpicklingError, match="whole numbers"):
        rebuild.wrapper_subclass(Wrapper, tl.float16, (-2,), (1,), 0, tl.strided, tl.device("cpu"), False)


def test_classes_of_nested_and_quantized_tensors():
    from tl_core.nested.tensor import NestedTensor

    assert nested.is_nested(NestedTensor) and not nested.is_nested(int)
    assert not quantized.is_quantized_dtype(tl.int8)
    assert quantized.is_quantized_dtype("torch.quint8")
    assert quantized.scheme("torch.FloatTensor") is None is quantized.scheme("project.per_tensor_affine")
    assert quantized.is_quantized_dtype("torch.quint4x2")


# ---- pickles


def test_pickles_that_end_early():
    data = pickle.dumps({"a": [1, "text"]}, 2)
    assert DataUnpickler(data, safe_globals.require_global, None).load() == {"a": [1, "text"]}
    for end in range(2, len(data)):
        with pytest.raises(CutOff):
            DataUnpickler(data[:end], safe_globals.require_global, None).load()


def test_pickles_that_may_run_code():
    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return ("storage", 7) if obj is Ellipsis else None

    file = io.BytesIO()
    Pickler(file, 2).dump([Point(3), ...])
    file.write(b"rest")
    file.seek(0)
    point, number = unpickle(file, lambda description: description[1])
    assert type(point) is Point and point.x == 3 and number == 7 and file.read() == b"rest"
    assert unpickle(io.BytesIO(b"ctorch.nn.parameter\nParameter\n."), None) is tl.Parameter
    with pytest.raises(pickle.UnpicklingError, match="no installed package of tl has that class"):
        unpickle(io.BytesIO(b"ctorch.nowhere\nNothing\n."), None)
