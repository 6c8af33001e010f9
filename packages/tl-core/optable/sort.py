"""Sorted orders and the largest elements."""

from opgen.row import Composite, Op

PICKED = {"self": "value_selecting_backward(g0, dim, indices, self.shape, True)"}
INTEGER = "none:the result is an integer"

ROWS = [
    Op("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", out=True, out_name="sort.values",
       grad=PICKED, jvp="double-vjp", batch="dims", shown="input, dim=-1, descending=False, *, stable=False, out=None",
       doc="The elements in order along a dimension and where each stood; equal ones keep their order, NaN counts as the largest."),
    Op("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", out=True,
       out_name="sort.values_stable", grad=PICKED, jvp="double-vjp", batch="dims", doc="As sort, which is always stable."),
    Op("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", devices="Any", grad=INTEGER, jvp=INTEGER, batch="dims",
       shown="input, dim=-1, descending=False, *, stable=False", doc="The places of the elements in order along a dimension."),
    Op("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", devices="Any", grad=INTEGER, jvp=INTEGER,
       batch="dims", doc="As argsort, which is always stable."),
    Composite("msort(Tensor self) -> Tensor", out=True, doc="The elements in order along the first dimension."),
    Op("topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)", out=True,
       out_name="topk.values", grad=PICKED, jvp="double-vjp", batch="dims",
       doc="The k largest, or smallest, elements along a dimension and where they stand; of equal ones the first."),
]  # fmt: skip
