"""Signatures of operators: one list that covers all overloads, the manual's names, and what calls they promise."""

import inspect
import operator
import sys
from pathlib import Path

import pytest

import tl_core as tl

sys.path.insert(0, str(Path(__file__).parents[1]))
from opgen.python_table import Parameter, merged, shown


def shows(function):
    return str(inspect.signature(function)).replace("self, /", "self")


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (tl.sum, "(input, dim=None, keepdim=False, dtype=None, *, out=None, axis=None, keepdims=False)"),
        (tl.sort, "(input, dim=-1, descending=False, *, stable=False, out=None, axis=-1)"),
        (tl.fft.fft2, "(input, s=None, dim=(-2, -1), norm=None, *, out=None)"),
        (tl.Tensor.max, "(self, dim=None, keepdim=False, *, other=None)"),
        (tl.Tensor.mul, "(self, value)"),
        (tl.Tensor.hsplit, "(self, split_size_or_sections)"),
        (tl.swapaxes, "(input, axis0, axis1)"),
        (tl.transpose, "(input, dim0, dim1)"),
        (tl.Tensor.repeat_interleave, "(self, repeats, dim=None, *, output_size=None)"),
        (tl.Tensor.new_zeros, None),
        (tl._foreach_abs, "(self)"),
        (tl.Tensor.to, "(self, *args, **kwargs)"),
    ],
)
def test_a_signature_covers_all_overloads_in_the_words_of_the_manual(function, text):
    result = shows(function)
    if text is None:
        assert "requires_grad=False" in result
    else:
        assert result == text


