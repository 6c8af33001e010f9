"""Nested containers and their leaves."""

import dataclasses
import types
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import tl_core as tl
from tl_core import pytree
from tl_core.pytree import kinds, paths, trees

Point = namedtuple("Point", ["x", "y"])
TREES = [
    3,
    [],
    [1, [2, 3]],
    (1, (2,), None),
    {"b": 1, "a": [2, {"c": 3}]},
    OrderedDict([("b", 1), ("a", 2)]),
    Point(1, [2]),
    deque([1, 2], maxlen=5),
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_there_and_back(tree):
    leaves, spec = pytree.tree_flatten(tree)
    back = pytree.tree_unflatten(leaves, spec)
    assert back == tree and type(back) is type(tree)
    assert spec.num_leaves == len(leaves) and pytree.tree_structure(back) == spec


def test_order_and_kinds_are_kept():
    tree = defaultdict(list, {"b": [1], "a": (2,)})
    assert pytree.tree_leaves(tree) == [1, 2]
    back = pytree.tree_map(lambda leaf: leaf * 10, tree)
    assert back == {"b": [10], "a": (20,)} and back.default_factory is list
    value = pytree.tree_map(lambda leaf: leaf, deque([1], maxlen=3))
    assert value.maxlen == 3


def test_mapping():
    assert pytree.tree_map(lambda a, b: a - b, Point(3, [4]), Point(1, [1])) == Point(2, [3])
    with pytest.raises(ValueError, match="Node type mismatch"):
        pytree.tree_map(max, [1], (1,))
    assert pytree.tree_map_only(int, str, [1, "a", 2.0]) == ["1", "a", 2.0]
    assert pytree.tree_map_only(lambda leaf: leaf == 2.0, str, [1, 2.0]) == [1, "2.0"]
    assert pytree.tree_map(len, [[1, 2], []], is_leaf=lambda t: t in ([1, 2], [])) == [2, 0]
    assert pytree.tree_all(bool, [1, (2,)]) and not pytree.tree_any(bool, [0, (0,)])
    records = []
    tree = {"a": 1}
    assert pytree.tree_map_(records.append, tree) is tree and records == [1]


def test_classes_of_their_own():
    class Box:
        def __init__(self, inside):
            self.inside = inside

    assert pytree.tree_leaves(Box(1)) != [1]
    pytree.register_pytree_node(Box, lambda box: ([box.inside], None), lambda values, _: Box(*values))
    assert pytree.tree_map(lambda leaf: leaf + 1, Box([1, 2])).inside == [2, 3]
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Box, None, None)
    del pytree.SUPPORTED_NODES[Box]


def test_faults():
    spec = pytree.tree_structure([1, 2])
    with pytest.raises(ValueError, match="has length 1 but the spec refers to a pytree that holds 2 items"):
        pytree.tree_unflatten([1], spec)
    with pytest.raises(TypeError, match="to be instance of TreeSpec"):
        pytree.tree_unflatten([1], [1])
    assert pytree.LeafSpec().is_leaf() and repr(pytree.LeafSpec()) == "*" and not spec.is_leaf()


def test_functions_of_python_s_own_containers():
    mapping = {"a": 1, "b": 2}
    children, context = pytree._dict_flatten(mapping)
    assert pytree._dict_unflatten(children, context) == mapping
    keyed, context = pytree._dict_flatten_with_keys(mapping)
    assert [(str(key), child) for key, child in keyed] == [("['a']", 1), ("['b']", 2)] and context == [
        "a",
        "b",
    ]
    assert pytree._list_flatten_with_keys([5])[0] == [(pytree.SequenceKey(0), 5)]
    assert pytree._tuple_unflatten([1, 2], None) == (1, 2)


def test_trees_that_go_on_where_the_first_has_leaves():
    first, second = {"a": 1, "b": [2]}, {"b": [(3, 4)], "a": [5]}
    assert pytree.tree_map(lambda x, y: (x, y), first, second) == {"a": (1, [5]), "b": [(2, (3, 4))]}
    spec = pytree.tree_structure(first)
    for wrong, why in (([1], "type"), ({"a": 1}, "keys"), ({"a": 1, "b": [1, 2]}, "arity")):
        with pytest.raises(ValueError, match=f"Node {why} mismatch"):
            spec.flatten_up_to(wrong)


