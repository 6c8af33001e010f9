"""Scans: cumsum, cumprod, cummax, cummin, logcumsumexp, diff and trapezoid."""

from opgen.row import Composite, Op


def _running(name, word):
    return Op(
        f"{name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        out=True,
        shape="[self.shape, self.shape]",
        grad={"self": "cummaxmin_backward(g0, self, indices, dim)"},
        names="keep",
        jvp="rule",
        batch="dims",
        doc=(
            f"The cumulative {word} of the elements along a dimension, and its index; of equal ones the last."
        ),
    )


def _gradients():
    """The overloads of `gradient`: of one distance for all dimensions, one for each, or coordinates."""
    one, some, order = "int? dim=None", "int[] dim", "int edge_order=1"
    arguments = {
        "scalarint": f"*, Scalar? spacing=None, {one}",
        "scalararray": f"*, Scalar spacing, {some}",
        "array": f"*, {some}",
        "scalarrayint": f"*, Scalar[] spacing, {one}",
        "scalarrayarray": f"*, Scalar[] spacing, {some}",
        "tensorarrayint": f"*, Tensor[] spacing, {one}",
        "tensorarray": f"*, Tensor[] spacing, {some}",
    }
    return [
        Composite(
            f"gradient.{name}(Tensor self, {listed}, {order}) -> Tensor[]",
            function=False, method=False,
            doc="The derivative along each dimension, from differences of neighbours.",
        )
        for name, listed in arguments.items()
    ]  # fmt: skip


ROWS = [
    Op(
        "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", shape="self.shape",
        inplace=True, out=True,
        names="keep", reported="cumsum_out_cpu",
        core=True,
        grad={"self": "cumsum_backward(g, dim)"},
        jvp="linear", batch="dims",
        ref="numpy.cumsum",
        doc="The cumulative sums along a dimension.",
        example=">>> tl.cumsum(tl.tensor([1, 2, 3]), 0)\ntensor([1, 3, 6])",
    ),
    Op(
        "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", shape="self.shape",
        inplace=True, out=True,
        names="keep", reported="cumprod_out_cpu",
        grad={"self": "cumprod_backward(g, self, dim, result)"},
        jvp="double-vjp", batch="dims",
        ref="numpy.cumprod",
        doc="The cumulative products along a dimension.",
        example=">>> tl.cumprod(tl.tensor([1, 2, 3]), 0)\ntensor([1, 2, 6])",
    ),
    Op(
        "cumsum_backward(Tensor grad, int dim) -> Tensor", shape="grad.shape",
        function=False, method=False,
        grad={"grad": "g.cumsum(dim)"},
        jvp="linear", batch="dims",
        doc="The reverse cumulative sums along a dimension: the adjoint of cumsum.",
    ),
    Composite(
        "cumprod_backward(Tensor grad, Tensor self, int dim, Tensor result) -> Tensor", shape="self.shape",
        function=False, method=False,
        doc="The derivative of cumprod; exact also where factors are zero.",
    ),
    _running("cummax", "largest"),
    _running("cummin", "smallest"),
    Composite(
        "cummaxmin_backward(Tensor grad, Tensor self, Tensor indices, int dim) -> Tensor", shape="self.shape",
        function=False, method=False,
        doc="The adjoint of cummax and cummin: gradients scattered to the indices of the values.",
    ),
    Op(
        "logcumsumexp(Tensor self, int dim) -> Tensor", shape="self.shape",
        out=True,
        names="keep", reported="logcumsumexp_out_cpu",
        grad={"self": "logcumsumexp_backward(g, self, result, dim)"},
        jvp="rule", batch="dims",
        doc="The logarithms of the cumulative sums of exponentials along a dimension.",
        example=">>> tl.logcumsumexp(tl.tensor([0.0, 0.0]), 0)\ntensor([0.0000, 0.6931])",
    ),
    Composite(
        "logcumsumexp_backward(Tensor grad, Tensor self, Tensor result, int dim) -> Tensor",
        shape="self.shape",
        function=False, method=False,
        doc="The derivative of logcumsumexp.",
    ),
    Composite(
        "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
        shape="difference(self.shape, n, dim, prepend, append)",
        out=True,
        ref="numpy.diff",
        doc="The n-th differences of neighbours along a dimension.",
        about={"n": "how often the difference is taken"},
        example=">>> tl.diff(tl.tensor([1, 4, 9]))\ntensor([3, 5])",
    ),
    *_gradients(
    ),
    Composite(
        "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        shape="drop(y.shape if x.ndim == 1 else broadcast(y.shape, x.shape), dim)",
        method=False, shown="y, x=None, *, dx=None, dim=-1",
        doc="The area under the points along a dimension, by the trapezoidal rule.",
        example=">>> tl.trapezoid(tl.tensor([1.0, 2.0, 3.0]))\ntensor(4.)",
    ),
    Composite(
        "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", shape="drop(y.shape, dim)",
        method=False,
        doc="The area under points at equal distances.",
    ),
    Composite(
        "trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        shape="drop(y.shape if x.ndim == 1 else broadcast(y.shape, x.shape), dim)",
        method=False, shown="y, x=None, *, dx=None, dim=-1",
        doc="The same as trapezoid.",
        example=">>> tl.trapz(tl.tensor([0.0, 1.0, 4.0]), dx=0.5)\ntensor(1.5000)",
    ),
    Composite(
        "trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor", shape="drop(y.shape, dim)",
        method=False,
        doc="The same as trapezoid.",
    ),
    Composite(
        "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        shape=(
            "resize(y.shape if x.ndim == 1 else broadcast(y.shape, x.shape), dim, max(y.shape[dim] - 1, 0))"
        ),
        method=False, shown="y, x=None, *, dx=None, dim=-1",
        doc="The cumulative areas under the points along a dimension, by the trapezoidal rule.",
        example=">>> tl.cumulative_trapezoid(tl.tensor([1.0, 2.0, 3.0]))\ntensor([1.5000, 4.0000])",
    ),
    Composite(
        "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
        shape="resize(y.shape, dim, max(y.shape[dim] - 1, 0))",
        method=False,
        doc="The cumulative areas under points at equal distances.",
    ),
]  # fmt: skip
