"""Operators that give another geometry on the same memory."""

from opgen.row import Composite, Op, View


def _inplace(signature, grad, doc, **fields):
    """The tensor itself gets the view's geometry."""
    return Op(
        f"{signature} -> Tensor(a!)",
        **fields,
        function=False,
        devices="Any",
        marked=True,
        grad={"self": grad},
        jvp="linear",
        batch="dims",
        doc=doc,
    )


ROWS = [
    View(
        "view(Tensor(a) self, int[] size) -> Tensor(a)", shape="view(self.shape, size)",
        function=False,
        core=True,
        grad={"self": "g.reshape(self.shape)"},
        inverse="g.reshape(self.shape)",
        doc="The same elements in another shape, without a copy; -1 stands for the size that fits.",
        example=">>> tl.arange(4).view(2, 2)\ntensor([[0, 1],\n        [2, 3]])",
    ),
    View(
        "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", shape="reinterpreted(self, dtype)",
        function=False,
        grad="none:the bits of another type have no derivative",
        jvp="none:the bits of another type have no derivative", inverse="g.contiguous().view(self.dtype)",
        doc="The same bytes read as another element type.",
    ),
    View(
        "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
        shape="swap(self.shape, dim0, dim1)",
        aliases=("swapaxes", "swapdims"),
        names="permute",
        grad={"self": "g.transpose(dim0, dim1)"},
        inverse="g.transpose(dim0, dim1)",
        doc="Two dimensions exchanged.",
        example=">>> tl.transpose(tl.tensor([[1, 2], [3, 4]]), 0, 1)\ntensor([[1, 3],\n        [2, 4]])",
    ),
    View(
        "t(Tensor(a) self) -> Tensor(a)", shape="self.shape[::-1]",
        names="permute",
        grad={"self": "g.t()"},
        batch="rule", inverse="g.t()",
        doc="The transpose of a matrix; vectors and numbers come back as they are.",
        example=">>> tl.t(tl.tensor([[1, 2]]))\ntensor([[1],\n        [2]])",
    ),
    View(
        "permute(Tensor(a) self, int[] dims) -> Tensor(a)", shape="permute(self.shape, dims)",
        names="permute",
        core=True,
        grad={"self": "permute_backward(g, dims)"},
        batch="rule", inverse="permute_backward(g, dims)",
        doc="The dimensions in another order.",
        example=">>> tl.permute(tl.zeros(2, 3, 4), (2, 0, 1)).shape\ntorch.Size([4, 2, 3])",
    ),
    View(
        "expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)",
        shape="expand(self.shape, size)",
        function=False,
        names="keep",
        core=True,
        grad={"self": "g.sum_to_size(self.shape)"},
        batch="rule", inverse="g.reshape(self.shape)",
        doc="Dimensions of size one repeated without a copy; -1 keeps a size.",
        example=">>> tl.tensor([[1], [2]]).expand(2, 3)\ntensor([[1, 1, 1],\n        [2, 2, 2]])",
    ),
    View(
        "as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)",
        shape="list(size)",
        names="drop",
        core=True,
        grad={
            "self": (
                "as_strided_backward(g, self.shape, self.stride(), self.storage_offset(), size, stride, "
                "storage_offset)"
            ),
        },
        batch="rule", inverse="as_strided_scatter(self, g, size, stride, storage_offset)",
        doc="A view with the given sizes, strides and offset, all counted in elements.",
        about={"stride": "the step in memory along each dimension, in elements"},
        example=(
            ">>> tl.as_strided(tl.arange(5), (3, 2), (1, 1))\ntensor([[0, 1],\n        [1, 2],\n        [2, "
            "3]])"
        ),
    ),
    View(
        "slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)",
        shape="resize(self.shape, dim, slice_length(self.shape[dim], start, end, step))",
        function=False, method=False,
        names="keep",
        core=True,
        grad={"self": "slice_backward(g, self.shape, dim, start, end, step)"},
        inverse="slice_scatter(self, g, dim, start, end, step)",
        doc="Every step-th element of a dimension from start up to end.",
    ),
    View(
        "select.int(Tensor(a) self, int dim, int index) -> Tensor(a)",
        shape="element(self.shape, dim, index)",
        names="remove",
        core=True,
        grad={"self": "select_backward(g, self.shape, dim, index)"},
        inverse="select_scatter(self, g, dim, index)",
        doc="One position of a dimension, which disappears.",
        example=">>> tl.select(tl.tensor([[1, 2], [3, 4]]), 1, 0)\ntensor([1, 3])",
    ),
    View(
        "squeeze(Tensor(a) self) -> Tensor(a)", shape="squeeze(self.shape)",
        names="squeeze",
        grad={"self": "g.reshape(self.shape)"},
        batch="rule", inverse="g.reshape(self.shape)",
        doc="Without the dimensions of size one.",
        example=">>> tl.squeeze(tl.zeros(1, 2, 1)).shape\ntorch.Size([2])",
    ),
    View(
        "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", shape="squeeze(self.shape, dim)",
        names="squeeze",
        core=True,
        grad={"self": "g.reshape(self.shape)"},
        inverse="g.reshape(self.shape)",
        doc="Without that dimension if its size is one.",
    ),
    View(
        "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", shape="squeeze(self.shape, dim)",
        names="squeeze",
        core=True,
        grad={"self": "g.reshape(self.shape)"},
        batch="rule", inverse="g.reshape(self.shape)",
        doc="Without those of the dimensions whose size is one.",
    ),
    View(
        "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", shape="insert(self.shape, dim, 1)",
        core=True,
        grad={"self": "g.reshape(self.shape)"},
        inverse="g.squeeze(dim)",
        doc="With a new dimension of size one at that place.",
        example=">>> tl.unsqueeze(tl.tensor([1, 2]), 1)\ntensor([[1],\n        [2]])",
    ),
    View(
        "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
        shape=(
            "[*resize(self.shape, dimension, windows(self.shape[dimension], size, step)), size] if self.ndim "
            "else [size]"
        ),
        function=False,
        grad={"self": "unfold_backward(g, self.shape, dimension, size, step)"},
        inverse=(
            "where(unfold_backward(ones_like(g), self.shape, dimension, size, step) != 0, unfold_backward(g, "
            "self.shape, dimension, size, step), self)"
        ),
        doc="All stretches of `size` elements along a dimension, `step` apart, as a new last dimension.",
        example=">>> tl.arange(4).unfold(0, 2, 1)\ntensor([[0, 1],\n        [1, 2],\n        [2, 3]])",
    ),
    View(
        "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
        shape="diagonal(self.shape, offset, dim1, dim2)",
        names="diagonal",
        core=True,
        grad={"self": "diagonal_backward(g, self.shape, offset, dim1, dim2)"},
        inverse="diagonal_scatter(self, g, offset, dim1, dim2)",
        doc="The diagonal of two dimensions, as the last dimension.",
        example=">>> tl.diagonal(tl.tensor([[1, 2], [3, 4]]))\ntensor([1, 4])",
    ),
    View(
        "view_as_real(Tensor(a) self) -> Tensor(a)", shape="[*self.shape, 2]",
        method=False,
        grad={"self": "view_as_complex(g.contiguous())"},
        jvp="rule", batch="rule", inverse="view_as_complex(g.contiguous())",
        doc="Complex numbers as pairs of real ones in a new last dimension.",
        example=">>> tl.view_as_real(tl.tensor([1 + 2j]))\ntensor([[1., 2.]])",
    ),
    View(
        "view_as_complex(Tensor(a) self) -> Tensor(a)", shape="self.shape[:-1]",
        method=False, autocast="float32",
        grad={"self": "view_as_real(g.resolve_conj().contiguous())"},
        batch="rule", inverse="view_as_real(g.resolve_conj().contiguous())",
        doc="Pairs of the last dimension as complex numbers.",
        example=">>> tl.view_as_complex(tl.tensor([[1.0, 2.0]]))\ntensor([1.+2.j])",
    ),
    View(
        "_conj(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        names="keep",
        grad={"self": "g.conj()"},
        batch="elementwise", inverse="g.conj()",
        doc="The conjugates of complex elements, as a view that is carried out when it is read.",
    ),
    View(
        "_neg_view(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        names="keep",
        grad={"self": "-g"},
        batch="elementwise", inverse="-g",
        doc="The negatives of the elements, as a view that is carried out when it is read.",
    ),
    View(
        "detach(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        sparse="sparse_detach",
        names="keep",
        grad="none:detach cuts the graph",
        jvp="none:detach cuts the graph", inverse="g",
        doc="The same memory outside the graph of derivatives.",
        example=">>> tl.detach(tl.tensor([1.0]))\ntensor([1.])",
    ),
    View(
        "alias(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        function=False, method=False,
        core=True,
        grad={"self": "g"},
        inverse="g",
        doc="The same tensor once more, as a view.",
    ),
    View(
        "lift_fresh(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        function=False, method=False,
        grad={"self": "g"},
        inverse="g",
        doc=(
            "A tensor that a program has made of numbers, for those who watch operators: they see where it "
            "comes from."
        ),
    ),
    View(
        "split.Tensor(Tensor(a) self, int split_size, int dim=0) -> Tensor(a)[]",
        shape="split(self.shape, split_size, dim)",
        shown="tensor, split_size_or_sections, dim=0",
        names="keep",
        grad={"self": "split_backward(g, self.shape, split_size, dim)"},
        inverse="cat(g, dim)",
        doc="Stretches of split_size along a dimension; the last may be shorter.",
        example=">>> tl.split(tl.arange(5), 2)\n(tensor([0, 1]), tensor([2, 3]), tensor([4]))",
    ),
    Composite(
        "split.sizes(Tensor(a) self, int[] split_size, int dim=0) -> Tensor(a)[]",
        shape="parts(self.shape, split_size, dim)",
        names="keep",
        doc="Stretches of the given sizes along a dimension.",
    ),
    View(
        "split_with_sizes(Tensor(a) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
        shape="parts(self.shape, split_sizes, dim)",
        names="keep",
        core=True,
        grad={"self": "split_with_sizes_backward(g, self.shape, split_sizes, dim)"},
        inverse="cat(g, dim)",
        doc="Stretches of the given sizes along a dimension.",
        example=">>> tl.split_with_sizes(tl.arange(3), (1, 2))\n(tensor([0]), tensor([1, 2]))",
    ),
    View(
        "unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]", shape="unbind(self.shape, dim)",
        names="remove",
        grad={"self": "unbind_backward(g, self.shape, dim)"},
        inverse="stack(g, dim)",
        doc="One tensor for each position of a dimension.",
        example=">>> tl.unbind(tl.tensor([[1, 2], [3, 4]]))\n(tensor([1, 2]), tensor([3, 4]))",
    ),
    Composite(
        "chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]", shape="chunk(self.shape, chunks, dim)",
        doc="At most that many stretches of equal size along a dimension; the last may be shorter.",
        example=">>> tl.chunk(tl.arange(4), 2)\n(tensor([0, 1]), tensor([2, 3]))",
    ),
    Composite(
        "real(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        method=False,
        array_api="real",
        doc="The real parts, as a view; real tensors come back as they are.",
        example=">>> tl.real(tl.tensor([1 + 2j]))\ntensor([1.])",
    ),
    Composite(
        "imag(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        method=False,
        array_api="imag",
        doc="The imaginary parts of a complex tensor, as a view.",
        example=">>> tl.imag(tl.tensor([1 + 2j]))\ntensor([2.])",
    ),
    _inplace(
        "transpose_(Tensor(a!) self, int dim0, int dim1)", "g.transpose(dim0, dim1)",
        "Exchanges two dimensions of the tensor itself.", shape="swap(self.shape, dim0, dim1)",
        aliases=("swapaxes_", "swapdims_"),
        names="permute", stored="all",
    ),
    _inplace(
        "t_(Tensor(a!) self)", "g.t()", "Transposes the matrix itself.", shape="self.shape[::-1]",
        names="permute", stored="all",
    ),
    _inplace(
        "squeeze_(Tensor(a!) self)", "g.reshape(self.shape)",
        "Drops the tensor's own dimensions of size one.", shape="squeeze(self.shape)",
        names="squeeze", stored="all",
    ),
    _inplace(
        "squeeze_.dim(Tensor(a!) self, int dim)", "g.reshape(self.shape)",
        "Drops that dimension of the tensor itself if its size is one.", shape="squeeze(self.shape, dim)",
        names="squeeze", stored="all",
    ),
    _inplace(
        "squeeze_.dims(Tensor(a!) self, int[] dim)", "g.reshape(self.shape)",
        "Drops those of the tensor's own dimensions whose size is one.", shape="squeeze(self.shape, dim)",
        names="squeeze", stored="all",
    ),
    _inplace(
        "unsqueeze_(Tensor(a!) self, int dim)", "g.reshape(self.shape)",
        "Gives the tensor itself a new dimension of size one.", shape="insert(self.shape, dim, 1)",
        stored="all",
    ),
    _inplace(
        "as_strided_(Tensor(a!) self, int[] size, int[] stride, int? storage_offset=None)",
        (
            "as_strided_backward(g, self.shape, self.stride(), self.storage_offset(), size, stride, "
            "storage_offset)"
        ),
        "Gives the tensor itself sizes, strides and offset, all counted in elements.", shape="list(size)",
        stored="all",
        about={"stride": "the step in memory along each dimension, in elements"},
    ),
    Composite(
        "reshape(Tensor(a) self, int[] shape) -> Tensor(a)", shape="view(self.shape, shape)",
        doc="The same elements in another shape: a view where one exists, else a copy.",
        example=">>> tl.reshape(tl.arange(4), (2, -1))\ntensor([[0, 1],\n        [2, 3]])",
    ),
    Composite(
        "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
        shape="flatten(self.shape, start_dim, end_dim)",
        doc="The dimensions from start_dim to end_dim as one.",
        example=">>> tl.flatten(tl.tensor([[1, 2], [3, 4]]))\ntensor([1, 2, 3, 4])",
    ),
    Composite(
        "narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)",
        shape="resize(self.shape, dim, narrow(self.shape[dim], start, length))",
        doc="`length` positions of a dimension, from `start` on.",
        about={"start": "the index of the first element that is kept"},
        example=">>> tl.narrow(tl.arange(5), 0, 1, 3)\ntensor([1, 2, 3])",
    ),
    Composite(
        "narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)",
        shape="resize(self.shape, dim, length)",
        doc="`length` positions of a dimension, from `start` on.",
    ),
    Composite(
        "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", shape="expand(self.shape, other.shape)",
        function=False,
        doc="Expanded to the other tensor's shape.",
        example=">>> tl.tensor([1]).expand_as(tl.zeros(2))\ntensor([1, 1])",
    ),
    Composite(
        "view_as(Tensor(a) self, Tensor other) -> Tensor(a)", shape="view(self.shape, other.shape)",
        function=False,
        doc="Viewed in the other tensor's shape.",
        example=">>> tl.arange(4).view_as(tl.zeros(2, 2))\ntensor([[0, 1],\n        [2, 3]])",
    ),
    Composite(
        "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", shape="view(self.shape, other.shape)",
        function=False,
        doc="Reshaped to the other tensor's shape.",
    ),
]  # fmt: skip
