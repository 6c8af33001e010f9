"""Decompositions of matrices and what is solved with them; linalg.py has the products."""

from opgen.row import Composite, Op


def _named(signature, **fields):
    """A function of the module `linalg`."""
    fields = {"jvp": "double-vjp", "batch": "front", **fields}
    return Op(signature, method=False, namespace="_linalg", out=True, **fields)


def _derived(signature, **fields):
    """A private composite: a part of a derivative, or of a named function."""
    return Composite(signature, function=False, method=False, **fields)


ROWS = [
    Op(
        "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
        shape="[self.shape, self.shape[:-2] + [min(self.shape[-2], self.shape[-1])]]",
        out=True, out_name="geqrf.a", autocast="float32",
        grad="none:not implemented for geqrf",
        jvp="none:not implemented for geqrf", batch="front",
        doc=(
            "The QR decomposition as reflections: R in the upper triangle of `a`, below it the vectors, "
            "whose factors are `tau`."
        ),
        example=">>> tl.geqrf(tl.tensor([[2.0, 1.0], [0.0, 3.0]])).tau\ntensor([0., 0.])",
    ),
    _named(
        "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", shape="qr(A.shape, mode)",
        out_name="linalg_qr.out", autocast="float32",
        reported="geqrf_cpu",
        grad={"A": "linalg_qr_backward(g0, g1, Q, R, mode)"},
        doc=(
            "The factors of A = Q R: Q with orthonormal columns, R an upper triangle. mode: 'reduced', "
            "'complete', or 'r', without Q."
        ),
        example=(
            ">>> tl.linalg.qr(tl.tensor([[0.0, 1.0], [2.0, 0.0]])).R\ntensor([[-2.,  0.],\n        [ 0., "
            "-1.]])"
        ),
    ),
    Composite(
        "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
        shape="qr(self.shape, 'reduced' if some else 'complete')",
        out=True, out_name="qr.Q",
        doc="As linalg.qr; with `some` in mode reduced, else complete.",
        example=(
            ">>> tl.qr(tl.tensor([[0.0, 1.0], [2.0, 0.0]])).R.abs()\ntensor([[2., 0.],\n        [0., 1.]])"
        ),
    ),
    _derived(
        "linalg_qr_backward(Tensor? grad_Q, Tensor? grad_R, Tensor Q, Tensor R, str mode) -> Tensor",
        shape="[*Q.shape[:-1], R.shape[-1]]",
        doc="The gradient of linalg_qr.",
    ),
    _named(
        "linalg_householder_product(Tensor input, Tensor tau) -> Tensor", shape="input.shape",
        autocast="float32",
        grad={"input, tau": "_householder_product_backward(g, input, tau)"},
        batch="dims",
        doc=(
            "The first columns of the product of the reflections whose vectors stand below the diagonal and "
            "whose factors are `tau`."
        ),
        example=(
            ">>> h, tau = tl.geqrf(tl.tensor([[3.0], [4.0]]))\n>>> tl.linalg.householder_product(h, tau)\n"
            "tensor([[-0.6000],\n        [-0.8000]])"
        ),
    ),
    _derived(
        "_householder_product_backward(Tensor grad, Tensor input, Tensor tau) -> (Tensor, Tensor)",
        shape="[input.shape, tau.shape]",
        doc="The gradients of linalg_householder_product.",
    ),
    Composite(
        "orgqr(Tensor self, Tensor input2) -> Tensor", shape="self.shape",
        out=True, autocast="float32",
        doc="As linalg.householder_product.",
        example=(
            ">>> h, tau = tl.geqrf(tl.tensor([[3.0], [4.0]]))\n>>> tl.orgqr(h, tau)\ntensor([[-0.6000],\n    "
            "    [-0.8000]])"
        ),
    ),
    Op(
        "_linalg_svd(Tensor A) -> (Tensor U, Tensor S, Tensor Vh)", shape="svd(A.shape, False)",
        function=False, method=False,
        grad={"A": "_linalg_svd_backward(g0, g1, g2, U, S, Vh)"},
        jvp="double-vjp", batch="front",
        doc=(
            "The factors of A = U diag(S) Vh with as many singular values as the shorter side, for batches "
            "of matrices."
        ),
    ),
    _derived(
        (
            "_linalg_svd_backward(Tensor? grad_U, Tensor? grad_S, Tensor? grad_Vh, Tensor U, Tensor S, "
            "Tensor Vh) -> Tensor"
        ),
        shape="[*U.shape[:-1], Vh.shape[-1]]",
        doc="The gradient of _linalg_svd.",
    ),
    Op(
        "_singular_norm(Tensor A, Tensor value, Tensor weights, Tensor U, Tensor S, Tensor Vh) -> Tensor",
        shape="value.shape",
        function=False, method=False, devices="Any",
        grad={"A": "_singular_norm_backward(g, A, weights, U, S, Vh)"},
        jvp="double-vjp", batch="front",
        doc=(
            "`value`, the sum of the singular values of A times weights that don't follow them; the factors "
            "of A aren't differentiated."
        ),
    ),
    Op(
        (
            "_singular_norm_backward(Tensor grad, Tensor A, Tensor weights, Tensor U, Tensor S, Tensor Vh) "
            "-> Tensor"
        ),
        shape=(
            "matmul(broadcast(U.shape, [*weights.shape[:-1], 1, weights.shape[-1]], [*grad.shape, 1, 1]), "
            "Vh.shape)"
        ),
        function=False, method=False, devices="Any",
        grad={
            "grad": (
                "(g * _singular_norm_backward(ones_like(grad), A, weights, U, S, Vh).conj()).sum((-2, -1))"
            ),
            "A": "_singular_norm_double_backward(g, grad, A, weights, U, S, Vh)",
        },
        jvp="double-vjp", batch="front",
        doc="The gradient of _singular_norm.",
    ),
    _derived(
        (
            "_singular_norm_double_backward(Tensor g, Tensor grad, Tensor A, Tensor weights, Tensor U, "
            "Tensor S, Tensor Vh) -> Tensor"
        ),
        shape="A.shape",
        doc="The gradient of _singular_norm_backward by A.",
    ),
    _derived(
        "_linalg_singular_norm(Tensor A, int which) -> Tensor", shape="A.shape[:-2]",
        doc="The sum of the singular values (0), the largest of them (1) or the smallest (-1).",
    ),
    Composite(
        (
            "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, "
            "Tensor Vh)"
        ),
        shape="svd(A.shape, full_matrices)",
        out=True, out_name="linalg_svd.U", method=False, namespace="_linalg", autocast="float32",
        doc=(
            "The factors of A = U diag(S) Vh: orthonormal columns, singular values in descending order, "
            "orthonormal rows. With full_matrices U and Vh are square. No `driver` can be chosen."
        ),
        example=">>> tl.linalg.svd(tl.tensor([[0.0, 2.0], [1.0, 0.0]])).S\ntensor([2., 1.])",
    ),
    Op(
        "_linalg_svdvals(Tensor A) -> Tensor", shape="A.shape[:-2] + [min(A.shape[-2], A.shape[-1])]",
        function=False, method=False,
        grad="none:linalg_svdvals computes the vectors where gradients are asked for",
        jvp="none:linalg_svdvals computes the vectors where gradients are asked for", batch="dims",
        doc="The singular values of matrices, without their vectors.",
    ),
    Composite(
        "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
        shape="A.shape[:-2] + [min(A.shape[-2], A.shape[-1])]",
        out=True, method=False, namespace="_linalg", autocast="float32",
        doc="The singular values of a matrix or of each of a batch, in descending order.",
        example=">>> tl.linalg.svdvals(tl.tensor([[0.0, 2.0], [1.0, 0.0]]))\ntensor([2., 1.])",
    ),
    Composite(
        "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
        shape="svd_factors(self.shape, some and compute_uv)",
        out=True, out_name="svd.U", autocast="float32",
        doc="As linalg.svd, but with V in place of its adjoint; U and V are zeros unless compute_uv.",
        example=">>> tl.svd(tl.tensor([[0.0, 3.0], [1.0, 0.0]])).S\ntensor([3., 1.])",
    ),
    # Cholesky.
    _named(
        (
            "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, "
            "Tensor info)"
        ),
        shape="[self.shape, self.shape[:-2]]",
        out_name="linalg_cholesky_ex.L", autocast="float32",
        grad={"self": "_cholesky_backward(g0, L, upper)"},
        doc=(
            "The Cholesky factors of Hermitian positive-definite matrices and LAPACK's code for each, which "
            "is 0 where there is one. Only one triangle is read."
        ),
        about={
            "upper": "whether the factor is an upper triangle, read from the upper one",
            "check_errors": "whether a code that isn't 0 raises LinAlgError",
        },
        example=">>> tl.linalg.cholesky_ex(tl.tensor([[4.0]])).L\ntensor([[2.]])",
    ),
    _derived(
        "_cholesky_backward(Tensor grad, Tensor factor, bool upper) -> Tensor", shape="factor.shape",
        doc="The gradient of cholesky.",
    ),
    Composite(
        "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", shape="self.shape",
        out=True, method=False, namespace="_linalg", autocast="float32",
        doc="L with L L^H = A, a lower triangle, for Hermitian positive-definite A; LinAlgError if A isn't.",
        example=(
            ">>> tl.linalg.cholesky(tl.tensor([[4.0, 2.0], [2.0, 5.0]]))\ntensor([[2., 0.],\n        [1., "
            "2.]])"
        ),
    ),
    Composite(
        "cholesky(Tensor self, bool upper=False) -> Tensor", shape="self.shape",
        out=True, autocast="float32",
        doc="As linalg.cholesky.",
        example=">>> tl.cholesky(tl.tensor([[9.0]]))\ntensor([[3.]])",
    ),
    # LU.
    _named(
        (
            "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, "
            "Tensor pivots, Tensor info)"
        ),
        shape="[A.shape, A.shape[:-2] + [min(A.shape[-2], A.shape[-1])], A.shape[:-2]]",
        out_name="linalg_lu_factor_ex.out",
        reported="lu_cpu",
        grad={"A": "_lu_backward(g0, LU, pivots)"},
        doc=(
            "As linalg.lu_factor, and LAPACK's code for each matrix: 0, or which element of U's diagonal is "
            "zero."
        ),
        about={
            "pivot": "whether rows are exchanged; the CPU cannot do without",
            "check_errors": "whether a code that isn't 0 raises LinAlgError",
        },
        example=">>> tl.linalg.lu_factor_ex(tl.tensor([[4.0]])).info\ntensor(0, dtype=torch.int32)",
    ),
    _derived(
        "_lu_backward(Tensor grad, Tensor LU, Tensor pivots) -> Tensor", shape="LU.shape",
        doc="The gradient of lu_factor_ex.",
    ),
    Composite(
        "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
        shape="[A.shape, A.shape[:-2] + [min(A.shape[-2], A.shape[-1])]]",
        out=True, out_name="linalg_lu_factor.out", method=False, namespace="_linalg",
        doc=(
            "The LU factors of matrices in one: U in the upper triangle, L, whose diagonal is ones, below "
            "it; and which row was exchanged with each, from 1."
        ),
        example=(
            ">>> tl.linalg.lu_factor(tl.tensor([[0.0, 1.0], [2.0, 0.0]])).pivots\ntensor([2, 2], "
            "dtype=torch.int32)"
        ),
    ),
    Composite(
        (
            "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor "
            "pivots, Tensor info)"
        ),
        shape="[self.shape, self.shape[:-2] + [min(self.shape[-2], self.shape[-1])], self.shape[:-2]]",
        method=False, autocast="float32",
        doc="As linalg.lu_factor_ex.",
    ),
    Composite(
        "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", shape="lu(A.shape)",
        out=True, out_name="linalg_lu.out", method=False, namespace="_linalg",
        doc=(
            "The factors of A = P L U: a permutation, a lower triangle with ones on its diagonal, an upper "
            "triangle."
        ),
        example=(
            ">>> tl.linalg.lu(tl.tensor([[0.0, 1.0], [2.0, 0.0]])).U\ntensor([[2., 0.],\n        [0., 1.]])"
        ),
    ),
    Op(
        (
            "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> "
            "(Tensor P, Tensor L, Tensor U)"
        ),
        shape=(
            "(lu(LU_data.shape)[:1] if unpack_pivots else [[0]]) + (lu(LU_data.shape)[1:] if unpack_data "
            "else [[0], [0]])"
        ),
        out=True, out_name="lu_unpack.out", method=False,
        grad={"LU_data": "_lu_unpack_backward(g1, g2, LU_data)"},
        jvp="double-vjp", batch="front",
        doc="P, L and U from the compact form that lu_factor gives.",
        about={
            "LU_data": "the factors, (*, m, n)",
            "LU_pivots": "the exchanges of rows, (*, min(m, n)), of int32",
            "unpack_data": "whether L and U are made; otherwise they are empty",
            "unpack_pivots": "whether P is made; otherwise it is empty",
        },
        example=">>> tl.lu_unpack(*tl.linalg.lu_factor(tl.tensor([[3.0]]))).U\ntensor([[3.]])",
    ),
    _derived(
        "_lu_unpack_backward(Tensor? grad_L, Tensor? grad_U, Tensor LU) -> Tensor", shape="LU.shape",
        doc="The gradient of lu_unpack.",
    ),
    # Symmetric indefinite.
    _named(
        (
            "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor "
            "LD, Tensor pivots, Tensor info)"
        ),
        shape="[self.shape, self.shape[:-1], self.shape[:-2]]",
        out_name="linalg_ldl_factor_ex.out",
        grad="none:not implemented for ldl_factor",
        jvp="none:not implemented for ldl_factor",
        doc="As linalg.ldl_factor, and LAPACK's code for each matrix, which is 0 where D is regular.",
        about={
            "hermitian": "whether complex matrices are Hermitian rather than symmetric",
            "check_errors": "whether a code that isn't 0 raises LinAlgError",
        },
        example=">>> tl.linalg.ldl_factor_ex(tl.tensor([[4.0]])).info\ntensor(0, dtype=torch.int32)",
    ),
    Composite(
        "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
        shape="[self.shape, self.shape[:-1]]",
        out=True, out_name="linalg_ldl_factor.out", method=False, namespace="_linalg",
        doc=(
            "The factors of A = L D L^T in one, D with blocks of one or two rows, for symmetric or Hermitian "
            "matrices, of which the lower triangle is read."
        ),
        example=">>> tl.linalg.ldl_factor(tl.tensor([[4.0]])).LD\ntensor([[4.]])",
    ),
    # Eigenvalues.
    Op(
        (
            "_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor "
            "eigenvectors)"
        ),
        shape="[A.shape[:-1], A.shape if compute_v else [0]]",
        function=False, method=False,
        grad={"A": "_linalg_eigh_backward(g0, g1, eigenvalues, eigenvectors)"},
        jvp="double-vjp", batch="front",
        doc=(
            "Eigenvalues of Hermitian matrices in ascending order, and their vectors unless they are not "
            "wanted."
        ),
    ),
    _derived(
        (
            "_linalg_eigh_backward(Tensor? grad_L, Tensor? grad_V, Tensor eigenvalues, Tensor eigenvectors) "
            "-> Tensor"
        ),
        shape="eigenvectors.shape",
        doc="The gradient of _linalg_eigh.",
    ),
    Composite(
        "linalg_eigh(Tensor A, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
        shape="[A.shape[:-1], A.shape]",
        out=True, out_name="linalg_eigh.eigvals(eigvals, eigvecs)", method=False, namespace="_linalg",
        autocast="float32",
        doc=(
            "The eigenvalues of symmetric or Hermitian matrices, ascending, and orthonormal eigenvectors as "
            "columns. UPLO: which triangle is read."
        ),
        example=">>> tl.linalg.eigh(tl.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues\ntensor([1., 2.])",
    ),
    Composite(
        "linalg_eigvalsh(Tensor A, str UPLO='L') -> Tensor", shape="A.shape[:-1]",
        out=True, method=False, namespace="_linalg", autocast="float32",
        doc="The eigenvalues of symmetric or Hermitian matrices, ascending. UPLO: which triangle is read.",
        example=">>> tl.linalg.eigvalsh(tl.tensor([[2.0, 0.0], [0.0, 1.0]]))\ntensor([1., 2.])",
    ),
    _named(
        "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
        shape="[self.shape[:-1], self.shape]",
        out_name="linalg_eig.out", autocast="float32",
        grad={"self": "_linalg_eig_backward(g0, g1, eigenvalues, eigenvectors)"},
        doc=(
            "The complex eigenvalues of square matrices, and eigenvectors of length 1 as columns, in no set "
            "order."
        ),
        example=">>> tl.linalg.eig(tl.tensor([[3.0]])).eigenvalues\ntensor([3.+0.j])",
    ),
    _derived(
        (
            "_linalg_eig_backward(Tensor? grad_L, Tensor? grad_V, Tensor eigenvalues, Tensor eigenvectors) "
            "-> Tensor"
        ),
        shape="eigenvectors.shape",
        doc="The gradient of linalg_eig.",
    ),
    Op(
        "_linalg_eigvals(Tensor self) -> Tensor", shape="self.shape[:-1]",
        function=False, method=False,
        grad="none:linalg_eigvals computes the vectors where gradients are asked for",
        jvp="none:linalg_eigvals computes the vectors where gradients are asked for", batch="front",
        doc="The complex eigenvalues of square matrices.",
    ),
    Composite(
        "linalg_eigvals(Tensor self) -> Tensor", shape="self.shape[:-1]",
        out=True, method=False, namespace="_linalg", autocast="float32",
        doc="The complex eigenvalues of square matrices, in no set order.",
        example=">>> tl.linalg.eigvals(tl.tensor([[3.0]]))\ntensor([3.+0.j])",
    ),
    Composite(
        "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
        shape="input3.shape",
        out=True, autocast="float32",
        doc="Q C, or C Q unless `left`, with the square Q of the reflectors that geqrf gives.",
        about={
            "input": "the vectors of the reflectors below the diagonal, (*, m, k)",
            "input2": "their factors, (*, min(m, k))",
            "input3": "C, (*, m, n), or (*, n, m) unless `left`",
            "left": "whether Q stands on the left",
            "transpose": "whether Q is replaced by its adjoint",
        },
        example=">>> tl.ormqr(*tl.geqrf(tl.tensor([[2.0]])), tl.ones(1, 1)).abs()\ntensor([[1.]])",
    ),
    # Equations.
    Op(
        "_linalg_solve(Tensor A, Tensor B) -> Tensor", shape="solve(A.shape, B.shape, True)",
        function=False, method=False,
        reported="lu_cpu",
        grad={
            "A": (
                "(-_linalg_solve(A.transpose(-2, -1).conj(), g).matmul(result.transpose(-2, "
                "-1).conj())).sum_to_size(A.shape)"
            ),
            "B": "_linalg_solve(A.transpose(-2, -1).conj(), g)",
        },
        jvp="double-vjp", batch="front",
        doc="X of A X = B, for batches of matrices.",
    ),
    Composite(
        "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
        shape="solve(A.shape, B.shape, left)",
        out=True, method=False, namespace="_linalg", autocast="float32",
        doc=(
            "X of A X = B, or of X A = B unless `left`; A is square and has an inverse. B may be a vector, "
            "or a batch of vectors."
        ),
        example=(
            ">>> tl.linalg.solve(tl.tensor([[2.0, 0.0], [0.0, 4.0]]), tl.tensor([2.0, 2.0]))\n"
            "tensor([1.0000, 0.5000])"
        ),
    ),
    Op(
        "linalg_matrix_exp(Tensor self) -> Tensor", shape="self.shape",
        method=False, namespace="_linalg",
        grad={"self": "_matrix_exp_backward(self, g)"},
        jvp="double-vjp", batch="front",
        doc="The sum of A^k / k! over all k, for a square matrix or a batch of them.",
        example=">>> tl.linalg.matrix_exp(tl.zeros(2, 2))\ntensor([[1., 0.],\n        [0., 1.]])",
    ),
    Composite(
        "matrix_exp(Tensor self) -> Tensor", shape="self.shape",
        doc="As linalg.matrix_exp.",
        example=(
            ">>> tl.matrix_exp(tl.tensor([[0.0, 1.0], [0.0, 0.0]]))\ntensor([[1., 1.],\n        [0., 1.]])"
        ),
    ),
    _derived(
        "_matrix_exp_backward(Tensor self, Tensor grad) -> Tensor", shape="self.shape",
        doc="The gradient of linalg_matrix_exp.",
    ),
]  # fmt: skip
