"""float8 against the formats' definitions: every code, every float16 and bfloat16, float32 drawn from all of them.

The OCP 8-bit specification defines E4M3 and E5M2, the OCP microscaling one E8M0; the forms without negative zero have
one more in the exponent's bias, one zero, and NaN in its place.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

import tl_core as tl

np = pytest.importorskip("numpy", reason="the references are numpy's")


@dataclass(frozen=True)
class Format:
    """A sign, an exponent and a mantissa; `specials` are the magnitudes that stand for no number."""

    name: str
    mantissa: int
    bias: int
    specials: dict[int, float]
    unsigned_zero: bool = False

    def values(self) -> np.ndarray:
        """What the codes from 0 to 127 stand for, as the definition says it."""
        codes = np.arange(128)
        exponent, fraction = codes >> self.mantissa, codes % (1 << self.mantissa) / (1 << self.mantissa)
        normal = (1 + fraction) * 2.0 ** (exponent - self.bias)
        values = np.where(exponent == 0, fraction * 2.0 ** (1 - self.bias), normal)
        for code, value in self.specials.items():
            values[code] = value
        return values

    def decoded(self) -> np.ndarray:
        """What all codes stand for."""
        values = np.concatenate([self.values(), -self.values()])
        if self.unsigned_zero:
            values[0x80] = np.nan
        return values

    def encoded(self, x: np.ndarray) -> np.ndarray:
        """The nearest codes, to even between two; beyond the range the first special one, or NaN."""
        finite = self.values()[np.isfinite(self.values())]
        beyond = 2 * finite[-1] - finite[-2]  # were there one more number
        between = (np.append(finite, beyond)[1:] + np.append(finite, beyond)[:-1]) / 2
        size = magnitudes(x)
        below = np.searchsorted(between, size, side="left")
        above = np.searchsorted(between, size, side="right")
        code = np.where((below != above) & (below % 2 == 1), above, below)
        sign = np.where(np.signbit(x), 0x80, 0)
        if self.unsigned_zero:
            out = np.where(code == 0, 0, code | sign)
            return np.where(np.isnan(x) | (code == len(finite)), 0x80, out).astype(np.uint8)
        return np.where(np.isnan(x), 0x7F | sign, code | sign).astype(np.uint8)


FORMATS = [
    Format("float8_e4m3fn", 3, 7, {0x7F: np.nan}),
    Format("float8_e5m2", 2, 15, {0x7C: np.inf, 0x7D: np.nan, 0x7E: np.nan, 0x7F: np.nan}),
    Format("float8_e4m3fnuz", 3, 8, {}, unsigned_zero=True),
    Format("float8_e5m2fnuz", 2, 16, {}, unsigned_zero=True),
]
NAMES = [f.name for f in FORMATS] + ["float8_e8m0fnu"]
pytestmark = pytest.mark.filterwarnings("ignore:Casting complex values to real")
of_format = pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)
of_name = pytest.mark.parametrize("name", NAMES)


def magnitudes(x):
    with np.errstate(invalid="ignore"):  # signaling NaN
        return np.abs(x.astype(np.float64))


def codes_of(t):
    return t.view(tl.uint8).numpy()


def all_codes(name):
    return tl.arange(256).to(tl.uint8).view(getattr(tl, name))


def same(a, b):
    assert np.array_equal(a, b, equal_nan=True)
    assert np.array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))


def drawn(n, seed=0):
    """Bits of float32 drawn evenly, and numbers halfway between those of float8, and beside these."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, n, dtype=np.uint64).astype(np.uint32)
    near = (rng.integers(0, 2**12, n, dtype=np.uint64) << 20 | rng.integers(0, 3, n, dtype=np.uint64)) - 1
    return np.concatenate([bits, near.astype(np.uint32)]).view(np.float32)


