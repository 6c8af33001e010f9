"""Reading and writing through tensors of positions."""

from opgen.row import Composite, Op

INTEGER = "none:the result is an integer"

ROWS = [
    Op("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", function=False, method=False, out=True, out_name="index.Tensor_out",
       grad={"self": "index_backward(g, self.shape, indices)"}, jvp="linear", batch="loop",
       doc="The elements at the given positions."),
    Op("index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
       grad={"self": "g.index_put(indices, zeros_like(values), False) if not accumulate else g", "values": "index(g, indices)"},
       jvp="linear", batch="loop", doc="Values written, or added, at the given positions."),
    Composite("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
              doc="A copy with values written, or added, at the given positions."),
    Op("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", out=True,
       grad={"self": "scatter_add(zeros_like(self), dim, index, g)"}, jvp="linear", batch="dims",
       doc="Along a dimension, the elements at the positions of the index."),
    Op("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", out=True, inplace=True,
       grad={"self": "scatter(g, dim, index, 0)", "src": "g.gather(dim, index)"}, jvp="linear", batch="dims",
       doc="A copy with elements written at the positions of the index along a dimension."),
    Op("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", out=True, inplace=True,
       grad={"self": "scatter(g, dim, index, 0)"}, jvp="linear", batch="dims",
       doc="A copy with a number written at the positions of the index along a dimension."),
    Op("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", out=True, inplace=True,
       grad="none:scatter with reduce has no derivative: use scatter_add", jvp="none:scatter with reduce has no derivative", batch="dims",
       doc="A copy with elements added to (reduce='add') or multiplied into ('multiply') those at the positions of the index."),
    Op("scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", out=True, inplace=True,
       grad="none:scatter with reduce has no derivative: use scatter_add", jvp="none:scatter with reduce has no derivative", batch="dims",
       doc="A copy with a number added to or multiplied into the elements at the positions of the index."),
    Op("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", out=True, inplace=True,
       grad={"self": "g", "src": "g.gather(dim, index)"}, jvp="linear", batch="dims",
       doc="A copy with elements added at the positions of the index along a dimension, in their order."),
    Op("index_select(Tensor self, int dim, Tensor index) -> Tensor", out=True,
       grad={"self": "index_select_backward(g, self.shape, dim, index)"}, jvp="linear", batch="dims",
       doc="The given positions of a dimension."),
    Op("index_select_backward(Tensor grad, int[] input_sizes, int dim, Tensor index) -> Tensor", function=False, method=False, devices="Any",
       grad={"grad": "g.index_select(dim, index)"}, jvp="linear", batch="dims", doc="The adjoint of index_select."),
    Op("nonzero(Tensor self) -> Tensor", devices="CpuOnly", out=True, grad=INTEGER, jvp=INTEGER, batch="loop",
       shown="input, *, out=None, as_tuple=False", doc="The positions of the elements that are not zero, one a row."),
    Composite("nonzero_numpy(Tensor self) -> Tensor[]", function=False,
              doc="The positions of the elements that are not zero, a tensor a dimension."),
]  # fmt: skip
