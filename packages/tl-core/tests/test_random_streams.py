"""The numbers and the generator's state after every kind of draw, derived from NumPy's MT19937.

NumPy seeds its legacy generator as the reference implementation does, so its 32-bit words are the words that
every number below is made of. The formulas are those of the distributions; tolerances are given where a vector
function may round otherwise.
"""

from fractions import Fraction

import pytest

import tl_core as tl

np = pytest.importorskip("numpy", reason="expected values come from numpy")

SEEDS = [0, 5, 2**31, 2**32 - 1]
SIZES = [0, 1, 2, 7, 15, 100, 623, 624, 625, 5000]
FLOATS = [tl.float16, tl.bfloat16, tl.float32, tl.float64]
INTEGERS = [tl.uint8, tl.int8, tl.int16, tl.int32, tl.int64]
MANTISSA = {tl.float16: 11, tl.bfloat16: 8, tl.float32: 24, tl.float64: 53}


class Words:
    """The stream of 32-bit words, and the numbers in [0, 1) made of them."""

    def __init__(self, seed):
        self.state = np.random.RandomState(seed)
        self.drawn = 0

    def take(self, n):
        self.drawn += n
        return self.state.randint(0, 2**32, size=n, dtype=np.uint32)

    def take64(self, n):
        pairs = self.take(2 * n).astype(np.uint64)
        return pairs[0::2] << np.uint64(32) | pairs[1::2]

    def floats(self, n):
        return (self.take(n) & 0xFFFFFF).astype(np.float64) * 2.0**-24

    def doubles(self, n):
        return (self.take64(n) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53

    def uniform(self, n, dtype):
        return self.doubles(n) if dtype == tl.float64 else self.floats(n)


def generator(seed):
    return tl.Generator().manual_seed(seed)


def empty(n, dtype):
    return tl.empty(n, dtype=dtype)


def values(t):
    """As float64 or int64."""
    if t.dtype in FLOATS:
        return t.to(tl.float64).numpy()
    return t.to(tl.int64).numpy()


def rounded(x, dtype):
    """float64 values as the dtype holds them; half types are rounded by way of float32."""
    if dtype == tl.float64:
        return x
    x = x.astype(np.float32)
    if dtype == tl.float16:
        return x.astype(np.float16).astype(np.float64)
    if dtype == tl.bfloat16:
        bits = x.view(np.uint32).astype(np.uint64)
        value = (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16) << np.uint64(16)
        x = value.astype(np.uint32).view(np.float32)
    return x.astype(np.float64)


def check_state(g, words):
    """The generator stands where the words taken so far end: the state holds what NumPy's does."""
    state = g.get_state().numpy()
    assert state.shape == (5056,)
    key, position = words.state.get_state()[1:3]
    left, following = state[8:12].view(np.int32)[0], state[16:24].view(np.uint64)[0]
    if words.drawn:
        assert (following, left) == (position, 624 - position + 1)
        assert np.array_equal(state[24 : 24 + 8 * 624].view(np.uint64).astype(np.uint32), key)
    else:
        assert left == 1  # what is left is one more than there is


# ---- uniform -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_takes_the_low_bits(seed, dtype):
    g, words = generator(seed), Words(seed)
    for n in SIZES:
        expected = rounded(words.uniform(n, dtype), dtype)
        expected[expected == 1] = 0  # rounding may reach the excluded end
        assert np.array_equal(values(empty(n, dtype).uniform_(generator=g)), expected)
        check_state(g, words)


@pytest.mark.parametrize(
    "dtype,low,high", [(tl.float32, -1.3, 2.9), (tl.float32, 1, 1.0000005), (tl.float64, -1.3, 2.9)]
)
def test_uniform_between_bounds_is_rounded_once(dtype, low, high):
    g, words = generator(3), Words(3)
    one = np.float32 if dtype == tl.float32 else np.float64
    low, high = one(low), one(high)
    width = Fraction(float(high - low))
    for u, x in zip(
        words.uniform(2000, dtype),
        values(empty(2000, dtype).uniform_(float(low), float(high), generator=g)),
        strict=True,
    ):
        exact = Fraction(float(u)) * width + Fraction(float(low))
        nearest = one(float(exact))
        if nearest == high:
            nearest = low
        # float() rounds to double first: for float32 the neighbours of a tie in double are as good.
        assert (
            x == nearest or abs(Fraction(float(x)) - exact) <= Fraction(float(np.spacing(abs(nearest)))) / 2
        )


# ---- normal ------------------------------------------------------------------------------------------------
def pairs_in_turn(words, n):
    """Box-Muller, one pair after the other: cosine, sine."""
    u = words.doubles(2 * n)
    radius, angle = np.sqrt(-2 * np.log1p(-u[1::2])), 2 * np.pi * u[0::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


def blocks(u):
    """Box-Muller over blocks of sixteen: eight radii and eight angles make eight cosines and eight sines."""
    u = u.reshape(-1, 16)
    radius, angle = np.sqrt(-2 * np.log(1 - u[:, :8])), 2 * np.pi * u[:, 8:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


def test_few_normals_come_in_pairs_over_calls_and_dtypes():
    g, words = generator(11), Words(11)
    expected = pairs_in_turn(words, 12)
    at = 0
    for n, dtype in [
        (1, tl.float64),
        (3, tl.float32),
        (15, tl.float64),
        (0, tl.float64),
        (2, tl.float16),
        (3, tl.bfloat16),
    ]:
        result = values(empty(n, dtype).normal_(0.3, 1.7, generator=g))
        exact = expected[at : at + n] * 1.7 + 0.3
        np.testing.assert_allclose(result, exact, rtol=2.0 ** -(MANTISSA[dtype] - 2), atol=1e-15)
        at += n
    assert at == 24
    check_state(g, words)


def test_what_waits_of_a_pair_outlives_other_samples_and_travels_with_the_state():
    g, words = generator(12), Words(12)
    first, second = pairs_in_turn(words, 1)
    assert empty(1, tl.float64).normal_(generator=g).item() == pytest.approx(first, rel=1e-15)
    state = g.get_state()
    empty(5, tl.float32).uniform_(generator=g)
    assert empty(1, tl.float64).normal_(generator=g).item() == pytest.approx(second, rel=1e-15)
    other = tl.Generator()
    other.set_state(state)
    assert empty(1, tl.float64).normal_(generator=other).item() == pytest.approx(second, rel=1e-15)
    other.manual_seed(12)
    assert empty(1, tl.float64).normal_(generator=other).item() == pytest.approx(first, rel=1e-15)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [16, 17, 31, 32, 48, 100, 1000, 4099])
def test_many_normals_come_in_blocks(n, dtype):
    """What doesn't fill a block is made by a last one of fresh draws, which ends where the elements end."""
    g, words = generator(13), Words(13)
    full, half = n - n % 16, dtype in (tl.float16, tl.bfloat16)
    u = words.uniform(full if half else n, dtype)[:full]
    expected = np.empty(n)
    expected[:full] = blocks(u)
    if full < n:
        expected[n - 16 :] = blocks(words.uniform(16, dtype))
    result = values(empty(n, dtype).normal_(0.3, 1.7, generator=g))
    tolerance = {tl.float64: 1e-14, tl.float32: 4e-6, tl.float16: 4e-3, tl.bfloat16: 3e-2}[dtype]
    np.testing.assert_allclose(result, expected * 1.7 + 0.3, rtol=tolerance, atol=tolerance)
    check_state(g, words)


def test_strided_normals_come_in_turn():
    g, words = generator(14), Words(14)
    x = tl.zeros(20, 2, dtype=tl.float64)
    x[:, 0].normal_(generator=g)
    np.testing.assert_allclose(x[:, 0].numpy(), pairs_in_turn(words, 10), rtol=1e-14)
    assert not x[:, 1].numpy().any()


# ---- functions of a uniform number -------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "fill,formula",
    [
        (lambda x, g: x.exponential_(1.5, generator=g), lambda u: -np.log1p(-u) / 1.5),
        (lambda x, g: x.cauchy_(0.3, 0.7, generator=g), lambda u: 0.3 + 0.7 * np.tan(np.pi * (u - 0.5))),
        (lambda x, g: x.geometric_(0.2, generator=g), lambda u: np.ceil(np.log(u) / np.log1p(-0.2))),
    ],
    ids=["exponential", "cauchy", "geometric"],
)
def test_continuous_functions_of_one_draw(fill, formula, dtype):
    g, words = generator(21), Words(21)
    result = values(fill(empty(3000, dtype), g))
    np.testing.assert_allclose(
        result, formula(words.doubles(3000)), rtol=2.0 ** -(MANTISSA[dtype] - 1) + 1e-13, atol=1e-14
    )
    check_state(g, words)


def test_log_normal_is_the_exponential_of_normals():
    g, words = generator(22), Words(22)
    result = values(empty(3000, tl.float64).log_normal_(0.3, 0.7, generator=g))
    np.testing.assert_allclose(result, np.exp(pairs_in_turn(words, 1500) * 0.7 + 0.3), rtol=1e-13)
    check_state(g, words)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_geometric_integers(dtype):
    g, words = generator(23), Words(23)
    expected = np.ceil(np.log(words.doubles(1000)) / np.log1p(-0.3))
    assert np.array_equal(values(empty(1000, dtype).geometric_(0.3, generator=g)), expected)


# ---- bernoulli ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, tl.bool])
@pytest.mark.parametrize("p", [0, 0.1, 1 / 3, 0.5, 1])
def test_bernoulli_compares_double_samples(p, dtype):
    g, words = generator(31), Words(31)
    for n in SIZES:
        assert np.array_equal(values(empty(n, dtype).bernoulli_(p, generator=g)), words.doubles(n) < p)
        check_state(g, words)


@pytest.mark.parametrize("p_dtype", FLOATS)
def test_bernoulli_of_a_tensor_samples_in_the_type_of_the_probabilities(p_dtype):
    g, words = generator(32), Words(32)
    p = (tl.arange(1000, dtype=tl.float64) / 999).to(p_dtype)
    result = empty(1000, tl.float32).bernoulli_(p, generator=g)
    assert np.array_equal(values(result), words.uniform(1000, p_dtype) < values(p))
    check_state(g, words)


def test_dropout_masks_are_bernoulli_samples():
    words = Words(33)
    tl.default_generator.manual_seed(33)
    value = words.doubles(1000) < 0.7
    result = tl.dropout(tl.ones(1000), 0.3, True).numpy()
    assert np.array_equal(result, np.where(value, np.float32(1 / (1 - 0.3)), np.float32(0)))


# ---- integers ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "low,high",
    [(0, 1), (0, 100), (-5, 7), (0, 2**28 - 1), (-3, 2**28 - 3), (0, 2**40 + 1), (-(2**62), 2**62)],
)
def test_integers_take_two_words_from_a_range_of_2_28_on(low, high):
    g, words = generator(41), Words(41)
    n, size = 1000, high - low
    samples = words.take(n) if size < 2**28 else words.take64(n)
    expected = [int(x) % size + low for x in samples]
    assert empty(n, tl.int64).random_(low, high, generator=g).tolist() == expected
    check_state(g, words)
    assert tl.randint(low, high, (n,), generator=generator(41)).tolist() == expected


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, tl.uint16, tl.uint32, tl.uint64, tl.bool])
def test_small_integers_in_every_dtype(dtype):
    g, words = generator(42), Words(42)
    high = 2 if dtype == tl.bool else 100
    assert np.array_equal(values(empty(500, dtype).random_(0, high, generator=g)), words.take(500) % high)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, tl.bool])
