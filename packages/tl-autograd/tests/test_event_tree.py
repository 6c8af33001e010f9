"""The tree of a profile's events, from events with chosen fields."""

import tl_core as tl
from tl_autograd import event_tree as tree
from tl_autograd import profiler
from tl_autograd.profiler_kinds import EventType, RecordScope
from tl_autograd.profiler_results import KinetoEvent
from tl_autograd.recorded_event import Kind, RecordedEvent, TensorSeen, concrete, is_tensor, shape_of

A, B = 0x1000, 0x2000  # addresses


def event(kind, name, start, end, parent=-1, **fields):
    rest = {"overload": "", "thread": 1, "system_thread": 77, "number": -1, "stack": 0, "values": None}
    return RecordedEvent(kind, name, start=start, end=end, parent=parent,
                         **{**rest, "what": 0, "scope": 0, "total": 0, **fields})  # fmt: skip


def tensor(address, *sizes):
    return tuple(TensorSeen("tensor", 9, address, tl.float32, tl.device("cpu"), 0, sizes, (1,) * len(sizes)))


def test_events_lie_in_their_parents_by_their_starts():
    first, last = tree.build_tree(
        [
            event(Kind.OPERATOR, "outer", 10, 50, overload="Tensor"),
            event(Kind.OPERATOR, "second", 30, 40, parent=0),
            event(Kind.OPERATOR, "first", 20, 25, parent=0),
            event(Kind.RESULTS, "results", 41, 42, parent=0),
            event(Kind.RANGE, "label", 60, 61),
        ],
        first_number=100,
    )
    assert isinstance(first, tree.ProfilerEvent) and repr(first) == "<ProfilerEvent outer of 2 children>"
    assert [c.name for c in first.children] == ["first", "second"] and first.children[0].parent is first
    assert (first.duration_time_ns, first.id, first.children[1].correlation_id) == (40, 100, 101)
    assert (first.overload_name, last.name, last.parent, last.start_tid) == ("Tensor", "label", None, 1)


def test_fields_of_operators_nodes_and_blocks():
    kinds = {Kind.OPERATOR: RecordScope.FUNCTION, Kind.NODE: RecordScope.BACKWARD_FUNCTION,
             Kind.RANGE: RecordScope.USER_SCOPE}  # fmt: skip
    for kind, scope in kinds.items():
        (node,) = tree.build_tree([event(kind, "name", 0, 1, number=5)], 0)
        kind_of_event, fields = node.typed
        assert kind_of_event == EventType.TorchOp and isinstance(fields, tree.TorchOpFields)
        assert (fields.name, fields.scope, fields.sequence_number, fields.inputs) == ("name", scope, 5, [])


def test_memory_has_another_number_after_its_release():
    events = [
        event(Kind.MEMORY, "[memory]", 0, 0, number=64, what=A, total=64),
        event(Kind.OPERATOR, "one", 1, 2, values=(tensor(A, 2, 3), 1.5, [tensor(B, 4)], [1, 2], "text")),
        event(Kind.MEMORY, "[memory]", 3, 3, number=-64, what=A, total=0),
        event(Kind.MEMORY, "[memory]", 4, 4, number=32, what=A, total=32),
        event(Kind.OPERATOR, "two", 5, 6, values=(tensor(A), tensor(0, 0))),
    ]
    allocation, one, release, again, two = (n.extra_fields for n in tree.build_tree(events, 0))
    assert isinstance(allocation, tree.AllocationFields) and allocation.device == tl.device("cpu")
    assert (allocation.ptr, allocation.alloc_size, allocation.total_allocated) == (A, 64, 64)
    assert allocation.id == one.inputs[0].id == release.id != again.id == two.inputs[0].allocation_id
    records, number, several, plain, text = one.inputs
    assert isinstance(records, tree.TensorMetadata) and (records.sizes, records.dim) == ([2, 3], 2)
    assert (records.dtype, records.layout, records.storage_data_ptr) == (tl.float32, tl.strided, A)
    assert number == 1.5 and several[0].id not in (records.id, again.id) and plain == [1, 2] and text is None
    assert two.inputs[1].id is None is two.inputs[1].storage_data_ptr
    *_, after = tree.build_tree([*events[:3], event(Kind.OPERATOR, "after", 4, 5, values=(tensor(A),))], 0)
    assert after.extra_fields.inputs[0].id not in (records.id, several[0].id)


