"""Results of operators of packages that `tools.cpp_clients.sources --build` builds, against closed forms in numpy.

`python -m tools.cpp_clients.source_results LIBRARY NAME` loads one library and checks the package of that name. It
prints a line for each result that differs, and then how many agree.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

tl: Any = importlib.import_module("tl")
random = np.random.default_rng(0)
Check = Callable[..., None]


def tensor(array: Any) -> Any:
    """A tensor with the elements of an array."""
    return tl.from_numpy(np.ascontiguousarray(array))


def normal(*shape: int) -> Any:
    """Normal numbers in float32."""
    return random.standard_normal(shape).astype("float32")


def of_scatter(ops: Any, check: Check) -> None:
    """Reductions of rows by their groups, and a derivative."""
    x, groups = normal(20, 3), np.sort(random.integers(0, 5, 20))
    groups[:5] = range(5)  # each group has a row
    groups.sort()
    index = tensor(np.repeat(groups[:, None], 3, 1))
    rows = [x[groups == g] for g in range(5)]
    space = ops.torch_scatter
    forms: dict[str, Any] = {"sum": np.sum, "mul": np.prod, "mean": np.mean, "min": np.min, "max": np.max}
    ends = np.r_[0, np.cumsum([len(r) for r in rows])]
    for name, form in forms.items():
        wanted = np.stack([form(r, 0) for r in rows])
        got = getattr(space, f"scatter_{name}")(tensor(x), index, 0, None, 5)
        check(f"scatter_{name}", got[0] if isinstance(got, (tuple, list)) else got, wanted)
        if name == "mul":
            continue
        got = getattr(space, f"segment_{name}_csr")(tensor(x), tensor(ends), None)
        check(f"segment_{name}_csr", got[0] if isinstance(got, (tuple, list)) else got, wanted)
        got = getattr(space, f"segment_{name}_coo")(tensor(x), tensor(groups), None, 5)
        check(f"segment_{name}_coo", got[0] if isinstance(got, (tuple, list)) else got, wanted)
    leaf, weight = tensor(x).requires_grad_(), normal(5, 3)
    (space.scatter_sum(leaf, index, 0, None, 5) * tensor(weight)).sum().backward()
    check("scatter_sum, derivative", leaf.grad, weight[groups])
    leaf = tensor(x).requires_grad_()
    (space.scatter_max(leaf, index, 0, None, 5)[0] * tensor(weight)).sum().backward()
    largest = np.stack([r.max(0) for r in rows])[groups]
    check("scatter_max, derivative", leaf.grad, np.where(x == largest, weight[groups], 0))


def of_extension_cpp(ops: Any, check: Check) -> None:
    """Products and sums of three operands."""
    a, b = normal(7), normal(7)
    out = tl.empty(7)
    check("mymuladd", ops.extension_cpp.mymuladd(tensor(a), tensor(b), 2.5), a * b + np.float32(2.5))
    check("mymul", ops.extension_cpp.mymul(tensor(a), tensor(b)), a * b)
    ops.extension_cpp.myadd_out(tensor(a), tensor(b), out)
    check("myadd_out", out, a + b)


def of_lltm(ops: Any, check: Check) -> None:
    """A recurrent unit, and its derivative by central differences."""
    shapes = (3, 4), (15, 9), (1, 15), (3, 5), (3, 5)
    parts = [random.standard_normal(shape) for shape in shapes]

    def forward(x: Any, weight: Any, bias: Any, h: Any, cell: Any) -> tuple[Any, Any]:
        gates = np.split(bias + np.c_[h, x] @ weight.T, 3, 1)
        into, out = (1 / (1 + np.exp(-g)) for g in gates[:2])
        new = cell + np.where(gates[2] > 0, gates[2], np.expm1(gates[2])) * into
        return np.tanh(new) * out, new

    def loss(*values: Any) -> Any:
        return sum((y * y).sum() for y in forward(*values))

    leaves = [tensor(p).requires_grad_() for p in parts]
    outputs = ops.myops.lltm(*leaves)
    for name, got, wanted in zip(("h", "cell"), outputs, forward(*parts), strict=True):
        check(f"lltm, {name}", got, wanted)
    sum((y * y).sum() for y in outputs).backward()
    for i, part in enumerate(parts):
        derivative = np.empty_like(part)
        for index in np.ndindex(part.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [p.copy() for p in parts]
                moved[i][index] += step
                ends.append(loss(*moved))
            derivative[index] = (ends[0] - ends[1]) / 2e-5
        check(f"lltm, derivative {i}", leaves[i].grad, derivative)


def of_spline_conv(ops: Any, check: Check) -> None:
    """A linear basis in one dimension, and the sum that it weights."""
    x = random.random((9, 1)).astype("float32")
    size, is_open = tensor(np.array([5])), tensor(np.array([1], "uint8"))
    basis, index = ops.torch_spline_conv.spline_basis(tensor(x), size, is_open, 1)
    position = x[:, 0] * 4
    left, part = np.floor(position).astype(int), position - np.floor(position)
    check("spline_basis", basis, np.stack([1 - part, part], 1))
    check("spline_basis, indices", index, np.stack([left, (left + 1) % 5], 1))
    features, weight = normal(9, 3), normal(5, 3, 2)
    got = ops.torch_spline_conv.spline_weighting(tensor(features), tensor(weight), basis, index)
    share = np.stack([1 - part, part], 1)
    wanted = sum(
        share[:, s, None] * np.einsum("ni,nio->no", features, weight[(left + s) % 5]) for s in range(2)
    )
    check("spline_weighting", got, wanted)


def of_cluster(ops: Any, check: Check) -> None:
    """Nearest points, points in a radius and grids."""
    x, y = normal(30, 3), normal(8, 3)
    distances = np.sqrt(((y[:, None] - x[None]) ** 2).sum(-1))
    rows = ops.torch_cluster.knn(tensor(x), tensor(y), None, None, 4, False, 1)
    nearest = np.sort(np.argsort(distances, 1)[:, :4], 1)
    check("knn", np.sort(rows[1].numpy().reshape(8, 4), 1), nearest)
    pairs = ops.torch_cluster.radius(tensor(x), tensor(y), None, None, 1.2, 30, 1).numpy()
    check("radius", np.unique(pairs[0] * 30 + pairs[1]), np.flatnonzero(distances < 1.2))
    points = random.random((10, 2)).astype("float32")
    sizes = np.array([0.5, 0.5], "float32")
    low, high = np.zeros(2, "float32"), np.full(2, 0.99, "float32")
    cells = ops.torch_cluster.grid(tensor(points), tensor(sizes), tensor(low), tensor(high))
    cell = np.floor(points / sizes).astype(int)
    check("grid", cells, cell[:, 0] + 2 * cell[:, 1])


def of_sparse(ops: Any, check: Check) -> None:
    """Products of a sparse matrix in rows."""
    dense = normal(6, 5) * (random.random((6, 5)) < 0.5)
    row, col = np.nonzero(dense)
    ends = np.r_[0, np.cumsum(np.bincount(row, minlength=6))]
    value, x = dense[row, col].astype("float32"), normal(5, 3)
    parts = (tensor(row), tensor(ends), tensor(col), tensor(value), None, None, tensor(x))
    check("spmm_sum", ops.torch_sparse.spmm_sum(*parts), dense @ x)
    check("ind2ptr", ops.torch_sparse.ind2ptr(tensor(row), 6), ends)
    check("ptr2ind", ops.torch_sparse.ptr2ind(tensor(ends), len(row)), row)


def of_points_kernels(module: Any, check: Check) -> None:
    """Nearest points and interpolation."""
    x, y = normal(1, 20, 3), normal(1, 6, 3)
    distances = ((y[0][:, None] - x[0][None]) ** 2).sum(-1)
    index, squares = module.dense_knn(tensor(x), tensor(y), 3)
    check("dense_knn", index[0], np.argsort(distances, 1)[:, :3])
    check("dense_knn, distances", squares[0], np.sort(distances, 1)[:, :3])
    chosen = [0]
    nearest = np.sqrt(((x[0] - x[0][0]) ** 2).sum(1))
    for _ in range(4):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.sqrt(((x[0] - x[0][chosen[-1]]) ** 2).sum(1)))
    check("fps", module.fps(tensor(x), 5, False)[0], np.array(chosen))


def of_detectron2(ops: Any, check: Check) -> None:
    """Overlaps of boxes whose angle is 0."""
    low = random.random((6, 2)) * 4
    size = random.random((6, 2)) * 3 + 0.5
    boxes = np.c_[low + size / 2, size, np.zeros(6)].astype("float32")
    shared = np.clip(
        np.minimum((low + size)[:, None], (low + size)[None]) - np.maximum(low[:, None], low[None]), 0, None
    ).prod(-1)
    area = size.prod(-1)
    overlaps = shared / (area[:, None] + area[None] - shared)
    check("box_iou_rotated", ops.detectron2.box_iou_rotated(tensor(boxes), tensor(boxes)), overlaps)
    scores = random.random(6).astype("float32")
    kept: list[int] = []
    for i in np.argsort(-scores):
        if all(overlaps[i, j] <= 0.1 for j in kept):
            kept.append(int(i))
    check("nms_rotated", ops.detectron2.nms_rotated(tensor(boxes), tensor(scores), 0.1), np.array(kept))


def of_torchsparse(module: Any, check: Check) -> None:
    """Counts, look-ups of hashes and weighted sums of rows."""
    index = random.integers(0, 4, 15).astype("int32")
    check("count_cpu", module.count_cpu(tensor(index), 4), np.bincount(index, minlength=4))
    coords = random.integers(0, 9, (12, 4)).astype("int32")
    hashes = module.hash_cpu(tensor(coords)).numpy()
    same = (coords[:, None] == coords[None]).all(-1)
    check("hash_cpu", hashes[:, None] == hashes[None], same)
    features = normal(15, 3)
    counts = tensor(np.maximum(np.bincount(index, minlength=4), 1).astype("int32"))
    means = np.stack([features[index == g].mean(0) if (index == g).any() else np.zeros(3) for g in range(4)])
    check("voxelize", module.voxelize_forward_cpu(tensor(features), tensor(index), counts), means)


def of_pyg_lib(ops: Any, check: Check) -> None:
    """Sorted indices, a hash map and a subgraph."""
    keys = random.permutation(50)[:20]
    values, order = ops.pyg.index_sort(tensor(keys), 50)
    check("index_sort", values, np.sort(keys))
    check("index_sort, indices", order, np.argsort(keys, kind="stable"))
    table: Any = tl.classes.pyg.CPUHashMap(tensor(keys), 0)
    check("CPUHashMap", table.get(tensor(keys[::-1])), np.arange(20)[::-1])
    dense = random.random((6, 6)) < 0.5
    ends = np.r_[0, np.cumsum(dense.sum(1))]
    nodes = np.array([1, 3, 4])
    got = ops.pyg.subgraph(tensor(ends), tensor(np.nonzero(dense)[1]), tensor(nodes), False)
    part = dense[np.ix_(nodes, nodes)]
    check("subgraph", got[0], np.r_[0, np.cumsum(part.sum(1))])
    check("subgraph, columns", got[1], np.nonzero(part)[1])
    groups, x, weight = np.array([0, 3, 3, 7]), normal(7, 4), normal(3, 4, 2)
    wanted = np.concatenate([x[a:b] @ weight[g] for g, (a, b) in enumerate(pairwise(groups))])
    check("segment_matmul", ops.pyg.segment_matmul(tensor(x), tensor(groups), tensor(weight)), wanted)


def of_pytorch3d(module: Any, check: Check) -> None:
    """Nearest points and the distance of points to a triangle's plane."""
    x, y = normal(1, 7, 3), normal(1, 9, 3)
    lengths = tensor(np.array([7])), tensor(np.array([9]))
    index, squares = module.knn_points_idx(tensor(x), tensor(y), *lengths, 2, 2, -1)
    distances = ((x[0][:, None] - y[0][None]) ** 2).sum(-1)
    check("knn_points_idx", squares[0], np.sort(distances, 1)[:, :2])
    check(
        "knn_points_idx, indices", np.sort(index[0].numpy(), 1), np.sort(np.argsort(distances, 1)[:, :2], 1)
    )
    triangle = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], "float32")
    points = np.array([[0.2, 0.3, 2], [0.1, 0.1, -1]], "float32")
    starts = tensor(np.array([0]))
    got = module.point_face_dist_forward(tensor(points), starts, tensor(triangle), starts, 2, 5e-3)
    check("point_face_dist_forward", got[0], np.array([4.0, 1.0]))


