"""Reading and writing through indices against numpy: every index form, any shape and stride."""

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402

# Indices have more forms than anything else: 25 times the profile's examples when looking for trouble, else 5 times.
PROFILE = settings().max_examples
MANY = settings(max_examples=PROFILE * (25 if PROFILE >= 200 else 5))
DTYPES = ["bool", "uint8", "int64", "float32", "complex64"]


@st.composite
def tensors(draw, max_dims=4, max_size=4):
    """A numpy array and a tensor of the same elements, dense or with strides of some view."""
    shape = draw(st.lists(st.integers(0, max_size), max_size=max_dims))
    dtype = draw(st.sampled_from(DTYPES))
    array = np.arange(np.prod([*shape, 1], dtype=int)).reshape(shape)
    array = np.asarray(array % 2 if dtype == "bool" else array).astype(dtype)
    order = draw(st.permutations(range(len(shape))))
    tensor = tl.tensor(array.tolist(), dtype=getattr(tl, dtype)).reshape(shape)
    if draw(st.booleans()):
        tensor = spaced(tensor)
    return np.asarray(array).transpose(order), tensor.permute(order)


def spaced(t):
    """The same elements with gaps between them."""
    wide = tl.zeros([2 * n for n in t.shape], dtype=t.dtype)
    view = wide[(slice(None, None, 2),) * t.dim()]
    return view.copy_(t)


def integers_below(n):
    return st.integers(-n, n - 1)


@st.composite
def slices(draw, n):
    bound = st.none() | st.integers(-n - 2, n + 2)
    return slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, n + 2)))


@st.composite
def basic_indices(draw, shape):
    """Integers, slices, None and at most one Ellipsis."""
    index, dim, dots = [], 0, False
    while dim < len(shape) and draw(st.integers(0, 5)):
        kinds = ["slice", "none"] + ["int"] * (shape[dim] > 0) + ["dots"] * (not dots)
        kind = draw(st.sampled_from(kinds))
        if kind == "none":
            index.append(None)
        elif kind == "dots":
            dots = True
            skipped = draw(st.integers(0, len(shape) - dim))
            index.append(Ellipsis)
            rest = draw(basic_tail(shape[dim + skipped :]))
            return tuple(index + rest)
        else:
            index.append(draw(slices(shape[dim]) if kind == "slice" else integers_below(shape[dim])))
            dim += 1
    return tuple(index)


@st.composite
def basic_tail(draw, shape):
    """One integer or slice for each of these dimensions."""
    return [draw(slices(n) if n == 0 or draw(st.booleans()) else integers_below(n)) for n in shape]


@st.composite
def advanced_indices(draw, shape):
    """Arrays of positions that broadcast against each other, masks, and basic parts between them."""
    common = draw(st.lists(st.integers(0, 3), max_size=2))
    index, dim = [], 0
    while dim < len(shape) and draw(st.integers(0, 5)):
        kind = draw(st.sampled_from(["slice", "array", "mask", "int", "none"]))
        n = shape[dim]
        if kind == "none":
            index.append(None)
        elif kind == "mask" and not common:
            index.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool))
            return tuple(index)
        elif kind == "array" and n > 0:
            own = [1 if draw(st.booleans()) else s for s in common]
            count = int(np.prod([*own, 1], dtype=int))
            positions = draw(st.lists(integers_below(n), min_size=count, max_size=count))
            index.append(np.array(positions, dtype=np.int64).reshape(own))
            dim += 1
        elif kind == "int" and n > 0:
            index.append(draw(integers_below(n)))
            dim += 1
        else:
            index.append(draw(slices(n)))
            dim += 1
    return tuple(index)


def of_tensors(index):
    """The index with tensors for its arrays."""
    return tuple(tl.from_numpy(i.copy()) if isinstance(i, np.ndarray) else i for i in index)


def without_integers(array, index):
    """The same place in two steps: integers pick first.

    To numpy an integer beside arrays is one more array, which may move the arrays' dimensions to the front.
    """
    is_integer = [
        isinstance(i, int) or (isinstance(i, np.ndarray) and i.ndim == 0 and i.dtype != bool) for i in index
    ]
    is_array = [isinstance(i, np.ndarray) for i in index]
    if not any(is_array) or any(i.dtype == bool and i.ndim != 1 for i in index if isinstance(i, np.ndarray)):
        return array, index
    own = [
        int(i) if full else slice(None) for i, full in zip(index, is_integer, strict=True) if i is not None
    ]
    return array[(*own, ...)], tuple(i for i, full in zip(index, is_integer, strict=True) if not full)


def check_read(array, tensor, index):
    note(f"{array.shape} {tensor.stride()} {index}")
    first, rest = without_integers(array, index)
    result, want = tensor[of_tensors(index)], first[rest]
    assert tuple(result.shape) == want.shape
    np.testing.assert_array_equal(result.numpy(), want)
    ghost = ghost_of(tensor)[of_tensors(index)]
    assert (ghost.shape, ghost.dtype, ghost.stride()) == (result.shape, result.dtype, result.stride())
    return result


def ghost_of(tensor):
    """A tensor without values, of the same geometry."""
    return tl.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


@MANY
@given(st.data())
def test_basic_reading_gives_a_view(data):
    array, tensor = data.draw(tensors())
    result = check_read(array, tensor, data.draw(basic_indices(array.shape)))
    assert tl._C._is_alias_of(result, tensor)


@MANY
@given(st.data())
def test_advanced_reading(data):
    array, tensor = data.draw(tensors())
    check_read(array, tensor, data.draw(advanced_indices(array.shape)))


@MANY
@given(st.data())
def test_a_mask_of_the_whole_shape(data):
    array, tensor = data.draw(tensors())
    bits = data.draw(st.lists(st.booleans(), min_size=array.size, max_size=array.size))
    mask = np.array(bits, dtype=bool).reshape(array.shape)
    check_read(array, tensor, (mask,))