def test_calls_of_python_functions_name_their_callers():
    (outer,) = tree.build_tree(
        [
            event(Kind.MODULE, "train.py(3): forward", 0, 9),
            event(Kind.OPERATOR, "aten::add", 1, 8, parent=0),
            event(Kind.CALL, "a (b).py(x): step", 2, 7, parent=1),
            event(Kind.NATIVE_CALL, "len", 3, 4, parent=2),
        ],
        0,
    )
    inner = outer.children[0].children[0]
    native = inner.children[0]
    line = tree.PyFrameState(3, "train.py", "forward")
    assert outer.extra_fields == tree.PyCallFields(line, None) and outer.tag == EventType.PyCall
    assert inner.extra_fields == tree.PyCallFields(tree.PyFrameState(0, "a (b).py", "step"), line)
    assert native.tag == EventType.PyCCall
    assert native.extra_fields == tree.PyCCallFields(inner.extra_fields.callsite)


def test_shapes_and_values_of_arguments():
    assert is_tensor(tensor(A, 2)) and not is_tensor(("tensor", 1))
    assert shape_of(tensor(A, 2, 3)) == [2, 3] and shape_of(4.5) == [] == shape_of([1, 2]) == shape_of([])
    assert shape_of([tensor(A, 2), None, tensor(B)]) == [[2], [], []]
    assert concrete(tensor(A, 2)) == "" == concrete([1, tensor(A)]) and concrete(None) is None
    assert concrete([1, 2]) == [1, 2] and concrete(1.5) == 1.5 and concrete(("dtype", 6, "float")) == "float"


def test_fields_of_an_event_as_methods():
    values = (tensor(A, 2), 1.5, None)
    node = KinetoEvent(event(Kind.NODE, "SinBackward0", 10, 25, thread=3, number=4, values=values), 12)
    assert (node.start_ns(), node.end_ns(), node.duration_ns()) == (10, 25, 15)
    assert (node.name(), node.correlation_id(), node.sequence_nr(), node.scope()) == (
        "SinBackward0",
        12,
        4,
        1,
    )
    assert node.start_thread_id() == 3 == node.fwd_thread_id() and node.device_resource_id() == 77
    assert node.shapes() == [[2], [], []] and node.dtypes() == [str(tl.float32), "", ""]
    assert node.concrete_inputs() == ["", 1.5, None] and node.has_shapes() and node.nbytes() == 0
    memory = KinetoEvent(event(Kind.MEMORY, "[memory]", 1, 1, number=-8), 1)
    assert (memory.nbytes(), memory.sequence_nr(), memory.has_shapes()) == (-8, -1, False)
    label = KinetoEvent(event(Kind.RANGE, "label", 1, 2), 2)
    assert label.is_user_annotation() and label.scope() == 7 and label.fwd_thread_id() == 0
    assert KinetoEvent(event(Kind.CALL, "f", 1, 2), 2).is_python_function()


def test_the_tree_of_a_profile():
    with profiler.profile(record_shapes=True, profile_memory=True) as prof, profiler.record_function("label"):
        tl.ones(2, 3).exp()
    (label,) = [n for n in prof.kineto_results.experimental_event_tree() if n.name == "label"]
    exp = next(c for c in label.children if c.name == "aten::exp")
    allocation = next(c for c in exp.children if c.tag == EventType.Allocation)
    assert exp.extra_fields.inputs[0].sizes == [2, 3] and allocation.extra_fields.alloc_size == 24