@of_format
def test_every_code_is_the_number_of_its_definition(format):
    same(all_codes(format.name).float().numpy(), format.decoded().astype(np.float32))
    same(all_codes(format.name).double().numpy(), format.decoded())
    same(np.array(all_codes(format.name).tolist()), format.decoded())


def test_every_code_of_e8m0_is_a_power_of_two():
    expected = 2.0 ** (np.arange(256.0) - 127)
    expected[255] = np.nan
    same(all_codes("float8_e8m0fnu").double().numpy(), expected)


@of_format
def test_every_float16_and_bfloat16_and_many_float32_round_to_the_nearest(format):
    dtype = getattr(tl, format.name)
    bits = np.arange(2**16, dtype=np.uint16)
    half = bits.view(np.float16)
    assert np.array_equal(codes_of(tl.from_numpy(half).to(dtype)), format.encoded(half))
    brain = (bits.astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(codes_of(tl.from_numpy(brain).bfloat16().to(dtype)), format.encoded(brain))
    single = drawn(200_000)
    assert np.array_equal(codes_of(tl.from_numpy(single).to(dtype)), format.encoded(single))
    assert np.array_equal(
        codes_of(tl.from_numpy(single[:5000]).double().to(dtype)), format.encoded(single[:5000])
    )


def test_e8m0_takes_the_nearest_power_of_two():
    x = drawn(200_000)
    size = magnitudes(x)
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.maximum(size, 2.0**-140)))
        exponent += size >= 2.0 ** (exponent + 1)  # where the logarithm was rounded
        exponent -= size < 2.0**exponent
    # Halfway up; what lies between the smallest number and the next goes up as well.
    up = np.where(exponent < -126, (size > 2.0**-127) & (exponent == -127), size >= 1.5 * 2.0**exponent)
    expected = np.clip(exponent, -127, 128) + 127 + up
    expected = np.where(np.isfinite(x), np.minimum(expected, 255), 255)
    assert np.array_equal(codes_of(tl.from_numpy(x).to(tl.float8_e8m0fnu)), expected.astype(np.uint8))


@of_name
def test_codes_survive_all_wider_types_and_other_layouts(name):
    x = all_codes(name)
    numbers = ~x.isnan()
    for dtype in (tl.float32, tl.float64, tl.complex64, tl.complex128, tl.bfloat16):
        if dtype is tl.bfloat16 and name == "float8_e8m0fnu":
            continue  # the smallest is no normal number there, which is exact as well
        assert np.array_equal(codes_of(x.to(dtype).to(x.dtype)[numbers]), codes_of(x[numbers]))
    grid = x.reshape(16, 16)
    assert tl.equal(grid.t().float(), grid.float().t()) or bool(x.isnan().any())
    strided = tl.empty(16, 32, dtype=x.dtype)[:, ::2]
    strided.copy_(grid)
    assert np.array_equal(codes_of(strided.contiguous()), codes_of(grid))


@of_name
def test_integers_and_bools(name):
    dtype = getattr(tl, name)
    for kind in (tl.bool, tl.uint8, tl.int8, tl.int16, tl.int32, tl.int64, tl.uint16, tl.uint32, tl.uint64):
        ones = tl.ones(3, dtype=kind).to(dtype)
        assert ones.tolist() == [1, 1, 1]
        assert ones.to(kind).tolist() == [1, 1, 1]
    full = tl.tensor([-4, -2, 1, 2, 8], dtype=tl.int64)
    expected = full.abs() if name == "float8_e8m0fnu" else full
    assert full.to(dtype).to(tl.int32).tolist() == expected.tolist()


def test_between_float8_types():
    x = all_codes("float8_e5m2")
    expected = FORMATS[0].encoded(x.float().numpy())
    assert np.array_equal(codes_of(x.to(tl.float8_e4m3fn)), expected)


@pytest.mark.parametrize(
    ("name", "beyond"), [("float8_e4m3fn", "nan"), ("float8_e5m2", "inf"), ("float8_e4m3fnuz", "nan")]
)
def test_what_is_beyond_the_range(name, beyond):
    assert str(tl.tensor(1e9).to(getattr(tl, name)).item()) == beyond
    assert str(tl.tensor([1e9], dtype=getattr(tl, name)).item()) == beyond


