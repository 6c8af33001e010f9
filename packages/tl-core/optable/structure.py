"""Joining tensors, and the adjoints of views."""

from opgen.row import Composite, Op


def _adjoint(signature, grad, **fields):
    """A linear private row: the transpose of a view."""
    return Op(
        signature,
        function=False,
        method=False,
        devices="Any",
        grad=grad,
        jvp="linear",
        **{"batch": "dims", **fields},
    )


ROWS = [
    Composite(
        "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
        shape="[x.shape[0], x.shape[0] if N is None else N]",
        method=False,
        doc="The powers of each element as a row, the highest first unless they are to increase.",
        about={"increasing": "whether the powers rise from left to right"},
        example=(
            ">>> tl.vander(tl.tensor([1, 2, 3]))\ntensor([[1, 1, 1],\n        [4, 2, 1],\n        [9, 3, 1]])"
        ),
    ),
    Op(
        "cat(Tensor[] tensors, int dim=0) -> Tensor", shape="cat([t.shape for t in tensors], dim)",
        out=True, method=False, aliases=("concat", "concatenate"),
        autocast="widest",
        names="unify", stored="all",
        core=True,
        grad={
            "tensors": (
                "[p if t.ndim == g.ndim else p.reshape(t.shape) for p, t in zip(cat_backward(g, "
                "[t.shape[dim] if t.ndim == g.ndim else 0 for t in tensors], dim), tensors)]"
            ),
        },
        jvp="linear", batch="dims",
        doc="Tensors one after another along a dimension.",
        example=">>> tl.cat((tl.tensor([1]), tl.tensor([2, 3])))\ntensor([1, 2, 3])",
    ),
    Op(
        "stack(Tensor[] tensors, int dim=0) -> Tensor", shape="stack([t.shape for t in tensors], dim)",
        out=True, method=False, autocast="widest",
        stored="all",
        grad={"tensors": "unbind(g, dim)"},
        jvp="linear", batch="dims",
        doc="Tensors of one shape along a new dimension.",
        example=">>> tl.stack((tl.tensor([1, 2]), tl.tensor([3, 4])))\ntensor([[1, 2],\n        [3, 4]])",
    ),
    Composite(
        "cat_backward(Tensor grad, int[] sizes, int dim) -> Tensor[]", shape="parts(grad.shape, sizes, dim)",
        function=False, method=False,
        doc="The gradient's stretches, one a tensor.",
    ),
    _adjoint(
        "permute_backward(Tensor grad, int[] dims) -> Tensor", {"grad": "g.permute(dims)"},
        shape=(
            "[[n for d, n in zip(dims, grad.shape) if wrap(d, grad.ndim) == i][0] for i in range(grad.ndim)]"
        ),
        stored="all",
        batch="rule",
        doc="The adjoint of permute.",
    ),
    _adjoint(
        "slice_backward(Tensor grad, int[] input_sizes, int dim, int? start, int? end, int step) -> Tensor",
        {"grad": "slice(g, dim, start, end, step)"}, shape="list(input_sizes)",
        stored="all",
        doc="The adjoint of slice.",
    ),
    _adjoint(
        "select_backward(Tensor grad, int[] input_sizes, int dim, int index) -> Tensor",
        {"grad": "g.select(dim, index)"}, shape="list(input_sizes)",
        stored="all",
        doc="The adjoint of select.",
    ),
    _adjoint(
        "diagonal_backward(Tensor grad, int[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
        {"grad": "g.diagonal(offset, dim1, dim2)"}, shape="list(input_sizes)",
        stored="float8",
        doc="The adjoint of diagonal.",
    ),
    _adjoint(
        "unfold_backward(Tensor grad, int[] input_sizes, int dim, int size, int step) -> Tensor",
        {"grad": "g.unfold(dim, size, step)"}, shape="list(input_sizes)",
        stored="float8",
        batch="rule",
        doc="The adjoint of unfold.",
    ),
    _adjoint(
        (
            "as_strided_backward(Tensor grad, int[] input_sizes, int[] input_strides, int input_offset, "
            "int[] size, int[] stride, int? storage_offset) -> Tensor"
        ),
        {
            "grad": (
                "_as_strided_gather(g, input_sizes, input_strides, input_offset, size, stride, "
                "storage_offset)"
            ),
        }, shape="list(input_sizes)",
        stored="float8",
        batch="rule",
        doc="The adjoint of as_strided.",
    ),
    _adjoint(
        (
            "_as_strided_gather(Tensor grad, int[] input_sizes, int[] input_strides, int input_offset, int[] "
            "size, int[] stride, int? storage_offset) -> Tensor"
        ),
        {
            "grad": (
                "as_strided_backward(g, input_sizes, input_strides, input_offset, size, stride, "
                "storage_offset)"
            ),
        }, shape="list(size)",
        stored="float8",
        batch="rule",
        doc="The adjoint of as_strided_backward.",
    ),
    Op(
        (
            "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) "
            "-> Tensor"
        ),
        shape="self.shape",
        out=True, devices="Any",
        stored="float8 float4 bits quantized",
        core=True,
        grad={
            "self": "slice_scatter(g, zeros_like(src), dim, start, end, step)",
            "src": "slice(g, dim, start, end, step)",
        },
        jvp="linear", batch="dims",
        doc="A copy with a slice replaced.",
        about={
            "start": "the index of the first element that is written",
            "end": "the index at which writing ends",
        },
        example=">>> tl.slice_scatter(tl.zeros(4), tl.ones(2), start=1, end=3)\ntensor([0., 1., 1., 0.])",
    ),
    Op(
        "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor", shape="self.shape",
        out=True, devices="Any",
        stored="float8 float4 bits quantized",
        core=True,
        grad={"self": "select_scatter(g, zeros_like(src), dim, index)", "src": "g.select(dim, index)"},
        jvp="linear", batch="dims",
        doc="A copy with one position of a dimension replaced.",
        example=(
            ">>> tl.select_scatter(tl.zeros(2, 2), tl.ones(2), 0, 1)\ntensor([[0., 0.],\n        [1., 1.]])"
        ),
    ),
    Op(
        "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
        shape="self.shape",
        out=True, devices="Any",
        stored="float8 float4 bits quantized",
        grad={
            "self": "diagonal_scatter(g, zeros_like(src), offset, dim1, dim2)",
            "src": "g.diagonal(offset, dim1, dim2)",
        },
        jvp="linear", batch="dims",
        doc="A copy with a diagonal replaced.",
        example=">>> tl.diagonal_scatter(tl.zeros(2, 2), tl.ones(2))\ntensor([[1., 0.],\n        [0., 1.]])",
    ),
    Op(
        (
            "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) "
            "-> Tensor"
        ),
        shape="self.shape",
        out=True, devices="Any",
        stored="float8 float4 bits quantized",
        grad={
            "self": "as_strided_scatter(g.contiguous(), zeros_like(src), size, stride, storage_offset)",
            "src": "g.contiguous().as_strided(size, stride, storage_offset)",
        },
        jvp="linear", batch="rule",
        doc="A copy with the elements of a strided view replaced.",
        about={"stride": "the step in memory along each dimension, in elements"},
        example=(
            ">>> tl.as_strided_scatter(tl.zeros(2, 2), tl.tensor([7.0, 8.0]), (2,), (3,))\ntensor([[7., "
            "0.],\n        [0., 8.]])"
        ),
    ),
    _adjoint(
        "split_backward(Tensor?[] grads, int[] input_sizes, int split_size, int dim) -> Tensor",
        {"grads": "split(g, split_size, dim)"}, shape="list(input_sizes)",
        stored="float8",
        doc="The adjoint of split.",
    ),
    _adjoint(
        "split_with_sizes_backward(Tensor?[] grads, int[] input_sizes, int[] split_sizes, int dim) -> Tensor",
        {"grads": "split_with_sizes(g, split_sizes, dim)"}, shape="list(input_sizes)",
        stored="float8",
        doc="The adjoint of split_with_sizes.",
    ),
    _adjoint(
        "unbind_backward(Tensor?[] grads, int[] input_sizes, int dim) -> Tensor", {"grads": "unbind(g, dim)"},
        shape="list(input_sizes)",
        stored="float8",
        doc="The adjoint of unbind.",
    ),
    _adjoint(
        "unsum(Tensor grad, int[] input_sizes, int[]? dim, bool keepdim) -> Tensor",
        {"grad": "g.sum(dim, keepdim)"}, shape="list(input_sizes)",
        names="refused",
        doc="A reduction's gradient spread over what was reduced.",
    ),
    _adjoint(
        "index_backward(Tensor grad, int[] input_sizes, Tensor?[] indices) -> Tensor",
        {"grad": "index(g, indices)"}, shape="list(input_sizes)",
        stored="float8",
        batch="index",
        doc="The adjoint of reading through indices.",
    ),
    Composite(
        "sgn_backward(Tensor self, Tensor grad, Tensor sgn) -> Tensor", shape="grad.shape",
        function=False, method=False,
        doc="The derivative of sgn.",
    ),
    Composite(
        "pow_backward(Tensor grad, Tensor self, Operand exponent) -> Tensor",
        shape="broadcast(grad.shape, self.shape, sizes(exponent))",
        function=False, method=False,
        doc="The derivative of pow by its base.",
    ),
    Composite(
        "pow_backward_exponent(Tensor grad, Operand self, Tensor exponent, Tensor result) -> Tensor",
        shape="broadcast(grad.shape, sizes(self), exponent.shape)",
        function=False, method=False,
        doc="The derivative of pow by its exponent.",
    ),
]  # fmt: skip