def of_torchcodec(ops: Any, check: Check) -> None:
    """A picture of 2 by 2 elements, written by hand after the format of GIF."""
    colors = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (9, 8, 7)]
    # Codes of 3 bits from the lowest on: clear, 0, 1, clear, 2, 3, end.
    codes = [4, 0, 1, 4, 2, 3, 5]
    bits = sum(code << 3 * i for i, code in enumerate(codes))
    data = bits.to_bytes(3, "little")
    size = (2).to_bytes(2, "little") * 2
    text = b"GIF89a" + size + bytes([0b10000001, 0, 0]) + b"".join(map(bytes, colors))
    text += b"," + bytes(4) + size + bytes([0, 2, len(data)]) + data + b"\0;"
    decoded = ops.torchcodec_ns.decode_gif(tensor(np.frombuffer(text, np.uint8)), 0)
    check("decode_gif", decoded.reshape(-1, 3, 2, 2)[0], np.array(colors).reshape(2, 2, 3).transpose(2, 0, 1))
    for name in ("decode_heic", "decode_webp"):
        if not hasattr(ops.torchcodec_ns, name):
            continue
        try:
            getattr(ops.torchcodec_ns, name)(tensor(np.zeros(4, np.uint8)), 0)
        except RuntimeError as e:
            check(f"{name}, which is not built", int("not compiled" in str(e)), 1)


