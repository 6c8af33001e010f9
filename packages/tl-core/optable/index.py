"""Reading and writing through tensors of positions."""

from opgen.row import DYNAMIC_SHAPE, Composite, Op, Pointwise

INTEGER = "none:the result is an integer"


def _private(signature, **fields):
    return Composite(signature, function=False, method=False, **fields)


ROWS = [
    Pointwise(
        "where.self(Tensor condition, Operand self, Operand other) -> Tensor", inputs=3, cpu="where",
        in_range=True,
        dtypes="bool int float complex complex32 float8", condition=True, moves=True,
        inplace=False, method=False, shown="condition, input, other, *, out=None",
        core=True,
        grad={"self": "where(condition, g, 0)", "other": "where(condition, 0, g)"},
        expr="c ? x : y",
        doc="The first input's element where the condition holds, else the second's.",
        about={
            "input": "what is taken where the condition is True: a tensor or a number",
            "self": "what is taken where the condition is True: a tensor or a number",
            "other": "what is taken where the condition is False: a tensor or a number",
        },
        example=">>> x = tl.tensor([-1.0, 2.0])\n>>> tl.where(x > 0, x, 0.0)\ntensor([0., 2.])",
    ),
    Composite(
        "where(Tensor condition) -> Tensor[]", shape="data",
        method=False,
        doc="The positions where the condition holds, a tensor a dimension.",
    ),
    Op(
        "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", shape="gather_index(self.shape, indices)",
        out=True, out_name="index.Tensor_out", function=False, method=False,
        stored="float8",
        core=True,
        grad={"self": "index_backward(g, self.shape, indices)"},
        jvp="linear", batch="index",
        doc="The elements at the given positions.",
    ),
    Op(
        "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
        stored="float8",
        grad={
            "self": "g.index_put(indices, g.new_zeros([]), False) if not accumulate else g",
            "values": "index(g, indices)",
        },
        jvp="linear", batch="index",
        doc="Values written, or added, at the given positions.",
    ),
    Composite(
        "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
        shape="self.shape",
        core=True,
        doc="A copy with values written, or added, at the given positions.",
        example=(
            ">>> tl.index_put(tl.zeros(3), (tl.tensor([0, 2]),), tl.tensor([5.0, 6.0]))\ntensor([5., 0., 6.])"
        ),
    ),
    Op(
        "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
        shape="index.shape",
        out=True,
        stored="float8 float4 bits", reported="scatter_gather_tensor_cpu",
        core=True,
        grad={"self": "scatter_add(g.new_zeros(self.shape), dim, index, g)"},
        jvp="linear", batch="dims",
        doc="Along a dimension, the elements at the positions of the index.",
        example=(
            ">>> tl.gather(tl.tensor([[1, 2], [3, 4]]), 1, tl.tensor([[0, 0], [1, 0]]))\ntensor([[1, 1],\n   "
            "     [4, 3]])"
        ),
    ),
    Op(
        "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", shape="self.shape",
        inplace=True, out=True,
        reported="scatter_gather_tensor_cpu",
        core=True,
        grad={"self": "scatter(g, dim, index, 0)", "src": "scatter_src_backward(g, dim, index, src.shape)"},
        jvp="linear", batch="dims",
        doc="A copy with elements written at the positions of the index along a dimension.",
        example=(
            ">>> tl.scatter(tl.zeros(3, dtype=tl.int64), 0, tl.tensor([0, 2]), tl.tensor([7, 8]))\n"
            "tensor([7, 0, 8])"
        ),
    ),
    Op(
        "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", shape="self.shape",
        inplace=True, out=True,
        reported="scatter_gather_tensor_cpu",
        core=True,
        grad={"self": "scatter(g, dim, index, 0)"},
        jvp="rule", batch="dims",
        doc="A copy with a number written at the positions of the index along a dimension.",
    ),
    Op(
        "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
        shape="self.shape",
        inplace=True, out=True,
        reported="scatter_gather_tensor_cpu",
        grad="none:scatter with reduce has no derivative: use scatter_add",
        jvp="none:scatter with reduce has no derivative", batch="dims",
        doc=(
            "A copy with elements added to (reduce='add') or multiplied into ('multiply') those at the "
            "positions of the index."
        ),
    ),
    Op(
        "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
        shape="self.shape",
        inplace=True, out=True,
        reported="scatter_gather_tensor_cpu",
        grad="none:scatter with reduce has no derivative: use scatter_add",
        jvp="none:scatter with reduce has no derivative", batch="dims",
        doc="A copy with a number added to or multiplied into the elements at the positions of the index.",
    ),
    Op(
        "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", shape="self.shape",
        inplace=True, out=True,
        reported="scatter_gather_tensor_cpu",
        core=True,
        grad={"self": "g", "src": "scatter_src_backward(g, dim, index, src.shape)"},
        jvp="linear", batch="dims",
        doc="A copy with elements added at the positions of the index along a dimension, in their order.",
        example=(
            ">>> tl.scatter_add(tl.zeros(3), 0, tl.tensor([0, 0, 2]), tl.tensor([1.0, 2.0, 3.0]))\n"
            "tensor([3., 0., 3.])"
        ),
    ),
    Op(
        "index_select(Tensor self, int dim, Tensor index) -> Tensor",
        shape="resize(self.shape, dim, index.numel())",
        out=True,
        stored="all",
        core=True,
        grad={"self": "index_select_backward(g, self.shape, dim, index)"},
        jvp="linear", batch="rule",
        doc="The given positions of a dimension.",
        example=(
            ">>> tl.index_select(tl.tensor([[1, 2], [3, 4]]), 1, tl.tensor([1]))\ntensor([[2],\n        [4]])"
        ),
    ),
    Op(
        "index_select_backward(Tensor grad, int[] input_sizes, int dim, Tensor index) -> Tensor",
        shape="list(input_sizes)",
        function=False, method=False, devices="Any",
        stored="all",
        grad={"grad": "g.index_select(dim, index)"},
        jvp="linear", batch="rule",
        doc="The adjoint of index_select.",
    ),
    Op(
        "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
        shape="broadcast(self.shape, mask.shape)",
        inplace=True, out=True, shown="input, mask, value", devices="Any",
        names="unify", stored="float8",
        grad={"self": "g.masked_fill(mask, 0)"},
        jvp="rule", batch="elementwise",
        doc="The number where the mask holds, else the input's element.",
        example=">>> tl.masked_fill(tl.tensor([1, 2]), tl.tensor([True, False]), 0)\ntensor([0, 2])",
    ),
    Op(
        "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
        shape="broadcast(self.shape, mask.shape)",
        inplace=True, out=True, out_name="masked_fill.Tensor_out", devices="Any",
        names="unify", stored="float8",
        grad={"self": "g.masked_fill(mask, 0)", "value": "where(mask, g, 0).sum()"},
        jvp="rule", batch="rule",
        doc="The one element of `value` where the mask holds, else the input's element.",
    ),
    Composite(
        "one_hot(Tensor self, int num_classes=-1) -> Tensor",
        method=False, namespace="_nn",
        doc="Vectors of zeros with a one at the place of a class.",
        about={"num_classes": "the length of the vectors; -1 for the largest class and one"},
    ),
    Op(
        "nonzero(Tensor self) -> Tensor", shape="data",
        out=True, shown="input, *, out=None, as_tuple=False", devices="CpuOnly",
        reported="nonzero_count_cpu",
        core=True,
        grad=INTEGER,
        jvp=INTEGER, batch=DYNAMIC_SHAPE,
        doc="The positions of the elements that are not zero, one a row.",
        example=">>> tl.nonzero(tl.tensor([[1, 0], [0, 2]]))\ntensor([[0, 0],\n        [1, 1]])",
    ),
    Composite(
        "nonzero_numpy(Tensor self) -> Tensor[]", shape="data",
        function=False,
        doc="The positions of the elements that are not zero, a tensor a dimension.",
    ),
    Op(
        "argwhere(Tensor self) -> Tensor", shape="data",
        devices="Any",
        grad=INTEGER,
        jvp=INTEGER, batch="loop",
        doc="The positions of the elements that are not zero, one a row.",
        example=">>> tl.argwhere(tl.tensor([0, 5, 6]))\ntensor([[1],\n        [2]])",
    ),
    Op(
        "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor", shape="[size, self.ndim]",
        out=True, devices="CpuOnly",
        reported="nonzero_count_cpu",
        grad=INTEGER,
        jvp=INTEGER, batch="loop",
        doc=(
            "The first `size` positions of elements that are not zero, one a row, and rows of fill_value "
            "where there are fewer."
        ),
        example=">>> tl.nonzero_static(tl.tensor([0, 5]), size=2)\ntensor([[ 1],\n        [-1]])",
    ),
    _private(
        "scatter_src_backward(Tensor grad, int dim, Tensor index, int[] input_sizes) -> Tensor",
        shape="index.shape",
        doc="The gradient of the elements that a scatter took; zero for those beyond the index.",
    ),
    Op(
        (
            "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
            "include_self=True) -> Tensor"
        ),
        shape="self.shape",
        inplace=True, out=True,
        reported="scatter_gather_tensor_cpu",
        core=True,
        grad={"self, src": "scatter_reduce_backward(g, self, dim, index, src, reduce, include_self, result)"},
        jvp="double-vjp", batch="dims",
        doc=(
            "A copy in which the elements at the positions of the index along a dimension are combined: by "
            "sum, prod, mean, amax or amin."
        ),
        example=(
            ">>> tl.scatter_reduce(tl.ones(2), 0, tl.tensor([0, 0]), tl.tensor([3.0, 4.0]), \"prod\")\n"
            "tensor([12.,  1.])"
        ),
    ),
    _private(
        (
            "scatter_reduce_backward(Tensor grad, Tensor self, int dim, Tensor index, Tensor src, str "
            "reduce, bool include_self, Tensor result) -> (Tensor, Tensor)"
        ),
        doc="The derivatives of scatter_reduce.",
    ),
    Composite(
        "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
        shape="self.shape",
        inplace=True, out=True,
        doc="A copy with slices times alpha added at the given positions of a dimension, in their order.",
        example=(
            ">>> tl.index_add(tl.zeros(3), 0, tl.tensor([0, 0]), tl.tensor([1.0, 2.0]))\ntensor([3., 0., 0.])"
        ),
    ),
    Composite(
        "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", shape="self.shape",
        inplace=True, out=True, autocast="widest",
        doc="A copy with slices written at the given positions of a dimension.",
        example=">>> tl.index_copy(tl.zeros(3), 0, tl.tensor([2]), tl.tensor([1.0]))\ntensor([0., 0., 1.])",
    ),
    Composite(
        (
            "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
            "include_self=True) -> Tensor"
        ),
        shape="self.shape",
        inplace=True, out=True,
        doc="A copy with slices combined at the given positions of a dimension: by prod, mean, amax or amin.",
        example=(
            ">>> tl.index_reduce(tl.ones(2), 0, tl.tensor([0, 0]), tl.tensor([3.0, 4.0]), \"prod\")\n"
            "tensor([12.,  1.])"
        ),
    ),
    Composite(
        "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
        shape="self.shape",
        inplace=True, out=True,
        names="keep",
        doc="A copy with a number, or the one element of `value`, at the given positions of a dimension.",
        example=">>> tl.index_fill(tl.zeros(3), 0, tl.tensor([0, 2]), 1)\ntensor([1., 0., 1.])",
    ),
    Composite(
        "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
        shape="self.shape",
        inplace=True, out=True,
        names="keep",
        doc="A copy with a number at the given positions of a dimension.",
    ),
    Composite(
        "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
        shape="indices.shape if dim is None else along(self.shape, indices.shape, dim)",
        out=True,
        doc=(
            "Along a dimension, the elements at the positions given, both broadcast; without one, of all "
            "elements."
        ),
        example=(
            ">>> x = tl.tensor([[3, 1, 2]])\n>>> tl.take_along_dim(x, x.argsort(1), 1)\ntensor([[1, 2, 3]])"
        ),
    ),
    Composite(
        "take(Tensor self, Tensor index) -> Tensor", shape="index.shape",
        out=True,
        doc="The elements at the given positions, counted over all dimensions.",
        example=">>> tl.take(tl.tensor([[1, 2], [3, 4]]), tl.tensor([0, 3]))\ntensor([1, 4])",
    ),
    Composite(
        "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", shape="self.shape",
        inplace=True, out=True,
        doc="A copy with elements written, or added, at positions counted over all dimensions.",
        example=(
            ">>> tl.put(tl.zeros(2, 2), tl.tensor([3]), tl.tensor([5.0]))\ntensor([[0., 0.],\n        [0., "
            "5.]])"
        ),
    ),
    Op(
        "masked_select(Tensor self, Tensor mask) -> Tensor", shape="data",
        out=True, devices="CpuOnly",
        names="select", stored="float8 float4 bits",
        grad={"self": "masked_select_backward(g, self.shape, mask)"},
        jvp="linear", batch="loop",
        doc="The elements where the mask holds, as a vector.",
        example=">>> x = tl.tensor([1, -2, 3])\n>>> tl.masked_select(x, x > 0)\ntensor([1, 3])",
    ),
    _private(
        "masked_select_backward(Tensor grad, int[] input_sizes, Tensor mask) -> Tensor",
        shape="list(input_sizes)",
        doc="The adjoint of masked_select.",
    ),
    Op(
        "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", shape="self.shape",
        inplace=True, out=True,
        stored="float8",
        core=True,
        grad={"self": "g.masked_fill(mask, 0)", "source": "masked_scatter_backward(g, mask, source.shape)"},
        jvp="linear", batch="rule",
        doc="A copy with the elements of `source`, one after another, where the mask holds.",
        example=(
            ">>> tl.masked_scatter(tl.zeros(3), tl.tensor([True, False, True]), tl.tensor([1.0, 2.0]))\n"
            "tensor([1., 0., 2.])"
        ),
    ),
    _private(
        "masked_scatter_backward(Tensor grad, Tensor mask, int[] input_sizes) -> Tensor",
        shape="list(input_sizes)",
        doc="The gradient of what a mask takes; zero for the elements it left.",
    ),
    Op(
        "repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor", shape="data",
        method=False, shown="input, repeats, dim=None, *, output_size=None", devices="CpuOnly",
        grad=INTEGER,
        jvp=INTEGER, batch="loop",
        doc="Each position as many times as its element says.",
        example=">>> tl.repeat_interleave(tl.tensor([1, 2]), 2)\ntensor([1, 1, 2, 2])",
    ),
    Composite(
        (
            "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? "
            "output_size=None) -> Tensor"
        ),
        shape="data",
        doc="The positions of a dimension, each repeated as often as its element of `repeats` says.",
    ),
    Composite(
        (
            "repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) "
            "-> Tensor"
        ),
        shape=(
            "[self.numel() * repeats] if dim is None else resize(self.shape, dim, self.shape[dim] * repeats)"
        ),
        doc="The positions of a dimension, each repeated.",
    ),
]  # fmt: skip
