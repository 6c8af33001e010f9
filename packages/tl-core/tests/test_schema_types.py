"""Types and properties of schemas, with the texts and numbers that PyTorch has for them."""

import inspect

import pytest

import tl_core as tl
from tl_core.library import utils
from tl_core.library.schema_inference import tuple_to_list
from tl_core.schemas import function_schema, parser, signatures, tags, types
from tl_core.schemas.function_schema import AliasInfo, FunctionSchema
from tl_core.schemas.types import named_type

INT, TENSOR = named_type("int"), named_type("Tensor")
ADD = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
COPY = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)"
VIEW = "aten::alias(Tensor(a) self) -> Tensor(a)"
CAT = "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)"
EMPTY = "aten::empty(int[] size, *, Device? device=None) -> Tensor"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (types.AwaitType(INT), "Await(int)"),
        (types.ClassType("project.Tokenizer"), "project.Tokenizer"),
        (types.DictType(named_type("str"), INT), "Dict(str, int)"),
        (types.FutureType(INT), "Future[int]"),
        (types.ListType(types.FutureType(types.ListType(INT))), "Future[int[]][]"),
        (types.DictType(INT, types.FutureType(INT)), "Dict(int, Future(int))"),
        (types.OptionalType(types.RRefType(INT)), "RRef[int]?"),
        (types.UnionType([INT, named_type("str")]), "Union(int, str)"),
        (types.ListType(types.ListType(INT)), "int[][]"),
        (types.OptionalType(TENSOR), "Tensor?"),
        (types.RRefType(INT), "RRef[int]"),
        (types.TupleType([INT, TENSOR]), "(int, Tensor)"),
        (types.VarType("t"), "t"),
    ],
)
def test_texts(kind, text):
    assert kind.str() == text and kind.kind() == type(kind).__name__


def test_elements_of_types():
    dictionary = types.DictType(named_type("str"), INT)
    assert dictionary.getKeyType() == named_type("str") and dictionary.getValueType() == INT
    assert types.ListType.ofTensors() == types.ListType(TENSOR) != types.ListType(INT)
    assert types.OptionalType.ofTensor().getElementType() == TENSOR
    assert types.FutureType(INT).getElementType() == INT
    union = types.UnionType([INT, named_type("float")])
    assert union.kind() == "UnionType" and list(union.elements) == [INT, named_type("float")]
    with pytest.raises(KeyError):
        named_type("no such word")


def test_types_below_lists():
    nested = types.OptionalType(types.ListType(types.OptionalType(TENSOR)))
    assert function_schema.base_type(nested) == TENSOR
    assert function_schema.is_list(nested) and not function_schema.is_list(types.OptionalType(TENSOR))
    assert utils.is_tensorlist_like_type(nested) and not utils.is_tensor_like_type(nested)
    assert utils.is_tensor_like_type(types.OptionalType(TENSOR))
    assert not utils.is_tensorlist_like_type(types.ListType(INT))


def test_numbers_of_dtypes():
    dtypes = tl.uint8, tl.int64, tl.float16, tl.float32, tl.complex128, tl.bool, tl.bfloat16
    assert [function_schema.dtype_number(d) for d in dtypes] == [0, 4, 5, 6, 10, 11, 15]
    assert function_schema.dtype_number("float32") == -1


def test_schemas_of_containers():
    text = "ns::f(Future(int)[] a, Union(int, str) b, Tuple(int, Tensor) c, RRef(int)? d) -> Await(int)"
    schema = parser.parse_schema(text)
    assert str(schema) == text.replace("Tuple(", "(")
    assert [a.type.str() for a in schema.arguments] == [
        "Future[int][]", "Union(int, str)", "(int, Tensor)", "RRef[int]?",
    ]  # fmt: skip


def test_aliases():
    alias = AliasInfo(True, {"a"}, {"a"})
    assert str(alias) == "(a!)" and not alias.is_wildcard
    assert alias == parser.parse_schema(COPY).arguments[0].alias_info != AliasInfo(False, {"a"}, {"a"})
    assert str(AliasInfo(False, {"a", "b"}, {"*"})) == "(a|b -> *)"
    assert AliasInfo(False, {"a"}, {"*"}).is_wildcard


def test_names():
    def fail(reason):
        raise RuntimeError(reason)

    assert parser.parse_name(ADD) == "aten::add.Tensor"
    assert parser.split_overload("aten::add.Tensor", fail) == ("aten::add", "Tensor")
    assert parser.split_overload("aten::add", fail) == ("aten::add", "")
    for name in "aten::add.default", "aten::add.", "aten::add.__x":
        with pytest.raises(RuntimeError):
            parser.split_overload(name, fail)


@pytest.mark.parametrize(
    ("text", "kind", "functional", "keyword_tensors", "tensor_list"),
    [
        (ADD, "functional", True, False, False),
        (COPY, "inplace", False, False, False),
        (VIEW, "functional", False, False, False),
        (CAT, "out", False, True, True),
        (EMPTY, "functional", True, False, False),
    ],
)
def test_properties(text, kind, functional, keyword_tensors, tensor_list):
    schema = parser.parse_schema(text)
    assert isinstance(schema, FunctionSchema) and schema.kind() == kind
    assert signatures.is_functional(schema) is utils.is_functional_schema(text) is functional
    assert signatures.has_kwarg_only_tensors(schema) is keyword_tensors
    assert signatures.has_tensor_list(schema) is tensor_list
    assert signatures.has_tensor_arg(schema) is (text is not EMPTY)
    assert signatures.device_argument(schema) == (1 if text is EMPTY else None)


def test_signatures():
    signature = signatures.signature_of(parser.parse_schema(ADD))
    assert list(signature.parameters) == ["self", "other", "alpha"]
    assert signature.parameters["alpha"].kind is inspect.Parameter.KEYWORD_ONLY
    assert signature.parameters["alpha"].default == 1
    assert list(signatures.signature_of(parser.parse_schema("ns::f(int from) -> int")).parameters) == [
        "from_"
    ]


def test_operators():
    aten = tl.ops.aten
    assert utils.is_builtin(aten.add.Tensor)
    assert utils.has_aliased_argument(aten.alias.default)
    assert not utils.has_aliased_argument(aten.copy_.default)
    assert utils.mutates_and_returns_first_arg(aten.copy_.default)
    assert not utils.mutates_and_returns_first_arg(aten.add.Tensor)


def test_tags():
    assert tags.Tag.core in tags.tags_of("add.Tensor") and tags.Tag.core not in tags.tags_of("add_.Tensor")
    assert tags.Tag.nondeterministic_seeded in tags.tags_of("rand")
    with pytest.raises(AttributeError, match="no operator named 'no::operator'"):
        tags.tags_of("no::operator")
    assert tags.Tag.core in tags.tags_of_function("add.Scalar")
    assert tags.Tag.core not in tags.tags_of_function("relu6")


def test_lists_of_tuples():
    assert tuple_to_list(tuple[int, ...]).__args__ == (int,)
    assert tuple_to_list(tuple[float, float]).__args__ == (float,)


def test_handles():
    log = []
    utils.RegistrationHandle(lambda: log.append("back")).destroy()
    assert log == ["back"]
