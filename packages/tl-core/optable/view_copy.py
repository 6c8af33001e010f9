"""Copies of what views show, for programs that must not alias."""

from opgen.row import Composite


def _copy(signature: str, of: str, **fields):
    fields.setdefault("out", True)
    fields.setdefault("method", False)
    return Composite(signature, doc=f"A copy of what `{of}` shows.", **fields)


ROWS = [
    _copy("alias_copy(Tensor self) -> Tensor", "alias", shape="self.shape"),
    _copy(
        "as_strided_copy(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
        "as_strided",
    ),
    _copy("detach_copy(Tensor self) -> Tensor", "detach"),
    _copy("diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", "diagonal"),
    _copy("expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor", "expand"),
    _copy(
        "narrow_copy(Tensor self, int dim, int start, int length) -> Tensor", "narrow",
        shape="resize(self.shape, dim, narrow(self.shape[dim], start, length))",
        method=True,
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
