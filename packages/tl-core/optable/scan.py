"""Running sums and products along a dimension."""

from opgen.row import Composite, Op

ROWS = [
    Op("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", inplace=True, out=True, grad={"self": "cumsum_backward(g, dim)"},
       jvp="linear", batch="dims", ref="numpy.cumsum", doc="The sums of the elements up to each place along a dimension."),
    Op("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", inplace=True, out=True,
       grad={"self": "cumprod_backward(g, self, dim, result)"}, jvp="double-vjp", batch="dims", ref="numpy.cumprod",
       doc="The products of the elements up to each place along a dimension."),
    Op("cumsum_backward(Tensor grad, int dim) -> Tensor", function=False, method=False, grad={"grad": "g.cumsum(dim)"}, jvp="linear", batch="dims",
       doc="The sums of the elements from each place on: the adjoint of cumsum."),
    Composite("cumprod_backward(Tensor grad, Tensor self, int dim, Tensor result) -> Tensor", function=False, method=False,
              doc="The derivative of cumprod; exact also where factors are zero."),
]  # fmt: skip
