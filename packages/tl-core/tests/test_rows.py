"""Every row makes its own tests: values, layouts, in-place and out= forms, meta, promotion, errors, documentation."""

import doctest
import inspect
import sys
import warnings
import zlib
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")
pytest.importorskip("scipy", reason="the references of special functions are scipy's")

import tl_core as tl  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import row_cases as r  # noqa: E402


def computes_in(row, dtype):
    """Whether inputs of the type are taken, perhaps in a wider one."""
    wider = (row.elementwise.to.endswith("float") and dtype not in r.COMPLEX) or (
        row.elementwise.to == "int" and dtype == "bool"
    )
    return dtype in row.elementwise.dtypes or wider


def first_taken(row, *dtypes):
    """The first of these types that the row takes."""
    return next(dtype for dtype in dtypes if dtype in row.elementwise.dtypes)


def cases(rows, dtypes, taken):
    """(row, dtype) where the type is taken, or is not."""
    pairs = [(row, dtype) for row in rows for dtype in dtypes if computes_in(row, dtype) == taken]
    return [pytest.param(row, dtype, id=f"{row.name}-{dtype}") for row, dtype in pairs]


PURE = [row for row in r.ELEMENTWISE if row.args[0].type != "Scalar"]
TWO_TENSORS = [row for row in PURE if row.elementwise.inputs == 2]
WITH_NUMBERS = [row for row in TWO_TENSORS if row.args[1].type == "Operand"]
PARAMETERS = {"alpha": 2, "value": 3, "threshold": 1, "scale": 1.5, "input_scale": 0.5, "is_result": 1, "lambd": 0.5,
              "negative_slope": 0.1, "beta": 2, "delta": 1.5, "min_val": -1, "max_val": 2, "low": 0.25, "high": 0.75,
              "n": 2, "factor": 100, "divisor": 1, "nan": 0, "posinf": 1, "neginf": -1, "infinity": 0x7C00}  # fmt: skip


def seeded(*what):
    return np.random.default_rng(zlib.crc32(repr(what).encode()))


def inputs_of(row, rng, dtype, shape):
    """One tensor for each input; the condition of `where` is bool."""
    kinds = ["bool" if row.elementwise.condition and i == 0 else dtype for i in range(row.elementwise.inputs)]
    shapes = [() if a.type == "Scalar" else shape for a in row.args[: row.elementwise.inputs]]
    return [
        r.values(rng, own, kind, row.samples.low, row.samples.high)
        for own, kind in zip(shapes, kinds, strict=True)
    ]


def parameters_of(row):
    return {a.name: PARAMETERS[a.name] for a in row.args[row.elementwise.inputs :]}


def call_row(row, inputs, parameters, name=None, **more):
    keywords = {a.name: parameters[a.name] for a in row.args[row.elementwise.inputs :] if a.keyword_only}
    positional = [parameters[a.name] for a in row.args[row.elementwise.inputs :] if not a.keyword_only]
    if row.args[0].type == "Scalar":
        inputs = [inputs[0].item(), *inputs[1:]]
    if "out" in more:
        more = {variants(row)[1].args[-1].name: more["out"]}
    return r.call(name or row.name, *inputs, *positional, **keywords, **more)


def wanted(row, inputs, parameters):
    """By the row's reference, or by its expression where the reference has no such parameters."""
    arrays = [r.to_numpy(t) for t in inputs]
    if not row.elementwise.condition and not row.base.startswith("bitwise"):
        arrays = [a.astype(np.int64) if a.dtype == bool else a for a in arrays]
    if row.elementwise.to == "float":
        arrays = [a.astype(np.float64) if a.dtype == np.int64 else a for a in arrays]
    real = not any(np.iscomplexobj(a) for a in arrays)
    with np.errstate(all="ignore"):
        if row.ref and not parameters and (real or row.ref.startswith("numpy.")):
            return r.reference(row)(*arrays)
        return r.expression(row, arrays, parameters)


def variants(row):
    forms = dict(row.forms())
    return forms.get("inplace"), forms.get("out")


