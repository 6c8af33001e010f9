"""Where elements stand in sorted ones, which there are and how often."""

from opgen.row import DYNAMIC_SHAPE, Composite, Op

INTEGER = "none:the result is an integer"
COUNTS = "none:counts are piecewise constant"


def _search(signature, text, **fields):
    shape = "self.shape" if "Tensor self" in signature else "[]"
    return Op(
        f"{signature} -> Tensor",
        shape=shape,
        out=True,
        grad=INTEGER,
        jvp=INTEGER,
        batch="rule",
        doc=text,
        **fields,
    )


def _groups(signature, text):
    return Op(
        f"{signature} -> (Tensor, Tensor, Tensor)",
        function=False,
        method=False,
        devices="CpuOnly",
        grad="none:not implemented for unique",
        jvp="double-vjp",
        batch=DYNAMIC_SHAPE,
        shape="data",
        reported="unique",
        doc=text,
    )


def _isin(overload, arguments, text):
    return Composite(
        f"isin.{overload}({arguments}, *, bool assume_unique=False, bool invert=False) -> Tensor",
        out=True,
        method=False,
        shape="elements.shape" if overload != "Scalar_Tensor" else "[]",
        doc=text,
        example=">>> tl.isin(tl.tensor([1, 2, 3]), tl.tensor([2, 3]))\ntensor([False,  True,  True])",
    )


_GRID = "float[]? range=None, Tensor? weight=None, bool density=False"
_CELLS = {
    "bins": "the number of equal intervals of each dimension, or the edges of the intervals",
    "range": "the least and the greatest edge of each dimension in turn; None: those of the data",
    "weight": "the weight of each point; None counts them",
    "density": "whether counts are divided by their sum and the volumes of the cells",
}


def _grid(overload, bins, **fields):
    return Composite(
        f"histogramdd{overload}(Tensor self, {bins}, {_GRID}) -> (Tensor hist, Tensor[] bin_edges)",
        method=False,
        declared=False,
        shown=f"input, bins, {_GRID_SHOWN}",
        doc="Counts points in the cells of a grid. The coordinates of a point lie along the last dimension.",
        about=_CELLS,
        **fields,
    )


_GRID_SHOWN = "range=None, weight=None, density=False"
_GRID_EXAMPLE = (
    ">>> points = tl.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])\n"
    ">>> tl.histogramdd(points, bins=[3, 2]).hist\n"
    "tensor([[0., 1.],\n        [1., 0.],\n        [1., 1.]])"
)
SEARCH = "*, bool out_int32=False, bool right=False"