def of_mmcv(module: Any, check: Check) -> None:
    """Boxes that overlap less than a bound."""
    low = random.random((8, 2)).astype("float32") * 3
    boxes = np.c_[low, low + random.random((8, 2)).astype("float32") * 3]
    scores = random.random(8).astype("float32")
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    kept: list[int] = []
    for i in np.argsort(-scores):
        size = np.minimum(boxes[i, 2:], boxes[:, 2:]) - np.maximum(boxes[i, :2], boxes[:, :2])
        shared = np.clip(size, 0, None).prod(1)
        if all(shared[j] / (area[i] + area[j] - shared[j]) <= 0.3 for j in kept):
            kept.append(int(i))
    check("nms", module.nms(tensor(boxes), tensor(scores), 0.3, 0), np.array(kept))


def of_maskrcnn(module: Any, check: Check) -> None:
    """Boxes whose last element counts, and regions of a linear picture."""
    low = np.round(random.random((7, 2)) * 6)
    boxes = np.c_[low, low + np.round(random.random((7, 2)) * 6)].astype("float32")
    scores = random.random(7).astype("float32")
    area = (boxes[:, 2:] - boxes[:, :2] + 1).prod(1)
    kept: list[int] = []
    for i in np.argsort(-scores):
        size = np.minimum(boxes[i, 2:], boxes[:, 2:]) - np.maximum(boxes[i, :2], boxes[:, :2]) + 1
        shared = np.clip(size, 0, None).prod(1)
        if all(shared[j] / (area[i] + area[j] - shared[j]) < 0.4 for j in kept):
            kept.append(int(i))
    check("nms", np.sort(module.nms(tensor(boxes), tensor(scores), 0.4).numpy()), np.sort(kept))
    rows, columns = np.mgrid[0:8, 0:8].astype("float32")
    region = np.array([[0, 1, 2, 5, 6]], "float32")
    picture = tensor((3 * rows + columns)[None, None])
    got = module.roi_align_forward(picture, tensor(region), 1.0, 2, 2, 2)
    centers = np.array([2.0, 4.0]) + 1, np.array([1.0, 3.0]) + 1
    check("roi_align_forward", got[0, 0], 3 * centers[0][:, None] + centers[1][None])