def layouts_of(row, rng, dtype):
    """All inputs in one layout after the other; a number as first input keeps its own."""
    columns = [
        list(r.layouts(lambda shape, i=i: inputs_of(row, rng, dtype, shape)[i]))
        for i in range(row.elementwise.inputs)
        if takes_tensor(row, i)
    ]
    for same_layout in zip(*columns, strict=True):
        number = [] if takes_tensor(row, 0) else [inputs_of(row, rng, dtype, ())[0]]
        yield same_layout[0][0], number + [t for _, t in same_layout]


def takes_tensor(row, i):
    return row.args[i].type != "Scalar"


@pytest.mark.parametrize(("row", "dtype"), cases(r.ELEMENTWISE, r.DTYPES, taken=True))
def test_values_layouts_and_forms(row, dtype):
    rng, parameters = seeded(row.name, dtype), parameters_of(row)
    if row.base == "hardtanh" and dtype.startswith("uint"):  # whose bounds may not be negative
        parameters["min_val"] = 1
    result_type = getattr(tl, r.result_dtype(row, dtype))
    inplace, out = variants(row)
    for layout, inputs in layouts_of(row, rng, dtype):
        result = call_row(row, inputs, parameters)
        assert result.dtype == result_type, layout
        r.assert_close(result, wanted(row, inputs, parameters), layout)
        if out:
            target = tl.empty(result.shape, dtype=result.dtype)
            assert call_row(row, inputs, parameters, out.name, out=target) is target
            assert r.same(target, result), f"out= {layout}"
            spaced = (
                tl.zeros((2, *result.shape), dtype=result.dtype).transpose(0, -1)[..., 0]
                if result.dim()
                else target
            )
            if spaced.shape == result.shape:
                call_row(row, inputs, parameters, out.name, out=spaced)
                assert r.same(spaced, result), f"out= with gaps {layout}"
        if inplace and result.dtype == inputs[0].dtype:
            own = inputs[0].clone()
            assert call_row(row, [own, *inputs[1:]], parameters, inplace.name) is own
            assert r.same(own, result), f"in place {layout}"


@pytest.mark.parametrize("row", r.ELEMENTWISE, ids=lambda row: row.name)
def test_meta_agrees(row):
    dtype = first_taken(row, "float32", "int64", "int16", "complex64")
    for layout, inputs in layouts_of(row, seeded(row.name), dtype):
        real = call_row(row, inputs, parameters_of(row))
        first = inputs[:1] if row.args[0].type == "Scalar" else []
        meta = call_row(
            row,
            first + [t.to("meta") if t.is_contiguous() else ghost(t) for t in inputs[len(first) :]],
            parameters_of(row),
        )
        assert meta.is_meta
        assert (meta.dtype, meta.shape, meta.stride()) == (real.dtype, real.shape, real.stride()), layout


def ghost(t):
    """A meta tensor of the same geometry."""
    return tl.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")


@pytest.mark.parametrize("row", TWO_TENSORS, ids=lambda row: row.name)
def test_broadcasting(row):
    dtype = first_taken(row, "float64", "int64", "int16")
    rng, parameters = seeded(row.name), parameters_of(row)
    for shapes in (((3, 1), (1, 4)), ((), (2, 3)), ((4,), (2, 3, 4)), ((0, 1), (5,)), ((1,), (0,))):
        inputs = [r.values(rng, shape, dtype, row.samples.low, row.samples.high) for shape in shapes]
        r.assert_close(call_row(row, inputs, parameters), wanted(row, inputs, parameters), str(shapes))
    with pytest.raises(RuntimeError, match="must match the size"):
        call_row(
            row, [tl.ones(3, dtype=getattr(tl, dtype)), tl.ones(4, dtype=getattr(tl, dtype))], parameters
        )


@pytest.mark.parametrize("row", WITH_NUMBERS, ids=lambda row: row.name)
def test_numbers_are_weak(row):
    dtype = "float16" if "float16" in row.elementwise.dtypes else "uint8"
    x = r.values(seeded(row.name), (3, 4), dtype, max(row.samples.low, 0.5), row.samples.high)
    result = call_row(row, [x, 2], parameters_of(row))
    assert result.dtype == getattr(tl, r.result_dtype(row, dtype))
    r.assert_close(result, wanted(row, [x, tl.full((3, 4), 2, dtype=x.dtype)], parameters_of(row)))