STANDARD_KEYWORDS = [
    *((name, ("axis", "keepdims")) for name in ("all", "any", "argmax", "mean", "std", "sum", "var")),
    *((name, ("axis",)) for name in ("argsort", "diff", "sort")),
    *((f"fft.{name}", ("axis",)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")),
    ("linalg.matrix_norm", ("keepdims",)),
    ("linalg.vector_norm", ("axis", "keepdims")),
]


@pytest.mark.parametrize(("name", "keywords"), STANDARD_KEYWORDS)
def test_functions_of_the_array_api_show_its_keywords_and_take_them(name, keywords):
    function = operator.attrgetter(name)(tl)
    values = {"axis": 0, "keepdims": True}
    own = {"axis": "dim", "keepdims": "keepdim"}
    x = tl.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    parameters = inspect.signature(function).parameters
    for keyword in keywords:
        assert parameters[keyword].kind == inspect.Parameter.KEYWORD_ONLY
        assert parameters[keyword].default == parameters[own[keyword]].default or keyword == "keepdims"
    result = function(x, **{k: values[k] for k in keywords})
    other = function(x, **{own[k]: values[k] for k in keywords})
    pairs = [(result, other)] if isinstance(result, tl.Tensor) else list(zip(result, other, strict=True))
    assert all(a.equal(b) for a, b in pairs)
    if "keepdims" in keywords:
        assert pairs[0][0].dim() == 2


def test_two_names_of_one_parameter_are_refused():
    x = tl.ones(2, 2)
    for function in (tl.sum, tl.any, tl.argmax):
        with pytest.raises(TypeError):
            function(x, dim=0, axis=0)
    assert tl.linalg.cross(tl.eye(3)[0], tl.eye(3)[1], axis=-1).tolist() == [0.0, 0.0, 1.0]
    assert tl.linalg.vecdot(x, x, axis=0).tolist() == [2.0, 2.0]
    assert tl.stack([x, x], axis=2).shape == (2, 2, 2)


def test_parameters_are_required_only_where_every_overload_needs_them():
    x, dim, k = Parameter("input"), Parameter("dim"), Parameter("k", "1", True)
    assert shown(merged([[x], [x, dim], [x, k]]), False) == "(input, dim=None, *, k=1)"
    assert shown(merged([[x, dim], [x, Parameter("dim", "0")]]), False) == "(input, dim=0)"
    assert shown(merged([[x, Parameter("a", "1"), dim], [x, dim]]), True) == "($self, input, a=1, dim=None)"
    assert (
        shown(merged([[Parameter("out", "None", True), k], [x]]), False) == "(input=None, *, k=1, out=None)"
    )


def test_the_manuals_and_the_schemas_names_mean_the_same():
    x = tl.tensor([[4.0, 2.0], [2.0, 3.0]])
    assert x.mul(value=2).equal(x.mul(other=2))
    assert x.clone().div_(value=2).equal(x / 2)
    assert x.narrow(dimension=1, start=0, length=1).equal(x[:, :1])
    assert x.take(indices=tl.tensor([1])).tolist() == [2.0]
    assert tl.swapaxes(x, axis0=0, axis1=1).equal(tl.swapaxes(x, dim0=0, dim1=1))
    assert [p.tolist() for p in x.hsplit(split_size_or_sections=2)] == [[[4.0], [2.0]], [[2.0], [3.0]]]
    assert [p.tolist() for p in x.hsplit(split_size_or_sections=[1])] == [[[4.0], [2.0]], [[2.0], [3.0]]]
    assert tl.searchsorted(tl.tensor([1.0, 3.0]), values=tl.tensor([2.0])).tolist() == [1]
    assert tl.true_divide(dividend=x, divisor=2).equal(x / 2)


def test_a_parameter_cannot_be_given_under_both_names():
    with pytest.raises(TypeError, match="multiple values for argument 'value'"):
        tl.ones(2).mul(other=1, value=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'value'"):
        tl.mul(tl.ones(2), value=2)


def test_what_the_manual_writes_without_a_star_is_taken_by_position():
    x = tl.tensor([1.25, 2.5])
    assert x.sum(0, True, tl.float64).dtype is tl.float64
    assert x.cumsum(0, tl.float64).dtype is tl.float64
    assert x.round(1).tolist() == pytest.approx([1.2, 2.5])
    assert x.contiguous(tl.contiguous_format).equal(x)
    with pytest.raises(TypeError, match="positional"):
        tl.clone(x, tl.contiguous_format)


def test_functions_written_in_python_show_their_parameters():
    assert list(inspect.signature(tl.Tensor.backward).parameters)[1:] == [
        "gradient", "retain_graph", "create_graph", "inputs",
    ]  # fmt: skip
    assert next(iter(inspect.signature(tl.Tensor.cov).parameters)) == "self"
    assert tl.set_num_threads(int=tl.get_num_threads()) is None
    assert tl.promote_types(type1=tl.int8, type2=tl.float32) is tl.float32
    assert tl.result_type(tensor1=tl.ones(1), tensor2=1) is tl.float32


def test_new_tensor_refuses_other_layouts():
    with pytest.raises(RuntimeError, match="layout must be"):
        tl.ones(1).new_tensor([1], layout=tl.sparse_coo)


def test_the_older_name_of_a_keyword():
    x = tl.ones(2)
    assert x.type(tl.float64, **{"async": True}).dtype is tl.float64
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonblocking'"):
        x.type(tl.float64, nonblocking=True)


@pytest.mark.parametrize(
    "function", [tl.norm, tl.linalg.norm, tl.linalg.matrix_norm, tl.linalg.vector_norm, tl.sum, tl.unique]
)
def test_numpys_names_of_keywords_mean_the_same(function):
    x = tl.tensor([[[4.0, 2.0], [2.0, 3.0]]])
    dim = (-2, -1) if function is tl.linalg.matrix_norm else 1
    assert function(x, axis=dim).equal(function(x, dim=dim))
    if function is not tl.unique:
        assert function(x, axis=dim, keepdims=True).equal(function(x, dim=dim, keepdim=True))
    with pytest.raises(TypeError):
        function(x, axis=dim, dim=dim)
    with pytest.raises(TypeError):
        function(x, axes=dim)