def test_random_covers_what_the_dtype_counts_exactly(dtype):
    g, words = generator(43), Words(43)
    if dtype in FLOATS:
        size = 2 ** MANTISSA[dtype] + 1
    else:
        size = {tl.bool: 2, tl.uint8: 256, tl.int8: 128, tl.int16: 2**15, tl.int32: 2**31, tl.int64: 2**63}[
            dtype
        ]
    samples = words.take64(500) if dtype in (tl.int64, tl.float64) else words.take(500)
    assert values(empty(500, dtype).random_(generator=g)).tolist() == [int(x) % size for x in samples]
    check_state(g, words)


def test_all_of_int64():
    g, words = generator(44), Words(44)
    result = empty(500, tl.int64).random_(-(2**63), None, generator=g).numpy()
    assert np.array_equal(result, words.take64(500).view(np.int64))


# ---- permutations ------------------------------------------------------------------------------------------
def shuffled(n, words):
    order = list(range(n))
    for i, draw in enumerate(words.take(max(n - 1, 0))):
        other = i + int(draw) % (n - i)
        order[i], order[other] = order[other], order[i]
    return order


@pytest.mark.parametrize(
    "dtype,most",
    [(tl.int64, 5000), (tl.int32, 1000), (tl.uint8, 256), (tl.float32, 1000), (tl.float16, 2048)],
)
def test_permutations_are_shuffled_from_the_front(dtype, most):
    g, words = generator(51), Words(51)
    for n in [0, 1, 2, 3, 10, 100, most]:
        assert values(tl.randperm(n, dtype=dtype, generator=g)).tolist() == shuffled(n, words)
        check_state(g, words)


