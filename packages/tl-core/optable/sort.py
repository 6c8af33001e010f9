"""Sorted orders and the largest elements."""

from opgen.row import Composite, Op

PICKED = {"self": "value_selecting_backward(g0, dim, indices, self.shape, True)"}
PICKED_ONE = {"self": "value_selecting_backward(g0, dim, indices, self.shape, keepdim)"}
INTEGER = "none:the result is an integer"


def _pick(signature, name, **fields):
    """One element of each line and where it stands."""
    return Op(
        f"{signature} -> (Tensor values, Tensor indices)",
        **fields,
        out=True,
        out_name=name,
        grad=PICKED_ONE,
        jvp="double-vjp",
        batch="dims",
    )


def _quantile(name, text):
    tail = "int? dim=None, bool keepdim=False, *, str interpolation='linear'"
    shown = "input, q, dim=None, keepdim=False, *, interpolation='linear', out=None"
    return [
        Composite(
            f"{name}(Tensor self, Tensor q, {tail}) -> Tensor",
            shape="[*q.shape, *reduction(self.shape, dim, keepdim)]",
            out=True,
            shown=shown,
            autocast="float32",
            names="through",
            doc=text,
        ),
        Composite(
            f"{name}.scalar(Tensor self, float q, {tail}) -> Tensor",
            out=True,
            autocast="float32",
            names="through",
            doc=text,
        ),
    ]


ROWS = [
    Op(
        "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
        shape="[self.shape, self.shape]",
        out=True, out_name="sort.values", shown="input, dim=-1, descending=False, *, stable=False, out=None",
        names="keep", reported="sorting_kernel_method_name",
        core=True,
        grad=PICKED,
        jvp="rule", batch="dims",
        doc=(
            "The elements in order along a dimension and where each stood; equal ones keep their order, NaN "
            "counts as the largest."
        ),
        example=(
            ">>> tl.sort(tl.tensor([3, 1, 2]))\ntorch.return_types.sort(\nvalues=tensor([1, 2, 3]),\n"
            "indices=tensor([1, 2, 0]))"
        ),
    ),
    Op(
        (
            "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, "
            "Tensor indices)"
        ),
        shape="[self.shape, self.shape]",
        out=True, out_name="sort.values_stable",
        names="keep", reported="sorting_kernel_method_name",
        grad=PICKED,
        jvp="rule", batch="dims",
        doc="As sort, which is always stable.",
    ),
    Op(
        "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", shape="self.shape",
        shown="input, dim=-1, descending=False, *, stable=False", devices="Any",
        names="keep", reported="sorting_kernel_method_name",
        grad=INTEGER,
        jvp=INTEGER, batch="dims",
        doc="The places of the elements in order along a dimension.",
        example=">>> tl.argsort(tl.tensor([3, 1, 2]))\ntensor([1, 2, 0])",
    ),
    Op(
        "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
        shape="self.shape",
        devices="Any",
        names="keep", reported="sorting_kernel_method_name",
        grad=INTEGER,
        jvp=INTEGER, batch="dims",
        doc="As argsort, which is always stable.",
    ),
    Composite(
        "msort(Tensor self) -> Tensor", shape="self.shape",
        out=True,
        doc="The elements in order along the first dimension.",
        example=">>> tl.msort(tl.tensor([[3, 1], [2, 4]]))\ntensor([[2, 1],\n        [3, 4]])",
    ),
    Op(
        (
            "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, "
            "Tensor indices)"
        ),
        shape="[resize(self.shape, dim, require(k <= self.shape[dim], k)) if self.ndim else []] * 2",
        out=True, out_name="topk.values",
        names="keep",
        core=True,
        grad=PICKED,
        jvp="rule", batch="dims",
        doc=(
            "The k largest, or smallest, elements along a dimension and where they stand; of equal ones the "
            "first."
        ),
        about={"k": "how many elements are taken"},
        example=(
            ">>> tl.topk(tl.tensor([3, 1, 2]), 2)\ntorch.return_types.topk(\nvalues=tensor([3, 2]),\n"
            "indices=tensor([0, 2]))"
        ),
    ),
    _pick(
        "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False)", "kthvalue.values",
        doc="The k-th smallest elements along a dimension, counted from one, and where they stand.",
        about={"k": "the rank of the element, from 1 for the smallest"},
        example=(
            ">>> tl.kthvalue(tl.tensor([3, 1, 2]), 2)\ntorch.return_types.kthvalue(\nvalues=tensor(2),\n"
            "indices=tensor(2))"
        ),
    ),
    Op(
        "median(Tensor self) -> Tensor", shape="[]",
        grad={"self": "amax_backward(g, self, result, [], False)"},
        jvp="double-vjp", batch="rule",
        doc="The element in the middle of the order; of an even number, the lower one. NaN if there is one.",
        example=">>> tl.median(tl.tensor([3, 1, 2]))\ntensor(2)",
    ),
    _pick(
        "median.dim(Tensor self, int dim, bool keepdim=False)", "median.dim_values",
        doc="The elements in the middle of the order along a dimension and where they stand.",
    ),
    Op(
        "nanmedian(Tensor self) -> Tensor", shape="[]",
        grad={"self": "amax_backward(g, self, result, [], False)"},
        jvp="double-vjp", batch="rule",
        doc="The median of the elements that are not NaN.",
        example=">>> tl.nanmedian(tl.tensor([3.0, tl.nan, 2.0]))\ntensor(2.)",
    ),
    _pick(
        "nanmedian.dim(Tensor self, int dim, bool keepdim=False)", "nanmedian.dim_values",
        doc="The medians of the elements that are not NaN along a dimension and where they stand.",
    ),
    _pick(
        "mode(Tensor self, int dim=-1, bool keepdim=False)", "mode.values",
        doc=(
            "The most frequent elements along a dimension, of several the smallest, and where they stand "
            "last."
        ),
        example=(
            ">>> tl.mode(tl.tensor([1, 2, 2]))\ntorch.return_types.mode(\nvalues=tensor(2),\n"
            "indices=tensor(2))"
        ),
    ),
    *_quantile(
        "quantile",
        (
            "The elements at the given shares of the order along a dimension, or between two: linear, lower, "
            "higher, midpoint or nearest."
        ),
    ),
    *_quantile("nanquantile", "The quantiles of the elements that are not NaN."),
]  # fmt: skip