def test_kinds_of_tuples():
    import time

    result = tl.ones(2, 2).max(0)

    class Further(Point):
        pass

    assert [pytree.is_namedtuple(t) for t in (Point, Point(1, 2), Further, result, (1,))] == [True] * 3 + [
        False
    ] * 2
    assert pytree.is_namedtuple_class(Point) and not pytree.is_namedtuple_class(Point(1, 2))
    assert pytree.is_namedtuple_instance(Further(1, 2)) and not pytree.is_namedtuple_instance(Point)
    assert [pytree.is_structseq(t) for t in (result, type(result), time.gmtime(), Point, (1,))] == [
        True
    ] * 3 + [False] * 2
    assert pytree.is_structseq_instance(result) and pytree.is_structseq_class(type(result))
    assert len(pytree.tree_leaves(result)) == 2 and len(pytree.tree_leaves(time.gmtime())) == 1


def test_dataclasses_are_containers_of_their_fields():
    @dataclasses.dataclass
    class Pair:
        a: object
        b: object = None
        c: object = 0

    pytree.register_dataclass(Pair, drop_field_names=["c"])
    leaves, spec = pytree.tree_flatten(Pair([1, 2], None, 7))
    assert leaves == [1, 2] and pytree.tree_unflatten([3, 4], spec) == Pair([3, 4], None, 0)
    paths = pytree.tree_leaves_with_path(Pair(1, 2))
    assert [(pytree.keystr(path), leaf) for path, leaf in paths] == [(".a", 1), (".b", 2)]
    with pytest.raises(ValueError, match="field_names"):
        pytree.register_dataclass(int)
    pytree._deregister_pytree_node(Pair)
    assert pytree.tree_is_leaf(Pair(1)) and not pytree.tree_is_leaf([1]) and pytree.tree_is_leaf([1], bool)
    with pytest.raises(ValueError, match="the fields"):
        pytree.register_dataclass(Pair, field_names=["a"])


def test_constants_belong_to_structures():
    @dataclasses.dataclass(frozen=True)
    class Scale:
        by: int

    class Plain:
        pass

    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(Plain)
    pytree.register_constant(Scale)
    leaves, spec = pytree.tree_flatten([Scale(2), 3])
    assert leaves == [3] and spec.unflatten([4]) == [Scale(2), 4] and pytree.is_constant_class(Scale)
    assert spec == pytree.tree_structure([Scale(2), 5]) != pytree.tree_structure([Scale(3), 5])
    assert [leaf for _, leaf in pytree.tree_leaves_with_path([Scale(2), 3])] == [3]
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_constant(Scale)
    pytree._deregister_pytree_node(Scale)
    assert not pytree.is_constant_class(Scale)


def test_structures_made_by_hand():
    leaf = pytree.treespec_leaf()
    spec = pytree.treespec_tuple([leaf, pytree.treespec_dict({"a": leaf}, b=leaf)])
    assert spec == pytree.tree_structure((1, {"a": 2, "b": 3}))
    assert pytree.treespec_pprint(spec) == "(*, {'a': *, 'b': *})"
    with pytest.raises(ValueError, match="Expected a tuple of TreeSpec values"):
        pytree.treespec_tuple([1])
    with pytest.raises(ValueError, match="Expected a dictionary of TreeSpec values"):
        pytree.treespec_dict({"a": 1})


def test_functions_of_some_leaves():
    assert pytree.map_only(int)(str)(3) == "3" and pytree.map_only((int, list))(str)([3]) == "[3]"
    assert pytree.map_only(lambda leaf: leaf == 1)(str)(2) == 2
    tree, records = [1, "a", (2,)], []
    assert pytree.tree_map_only_(int, records.append, tree) is tree and records == [1, 2]