# ---- the order of elements and of calls --------------------------------------------------------------------
@pytest.mark.parametrize(
    "make",
    [
        lambda: tl.empty(3, 4, dtype=tl.float64).t(),
        lambda: tl.empty(2, 3, 4, dtype=tl.float64).permute(1, 2, 0),
        lambda: tl.empty(4, 6, dtype=tl.float64)[:, ::2],
        lambda: tl.empty(5, 1, 3, dtype=tl.float64).transpose(0, 1),
    ],
)
def test_elements_are_drawn_in_the_order_of_memory(make):
    x = make().uniform_(generator=generator(61))
    order = sorted(range(x.dim()), key=lambda d: -x.stride(d))
    assert np.array_equal(x.permute(*order).reshape(-1).numpy(), Words(61).doubles(x.numel()))


def test_any_sequence_of_calls_walks_one_stream():
    g, words = generator(62), Words(62)
    turns = np.random.default_rng(1)
    for _ in range(200):
        n = int(turns.integers(0, 1500))
        match turns.integers(0, 4):
            case 0:
                assert np.array_equal(values(empty(n, tl.float32).uniform_(generator=g)), words.floats(n))
            case 1:
                assert np.array_equal(
                    values(empty(n, tl.int64).random_(0, 1000, generator=g)), words.take(n) % 1000
                )
            case 2:
                assert np.array_equal(
                    values(empty(n, tl.bool).bernoulli_(0.25, generator=g)), words.doubles(n) < 0.25
                )
            case _:
                assert tl.randperm(n % 50, generator=g).tolist() == shuffled(n % 50, words)
        check_state(g, words)