@of_name
def test_making_filling_moving(name):
    dtype = getattr(tl, name)
    x = tl.tensor([1.0, 2.0, 4.0, 8.0], dtype=dtype)
    assert x.dtype is dtype
    assert x.element_size() == 1
    assert tl.ones(2, dtype=dtype).tolist() == tl.full((2,), 1.0, dtype=dtype).tolist() == [1, 1]
    assert (
        codes_of(tl.zeros(2, dtype=dtype)).tolist()
        == codes_of(tl.empty(2, dtype=dtype).zero_()).tolist()
        == [0, 0]
    )
    assert tl.empty(2, dtype=dtype).fill_(2).tolist() == [2, 2]
    assert x[[3, 0]].tolist() == [8, 1]
    assert x[x == 2].tolist() == [2]
    assert x[1:3].tolist() == [2, 4]
    assert tl.cat([x, x[:1]]).tolist() == [1, 2, 4, 8, 1]
    assert tl.stack([x, x]).shape == (2, 4)
    assert x.reshape(2, 2).t().flatten().tolist() == [1, 4, 2, 8]
    assert x.index_select(0, tl.tensor([2])).tolist() == [4]
    assert x.gather(0, tl.tensor([1, 1])).tolist() == [2, 2]
    assert x.flip(0).tolist() == [8, 4, 2, 1]
    assert x.roll(1).tolist() == [8, 1, 2, 4]
    assert x.repeat(2).shape == (8,)
    assert tl.where(tl.tensor([True, False, True, False]), x, x.flip(0)).tolist() == [1, 4, 4, 1]
    assert x.masked_fill(x == 1, 2).tolist() == [2, 2, 4, 8]
    y = x.clone()
    y[0] = 8
    y[tl.tensor([1])] = 8
    assert y.tolist() == [8, 8, 4, 8]
    assert x.tolist() == [1, 2, 4, 8]
    assert tl.empty(3, dtype=dtype, device="meta").to(tl.float32).shape == (3,)


@of_name
def test_comparisons_and_truth(name):
    x = tl.tensor([1.0, 2.0], dtype=getattr(tl, name))
    assert (x == x.flip(0)).tolist() == [False, False]
    assert (x != 1.0).tolist() == [False, True]
    assert tl.equal(x, x.clone())
    assert x.isnan().tolist() == [False, False]
    assert bool(x.all())
    assert bool(x.any())
    assert x.all(0).dtype is tl.bool


def test_abs():
    for name in NAMES[:4]:
        assert tl.tensor([-2.0, 1.0], dtype=getattr(tl, name)).abs().tolist() == [2, 1]
    with pytest.raises(NotImplementedError, match="\"abs_cpu\" not implemented for 'Float8_e8m0fnu'"):
        tl.ones(1, dtype=tl.float8_e8m0fnu).abs()


@pytest.mark.parametrize(
    ("call", "kernel"),
    [
        (lambda x: x + x, "add_stub"),
        (lambda x: x * 2, "mul_cpu_reduced_float"),
        (lambda x: x.add_(1), "add_stub"),
        (lambda x: x.exp(), "exp_vml_cpu"),
        (lambda x: x.sum(), "sum_cpu"),
        (lambda x: x < x, "lt_cpu"),
        (lambda x: x.max(), "max_cpu"),
        (lambda x: x.sort(), "sorting_kernel_method_name"),
        (lambda x: tl.dot(x, x), "dot"),
        (lambda x: tl.randn(2, dtype=x.dtype), "normal_kernel_cpu"),
        (lambda x: tl.arange(2, dtype=x.dtype), "arange_cpu"),
        (lambda x: tl.linspace(0, 1, 3, dtype=x.dtype), "linspace_cpu"),
        (lambda x: x.float().sum(dtype=x.dtype), "sum_cpu"),
        (lambda x: tl.add(x.float(), 1, out=x), "add_stub"),
        (lambda x: x.nonzero(), "nonzero_count_cpu"),
        (lambda x: x.cumsum(0), "cumsum_out_cpu"),
    ],
)
def test_other_operators_say_which_kernel_is_missing(call, kernel):
    with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'Float8_e5m2'"):
        call(tl.ones(3, dtype=tl.float8_e5m2))


