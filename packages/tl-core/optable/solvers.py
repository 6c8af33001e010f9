"""Inverses, determinants and solutions of linear systems, from the factors of LAPACK."""

from opgen.row import Composite, Op


def _solver(signature, **fields):
    """A function of the module `linalg`."""
    return Op(
        signature,
        **fields,
        out=True,
        method=False,
        namespace="_linalg",
        jvp="double-vjp",
        batch="front",
    )


def _named(signature, **fields):
    """A function of the module `linalg` that is made of others."""
    return Composite(signature, method=False, namespace="_linalg", out=True, **fields)


def _private(signature, **fields):
    """What named functions are made of."""
    return Op(signature, function=False, method=False, jvp="double-vjp", batch="front", **fields)


def _derived(signature, **fields):
    """A private composite: a part of a derivative."""
    return Composite(signature, function=False, method=False, **fields)


_CHECKED = {"check_errors": "whether a code that isn't 0 raises LinAlgError"}
_UPPER = "whether the triangle is the upper one"

ROWS = [
    # Inverses.
    _solver(
        "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
        shape="[A.shape, A.shape[:-2]]",
        out_name="linalg_inv_ex.inverse", autocast="float32",
        grad={"A": "-(inverse.transpose(-2, -1).conj().matmul(g0).matmul(inverse.transpose(-2, -1).conj()))"},
        doc=(
            "The inverses of square matrices and LAPACK's code for each, which is 0 where there is an "
            "inverse."
        ),
        about=_CHECKED,
        example=">>> tl.linalg.inv_ex(tl.tensor([[2.0]])).inverse\ntensor([[0.5000]])",
    ),
    _named(
        "linalg_inv(Tensor A) -> Tensor", shape="A.shape",
        autocast="float32",
        doc="The inverses of square matrices; LinAlgError if one has none.",
        example=(
            ">>> tl.linalg.inv(tl.tensor([[2.0, 0.0], [0.0, 4.0]]))\ntensor([[0.5000, 0.0000],\n        "
            "[0.0000, 0.2500]])"
        ),
    ),
    Composite(
        "inverse(Tensor self) -> Tensor", shape="self.shape",
        out=True, autocast="float32",
        doc="As linalg.inv.",
        example=">>> tl.inverse(tl.tensor([[4.0]]))\ntensor([[0.2500]])",
    ),
    _private(
        "_linalg_pinv(Tensor A, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
        shape="swap(A.shape, -1, -2)",
        grad={"A": "_pinv_backward(g, result, A)"},
        doc="The pseudoinverses of matrices, from their singular values.",
    ),
    _derived(
        "_pinv_backward(Tensor grad, Tensor pinv, Tensor A) -> Tensor", shape="A.shape",
        doc="The gradient of _linalg_pinv.",
    ),
    _named(
        "linalg_pinv(Tensor A, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
        shape="swap(A.shape, -1, -2)",
        doc=(
            "The Moore-Penrose inverses of matrices: singular values up to the greater of atol and rtol "
            "times the largest count as zero."
        ),
        example=">>> tl.linalg.pinv(tl.tensor([[2.0], [0.0]]))\ntensor([[0.5000, 0.0000]])",
    ),
    # Determinants.
    _private(
        "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
        shape="[A.shape[:-2], A.shape, A.shape[:-1]]",
        reported="lu_cpu",
        grad={"A": "_linalg_det_backward(g0, result, A, LU, pivots)"},
        doc="The determinants of matrices, and the factors that they were read off.",
    ),
    _derived(
        "_linalg_det_backward(Tensor grad, Tensor result, Tensor A, Tensor LU, Tensor pivots) -> Tensor",
        shape="A.shape",
        doc="The gradient of _linalg_det.",
    ),
    _named(
        "linalg_det(Tensor A) -> Tensor", shape="A.shape[:-2]",
        doc="The determinants of square matrices.",
        example=">>> tl.linalg.det(tl.tensor([[2.0, 1.0], [0.0, 4.0]]))\ntensor(8.)",
    ),
    _private(
        "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
        shape="[A.shape[:-2], A.shape[:-2], A.shape, A.shape[:-1]]",
        grad={"A": "_linalg_slogdet_backward(g0, g1, A, sign)"},
        doc=(
            "Signs and logarithms of the magnitudes of determinants, and the factors that they were read off."
        ),
    ),
    _derived(
        (
            "_linalg_slogdet_backward(Tensor? grad_sign, Tensor? grad_logabsdet, Tensor A, Tensor sign) -> "
            "Tensor"
        ),
        shape="A.shape",
        doc="The gradient of _linalg_slogdet.",
    ),
    _named(
        "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", shape="[A.shape[:-2], A.shape[:-2]]",
        out_name="linalg_slogdet.out",
        doc="Signs and logarithms of the magnitudes of the determinants of square matrices.",
        example=">>> tl.linalg.slogdet(tl.tensor([[-1.0]])).sign\ntensor(-1.)",
    ),
    Composite(
        "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", shape="[self.shape[:-2], self.shape[:-2]]",
        kernel="linalg_slogdet",
        out=True, out_name="slogdet.out",
        doc="As linalg.slogdet.",
        example=">>> tl.slogdet(tl.tensor([[1.0]])).logabsdet\ntensor(0.)",
    ),
    Composite(
        "det(Tensor self) -> Tensor", shape="self.shape[:-2]", kernel="linalg_det",
        out=True,
        doc="As linalg.det.",
        example=">>> tl.det(tl.tensor([[3.0]]))\ntensor(3.)",
    ),
    Composite(
        "logdet(Tensor self) -> Tensor", shape="self.shape[:-2]",
        doc="The logarithms of determinants: NaN for a negative one, negative infinity for zero.",
        example=">>> tl.logdet(tl.tensor([[1.0]]))\ntensor(0.)",
    ),
    _named(
        (
            "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor "
            "result, Tensor info)"
        ),
        shape="[solve(A.shape, B.shape, left), A.shape[:-2]]",
        out_name="linalg_solve_ex.out",
        doc="As linalg.solve, and LAPACK's code for each matrix, which is 0 where it has an inverse.",
        about=_CHECKED,
        example=">>> tl.linalg.solve_ex(tl.tensor([[2.0]]), tl.ones(1, 1)).result\ntensor([[0.5000]])",
    ),
    Composite(
        "pinverse(Tensor self, float rcond=1e-15) -> Tensor", shape="swap(self.shape, -1, -2)",
        autocast="float32",
        doc="As linalg.pinv, with rtol = rcond.",
        example=">>> tl.pinverse(tl.tensor([[2.0]]))\ntensor([[0.5000]])",
    ),
    # Triangles.
    _solver(
        (
            "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
            "unitriangular=False) -> Tensor"
        ),
        shape="[*broadcast(self.shape[:-2], B.shape[:-2]), *B.shape[-2:]]",
        reported="triangular_solve_cpu",
        grad={
            "self, B": (
                "_solve_triangular_backward(g, self, result, upper, left, unitriangular, needs[0], needs[1])"
            ),
        },
        doc="X of A X = B for triangles A, or of X A = B unless `left`; the other triangle is not read.",
        about={
            "upper": _UPPER,
            "input": "the triangles, (*, n, n)",
            "B": "the right-hand sides, (*, n, k), or (*, k, n) unless `left`",
            "unitriangular": "whether the diagonal counts as ones and is not read",
        },
        example=(
            ">>> tl.linalg.solve_triangular(tl.tensor([[2.0, 0.0], [0.0, 4.0]]), tl.ones(2, 1), upper=True)\n"
            "tensor([[0.5000],\n        [0.2500]])"
        ),
    ),
    Composite(
        (
            "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
            "unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)"
        ),
        shape="[[*broadcast(self.shape[:-2], A.shape[:-2]), *t.shape[-2:]] for t in (self, A)]",
        out=True, out_name="triangular_solve.X(X, M)", autocast="float32",
        doc="X of A X = b for triangles A, and a copy of A; linalg.solve_triangular is the newer form.",
        about={
            "upper": _UPPER,
            "input": "the right-hand sides, (*, n, k)",
            "A": "the triangles, (*, n, n)",
            "transpose": "whether A is transposed first",
            "unitriangular": "whether the diagonal counts as ones and is not read",
        },
        example=">>> tl.triangular_solve(tl.ones(1, 1), tl.tensor([[2.0]])).solution\ntensor([[0.5000]])",
    ),
    _derived(
        (
            "_solve_triangular_backward(Tensor grad, Tensor A, Tensor X, bool upper, bool left, bool "
            "unitriangular, bool needs_a, bool needs_b) -> (Tensor, Tensor)"
        ),
        doc="The gradients of linalg_solve_triangular.",
    ),
    # From factors.
    Op(
        "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
        shape="[*broadcast(self.shape[:-2], input2.shape[:-2]), self.shape[-2], self.shape[-1]]",
        out=True, autocast="float32",
        grad={
            "self": "cholesky_solve(g, input2, upper)",
            "input2": "_cholesky_solve_backward(g, input2, result, upper).sum_to_size(input2.shape)",
        },
        jvp="double-vjp", batch="front",
        doc="X of A X = B, where `input2` is the Cholesky factor of A.",
        about={
            "upper": _UPPER,
            "input": "the right-hand sides, (*, n, k)",
            "input2": "the factors, (*, n, n)",
        },
        example=">>> tl.cholesky_solve(tl.ones(1, 1), tl.tensor([[2.0]]))\ntensor([[0.2500]])",
    ),
    _derived(
        "_cholesky_solve_backward(Tensor grad, Tensor factor, Tensor result, bool upper) -> Tensor",
        shape="[*result.shape[:-2], *factor.shape[-2:]]",
        doc="The gradient of cholesky_solve with respect to the factor.",
    ),
    Op(
        "cholesky_inverse(Tensor self, bool upper=False) -> Tensor", shape="self.shape",
        out=True, autocast="float32",
        grad={"self": "_cholesky_inverse_backward(g, self, upper, result)"},
        jvp="double-vjp", batch="front",
        doc="The inverses of matrices whose Cholesky factors are given.",
        example=">>> tl.cholesky_inverse(tl.tensor([[2.0]]))\ntensor([[0.2500]])",
    ),
    _derived(
        "_cholesky_inverse_backward(Tensor grad, Tensor factor, bool upper, Tensor inverse) -> Tensor",
        shape="factor.shape",
        doc="The gradient of cholesky_inverse.",
    ),
    _named(
        (
            "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> "
            "Tensor"
        ),
        shape="[*broadcast(LU.shape[:-2], B.shape[:-2]), *B.shape[-2:]]",
        doc="X of A X = B, or of X A = B unless `left`, from the factors that lu_factor gave of A.",
        about={
            "LU": "the factors, (*, n, n)",
            "pivots": "the exchanges of rows, (*, n), of int32",
            "B": "the right-hand sides, (*, n, k), or (*, k, n) unless `left`",
            "adjoint": "whether A is replaced by its adjoint",
        },
        example=(
            ">>> LU, pivots = tl.linalg.lu_factor(tl.tensor([[2.0]]))\n>>> tl.linalg.lu_solve(LU, pivots, "
            "tl.ones(1, 1))\ntensor([[0.5000]])"
        ),
    ),
    Composite(
        "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
        shape="[*broadcast(LU_data.shape[:-2], self.shape[:-2]), *self.shape[-2:]]",
        out=True, autocast="float32",
        doc="As linalg.lu_solve, with the right-hand sides first.",
        about={
            "input": "the right-hand sides, (*, n, k)",
            "LU_data": "the factors, (*, n, n)",
            "LU_pivots": "the exchanges of rows, (*, n), of int32",
        },
        example=(
            ">>> tl.lu_solve(tl.ones(1, 1), *tl.linalg.lu_factor(tl.tensor([[2.0]])))\ntensor([[0.5000]])"
        ),
    ),
    _solver(
        "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
        shape="[*broadcast(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:]]",
        grad={
            "LD": "_derivative_not_implemented(g, 'linalg_ldl_solve with respect to LD')",
            "B": "linalg_ldl_solve(LD if hermitian else LD.conj(), pivots, g, hermitian=hermitian)",
        },
        doc="X of A X = B from the factors that ldl_factor gave of A.",
        about={
            "LD": "the factors, (*, n, n)",
            "pivots": "the exchanges of rows and sizes of blocks, (*, n), of int32",
            "B": "the right-hand sides, (*, n, k)",
        },
        example=(
            ">>> LD, pivots = tl.linalg.ldl_factor(tl.tensor([[2.0]]))\n>>> tl.linalg.ldl_solve(LD, pivots, "
            "tl.ones(1, 1))\ntensor([[0.5000]])"
        ),
    ),
    # Least squares.
    _private(
        (
            "_linalg_lstsq(Tensor self, Tensor b, float rcond, str driver) -> (Tensor solution, Tensor "
            "residuals, Tensor rank, Tensor singular_values)"
        ),
        grad={
            "self": "_lstsq_backward_a(g0, g1, self, b, solution)",
            "b": "_lstsq_backward_b(g0, g1, self, b, solution)",
        },
        doc="The least squares solutions of systems of matrices, by a named driver of LAPACK.",
    ),
    _derived(
        (
            "_lstsq_backward_a(Tensor? grad, Tensor? grad_residuals, Tensor self, Tensor b, Tensor solution) "
            "-> Tensor"
        ),
        shape="self.shape",
        doc="The gradient of the matrices.",
    ),
    _derived(
        (
            "_lstsq_backward_b(Tensor? grad, Tensor? grad_residuals, Tensor self, Tensor b, Tensor solution) "
            "-> Tensor"
        ),
        shape="b.shape",
        doc="The gradient of the right-hand sides.",
    ),
    _named(
        (
            "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor "
            "solution, Tensor residuals, Tensor rank, Tensor singular_values)"
        ),
        autocast="float32",
        doc="X for which the norm of A X - B is least: of all such, that of least norm, but for driver gels.",
        about={
            "input": "the matrices, (*, m, n)",
            "b": "the right-hand sides, (*, m, k) or (*, m)",
            "rcond": "singular values up to rcond times the largest count as zero; None: the rounding error",
            "driver": (
                "gels for full rank, gelsy (the default), gelsd or gelss, which give the singular values"
            ),
        },
        example=(
            ">>> tl.linalg.lstsq(tl.tensor([[1.0], [1.0]]), tl.tensor([[1.0], [3.0]])).solution\n"
            "tensor([[2.]])"
        ),
    ),
]  # fmt: skip