def of_searchsorted(module: Any, check: Check) -> None:
    """The indices of numbers in sorted rows."""
    rows, numbers = np.sort(normal(4, 9), 1), normal(4, 5)
    for side in ("left", "right"):
        out = tl.empty(4, 5, dtype=tl.int64)
        module.searchsorted_cpu_wrapper(tensor(rows), tensor(numbers), out, side == "left")
        wanted = np.stack([np.searchsorted(a, v, side) for a, v in zip(rows, numbers, strict=True)])
        check(f"searchsorted, {side}", out, wanted)


def of_fast_transformers(module: Any, check: Check) -> None:
    """A product of queries, keys and values of the steps before, and its gradients."""
    q, k, v = normal(2, 3, 7, 4), normal(2, 3, 7, 4), normal(2, 3, 7, 5)
    product = tl.zeros(2, 3, 7, 5)
    module.causal_dot_product(tensor(q), tensor(k), tensor(v), product)
    scores = np.tril(np.einsum("nhle,nhse->nhls", q, k))
    check("causal_dot_product", product, scores @ v)
    g = normal(2, 3, 7, 5)
    parts = tl.zeros(2, 3, 7, 4), tl.zeros(2, 3, 7, 4), tl.zeros(2, 3, 7, 5)
    module.causal_dot_backward(tensor(q), tensor(k), tensor(v), tensor(g), *parts)
    scores_gradient = np.tril(g @ v.transpose(0, 1, 3, 2))
    wanted = scores_gradient @ k, scores_gradient.transpose(0, 1, 3, 2) @ q, scores.transpose(0, 1, 3, 2) @ g
    for name, part, number in zip("qkv", parts, wanted, strict=True):
        check(f"causal_dot_backward, {name}", part, number)