# ---- seeds and states --------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**40 + 17, 2**64 - 1, -1, -(2**63)])
def test_the_low_word_of_the_seed_starts_the_stream(seed):
    g = generator(seed)
    assert g.initial_seed() == seed % 2**64
    assert np.array_equal(values(empty(10, tl.float32).uniform_(generator=g)), Words(seed % 2**32).floats(10))


def test_a_fresh_generator_has_the_default_seed():
    assert tl.Generator().initial_seed() == 67280421310721


@pytest.mark.parametrize("before", [0, 1, 623, 624, 700])
def test_a_state_brings_back_the_numbers_that_follow(before):
    g = generator(71)
    empty(before, tl.float32).uniform_(generator=g)
    state = g.get_state()
    expected = empty(1000, tl.float64).uniform_(generator=g)
    g.set_state(state)
    assert np.array_equal(empty(1000, tl.float64).uniform_(generator=g).numpy(), expected.numpy())
    other = tl.Generator()
    other.set_state(state)
    assert np.array_equal(empty(1000, tl.float64).uniform_(generator=other).numpy(), expected.numpy())


def test_what_is_no_state_is_refused():
    g = generator(72)
    before = g.get_state()
    with pytest.raises(RuntimeError, match="5056"):
        g.set_state(before[:100])
    with pytest.raises(RuntimeError, match="mt19937"):
        g.set_state(tl.zeros(5056, dtype=tl.uint8))
    with pytest.raises(TypeError):
        g.set_state(before.to(tl.float32))
    assert np.array_equal(g.get_state().numpy(), before.numpy())


def test_a_seed_out_of_range_is_refused():
    for seed in [2**64, -(2**63) - 1]:
        with pytest.raises(ValueError):
            generator(seed)


# ---- errors ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "call,error,text",
    [
        (lambda: empty(3, tl.int32).uniform_(), NotImplementedError, "not implemented for 'Int'"),
        (lambda: empty(3, tl.int32).normal_(), NotImplementedError, "not implemented for 'Int'"),
        (lambda: empty(3, tl.float32).uniform_(2, 1), RuntimeError, "from=2"),
        (lambda: empty(3, tl.float16).uniform_(0, 1e6), RuntimeError, "to is out of bounds"),
        (lambda: empty(3, tl.float32).normal_(0, -1), RuntimeError, "std >= 0.0"),
        (lambda: empty(3, tl.float32).exponential_(0), RuntimeError, "lambda > 0.0"),
        (lambda: empty(3, tl.float32).geometric_(1), RuntimeError, r"p to be in \(0, 1\)"),
        (lambda: empty(3, tl.float32).cauchy_(0, 0), RuntimeError, "sigma > 0.0"),
        (lambda: empty(3, tl.float32).log_normal_(0, 0), RuntimeError, "std > 0.0"),
        (lambda: empty(3, tl.float32).bernoulli_(1.5), RuntimeError, "p=1.5"),
        (
            lambda: empty(3, tl.float32).bernoulli_(tl.tensor([0.5, 1.5, 0])),
            RuntimeError,
            "p_in >= 0 && p_in <= 1",
        ),
        (lambda: empty(3, tl.float32).random_(5, 5), RuntimeError, "less than 'to'"),
        (lambda: empty(3, tl.int8).random_(0, 1000), RuntimeError, "to - 1 is out of bounds"),
        (lambda: tl.randperm(-1), RuntimeError, "negative dimension -1"),
        (lambda: tl.randperm(300, dtype=tl.uint8), RuntimeError, "without overflow"),
        (lambda: tl.randperm(3, dtype=tl.bool), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: tl.randperm(3000, dtype=tl.float16), RuntimeError, "2049"),
    ],
)
def test_errors_name_what_was_given(call, error, text):
    with pytest.raises(error, match=text):
        call()