def test_no_promotion():
    x = tl.ones(2, dtype=tl.float8_e5m2)
    for other in (tl.float32, tl.float8_e4m3fn, tl.bool, tl.int64):
        with pytest.raises(
            RuntimeError, match="Promotion for Float8 Types is not supported, attempted to promote"
        ):
            tl.promote_types(tl.float8_e5m2, other)
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            x + tl.ones(2, dtype=other)
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            x.eq(tl.ones(2, dtype=other))
    assert tl.promote_types(x.dtype, x.dtype) is x.dtype
    assert tl.result_type(x, 1.0) is x.dtype
    assert tl.result_type(x, 1) is x.dtype
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Float8_e5m2"):
        tl.result_type(x, 1j)
    assert tl.can_cast(x.dtype, tl.float32)
    assert tl.can_cast(tl.int32, x.dtype)
    assert not tl.can_cast(x.dtype, tl.int32)
    assert not tl.can_cast(tl.complex64, x.dtype)


@of_name
def test_pickles_dlpack_views_and_text(name):
    x = all_codes(name)[:8].reshape(2, 4)
    again = pickle.loads(pickle.dumps(x))
    assert again.dtype is x.dtype
    assert np.array_equal(codes_of(again), codes_of(x))
    shared = tl.from_dlpack(x.__dlpack__(max_version=(1, 1)))
    assert shared.dtype is x.dtype
    assert shared.data_ptr() == x.data_ptr()
    assert x.view(tl.int16).shape == (2, 2)
    assert x.view(tl.int8).view(x.dtype).dtype is x.dtype
    with pytest.raises(TypeError, match="Got unsupported ScalarType Float8"):
        x.numpy()
    assert repr(tl.tensor([1.0, 2.0], dtype=x.dtype)) == f"tensor([1., 2.], dtype=torch.{name})"


def test_values_that_do_not_fit():
    with pytest.raises(RuntimeError, match="value cannot be converted to type float8_e5m2"):
        tl.zeros(1, dtype=tl.float8_e5m2).fill_(1j)
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        tl.set_default_dtype(tl.float8_e5m2)


def test_a_tensor_takes_the_rules_of_the_type_it_is_given():
    x = tl.ones(2)
    x.data = tl.ones(2, dtype=tl.float8_e5m2)
    with pytest.raises(NotImplementedError, match="add_stub"):
        x + 1
    x.data = tl.ones(2)
    assert (x + 1).tolist() == [2, 2]


# ---- _scaled_mm


def matrices():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(4, 16)).astype(np.float32), rng.normal(size=(16, 3)).astype(np.float32)
    return tl.from_numpy(a).to(tl.float8_e4m3fn), tl.from_numpy(b).to(tl.float8_e5m2)