ROWS = [
    _search(
        (
            f"searchsorted.Tensor(Tensor sorted_sequence, Tensor self, {SEARCH}, str? side=None, Tensor? "
            f"sorter=None)"
        ),
        text=(
            "How many elements of each sorted line are less than (right: at most) each element: where it "
            "would be inserted."
        ),
        out_name="searchsorted.Tensor_out", method=False,
        shown="sorted_sequence, values, *, out_int32=False, right=False, side=None, out=None, sorter=None",
        reported="searchsorted_out_cpu",
        example=">>> tl.searchsorted(tl.tensor([1, 3, 5]), tl.tensor([3, 4]))\ntensor([1, 2])",
    ),
    _search(
        (
            f"searchsorted.Scalar(Tensor sorted_sequence, Scalar self, {SEARCH}, str? side=None, Tensor? "
            f"sorter=None)"
        ),
        text="Where a number would be inserted into a sorted line.",
        method=False,
        reported="searchsorted_out_cpu",
    ),
    _search(
        f"bucketize.Tensor(Tensor self, Tensor boundaries, {SEARCH})",
        text="The number of the bucket between sorted boundaries that each element belongs to.",
        out_name="bucketize.Tensor_out", method=False,
        reported="searchsorted_out_cpu",
        example=">>> tl.bucketize(tl.tensor([3, 4]), tl.tensor([1, 3, 5]))\ntensor([1, 2])",
    ),
    _search(
        f"bucketize.Scalar(Scalar self, Tensor boundaries, {SEARCH})",
        text="The number of the bucket that a number belongs to.",
        method=False,
        reported="searchsorted_out_cpu",
    ),
    _isin(
        "Tensor_Tensor", "Tensor elements, Tensor test_elements",
        "Whether each element is among those of the other tensor.",
    ),
    _isin("Tensor_Scalar", "Tensor elements, Scalar test_element", "Whether each element is the number."),
    _isin(
        "Scalar_Tensor", "Scalar element, Tensor test_elements", "Whether the number is among the elements.",
    ),
    _groups(
        "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False)",
        "The different elements in their order, where each element went, and how often each is there.",
    ),
    _groups(
        (
            "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
            "return_counts=False)"
        ),
        "The different slices of a dimension.",
    ),
    _groups(
        "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)",
        "The elements, or slices of a dimension, that differ from the one before.",
    ),
    Op(
        "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor", shape="data",
        devices="CpuOnly",
        grad=COUNTS,
        jvp=COUNTS, batch="loop",
        ref="numpy.bincount",
        doc="How often each integer from zero on is there; with weights, their sums.",
        example=">>> tl.bincount(tl.tensor([0, 2, 2]))\ntensor([1, 0, 2])",
    ),
    Op(
        "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", shape="[bins]",
        out=True, devices="CpuOnly",
        grad=COUNTS,
        jvp=COUNTS, batch="rule",
        doc=(
            "How many elements lie in each of equal intervals from min to max; where they are equal, of the "
            "data."
        ),
        example=">>> tl.histc(tl.tensor([1.0, 2.0, 2.0, 4.0]), bins=3, min=1, max=4)\ntensor([1., 2., 1.])",
    ),
    Op(
        (
            "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> "
            "(Tensor hist, Tensor bin_edges)"
        ),
        shape="[[bins.shape[0] - 1], bins.shape]",
        out=True, shown="input, bins, *, range=None, weight=None, density=False, out=None", devices="CpuOnly",
        grad=COUNTS,
        jvp=COUNTS, batch="loop",
        doc=(
            "How many elements, or what weight, lie between neighbouring edges; `density` makes their "
            "integral one."
        ),
        about={"weight": "the weight of each element; None counts them"},
        example=(
            ">>> tl.histogram(tl.tensor([0.5, 1.5, 1.7]), bins=2, range=(0.0, 2.0)).hist\ntensor([1., 2.])"
        ),
    ),
    Op(
        (
            "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool "
            "density=False) -> (Tensor hist, Tensor bin_edges)"
        ),
        shape="[[bins], [bins + 1]]",
        out=True, devices="CpuOnly",
        grad=COUNTS,
        jvp=COUNTS, batch="loop",
        doc="A histogram over that many equal intervals of the range, or of the data.",
    ),
    _grid(".int_bins", "int bins"),
    _grid(
        "", "int[] bins",
        example=_GRID_EXAMPLE,
    ),
    _grid(".TensorList_bins", "Tensor[] bins"),
    Composite(
        f"_histogramdd_bin_edges(Tensor self, int[] bins, *, {_GRID}) -> Tensor[]", declared=False,
        shape="[[n + 1] for n in bins]",
        method=False,
        doc="The edges of the intervals of each dimension.",
        about=_CELLS,
    ),
    Composite(
        f"_histogramdd_from_bin_cts(Tensor self, int[] bins, *, {_GRID}) -> Tensor", declared=False,
        shape="bins",
        method=False,
        doc="Counts points in the cells of a grid of equal intervals.",
        about=_CELLS,
    ),
    Op(
        (
            "_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool "
            "density=False) -> Tensor"
        ),
        shape="[t.shape[0] - 1 for t in bins]", declared=False,
        method=False, devices="CpuOnly",
        grad=COUNTS,
        jvp=COUNTS, batch="loop",
        doc="Counts points in the cells of a grid of those edges.",
        about=_CELLS,
    ),
    Op(
        (
            "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) "
            "-> Tensor"
        ),
        shape="[*self.shape[:-1], num_samples]",
        out=True, devices="Any", random=True,
        reported="multinomial",
        grad=INTEGER,
        jvp=INTEGER, batch="rule",
        doc="Positions drawn by their weights, a row for each row of weights.",
        example=">>> tl.multinomial(tl.tensor([0.0, 1.0, 0.0]), 2, replacement=True)\ntensor([1, 1])",
    ),
]  # fmt: skip