@MANY
@given(st.data())
def test_writing_a_number(data):
    array, tensor = data.draw(tensors())
    index = data.draw(basic_indices(array.shape) | advanced_indices(array.shape))
    note(f"{array.shape} {index}")
    array, tensor = array.copy(), tensor.clone()
    first, rest = without_integers(array, index)
    first[rest] = 1
    tensor[of_tensors(index)] = 1
    np.testing.assert_array_equal(tensor.numpy(), array)
    ghost_of(tensor)[of_tensors(index)] = 1


@MANY
@given(st.data())
def test_writing_values(data):
    """Where a place is written once; of several writes numpy and we both keep the last."""
    array, tensor = data.draw(tensors())
    index = data.draw(basic_indices(array.shape) | advanced_indices(array.shape))
    note(f"{array.shape} {index}")
    first, rest = without_integers(array, index)
    shape = first[rest].shape
    values = np.arange(7, 7 + int(np.prod([*shape, 1], dtype=int))).reshape(shape).astype(array.dtype)
    array, tensor = array.copy(), spaced(tensor)
    first, rest = without_integers(array, index)
    first[rest] = values
    tensor[of_tensors(index)] = tl.tensor(values.tolist(), dtype=tensor.dtype).reshape(shape)
    np.testing.assert_array_equal(tensor.numpy(), array)


@MANY
@given(st.data())
def test_adding_at_positions(data):
    size = data.draw(st.integers(1, 6))
    positions = data.draw(st.lists(integers_below(size), max_size=20))
    want = np.zeros(size)
    np.add.at(want, np.array(positions, dtype=int), 1.5)
    index = tl.tensor(positions, dtype=tl.int64)
    result = tl.zeros(size, dtype=tl.float64).index_put_(
        (index,), tl.full((len(positions),), 1.5, dtype=tl.float64), accumulate=True
    )
    np.testing.assert_array_equal(result.numpy(), want)


@MANY
@given(st.data())
def test_gather_and_scatter(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    array = np.arange(np.prod(shape)).reshape(shape)
    positions = data.draw(st.lists(st.integers(0, shape[dim] - 1), min_size=array.size, max_size=array.size))
    index = np.array(positions).reshape(shape)
    x, i = tl.from_numpy(array), tl.from_numpy(index)
    np.testing.assert_array_equal(x.gather(dim, i).numpy(), np.take_along_axis(array, index, dim))
    order = np.argsort(index, dim, kind="stable")
    text = np.zeros_like(array)
    np.put_along_axis(text, order, array, dim)
    np.testing.assert_array_equal(tl.zeros_like(x).scatter(dim, tl.from_numpy(order), x).numpy(), text)


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (5, IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
        ((0, -5), IndexError, "index -5 is out of bounds for dimension 1 with size 4"),
        ((0, 0, 0), IndexError, "too many indices"),
        (slice(None, None, 0), ValueError, "step"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (1.5, IndexError, "only integers"),
    ],
)
def test_errors_name_the_index(index, error, message):
    with pytest.raises(error, match=message):
        tl.ones(3, 4)[index]


def test_positions_out_of_range_raise():
    x = tl.ones(3, 4)
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x[tl.tensor([0, 3])]
    with pytest.raises(IndexError, match="shape of the mask"):
        x[tl.tensor([True, False])]
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x[tl.tensor([0, 1])] = tl.ones(3, 4)


def test_scatter_refuses_an_index_outside_and_leaves_its_input_alone():
    positions = tl.zeros(9, 1000, dtype=tl.int64)
    positions[8, 999] = 5
    x = tl.zeros(9, 5)
    for call in (
        lambda: x.scatter(1, positions, tl.ones(9, 1000)),
        lambda: x.scatter_add(1, positions, tl.ones(9, 1000)),
        lambda: x.scatter_(1, positions, tl.ones(9, 1000)),
        lambda: x.scatter_reduce(1, positions, tl.ones(9, 1000), "mean", include_self=False),
    ):
        with pytest.raises(RuntimeError, match="index 5 is out of bounds for dimension 1 with size 5"):
            call()
        assert not x.any()


@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_combined_bfloat16_round_to_even_and_keep_nan(reduce):
    numbers = [1.0, -2.5, 0.0, 3e38, 2.0**-130, float("inf"), float("-inf"), float("nan"), 1.0078125, 257.0]
    x, y = (t.reshape(-1) for t in tl.meshgrid(*[tl.tensor(numbers, dtype=tl.bfloat16)] * 2, indexing="ij"))
    result = x.scatter_reduce(0, tl.arange(x.numel()), y, reduce)
    combine = {"sum": tl.add, "prod": tl.mul, "amax": tl.maximum, "amin": tl.minimum}[reduce]
    want = combine(x.float(), y.float()).to(tl.bfloat16)
    assert tl.equal(result.isnan(), want.isnan())
    assert tl.equal(result.nan_to_num(), want.nan_to_num())


def test_positions_in_tensors_without_elements():
    empty = tl.empty(0, 3)
    assert empty.index_select(1, tl.tensor([0, 2])).shape == (0, 2)
    assert empty.index_select(0, tl.tensor([], dtype=tl.int64)).shape == (0, 3)
    with pytest.raises(RuntimeError, match="self indexing axis dim should be positive"):
        empty.index_select(0, tl.tensor([0]))
    with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds, id=5 axis_dim=3"):
        empty.index_select(1, tl.tensor([0, 5]))
    with pytest.raises(RuntimeError, match="Index to scalar can have only 1 value"):
        tl.ones(()).index_select(0, tl.tensor([0, 0]))