def test_scaled_products():
    a, b = matrices()
    exact = a.double().numpy() @ b.double().numpy()
    two, three = tl.tensor(2.0), tl.tensor(3.0)
    result = tl._scaled_mm(a, b, two, three, out_dtype=tl.float32)
    assert np.allclose(result.numpy(), 6 * exact, rtol=1e-5, atol=1e-5)
    assert tl._scaled_mm(a, b, two, three).dtype is a.dtype
    bias = tl.tensor([1.0, 2.0, 3.0], dtype=tl.bfloat16)
    result = tl._scaled_mm(a, b, two, three, bias=bias, out_dtype=tl.bfloat16)
    assert result.dtype is tl.bfloat16
    assert np.allclose(result.float().numpy(), 6 * exact + [1, 2, 3], rtol=1e-2, atol=1e-2)
    rows, columns = tl.tensor([[1.0], [2.0], [3.0], [4.0]]), tl.tensor([[1.0, 10.0, 100.0]])
    result = tl._scaled_mm(a, b, rows, columns, out_dtype=tl.float32)
    assert np.allclose(result.numpy(), exact * rows.numpy() * columns.numpy(), rtol=1e-5, atol=1e-3)
    empty = tl._scaled_mm(a[:0], b, two, three, out_dtype=tl.float32)
    assert empty.shape == (0, 3)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"self": lambda a: a.float()}, RuntimeError, "Expected mat1 to be Float8 matrix got Float"),
        ({"mat2": lambda b: b.to(tl.float8_e8m0fnu)}, RuntimeError, "Expected mat2 to be Float8 matrix"),
        ({"self": lambda a: a[None]}, RuntimeError, "mat1 must be a matrix"),
        ({"mat2": lambda b: b.t()}, RuntimeError, "shapes cannot be multiplied"),
        ({"scale_a": lambda s: tl.ones(2)}, ValueError, "Invalid scaling configuration"),
        ({"bias": lambda _: tl.ones(2)}, RuntimeError, "Bias must be size 3 but got 2"),
    ],
)
def test_scaled_products_that_are_refused(change, error, says):
    a, b = matrices()
    source = {"self": a, "mat2": b, "scale_a": tl.tensor(1.0), "scale_b": tl.tensor(1.0), "bias": None}
    source |= {name: of(source[name]) for name, of in change.items()}
    with pytest.raises(error, match=says):
        tl._scaled_mm(*source.values(), out_dtype=tl.float32)


@pytest.mark.parametrize(
    ("name", "largest"),
    [("float8_e4m3fn", 448), ("float8_e4m3fnuz", 240), ("float8_e5m2", 57344), ("float8_e5m2fnuz", 57344)],
)
def test_numbers_beyond_the_range_are_refused(name, largest):
    dtype = getattr(tl, name)
    for value in (largest, -largest, 0.0):
        assert tl.full((1,), value, dtype=dtype).float().item() == value
    for value in (largest * 1.001, -1e6, 10**6, 1e300):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {name} without overflow"):
            tl.full((1,), value, dtype=dtype)
        with pytest.raises(RuntimeError, match="without overflow"):
            tl.zeros(1, dtype=dtype).fill_(value)
    if name == "float8_e5m2":
        assert tl.full((1,), float("-inf"), dtype=dtype).tolist() == [float("-inf")]
    else:
        with pytest.raises(RuntimeError, match="without overflow"):
            tl.full((1,), float("inf"), dtype=dtype)
    assert tl.full((1,), float("nan"), dtype=dtype).isnan().item()


@of_name
def test_a_number_beyond_the_range_is_written_as_it_is_converted(name):
    dtype = getattr(tl, name)
    for value in (1e6, -1e6, float("inf"), 10**6):
        x, want = tl.ones(2, dtype=dtype), tl.tensor(value, dtype=dtype)
        x[0] = value
        same(x.float().numpy(), np.array([want.float().item(), 1.0], np.float32))


def test_powers_of_two_have_no_sign_and_no_infinity():
    for value in (-1.0, float("inf"), float("-inf"), 2.0**128):
        with pytest.raises(RuntimeError, match="without overflow"):
            tl.full((1,), value, dtype=tl.float8_e8m0fnu)


def test_real_numbers_beyond_complex32_are_infinite():
    assert tl.full((1,), 1e6, dtype=tl.complex32).to(tl.complex64).tolist() == [complex(float("inf"), 0)]
    for value in (1e300, 1e6j, complex(1e6, 1)):
        with pytest.raises(RuntimeError, match="without overflow"):
            tl.full((1,), value, dtype=tl.complex32)
