"""Copies of what views show, for programs that must not alias."""

from opgen.row import Composite, Op

from optable import view

_VIEWS = {row.name: row for row in view.ROWS}


def _copy(signature: str, of: str, **fields):
    """A row with the derivative and the names of the view: handlers and graphs see it whole."""
    source = _VIEWS[signature.partition("(")[0].replace("_copy", "", 1)]
    fields.setdefault("out", True)
    return Op(
        signature,
        **fields,
        method=False,
        devices="Any",
        sparse="itself",
        names=source.names,
        stored="all",
        autocast=source.autocast,
        grad=source.grad,
        jvp="linear" if isinstance(source.grad, dict) else source.jvp,
        batch="dims" if source.batch == "dims" else "rule",
        doc=f"A copy of what `{of}` shows.",
    )


ROWS = [
    _copy("alias_copy(Tensor self) -> Tensor", "alias", shape="self.shape"),
    _copy(
        "as_strided_copy(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
        "as_strided",
    ),
    _copy("detach_copy(Tensor self) -> Tensor", "detach"),
    _copy("diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", "diagonal"),
    _copy("expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor", "expand"),
    Composite(
        "narrow_copy(Tensor self, int dim, int start, int length) -> Tensor",
        shape="resize(self.shape, dim, narrow(self.shape[dim], start, length))",
        out=True,
        doc="A copy of what `narrow` shows.",
        example=">>> tl.narrow_copy(tl.arange(4), 0, 1, 2)\ntensor([1, 2])",
    ),
    _copy("permute_copy(Tensor self, int[] dims) -> Tensor", "permute"),
    _copy(
        "select_copy.int(Tensor self, int dim, int index) -> Tensor", "select",
        out_name="select_copy.int_out",
    ),
    _copy(
        "slice_copy.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
        "a slice",
        out_name="slice_copy.Tensor_out",
    ),
    _copy("squeeze_copy(Tensor self) -> Tensor", "squeeze"),
    _copy("squeeze_copy.dim(Tensor self, int dim) -> Tensor", "squeeze"),
    _copy("squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", "squeeze"),
    _copy("t_copy(Tensor self) -> Tensor", "t"),
    _copy("transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", "transpose"),
    _copy("unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", "unfold"),
    _copy("unsqueeze_copy(Tensor self, int dim) -> Tensor", "unsqueeze"),
    _copy("view_as_complex_copy(Tensor self) -> Tensor", "view_as_complex"),
    _copy("view_as_real_copy(Tensor self) -> Tensor", "view_as_real"),
    _copy("view_copy(Tensor self, int[] size) -> Tensor", "view"),
    _copy("view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", "view"),
    _copy(
        "split_copy.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]", "split",
        out=False,
    ),
    _copy(
        "split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]", "split",
        out=False,
    ),
    _copy(
        "unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", "unbind",
        out=False,
    ),
]  # fmt: skip