def test_leaves_stand_for_containers():
    spec = pytree.tree_structure([[0, 0], (1,)])
    assert pytree._broadcast_to_and_flatten([1, (2,)], spec) == [1, 1, 2]
    assert pytree._broadcast_to_and_flatten(0, spec) == [0, 0, 0]
    for other in ([1], (1, (2,)), [1, [2]], [1, (2, 3)], [1, (([2],),)]):
        assert pytree._broadcast_to_and_flatten(other, spec) is None


def test_sizes_are_taken_apart_as_tuples():
    """As in the reference, what is made of them is a tuple; a function of leaves never meets one."""
    sizes = tl.Size([2, 3])
    assert pytree.tree_leaves({"a": sizes, "b": 1}) == [2, 3, 1]
    result = pytree.tree_map(lambda size: size + 1, sizes)
    assert result == (3, 4) and type(result) is tuple
    assert pytree.treespec_loads(pytree.treespec_dumps(pytree.tree_structure(sizes))).type is tl.Size


def test_structures_have_a_text_of_one_line_a_child():
    spec = pytree.tree_structure((0, [0, 0, [0]]))
    assert repr(spec).splitlines() == [
        "TreeSpec(tuple, None, [*,",
        "  TreeSpec(list, None, [*,",
        "    *,",
        "    TreeSpec(list, None, [*])])])",
    ]
    assert repr(pytree.tree_structure({"a": ()})) == "TreeSpec(dict, ['a'], [TreeSpec(tuple, None, [])])"


def test_what_is_not_registered_for_files_is_refused():
    Point = namedtuple("Point", "x y")
    with pytest.raises(NotImplementedError, match="Please register using `_register_namedtuple`"):
        pytree.treespec_dumps(pytree.tree_structure(Point(1, 2)))

    class Half:
        pass

    for options in ({"to_dumpable_context": str}, {"from_dumpable_context": str}):
        with pytest.raises(ValueError, match="Both to_dumpable_context and from_dumpable_context"):
            pytree.register_pytree_node(Half, lambda x: ([], None), lambda xs, c: Half(), **options)
    assert Half not in pytree.SUPPORTED_NODES


def test_paths_of_leaves():
    tree = {"a": [1, (2,)], "b": 3}
    pairs, spec = paths.tree_flatten_with_path(tree)
    assert [leaf for _, leaf in pairs] == [1, 2, 3] and spec == pytree.tree_structure(tree)
    assert ["".join(map(str, path)) for path, _ in pairs] == ["['a'][0]", "['a'][1][0]", "['b']"]
    assert pairs[2][0] == (paths.MappingKey("b"),)
    assert all(paths.key_get(tree, path) is leaf for path, leaf in pairs)
    sums = paths.tree_map_with_path(lambda path, x, y: (len(path), x + y), tree, tree)
    assert sums == {"a": [(2, 2), ((3, 4),)], "b": (1, 6)}
    attribute = paths.GetAttrKey("x")
    assert str(attribute) == ".x" and attribute.get(Point(7, 8)) == 7


def test_leaves_of_calls():
    assert trees.arg_tree_leaves(1, [2], key=(3,)) == [1, 2, 3]
    leaves = trees.tree_iter([1, (2, None)])
    assert next(leaves) == 1 and next(leaves) == 2


def test_leaves_for_containers():
    spec = pytree.tree_structure([[0, 0], (0,)])
    assert trees.broadcast_leaves([1, (2,)], spec) == [1, 1, 2]
    assert trees.broadcast_leaves(5, spec) == [5, 5, 5]
    assert trees.broadcast_leaves([1, 2, 3], spec) is None
    assert trees.broadcast_leaves([1, [2]], spec) is None


def test_fields():
    flatten, unflatten = kinds.by_fields(types.SimpleNamespace, ["x", "y"])
    children, context = flatten(types.SimpleNamespace(x=[1], y=None))
    assert children == [[1]] and unflatten([2], context) == types.SimpleNamespace(x=2, y=None)
    flatten, _ = kinds.by_fields(types.SimpleNamespace, ["x", "y"], keep_none=True)
    assert flatten(types.SimpleNamespace(x=1, y=None))[0] == [1, None]
