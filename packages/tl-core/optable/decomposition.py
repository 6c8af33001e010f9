"""Decompositions of matrices and what is solved with them; linalg.py has the products."""

from opgen.row import Composite, Op


def _named(signature, **fields):
    """A function of the module `linalg`."""
    return Op(
        signature, method=False, namespace="_linalg", out=True, jvp="double-vjp", batch="dims", **fields
    )


def _derived(signature, **fields):
    """A private composite: a part of a derivative, or of a named function."""
    return Composite(signature, function=False, method=False, **fields)


ROWS = [
    Op(
        "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
        out=True, out_name="geqrf.a",
        grad="none:not implemented for geqrf",
        jvp="none:not implemented for geqrf", batch="dims",
        doc=(
            "The QR decomposition as reflections: R in the upper triangle of `a`, below it the vectors, "
            "whose factors are `tau`."
        ),
        example=">>> tl.geqrf(tl.tensor([[2.0, 1.0], [0.0, 3.0]])).tau\ntensor([0., 0.])",
    ),
    _named(
        "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
        out_name="linalg_qr.out",
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
    _derived(
        "linalg_qr_backward(Tensor? grad_Q, Tensor? grad_R, Tensor Q, Tensor R, str mode) -> Tensor",
        doc="The gradient of linalg_qr.",
    ),
    Composite(
        "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
        out=True, method=False, namespace="_linalg",
        doc=(
            "The first columns of the product of the reflections whose vectors stand below the diagonal and "
            "whose factors are `tau`."
        ),
    ),
    Composite(
        "orgqr(Tensor self, Tensor input2) -> Tensor",
        out=True,
        doc="As linalg.householder_product.",
    ),
    Op(
        "_linalg_svd(Tensor A) -> (Tensor U, Tensor S, Tensor Vh)",
        function=False, method=False,
        grad={"A": "_linalg_svd_backward(g0, g1, g2, U, S, Vh)"},
        jvp="double-vjp", batch="dims",
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
        doc="The gradient of _linalg_svd.",
    ),
    Composite(
        (
            "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, "
            "Tensor Vh)"
        ),
        out=True, out_name="linalg_svd.U", method=False, namespace="_linalg",
        doc=(
            "The factors of A = U diag(S) Vh: orthonormal columns, singular values in descending order, "
            "orthonormal rows. With full_matrices U and Vh are square. No `driver` can be chosen."
        ),
        example=">>> tl.linalg.svd(tl.tensor([[0.0, 2.0], [1.0, 0.0]])).S\ntensor([2., 1.])",
    ),
    Composite(
        "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
        out=True, method=False, namespace="_linalg",
        doc="The singular values of a matrix or of each of a batch, in descending order.",
        example=">>> tl.linalg.svdvals(tl.tensor([[0.0, 2.0], [1.0, 0.0]]))\ntensor([2., 1.])",
    ),
    Composite(
        "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
        out=True, out_name="svd.U",
        doc="As linalg.svd, but with V in place of its adjoint; U and V are zeros unless compute_uv.",
    ),
    Op(
        "_linalg_solve(Tensor A, Tensor B) -> Tensor",
        function=False, method=False,
        grad={
            "A": "-_linalg_solve(A.transpose(-2, -1).conj(), g).matmul(result.transpose(-2, -1).conj())",
            "B": "_linalg_solve(A.transpose(-2, -1).conj(), g)",
        },
        jvp="double-vjp", batch="dims",
        doc="X of A X = B, for batches of matrices.",
    ),
    Composite(
        "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
        out=True, method=False, namespace="_linalg",
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
        "linalg_matrix_exp(Tensor self) -> Tensor",
        method=False, namespace="_linalg",
        grad={"self": "_matrix_exp_backward(self, g)"},
        jvp="double-vjp", batch="dims",
        doc="The sum of A^k / k! over all k, for a square matrix or a batch of them.",
        example=">>> tl.linalg.matrix_exp(tl.zeros(2, 2))\ntensor([[1., 0.],\n        [0., 1.]])",
    ),
    Composite(
        "matrix_exp(Tensor self) -> Tensor",
        doc="As linalg.matrix_exp.",
    ),
    _derived(
        "_matrix_exp_backward(Tensor self, Tensor grad) -> Tensor",
        doc="The gradient of linalg_matrix_exp.",
    ),
]  # fmt: skip