@pytest.mark.parametrize(("row", "dtype"), cases(PURE, ("bool", "float32", "complex64"), taken=False))
def test_types_without_a_loop_are_refused(row, dtype):
    inputs = inputs_of(row, seeded(row.name), dtype, (2,))
    message = r"not implemented|not supported|no longer supported|number"
    with pytest.raises((NotImplementedError, RuntimeError, TypeError), match=message):
        call_row(row, inputs, parameters_of(row))


@pytest.mark.parametrize("row", [row for row in r.ELEMENTWISE if row.out], ids=lambda row: row.name)
def test_out_of_another_shape_is_resized_with_a_warning(row):
    dtype = first_taken(row, "float64", "int64", "int16", "complex64")
    inputs = inputs_of(row, seeded(row.name), dtype, (3,))
    result, target = call_row(row, inputs, parameters_of(row)), None
    target = tl.empty(2, dtype=result.dtype)
    with pytest.warns(UserWarning, match="resized"):
        call_row(row, inputs, parameters_of(row), variants(row)[1].name, out=target)
    assert r.same(target, result)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert r.same(
            call_row(
                row, inputs, parameters_of(row), variants(row)[1].name, out=tl.empty(0, dtype=result.dtype)
            ),
            result,
        )
    if result.dtype.is_floating_point:
        with pytest.raises(RuntimeError, match="can't be cast"):
            call_row(row, inputs, parameters_of(row), variants(row)[1].name, out=tl.empty(3, dtype=tl.int64))


# ---- every row -----------------------------------------------------------------------------------------------------
PUBLIC = [row for row in r.ROWS if not row.namespace and not row.base.startswith("__")]


@pytest.mark.parametrize("row", r.ROWS, ids=lambda row: row.name)
def test_a_row_is_registered_as_it_says(row):
    schemas = tl._C._operators()
    for _, schema in row.forms():
        assert schemas[schema.name] == str(schema)


@pytest.mark.parametrize("row", PUBLIC, ids=lambda row: row.name)
def test_a_row_is_documented_where_it_is_public(row):
    for name in (row.base, *row.aliases):
        owners = [tl] * (row.function and not row.writes_self) + [tl.Tensor] * (
            row.method and bool(row.args) and row.args[0].name == "self"
        )
        for owner in owners:
            result = getattr(owner, name)
            assert inspect.getdoc(result)
            assert inspect.signature(result)


@pytest.mark.parametrize("row", [row for row in PUBLIC if row.example], ids=lambda row: row.name)
def test_the_example_of_a_row_runs(row):
    example = doctest.DocTestParser().get_doctest(row.example, {"tl": tl}, row.name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example)
    assert runner.tries and not runner.failures


def test_help_tells_shapes_types_and_the_example():
    text = inspect.getdoc(tl.cosh)
    assert "Any shape; floating-point and complex elements." in text
    assert "Integers and bool become the default floating-point type." in text
    assert ">>> tl.cosh(" in text
    assert "the result shares the tensor's memory" in inspect.getdoc(tl.transpose)
    assert "In place" in inspect.getdoc(tl.Tensor.cosh_) and ">>>" not in inspect.getdoc(tl.Tensor.cosh_)


def test_names_of_one_operator_agree():
    for alias, name in (
        ("multiply", "mul"),
        ("subtract", "sub"),
        ("divide", "div"),
        ("negative", "neg"),
        ("absolute", "abs"),
        ("clip", "clamp"),
    ):
        x = tl.tensor([-2.0, 3.0])
        arguments = (x,) if name in ("neg", "abs") else (x, 2.0)
        assert r.same(getattr(tl, alias)(*arguments), getattr(tl, name)(*arguments))
        assert r.same(getattr(x, alias)(*arguments[1:]), getattr(x, name)(*arguments[1:]))


def test_an_overload_returns_what_its_function_does():
    from tl_core.operators import packets as ops

    x = tl.tensor([8.0])
    assert type(ops.aten.frexp.Tensor(x)) is type(tl.frexp(x)) is tl.return_types.frexp
