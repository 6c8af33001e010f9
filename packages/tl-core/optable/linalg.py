"""Matrix products."""

from opgen.row import Composite, Op

ROWS = [
    Op(
        "mm(Tensor self, Tensor mat2) -> Tensor", shape="mm(self.shape, mat2.shape)",
        out=True, autocast="lower",
        names="contract", reported="addmm_impl_cpu_",
        core=True,
        grad={"self": "g.mm(mat2.t().conj())", "mat2": "self.t().conj().mm(g)"},
        jvp="rule", batch="rule",
        ref="numpy.matmul",
        doc="The product of two matrices.",
        example=">>> tl.mm(tl.tensor([[1, 2]]), tl.tensor([[3], [4]]))\ntensor([[11]])",
    ),
    Op(
        "_int_mm(Tensor self, Tensor mat2) -> Tensor", shape="mm(self.shape, mat2.shape)",
        out=True, method=False,
        grad="none: integers",
        jvp="none: integers", batch="rule",
        doc="The product of two matrices of int8, in int32.",
        example=(
            ">>> a = tl.tensor([[100, 100]], dtype=tl.int8)\n>>> tl._int_mm(a, a.t())\ntensor([[20000]], "
            "dtype=torch.int32)"
        ),
    ),
    Composite(
        (
            "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? "
            "scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor"
        ),
        shape="mm(self.shape, mat2.shape)",
        method=False,
        doc="The product of two matrices of float8 times their scales, computed in float32.",
        about={
            "scale_a": "what all elements of the first matrix, or those of each row, are multiplied with",
            "scale_b": "what all elements of the second matrix, or those of each column, are multiplied with",
            "scale_result": "has no effect on a CPU",
            "use_fast_accum": "has no effect on a CPU",
        },
        example=(
            ">>> a = tl.ones(1, 16).to(tl.float8_e4m3fn)\n>>> one = tl.tensor(1.0)\n>>> tl._scaled_mm(a, "
            "a.t(), one, one * 2, out_dtype=tl.float32)\ntensor([[32.]])"
        ),
    ),
    Op(
        "bmm(Tensor self, Tensor mat2) -> Tensor", shape="mm(self.shape, mat2.shape)",
        out=True, autocast="lower",
        names="contract", reported="bmm",
        core=True,
        grad={"self": "g.bmm(mat2.transpose(1, 2).conj())", "mat2": "self.transpose(1, 2).conj().bmm(g)"},
        jvp="rule", batch="rule",
        ref="numpy.matmul",
        doc="The products of the matrices of two batches.",
        example=">>> tl.bmm(tl.ones(2, 3, 4), tl.ones(2, 4, 5)).shape\ntorch.Size([2, 3, 5])",
    ),
    Op(
        "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        shape="mm(mat1.shape, mat2.shape)",
        inplace=True, out=True, shown="input, mat1, mat2, *, beta=1, alpha=1, out=None", autocast="lower",
        names="contract", reported="addmm_impl_cpu_",
        core=True,
        grad={
            "self": "(g.conj() * beta).conj()",
            "mat1": "((g.mm(mat2.t().conj())).conj() * alpha).conj()",
            "mat2": "((mat1.t().conj().mm(g)).conj() * alpha).conj()",
        },
        jvp="rule", batch="rule",
        doc=(
            "beta times the input plus alpha times the product of two matrices; with beta 0 the input is not "
            "read."
        ),
        about={
            "input": "what is added: a tensor that is broadcast to the product's shape",
            "self": "what is added: a tensor that is broadcast to the product's shape",
        },
        example=">>> tl.addmm(tl.tensor([1.0]), tl.ones(1, 2), tl.ones(2, 1), alpha=10)\ntensor([[21.]])",
    ),
    Op(
        "mv(Tensor self, Tensor vec) -> Tensor", shape="matmul(self.shape, vec.shape)",
        out=True,
        names="contract", reported="addmv_impl_cpu",
        grad={"self": "g.unsqueeze(1) * vec.conj()", "vec": "self.t().conj().mv(g)"},
        jvp="rule", batch="rule",
        ref="numpy.matmul",
        doc="The product of a matrix and a vector.",
        example=">>> tl.mv(tl.tensor([[1, 2], [3, 4]]), tl.tensor([1, 1]))\ntensor([3, 7])",
    ),
    Op(
        "dot(Tensor self, Tensor tensor) -> Tensor", shape="[]",
        out=True,
        names="contract", reported="dot",
        grad={"self": "g * tensor.conj()", "tensor": "g * self.conj()"},
        jvp="rule", batch="rule",
        ref="numpy.dot",
        doc="The sum of the products of two vectors' elements; nothing is conjugated.",
        about={"tensor": "the second vector"},
        example=">>> tl.dot(tl.tensor([1, 2]), tl.tensor([3, 4]))\ntensor(11)",
    ),
    Composite(
        "matmul(Tensor self, Tensor other) -> Tensor", shape="matmul(self.shape, other.shape)",
        out=True, second_names=("linalg_matmul",),
        autocast="lower",
        names="contract",
        ref="numpy.matmul",
        doc=(
            "The matrix product of tensors of any dimensions: vectors join as rows or columns, further "
            "dimensions are batches."
        ),
        example=">>> tl.matmul(tl.tensor([[1, 2], [3, 4]]), tl.tensor([1, 1]))\ntensor([3, 7])",
    ),
    Op(
        "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        shape="mm(batch1.shape, batch2.shape)",
        inplace=True, out=True, shown="input, batch1, batch2, *, beta=1, alpha=1, out=None", autocast="lower",
        names="contract", reported="baddbmm",
        grad={
            "self": "(g.conj() * beta).conj()",
            "batch1": "((g.bmm(batch2.transpose(1, 2).conj())).conj() * alpha).conj()",
            "batch2": "((batch1.transpose(1, 2).conj().bmm(g)).conj() * alpha).conj()",
        },
        jvp="rule", batch="rule",
        doc=(
            "beta times the input plus alpha times the products of two batches' matrices; with beta 0 the "
            "input is not read."
        ),
        example=">>> tl.baddbmm(tl.ones(1, 1, 1), tl.ones(1, 1, 2), tl.ones(1, 2, 1))\ntensor([[[3.]]])",
    ),
    Composite(
        "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        shape="mm(batch1.shape, batch2.shape)[1:]",
        inplace=True, out=True, shown="input, batch1, batch2, *, beta=1, alpha=1, out=None", autocast="lower",
        doc="beta times the input plus alpha times the sum of the products of two batches' matrices.",
        example=">>> tl.addbmm(tl.zeros(1, 1), tl.ones(3, 1, 2), tl.ones(3, 2, 1))\ntensor([[6.]])",
    ),
    Op(
        "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        shape="matmul(mat.shape, vec.shape)",
        inplace=True, out=True, shown="input, mat, vec, *, beta=1, alpha=1, out=None",
        names="contract", reported="addmv_impl_cpu",
        grad={
            "self": "(g.conj() * beta).conj()",
            "mat": "((g.unsqueeze(1) * vec.conj()).conj() * alpha).conj()",
            "vec": "((mat.t().conj().mv(g)).conj() * alpha).conj()",
        },
        jvp="rule", batch="rule",
        doc=(
            "beta times the input plus alpha times the product of a matrix and a vector; with beta 0 the "
            "input is not read."
        ),
        example=">>> tl.addmv(tl.tensor([1.0]), tl.ones(1, 2), tl.ones(2))\ntensor([3.])",
    ),
    Composite(
        "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        shape="[vec1.shape[0], vec2.shape[0]]",
        inplace=True, out=True, shown="input, vec1, vec2, *, beta=1, alpha=1, out=None",
        doc=(
            "beta times the input plus alpha times the products of each element of one vector with each of "
            "another."
        ),
        example=(
            ">>> tl.addr(tl.zeros(2, 2), tl.tensor([1.0, 2.0]), tl.tensor([3.0, 4.0]))\ntensor([[3., 4.],\n  "
            "      [6., 8.]])"
        ),
    ),
    Composite(
        "vdot(Tensor self, Tensor other) -> Tensor", shape="[]",
        out=True,
        names="contract",
        ref="numpy.vdot",
        doc="The sum of the products of two vectors' elements, the first ones conjugated.",
        example=">>> tl.vdot(tl.tensor([1j]), tl.tensor([1j]))\ntensor(1.+0.j)",
    ),
    Composite(
        "outer(Tensor self, Tensor vec2) -> Tensor", shape="[self.shape[0], vec2.shape[0]]",
        out=True, aliases=("ger",),
        ref="numpy.outer",
        doc="The products of each element of one vector with each of another.",
        example=">>> tl.outer(tl.tensor([1, 2]), tl.tensor([3, 4]))\ntensor([[3, 4],\n        [6, 8]])",
    ),
    Composite(
        "inner(Tensor self, Tensor other) -> Tensor",
        shape=(
            "tensordot(self.shape, other.shape, [-1], [-1]) if self.ndim and other.ndim else self.shape or "
            "other.shape"
        ),
        out=True,
        ref="numpy.inner",
        doc="The sums of products along the last dimensions, for each pair of the other positions.",
        example=">>> tl.inner(tl.tensor([1, 2]), tl.tensor([3, 4]))\ntensor(11)",
    ),
    Composite(
        "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
        shape="tensordot(self.shape, other.shape, dims_self, dims_other)",
        out=True, method=False,
        doc="The sums of products over dimensions of one tensor paired with dimensions of another.",
        example=">>> tl.tensordot(tl.ones(2, 3, 4), tl.ones(3, 4, 5), dims=2).shape\ntorch.Size([2, 5])",
    ),
    Composite(
        "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
        shape="einsum(equation, [t.shape for t in tensors])",
        method=False,
        doc="Sums of products of elements, whose dimensions are named by subscripts.",
        example=">>> tl.einsum(\"ij,jk->ik\", tl.ones(2, 3), tl.ones(3, 4)).shape\ntorch.Size([2, 4])",
    ),
    Composite(
        "chain_matmul(Tensor[] matrices) -> Tensor", shape="chain([t.shape for t in matrices])",
        out=True, method=False,
        doc="The product of several matrices, in the order with the fewest multiplications.",
        example=">>> tl.chain_matmul(tl.ones(2, 3), tl.ones(3, 4), tl.ones(4, 5)).shape\ntorch.Size([2, 5])",
    ),
    Composite(
        "linalg_multi_dot(Tensor[] tensors) -> Tensor", shape="chain([t.shape for t in tensors])",
        out=True, method=False, namespace="_linalg",
        doc="The product of several matrices, in the cheapest order; the first and the last may be vectors.",
        example=">>> tl.linalg.multi_dot([tl.ones(2, 3), tl.ones(3, 4), tl.ones(4)]).shape\ntorch.Size([2])",
    ),
    Composite(
        "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
        shape="drop(broadcast(x.shape, y.shape), dim)",
        out=True, method=False, namespace="_linalg", autocast="lower",
        doc=(
            "The sums along a dimension of the products of two tensors' elements, those of the first "
            "conjugated."
        ),
        example=">>> tl.linalg.vecdot(tl.tensor([1.0, 2.0]), tl.tensor([3.0, 4.0]))\ntensor(11.)",
    ),
    Composite(
        "linalg_vander(Tensor x, *, int? N=None) -> Tensor",
        shape="[*x.shape, x.shape[-1] if N is None else N]",
        method=False, namespace="_linalg",
        doc=(
            "Vandermonde matrices: the powers of each element from 0 to N - 1, by default as many as there "
            "are elements."
        ),
        example=">>> tl.linalg.vander(tl.tensor([2, 3]))\ntensor([[1, 2],\n        [1, 3]])",
    ),
    Composite(
        "linalg_matrix_power(Tensor self, int n) -> Tensor", shape="self.shape",
        out=True, method=False, namespace="_linalg",
        doc="The n-th power of square matrices; a negative one is a power of the inverse.",
        example=">>> tl.linalg.matrix_power(tl.tensor([[2.0]]), 3)\ntensor([[8.]])",
    ),
    Composite(
        "matrix_power(Tensor self, int n) -> Tensor", shape="self.shape", kernel="linalg_matrix_power",
        out=True,
        doc="As linalg.matrix_power.",
        example=">>> tl.matrix_power(tl.tensor([[2.0]]), -1)\ntensor([[0.5000]])",
    ),
    Composite(
        "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
        shape=(
            "require(prod(self.shape[:ind]) == prod(self.shape[ind:]), self.shape[ind:] + self.shape[:ind])"
        ),
        out=True, method=False, namespace="_linalg", autocast="float32",
        doc="The inverse of tensordot with a tensor over its last dimensions, all but the first `ind`.",
        example=">>> tl.linalg.tensorinv(tl.eye(4).reshape(2, 2, 4)).shape\ntorch.Size([4, 2, 2])",
    ),
    Composite(
        "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
        shape=(
            "(self.shape if dims is None else move(self.shape, dims, list(range(self.ndim - len(dims), "
            "self.ndim))))[other.ndim:]"
        ),
        out=True, method=False, namespace="_linalg",
        doc=(
            "X for which tensordot of a tensor with it over X's dimensions is the other; `dims` are moved to "
            "the end first."
        ),
        example=(
            ">>> tl.linalg.tensorsolve(tl.eye(4).reshape(2, 2, 4), tl.ones(2, 2))\ntensor([1., 1., 1., 1.])"
        ),
    ),
    Op(
        "tril(Tensor self, int diagonal=0) -> Tensor", shape="self.shape",
        inplace=True, out=True, devices="Any",
        reported="tril",
        grad={"self": "g.tril(diagonal)"},
        jvp="linear", batch="front",
        ref="numpy.tril",
        doc="The matrices' lower triangles, up to the given diagonal; zeros elsewhere.",
        example=">>> tl.tril(tl.ones(2, 2))\ntensor([[1., 0.],\n        [1., 1.]])",
    ),
    Op(
        "triu(Tensor self, int diagonal=0) -> Tensor", shape="self.shape",
        inplace=True, out=True, devices="Any",
        reported="triu",
        grad={"self": "g.triu(diagonal)"},
        jvp="linear", batch="front",
        ref="numpy.triu",
        doc="The matrices' upper triangles, from the given diagonal on; zeros elsewhere.",
        example=">>> tl.triu(tl.ones(2, 2))\ntensor([[1., 1.],\n        [0., 1.]])",
    ),
    Composite(
        "matrix_rows(Tensor self) -> Tensor",
        shape="self.shape if self.ndim == 2 else [prod(self.shape[:-1]), self.shape[-1]]",
        function=False, method=False,
        doc="The vectors along the last dimension as the rows of one matrix; a matrix is returned as it is.",
    ),
    Composite(
        "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
        shape="[*input1.shape[:-1], weight.shape[0]]",
        method=False, namespace="_nn",
        doc="`input1 @ weight[k] @ input2 + bias[k]` for each output feature `k`.",
    ),
    Op(
        "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
        shape="linear(input.shape, weight.shape)",
        out=True, method=False, namespace="_nn", devices="Any", autocast="lower",
        grad={
            "input": "g.matmul(weight.conj()) if weight.ndim == 2 else g.unsqueeze(-1) * weight.conj()",
            "weight": (
                "matrix_rows(g).t().mm(matrix_rows(input).conj()) if weight.ndim == 2 else "
                "matrix_rows(input).t().conj().mv(g.reshape((-1,)))"
            ),
            "bias": "g",
        },
        jvp="rule", batch="rule",
        doc=(
            "The input, shape (*, in), times the transposed weight, shape (out, in) or (in,), plus the bias, "
            "shape (out,)."
        ),
        example=(
            ">>> weight, bias = tl.tensor([[1.0, 1.0], [0.0, -1.0]]), tl.tensor([0.5, 0.0])\n>>> "
            "tl.nn_functions.linear(tl.tensor([1.0, 2.0]), weight, bias)\ntensor([ 3.5000, -2.0000])"
        ),
    ),
]  # fmt: skip
