"""Tensors put side by side, taken apart again, and combined with one another."""

from opgen.row import Composite, Op


def _atleast(n):
    word = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}[n]
    text = f"Each tensor with at least {word}; those that have them come back as they are."
    return [
        Composite(
            f"atleast_{n}d(Tensor self) -> Tensor",
            marked=True,
            method=False,
            shape=f"atleast(self.shape, {n})",
            doc=text,
        ),
        Composite(
            f"atleast_{n}d.Sequence(Tensor[] tensors) -> Tensor[]",
            method=False,
            marked=True,
            shape=f"[atleast(t.shape, {n}) for t in tensors]",
            doc=text,
        ),
    ]


def _stacked(name, text, **fields):
    return Composite(f"{name}(Tensor[] tensors) -> Tensor", out=True, method=False, doc=text, **fields)


def _split(name, dim, number):
    return [
        Composite(
            f"{name}.int(Tensor(a) self, int sections) -> Tensor(a)[]",
            shown="input, indices_or_sections",
            shape=f"even(self.shape, sections, {number})",
            doc=f"That many views of equal size along {dim}.",
        ),
        Composite(f"{name}.array(Tensor(a) self, int[] indices) -> Tensor(a)[]",
                  shape=f"tensor_split(self.shape, indices, {number})",
                  doc=f"Views along {dim}, parted before each index."),
    ]  # fmt: skip


ROWS = [
    *_atleast(1),
    *_atleast(2),
    *_atleast(3),
    _stacked(
        "hstack", "Vectors one after another, or other tensors along the second dimension.",
        shape="cat([atleast(t.shape, 1) for t in tensors], 0 if tensors[0].ndim < 2 else 1)",
        example=">>> tl.hstack((tl.tensor([1]), tl.tensor([2])))\ntensor([1, 2])",
    ),
    _stacked(
        "vstack", "Tensors along the first dimension; vectors are rows.",
        shape="cat([atleast(t.shape, 2) for t in tensors], 0)",
        aliases=("row_stack",),
        example=">>> tl.vstack((tl.tensor([1]), tl.tensor([2])))\ntensor([[1],\n        [2]])",
    ),
    _stacked(
        "dstack", "Tensors along the third dimension, which they get where they have none.",
        shape="cat([atleast(t.shape, 3) for t in tensors], 2)",
        example=">>> tl.dstack((tl.tensor([1]), tl.tensor([2])))\ntensor([[[1, 2]]])",
    ),
    _stacked(
        "column_stack", "Tensors along the second dimension; vectors and numbers are columns.",
        shape="cat([t.shape if t.ndim > 1 else [t.numel(), 1] for t in tensors], 1)",
        example=(
            ">>> tl.column_stack((tl.tensor([1, 2]), tl.tensor([3, 4])))\ntensor([[1, 3],\n        [2, 4]])"
        ),
    ),
    Composite(
        "block_diag(Tensor[] tensors) -> Tensor",
        shape="[sum(atleast(t.shape, 2)[d] for t in tensors) for d in range(2)]",
        method=False,
        doc="A matrix with the given ones along its diagonal, and zeros; vectors are rows.",
        example=(
            ">>> tl.block_diag(tl.ones(1, 1), tl.full((1, 2), 2.0))\ntensor([[1., 0., 0.],\n        [0., 2., "
            "2.]])"
        ),
    ),
    Composite(
        "meshgrid(Tensor[] tensors) -> Tensor[]", shape="meshgrid([t.shape for t in tensors])",
        method=False,
        doc="Each vector along a dimension of its own, expanded over those of the others.",
    ),
    Composite(
        "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
        shape="meshgrid([t.shape for t in tensors], indexing)",
        method=False,
        doc=(
            "Each vector along a dimension of its own; with indexing='xy' the first two dimensions are "
            "exchanged."
        ),
    ),
    Composite(
        "cartesian_prod(Tensor[] tensors) -> Tensor",
        shape="[prod([t.shape[0] for t in tensors]), len(tensors)] if len(tensors) > 1 else tensors[0].shape",
        method=False,
        doc="Every choice of one element from each vector, one a row.",
        example=(
            ">>> tl.cartesian_prod(tl.tensor([1, 2]), tl.tensor([3, 4]))\ntensor([[1, 3],\n        [1, 4],\n "
            "       [2, 3],\n        [2, 4]])"
        ),
    ),
    Composite(
        "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
        shape="[choices(self.shape[0], r, with_replacement), r] if r else [0]",
        method=False, shown="input, r=2, with_replacement=False",
        doc="Every choice of r elements of a vector, one a row, in the order of their positions.",
        example=(
            ">>> tl.combinations(tl.tensor([1, 2, 3]))\ntensor([[1, 2],\n        [1, 3],\n        [2, 3]])"
        ),
    ),
    Composite(
        "tensor_split.sections(Tensor(a) self, int sections, int dim=0) -> Tensor(a)[]",
        shape="tensor_split(self.shape, sections, dim)",
        shown="input, indices_or_sections, dim=0",
        doc=(
            "That many views along a dimension; the first ones are longer by one where the size does not "
            "divide."
        ),
        example=">>> tl.tensor_split(tl.arange(5), 2)\n(tensor([0, 1, 2]), tensor([3, 4]))",
    ),
    Composite(
        "tensor_split.indices(Tensor(a) self, int[] indices, int dim=0) -> Tensor(a)[]",
        shape="tensor_split(self.shape, indices, dim)",
        doc="Views along a dimension, parted before each index.",
    ),
    Composite(
        (
            "tensor_split.tensor_indices_or_sections(Tensor(a) self, Tensor tensor_indices_or_sections, int "
            "dim=0) -> Tensor(a)[]"
        ),
        shape="data",
        doc="Views along a dimension; a tensor of int64 tells how many, or before which indices to part.",
    ),
    *_split("hsplit", "the second dimension, or the only one", "min(self.ndim - 1, 1)"),
    *_split("vsplit", "the first dimension", "0"),
    *_split("dsplit", "the third dimension", "2"),
    Op(
        "unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]",
        shape="split(self.shape, split_size, dim)",
        devices="Any",
        names="keep", stored="all",
        grad={"self": "split_backward(g, self.shape, split_size, dim)"},
        jvp="linear", batch="dims",
        doc=(
            "As split, but autograd takes the pieces for copies: writing one in place spoils no other's "
            "gradient."
        ),
        example=">>> tl.unsafe_split(tl.arange(5), 2)\n(tensor([0, 1]), tensor([2, 3]), tensor([4]))",
    ),
    Op(
        "unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
        shape="parts(self.shape, split_sizes, dim)",
        devices="Any",
        names="keep", stored="all",
        grad={"self": "split_with_sizes_backward(g, self.shape, split_sizes, dim)"},
        jvp="linear", batch="dims",
        doc="As split_with_sizes, but autograd takes the pieces for copies.",
        example=">>> tl.unsafe_split_with_sizes(tl.arange(5), [2, 3])\n(tensor([0, 1]), tensor([2, 3, 4]))",
    ),
    Composite(
        "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
        shape="chunk(self.shape, chunks, dim)",
        names="keep",
        doc="As chunk, but autograd takes the pieces for copies.",
        example=">>> tl.unsafe_chunk(tl.arange(4), 2)\n(tensor([0, 1]), tensor([2, 3]))",
    ),
]  # fmt: skip
