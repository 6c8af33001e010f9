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
    Op("geqrf(Tensor self) -> (Tensor a, Tensor tau)", out=True, out_name="geqrf.a", grad="none:not implemented for geqrf",
       jvp="none:not implemented for geqrf", batch="dims",
       doc="The QR decomposition as reflections: R in the upper triangle of `a`, below it the vectors, whose factors are `tau`.",
       example=">>> tl.geqrf(tl.tensor([[2.0, 1.0], [0.0, 3.0]])).tau\ntensor([0., 0.])"),
    _named("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", out_name="linalg_qr.out",
           grad={"A": "linalg_qr_backward(g0, g1, Q, R, mode)"},
           doc="The factors of A = Q R: Q with orthonormal columns, R an upper triangle. mode: 'reduced', 'complete', or 'r', without Q.",
           example=">>> tl.linalg.qr(tl.tensor([[0.0, 1.0], [2.0, 0.0]])).R\ntensor([[-2.,  0.],\n        [ 0., -1.]])"),
    _derived("linalg_qr_backward(Tensor? grad_Q, Tensor? grad_R, Tensor Q, Tensor R, str mode) -> Tensor",
             doc="The gradient of linalg_qr."),
    Composite("linalg_householder_product(Tensor input, Tensor tau) -> Tensor", out=True, method=False, namespace="_linalg",
              doc="The first columns of the product of the reflections whose vectors stand below the diagonal and whose factors are `tau`."),
    Composite("orgqr(Tensor self, Tensor input2) -> Tensor", out=True, doc="As linalg.householder_product."),
    Op("_linalg_solve(Tensor A, Tensor B) -> Tensor", function=False, method=False, jvp="double-vjp", batch="dims",
       grad={"A": "-_linalg_solve(A.transpose(-2, -1).conj(), g).matmul(result.transpose(-2, -1).conj())",
             "B": "_linalg_solve(A.transpose(-2, -1).conj(), g)"},
       doc="X of A X = B, for batches of matrices."),
    Composite("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", out=True, method=False, namespace="_linalg",
              doc="X of A X = B, or of X A = B unless `left`; A is square and has an inverse. B may be a vector, or a batch of vectors.",
              example=">>> tl.linalg.solve(tl.tensor([[2.0, 0.0], [0.0, 4.0]]), tl.tensor([2.0, 2.0]))\ntensor([1.0000, 0.5000])"),
    Op("linalg_matrix_exp(Tensor self) -> Tensor", method=False, namespace="_linalg", jvp="double-vjp", batch="dims",
       grad={"self": "_matrix_exp_backward(self, g)"},
       doc="The sum of A^k / k! over all k, for a square matrix or a batch of them.",
       example=">>> tl.linalg.matrix_exp(tl.zeros(2, 2))\ntensor([[1., 0.],\n        [0., 1.]])"),
    Composite("matrix_exp(Tensor self) -> Tensor", doc="As linalg.matrix_exp."),
    _derived("_matrix_exp_backward(Tensor self, Tensor grad) -> Tensor", doc="The gradient of linalg_matrix_exp."),
]  # fmt: skip
