"""Matrix products."""

from opgen.row import Composite, Op

ROWS = [
    Op("mm(Tensor self, Tensor mat2) -> Tensor", out=True, grad={"self": "g.mm(mat2.t().conj())", "mat2": "self.t().conj().mm(g)"},
       jvp="double-vjp", batch="dims", ref="numpy.matmul", doc="The product of two matrices."),
    Op("bmm(Tensor self, Tensor mat2) -> Tensor", out=True,
       grad={"self": "g.bmm(mat2.transpose(1, 2).conj())", "mat2": "self.transpose(1, 2).conj().bmm(g)"}, jvp="double-vjp", batch="dims",
       ref="numpy.matmul", doc="The products of the matrices of two batches."),
    Op("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", out=True, inplace=True,
       grad={"self": "g * beta", "mat1": "g.mm(mat2.t().conj()) * alpha", "mat2": "mat1.t().conj().mm(g) * alpha"},
       jvp="double-vjp", batch="dims", shown="input, mat1, mat2, *, beta=1, alpha=1, out=None",
       doc="beta times the input plus alpha times the product of two matrices; with beta 0 the input is not read."),
    Op("mv(Tensor self, Tensor vec) -> Tensor", out=True, grad={"self": "g.unsqueeze(1) * vec.conj()", "vec": "self.t().conj().mv(g)"},
       jvp="double-vjp", batch="dims", ref="numpy.matmul", doc="The product of a matrix and a vector."),
    Op("dot(Tensor self, Tensor tensor) -> Tensor", out=True, grad={"self": "g * tensor.conj()", "tensor": "g * self.conj()"},
       jvp="double-vjp", batch="dims", ref="numpy.dot", doc="The sum of the products of two vectors' elements; nothing is conjugated."),
    Composite("matmul(Tensor self, Tensor other) -> Tensor", out=True, ref="numpy.matmul",
              doc="The matrix product of tensors of any dimensions: vectors join as rows or columns, further dimensions are batches."),
    Op("tril(Tensor self, int diagonal=0) -> Tensor", devices="Any", inplace=True, out=True, grad={"self": "g.tril(diagonal)"}, jvp="linear",
       batch="dims", ref="numpy.tril", doc="The matrices' lower triangles, up to the given diagonal; zeros elsewhere."),
    Op("triu(Tensor self, int diagonal=0) -> Tensor", devices="Any", inplace=True, out=True, grad={"self": "g.triu(diagonal)"}, jvp="linear",
       batch="dims", ref="numpy.triu", doc="The matrices' upper triangles, from the given diagonal on; zeros elsewhere."),
    Composite("matrix_rows(Tensor self) -> Tensor", method=False, function=False,
              doc="The vectors along the last dimension as the rows of one matrix; a matrix is returned as it is."),
    Op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", method=False, namespace="_nn", devices="Any",
       grad={"input": "g.matmul(weight.conj()) if weight.ndim == 2 else g.unsqueeze(-1) * weight.conj()",
             "weight": "matrix_rows(g).t().mm(matrix_rows(input).conj()) if weight.ndim == 2 "
                       "else matrix_rows(input).t().conj().mv(g.reshape((-1,)))",
             "bias": "g"}, jvp="double-vjp", batch="dims",
       doc="The input, shape (*, in), times the transposed weight, shape (out, in) or (in,), plus the bias, shape (out,)."),
]  # fmt: skip
