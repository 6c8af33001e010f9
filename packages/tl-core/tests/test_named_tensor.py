"""Tensors whose dimensions have names: every rule of name inference, the methods that give and use names, refusals."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import tl_core as tl
from tl_core import multiprocessing
from tl_core.tensors import named_tensor

sys.path.insert(0, str(Path(__file__).parents[1]))
from opgen import collect


def named(*names, size=2, dtype=None):
    return tl.ones(*[size] * len(names), names=names, dtype=dtype)


# ---- names themselves ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "make",
    [
        lambda names: tl.empty(2, 3, names=names),
        lambda names: tl.zeros((2, 3), names=names),
        lambda names: tl.ones(2, 3, names=names),
        lambda names: tl.full((2, 3), 7, names=names),
        lambda names: tl.rand(2, 3, names=names),
        lambda names: tl.randn(2, 3, names=names),
        lambda names: tl.tensor([[1, 2, 3], [4, 5, 6]], names=names),
    ],
)
def test_factories_name_dimensions(make):
    assert make(("N", "C")).names == ("N", "C")
    assert make([None, "C"]).names == (None, "C")
    assert make(None).names == (None, None) and not make(None).has_names()
    assert not make((None, None)).has_names()


@pytest.mark.parametrize(
    ("names", "error", "text"),
    [
        (("N",), RuntimeError, "Number of names .1. and number of dimensions in tensor .2. do not match"),
        (("N", "N"), RuntimeError, "duplicate names"),
        (("N", "1x"), RuntimeError, "a valid identifier contains only digits"),
        (("N", ""), RuntimeError, "a valid identifier"),
        (("N", 3), TypeError, "names must be str or None, but got int"),
        (5, TypeError, "names must be a tuple or list"),
        ("NC", TypeError, "names must be a tuple or list"),
    ],
)
def test_names_that_are_none_are_refused(names, error, text):
    with pytest.raises(error, match=text):
        tl.zeros(2, 3, names=names)


def test_only_factories_take_names():
    with pytest.raises(TypeError, match="unexpected keyword argument 'names'"):
        tl.ones(2).abs(names=("N",))


def test_names_are_assigned():
    x = tl.zeros(2, 3)
    x.names = ("N", None)
    assert x.names == ("N", None)
    x.names = None
    assert x.names == (None, None) and not x.has_names()


def test_tensors_without_dimensions_have_no_names():
    x = tl.zeros((), names=())
    assert x.names == () and not x.has_names() and x.rename(None).names == ()


def test_they_are_printed():
    assert repr(tl.zeros(2, 3, names=("N", "C"))) == (
        "tensor([[0., 0., 0.],\n        [0., 0., 0.]], names=('N', 'C'))"
    )
    assert repr(tl.ones(1, names=("N",), dtype=tl.int32)) == "tensor([1], dtype=torch.int32, names=('N',))"


# ---- rename, refine_names, align -----------------------------------------------------------------------------------
def test_renaming():
    x = tl.zeros(2, 3, 5, 7, names=("N", "C", "H", "W"))
    assert x.rename(N="batch", C="channels").names == ("batch", "channels", "H", "W")
    assert x.rename(None).names == (None,) * 4
    assert x.rename("a", "b", "c", "d").names == ("a", "b", "c", "d")
    assert x.rename("a", ..., "d").names == ("a", "C", "H", "d") == x.rename("a", "...", "d").names
    assert x.rename(N=None).names == (None, "C", "H", "W")
    assert x.names == ("N", "C", "H", "W")
    assert x.rename("a", ...).data_ptr() == x.data_ptr()
    assert x.rename_(N="M") is x and x.names == ("M", "C", "H", "W")
    assert x.rename_(None).has_names() is False


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: x.rename("a", N="b"), "either positional args or keyword args"),
        (lambda x: x.rename(X="b"), "Tried to rename dim 'X' to 'b' in Tensor.*does not exist"),
        (lambda x: x.rename("a"), "do not match"),
        (lambda x: x.rename(N="C"), "duplicate names"),
        (lambda x: x.rename(..., ...), "More than one Ellipsis"),
        (lambda x: x.refine_names("N", "D"), "'C' is different from 'D' at index 1"),
        (lambda x: x.refine_names("N", None), "'C' is more specific than None at index 1"),
        (lambda x: x.refine_names("N"), "different number of dims"),
        (lambda x: x.align_to("N"), "Cannot find dim 'C'"),
        (lambda x: x.align_to("N", "C", "N"), "duplicate names"),
        (lambda x: x.align_to("N", "C", None), "cannot contain a None name"),
        (lambda x: x.rename(None, "C").align_to("N", "C"), "Found unnamed dim at index 0"),
        (lambda x: x.align_to(..., None), "cannot contain a None name"),
        (lambda x: x.align_as(tl.zeros(2, names=("N",))), "Cannot find dim 'C'"),
    ],
)
def test_wrong_names_are_refused_and_named(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(named("N", "C"))


def test_refining():
    x = tl.zeros(2, 3, 5, 7, 11)
    assert x.refine_names("A", ..., "B", "C").names == ("A", None, None, "B", "C")
    assert named("N", None).refine_names("N", "C").names == ("N", "C")
    assert named("N", None).refine_names("N", None).names == ("N", None)


def test_alignment():
    x = tl.arange(24).view(2, 3, 4).refine_names("N", "H", "C")
    to = x.align_to("C", ...)
    assert to.names == ("C", "N", "H") and to.rename(None).equal(x.rename(None).permute(2, 0, 1))
    assert tl.ones(2, 3, 4).rename(None, None, "C").align_to("C", ..., "D").names == ("C", None, None, "D")
    more = x.align_to("N", "C", "D", "H")
    assert more.shape == (2, 4, 1, 3) and more.names == ("N", "C", "D", "H")
    assert more.data_ptr() == x.data_ptr()
    scale = tl.ones(4, names=("C",))
    assert scale.align_as(x).shape == (1, 1, 4) and (x * scale.align_as(x)).names == ("N", "H", "C")
    a, b = named_tensor.align_tensors(scale, x)
    assert a.names == b.names == ("N", "H", "C")
    assert named_tensor.align_tensors() == ()


def test_the_examples_of_masks_and_scales():
    mask = tl.tensor([[True, False, False], [False, True, False]]).refine_names("W", "H")
    images = tl.zeros(2, 3, 2, 1, names=("N", "H", "W", "C"))
    images.masked_fill_(mask.align_as(images), 1)
    assert images.names == ("N", "H", "W", "C") and images.sum().item() == 4
    assert images.rename(None)[0, 0, 0, 0] == 1 and images.rename(None)[0, 1, 1, 0] == 1


# ---- flatten, unflatten --------------------------------------------------------------------------------------------
def test_flattening():
    x = tl.arange(24).view(2, 3, 4).refine_names("N", "C", "H")
    for flat in (
        x.flatten(["C", "H"], "features"),
        x.flatten("C", "H", "features"),
        x.flatten(dims=("C", "H"), out_dim="features"),
        x.flatten(1, 2, "features"),
        x.flatten(1, -1, out_dim="features"),
        tl.flatten(x, ["C", "H"], "features"),
    ):
        assert flat.names == ("N", "features") and flat.rename(None).equal(tl.arange(24).view(2, 12))
    assert x.flatten(["N"], "B").names == ("B", "C", "H")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((["N", "H"], "f"), RuntimeError, "must be consecutive"),
        ((["H", "C"], "f"), RuntimeError, "must be consecutive"),
        (([], "f"), RuntimeError, "cannot be empty"),
        ((["X"], "f"), RuntimeError, "Name 'X' not found"),
        (("H", "N", "f"), RuntimeError, "start_dim cannot come after end_dim"),
        ((["C", "H"],), TypeError, "flatten.. takes"),
        ((["C", "H"], "N"), RuntimeError, "duplicate names"),
        ((0, 9, "f"), IndexError, "out of range"),
    ],
)
def test_what_cannot_be_flattened_is_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        named("N", "C", "H").flatten(*arguments)


def test_unflattening():
    x = tl.arange(30).view(2, 15).refine_names("N", "features")
    for result in (
        x.unflatten("features", [("C", 3), ("H", 5)]),
        x.unflatten("features", (("C", 3), ("H", 5))),
        x.unflatten("features", {"C": 3, "H": 5}),
        x.unflatten(1, (3, 5), ("C", "H")),
        x.unflatten(dim=-1, sizes=[["C", 3], ["H", -1]]),
    ):
        assert result.names == ("N", "C", "H") and result.rename(None).equal(tl.arange(30).view(2, 3, 5))
    with pytest.raises(TypeError, match="argument 'sizes' must be"):
        x.unflatten("features", "C")
    for sizes, text in (
        ([("C", 2), ("H", -1)], r"Provided sizes \[2, -1\] don't multiply up to the size of dim 1 \('features': 15\)"),
        ([("C", 3)], "don't multiply up"), ([], "non-empty"), ({}, "non-empty"), (None, "non-empty"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            x.unflatten("features", sizes)
    with pytest.raises(RuntimeError, match="-1 can be any value and is ambiguous"):
        tl.ones(0, names=("N",)).unflatten("N", [("A", 0), ("B", -1)])
    with pytest.raises(RuntimeError, match="as many names as sizes"):
        x.unflatten(1, (3, 5), ("C",))


# ---- keeps input names ---------------------------------------------------------------------------------------------
def is_unary(row):
    """Whether the row is a public function of floating-point numbers with all forms."""
    plain = row.elementwise and len(row.args) == 1 and "float32" in row.elementwise.dtypes
    public = row.function and row.method and not row.namespace and row.base[0] != "_"
    return plain and public and row.elementwise.to in ("same", "float") and row.inplace and row.out


UNARY = [*(row.base for row in collect.rows() if is_unary(row)), "deg2rad", "rad2deg", "bernoulli"]


@pytest.mark.parametrize("name", UNARY)
def test_pointwise_functions_keep_names(name):
    x = named("N", None)
    assert getattr(x, name)().names == getattr(tl, name)(x).names == ("N", None)
    out = tl.empty(2, 2)
    if name != "bernoulli":
        getattr(tl, name)(x, out=out)
        assert out.names == ("N", None)
    y = named("N", None)
    assert getattr(y, f"{name}_")() is y and y.names == ("N", None)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.bfloat16(), lambda x: x.bool(), lambda x: x.byte(), lambda x: x.cpu(), lambda x: x.double(),
        lambda x: x.half(), lambda x: x.long(), lambda x: x.to(tl.int8), lambda x: x.type_as(tl.ones(1).int()),
        lambda x: x.to("meta"), lambda x: x.detach(), lambda x: x.clone(), lambda x: x.contiguous(),
        lambda x: x.cumsum("C"), lambda x: x.cumprod(0), lambda x: x.softmax("C"), lambda x: x.log_softmax(1),
        lambda x: x.clamp(0, 1), lambda x: x.narrow("N", 0, 1), lambda x: x.index_fill("N", tl.tensor([0]), 5),
        lambda x: x.masked_fill(tl.tensor([True, False]), 1), lambda x: x[0:1], lambda x: x[:, 1:],
        lambda x: x.expand(2, 2), lambda x: tl.empty_like(x), lambda x: tl.zeros_like(x),
        lambda x: tl.normal(x, 1.0), lambda x: x.relu(), lambda x: x.topk(1, "C")[0], lambda x: x.topk(1, "C")[1],
        lambda x: x.split(1, "C")[1], lambda x: x.chunk(2, "N")[0], lambda x: x.sort("C").values,
        lambda x: tl.isnan(x), lambda x: tl.logical_not(x), lambda x: x.int().bitwise_not(), lambda x: x.nan_to_num(),
    ],
)  # fmt: skip
def test_these_keep_names_too(call):
    assert call(named("N", "C")).names == ("N", "C")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.zero_(), lambda x: x.fill_(3), lambda x: x.uniform_(), lambda x: x.normal_(),
        lambda x: x.exponential_(), lambda x: x.random_(), lambda x: x.cauchy_(), lambda x: x.log_normal_(),
        lambda x: x.bernoulli_(), lambda x: x.clamp_(0), lambda x: x.detach_(), lambda x: x.geometric_(0.5),
        lambda x: x.masked_fill_(tl.tensor([True, False]), 1), lambda x: x.index_fill_("N", tl.tensor([0]), 5),
        lambda x: x.resize_(2, 2), lambda x: x.resize_as_(named("N", "C")), lambda x: x.cumsum_("N"),
    ],
)  # fmt: skip
def test_what_fills_a_tensor_leaves_its_names(call):
    x = named("N", "C")
    assert call(x) is x and x.names == ("N", "C")


def test_expand_adds_dimensions_without_names():
    assert named("N", size=1).expand(3, 2).names == (None, "N")


def test_resizing_may_not_change_the_shape():
    with pytest.raises(RuntimeError, match=r"Cannot resize named tensor with resize_\(\)"):
        named("N", "C").resize_(4)
    with pytest.raises(RuntimeError, match="Cannot resize named tensor"):
        named("N", "C").resize_as_(tl.ones(3))
    with pytest.raises(RuntimeError, match="are not the same as the computed output names"):
        named("N", "C").resize_as_(tl.ones(2, 2))
    assert tl.ones(3).resize_as_(named("N", "C")).names == ("N", "C")


# ---- removes dimensions --------------------------------------------------------------------------------------------
REDUCTIONS = ["sum", "mean", "prod", "std", "var", "logsumexp", "nansum", "amax", "amin"]
PAIRS = ["median", "nanmedian", "mode", "max", "min"]


@pytest.mark.parametrize("name", [*REDUCTIONS, "all", "any"])
def test_reductions_remove_names(name):
    x = named("N", "C", "H")
    f = getattr(x, name)
    assert f("C").names == f(1).names == f(-2).names == ("N", "H")
    assert f("C", keepdim=True).names == ("N", "C", "H")
    if name not in ("prod",):
        assert f(["N", "H"]).names == ("C",)
    if name not in ("logsumexp",):
        assert f().names == ()
    out = tl.empty(0, dtype=f("C").dtype)
    getattr(tl, name)(x, "C", out=out)
    assert out.names == ("N", "H")


@pytest.mark.parametrize("name", PAIRS)
def test_both_results_of_a_reduction_have_names(name):
    x = named("N", "C")
    values, indices = getattr(x, name)("C")
    assert values.names == indices.names == ("N",)
    values, indices = getattr(x, name)("N", keepdim=True)
    assert values.names == indices.names == ("N", "C")
    values, indices = x.kthvalue(1, "C")
    assert values.names == indices.names == ("N",)


def test_means_with_deviations():
    for f in (tl.std_mean, tl.var_mean):
        assert [r.names for r in f(named("N", "C"), "N")] == [("C",), ("C",)]
        assert [r.names for r in f(named("N", "C"))] == [(), ()]


def test_select_squeeze_and_unbind():
    x = tl.ones(1, 3, 1, 2, names=("N", "C", "H", "W"))
    assert x.select("C", 0).names == x[:, 0].names == ("N", "H", "W")
    assert x[0].names == ("C", "H", "W") and x[0, 1].names == ("H", "W")
    assert [t.names for t in x.unbind("C")] == [("N", "H", "W")] * 3
    assert x.squeeze().names == ("C", "W") and x.squeeze("N").names == ("C", "H", "W")
    assert x.squeeze("C").names == ("N", "C", "H", "W") and x.squeeze(["N", "H"]).names == ("C", "W")
    y = x.clone()
    assert y.squeeze_("H") is y and y.names == ("N", "C", "W")


def test_a_name_that_is_not_there_is_refused_and_the_names_that_are_told():
    with pytest.raises(RuntimeError, match=r"Name 'X' not found in Tensor\['N', 'C'\]"):
        named("N", "C").sum("X")
    with pytest.raises(
        TypeError, match=r"sum\(\): argument 'dim' \(position 1\) must be tuple of ints, not str"
    ):
        tl.ones(2, 2).sum("N")
    with pytest.raises(RuntimeError, match="Name 'X' not found"):
        named("N", "C").sum(["N", "X"])
    for call in (lambda x: x.sum([None, "C"]), lambda x: x.select(None, 0)):
        with pytest.raises(RuntimeError, match="Please look up dimensions by name"):
            call(named("N", "C"))


def test_sizes_and_strides_by_name():
    x = tl.ones(2, 3, names=("N", "C"))
    assert (x.size("C"), x.stride("N"), x.size(dim="N")) == (3, 3, 2)
    with pytest.raises(RuntimeError, match="Name 'X' not found"):
        x.size("X")


def test_facts_of_named_tensors():
    x = tl.ones(2, 3, names=("N", "C"))
    assert x.shape == (2, 3) and x.dim() == x.ndimension() == 2 and x.numel() == 6 and x.is_contiguous()
    assert x.element_size() == 4 and x.nbytes == 24 and x.get_device() == -1 and not x.is_sparse
    assert tl.is_tensor(x) and tl.is_floating_point(x) and x.is_signed() and x.tolist() == [[1.0] * 3] * 2
    assert tl.ones((), names=()).item() == 1


# ---- unifies names from inputs -------------------------------------------------------------------------------------
BINARY = [
    "add", "sub", "mul", "div", "atan2", "pow", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum",
    "logical_and",
]  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_names_of_operands_are_unified(name):
    f = getattr(tl, name)
    assert f(named("N", None), named(None, "C")).names == ("N", "C")
    assert f(named("N", "C"), tl.ones(2, 2)).names == ("N", "C")
    assert f(tl.ones(2, 2), named("N", "C")).names == ("N", "C")
    assert f(named("N", "C"), named("C")).names == ("N", "C")
    assert f(named("C"), named("N", None)).names == ("N", "C")
    assert f(named("N"), tl.ones(())).names == ("N",)


def test_numbers_have_no_names_to_fit():
    x = named("N")
    assert [r.names for r in (x + 2, 2 - x, x * True, x**2, 2**x, x < 1, x // 1)] == [("N",)] * 7


@pytest.mark.parametrize("name", ["add", "mul", "lt"])
def test_names_that_do_not_match_are_refused(name):
    f = getattr(tl, name)
    text = r"dims \['N', 'C'\] and dims \['N'\]: dim 'C' and dim 'N' are at the same position from the right but do not"
    with pytest.raises(RuntimeError, match=text):
        f(named("N", "C"), named("N"))
    with pytest.raises(RuntimeError, match=r"Misaligned dims when attempting to broadcast dims \['N'\] and dims "
                                           r"\['N', None\]: dim 'N' appears in a different position"):  # fmt: skip
        f(named("N", None), named("N"))
    with pytest.raises(RuntimeError, match="Misaligned dims"):
        f(named("N", None), named(None, "N"))


def test_inplace_operators_name_what_they_change():
    x, y = tl.ones(2, 2), named("N", "C")
    x += y
    assert x.names == ("N", "C")
    for f in ("sub_", "mul_", "div_", "copy_"):
        z = tl.ones(2, 2)
        assert getattr(z, f)(y) is z and z.names == ("N", "C")
    z = tl.ones(2, 2).names
    with pytest.raises(RuntimeError, match="do not match"):
        named("C", "N").add_(y)


def test_several_tensors_are_unified():
    assert tl.addcmul(tl.ones(2, 2), named("N", None), named(None, "C")).names == ("N", "C")
    assert tl.where(named("N", dtype=tl.bool), tl.ones(2), named("N")).names == ("N",)
    assert tl.lerp(named("N"), tl.ones(2), 0.5).names == ("N",)
    assert tl.cat([named("N", "C"), tl.ones(2, 2)], "N").names == ("N", "C")
    assert tl.cat([named(None, "C"), named("N", None)], dim="C").names == ("N", "C")
    with pytest.raises(RuntimeError, match="do not match"):
        tl.cat([named("N"), named("C")])


def test_masked_select_checks_names_and_has_none():
    x = named("N", "C")
    assert x.masked_select(tl.ones(2, dtype=tl.bool)).names == (None,)
    assert x.masked_select(named("C", dtype=tl.bool)).shape == (4,)
    with pytest.raises(RuntimeError, match="do not match"):
        x.masked_select(named("N", dtype=tl.bool))


# ---- permutes dimensions -------------------------------------------------------------------------------------------
def test_permutations():
    x = tl.ones(2, 3, 5, names=("N", "C", "H"))
    assert x.transpose("N", "C").names == x.transpose(0, -2).names == ("C", "N", "H")
    assert x.swapaxes("N", "H").names == ("H", "C", "N") and x.permute(2, 0, 1).names == ("H", "N", "C")
    assert x.mT.names == ("N", "H", "C") and named("N", "C").t().names == named("N", "C").T.names == (
        "C",
        "N",
    )
    assert named("N").t().names == ("N",) and x.movedim("H", "N").names == ("H", "N", "C")
    y = named("N", "C")
    assert y.t_() is y and y.names == ("C", "N")
    assert y.transpose_("C", "N").names == ("N", "C")


# ---- contracts away dims -------------------------------------------------------------------------------------------
def test_products_of_matrices():
    assert named("N", "D").mm(named("in", "out")).names == ("N", "out")
    assert named("N", "D").mv(named("something")).names == ("N",)
    assert named("N").dot(named("C")).names == ()
    assert named("B", "N", "D").bmm(named(None, "D2", "M")).names == ("B", "N", "M")
    x, y = named("A", "B", "C", "D"), named("B", "E", "F")
    assert tl.matmul(x, y).names == (x @ y).names == ("A", "B", "C", "F")
    assert (named("N", "D") @ named("D")).names == ("N",) and (named("D") @ named("D", "M")).names == ("M",)
    assert (named("B", "N", "D") @ named("D", "M")).names == ("B", "N", "M")
    assert (named("B", "N", "D") @ named("D")).names == ("B", "N")
    assert (named("D") @ named("B", "D", "M")).names == ("B", "M")
    with pytest.raises(RuntimeError, match="do not match"):
        named("A", "N", "D") @ named("B", "D", "M")


def test_products_that_are_added():
    product = named("N", "D"), named("D", "M")
    assert tl.addmm(tl.ones(2, 2), *product).names == ("N", "M")
    assert tl.addmm(named("M"), *product).names == ("N", "M")
    assert named(None, "M").addmm_(*product).names == ("N", "M")
    assert tl.addmv(tl.ones(2), named("N", "D"), named("D")).names == ("N",)
    assert tl.ones(2).addmv_(named("N", "D"), tl.ones(2)).names == ("N",)
    assert tl.baddbmm(tl.ones(2, 2, 2), named("B", "N", "D"), named("B", "D", "M")).names == ("B", "N", "M")
    with pytest.raises(RuntimeError, match="do not match"):
        tl.addmm(named("N"), *product)


# ---- out=, equality, refusals --------------------------------------------------------------------------------------
def test_names_may_not_come_twice_in_a_result():
    for product in (
        lambda: named("N", "C") @ named("W", "N"),
        lambda: named("N", "A", "B").bmm(named("N", "B", "A")),
        lambda: tl.addmm(named("N", "H"), named("N", "C"), named("W", "N")),
    ):
        with pytest.raises(RuntimeError, match="with duplicate names"):
            product()
    with pytest.raises(RuntimeError, match="Misaligned"):
        named("N", "A", "B") @ named(None, "N", "B")


def test_diagonals_distances_pools_and_strides():
    x = tl.zeros(2, 3, 5, 7, names=("A", "B", "C", "D"))
    assert x.diagonal().names == ("C", "D", None) and x.diagonal(1, 3).names == ("A", "C", None)
    assert x.diagonal(0, "A", "D").names == ("B", "C", None)
    assert x.diagonal(outdim="E", dim1="B", dim2="D").names == ("A", "C", "E")
    a, b = tl.ones(3, 1, 2, 7, names=("M", "N", "P", "F")), tl.ones(5, 11, 7, names=("N", "Q", "F"))
    assert tl.cdist(a, b).names == ("M", "N", "P", "Q")
    assert x.as_strided((2, 3), (1, 1)).names == (None, None)


def test_a_result_tensor_takes_names_or_has_the_same():
    x, y = named("N", "C"), named("N", "C")
    out = tl.empty(2, 2)
    assert tl.add(x, y, out=out).names == out.names == ("N", "C")
    assert tl.mul(x, y, out=out).names == ("N", "C")
    for wrong in (named("C", "N"), named("N", None)):
        before = wrong.tolist()
        with pytest.raises(RuntimeError, match="they must be the same"):
            tl.add(x, y, out=wrong)
        assert wrong.tolist() == before
    with pytest.raises(RuntimeError, match="they must be the same"):
        tl.add(tl.ones(2, 2), 1, out=x)


def test_equal_tensors_have_equal_names():
    assert (
        named("N").equal(named("N")) and not named("N").equal(named("C")) and not named("N").equal(tl.ones(2))
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.view(4), lambda x: x.reshape(4), lambda x: x.unsqueeze(0), lambda x: x.flatten(),
        lambda x: x.flip(0),
        lambda x: x[tl.tensor([0])], lambda x: x[x > 0], lambda x: x.gather(0, tl.zeros(1, 1).long()),
        lambda x: tl.stack([x]), lambda x: x.nonzero(),
        lambda x: x.index_select(0, tl.tensor([0])), lambda x: tl.linalg.inv_ex(x),
    ],
)  # fmt: skip
def test_operators_without_a_rule_refuse_names(call):
    with pytest.raises(RuntimeError, match="is not yet supported with named tensors"):
        call(named("N", "C"))


def test_sparse_tensors_cannot_have_names():
    with pytest.raises(RuntimeError, match="only strided tensors can have names"):
        tl.ones(2).to_sparse().rename("N")


@pytest.mark.filterwarnings("ignore:To copy construct")
def test_new_tensors_and_their_data():
    x = named("N", "C")
    assert x.new_zeros(2, 2).names == (None, None) and tl.ones_like(x).names == ("N", "C")
    assert x.new_tensor([1.0]).names == (None,)
    assert tl.tensor(tl.tensor([1.0], names=("N",)), names=None).names == ("N",)
    with pytest.raises(RuntimeError, match="Name mismatch"):
        tl.tensor(tl.ones(1, names=("N",)), names=("C",))


def test_many_dimensions():
    names = ["A" * i for i in range(1, 65)]
    assert tl.ones([1] * 64, names=names).names == tuple(names)


# ---- copies, pickles, numpy, subclasses ----------------------------------------------------------------------------
def test_copies_and_pickles():
    x = named("N", "C")
    assert copy.deepcopy(x).names == ("N", "C")
    for write in (pickle.dumps, copy.copy):
        with pytest.raises(RuntimeError, match="Named tensors don't support serialization"):
            write(x)


def test_arrays_have_no_names():
    pytest.importorskip("numpy", reason="arrays are numpy's")
    assert named("N", "C").numpy().shape == (2, 2)


def test_results_are_those_of_tensors_without_names():
    x, y = tl.arange(6.0).view(2, 3), tl.arange(12.0).view(3, 4)
    a, b = x.rename("N", "D"), y.rename("D", "M")
    for f in (
        lambda p, q: p @ q,
        lambda p, q: p.sum(0),
        lambda p, q: p.softmax(1),
        lambda p, q: p.var(1),
        lambda p, q: q.t(),
    ):
        assert f(a, b).rename(None).equal(f(x, y))


def test_nothing_is_loaded_or_called_where_nobody_names_dimensions():
    program = (
        "import sys, tl_core as tl; (tl.ones(2, 2) @ tl.ones(2, 2)).sum(0); "
        "assert 'tl_core.tensors.named_tensor' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_they_are_not_sent_to_other_processes():
    sender, _receiver = multiprocessing.Pipe()
    with pytest.raises(RuntimeError, match="Named tensors don't support serialization"):
        sender.send(named("N"))