def of_monai(module: Any, check: Check) -> None:
    """A cell, and elements that a grid picks."""
    parts = [normal(*shape) for shape in ((3, 4), (15, 9), (1, 15), (3, 5), (3, 5))]
    x, weight, bias, h, cell = parts
    gates = np.split(bias + np.c_[h, x] @ weight.T, 3, 1)
    into, out = (1 / (1 + np.exp(-g)) for g in gates[:2])
    new = cell + np.where(gates[2] > 0, gates[2], np.expm1(gates[2])) * into
    got = module.lltm_forward(*map(tensor, parts))
    check("lltm_forward, h", got[0], np.tanh(new) * out)
    check("lltm_forward, cell", got[1], new)
    picture = normal(1, 2, 5, 6)
    nodes = np.stack([random.integers(0, 5, (4, 4)), random.integers(0, 6, (4, 4))], -1)
    grid = tensor(nodes[None].astype("float32"))
    modes = [module.BoundType.zero], [module.InterpolationType.linear]
    got = module.grid_pull(tensor(picture), grid, *modes, True)
    check("grid_pull", got[0], picture[0][:, nodes[..., 0], nodes[..., 1]])


# The check of a package; a module of Python is passed, or `torch.ops` for a library.
MODULES: dict[str, Callable[[Any, Check], None]] = {
    "points-kernels": of_points_kernels,
    "torchsparse": of_torchsparse,
    "pytorch3d": of_pytorch3d,
    "mmcv": of_mmcv,
    "maskrcnn-benchmark": of_maskrcnn,
    "torchsearchsorted": of_searchsorted,
    "fast-transformers": of_fast_transformers,
    "monai": of_monai,
}
LIBRARIES: dict[str, Callable[[Any, Check], None]] = {
    "extension-cpp": of_extension_cpp,
    "lltm": of_lltm,
    "scatter": of_scatter,
    "spline-conv": of_spline_conv,
    "cluster": of_cluster,
    "sparse": of_sparse,
    "detectron2": of_detectron2,
    "pyg-lib": of_pyg_lib,
    "torchcodec": of_torchcodec,
}


def main(path: str, name: str) -> int:
    """Checks a package.

    Args:
        path (str): The library.
        name (str): The package's name.

    Returns:
        int: 1 if a result differs.
    """
    counts = [0, 0]

    def check(what: str, got: Any, wanted: Any) -> None:
        array = got.detach().numpy() if isinstance(got, tl.Tensor) else np.asarray(got)
        same = array.shape == np.shape(wanted) and np.allclose(array, wanted, rtol=1e-5, atol=1e-5)
        counts[same] += 1
        if not same:
            print(f"{name}: {what} differs:\n{array}\nexpected\n{wanted}")

    if name not in LIBRARIES and name not in MODULES:
        print(f"{name:16}has no operators")
        return 0
    if name in LIBRARIES:
        tl.ops.load_library(path)
        LIBRARIES[name](tl.ops, check)
    else:
        spec = importlib.util.spec_from_file_location(path.rpartition("/")[2].partition(".")[0], path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        MODULES[name](module, check)
    print(f"{name:16}{counts[1]} of {sum(counts)} results agree")
    return 1 if counts[0] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
