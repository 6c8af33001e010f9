"""Operators that make tensors from sizes and numbers."""

from opgen.row import Op

OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
LIKE = OPTIONS + ", MemoryFormat? memory_format=None"
NONE = "none:the result does not depend on the values of a tensor"


def _create(signature, **fields):
    return Op(signature, devices="Any", grad=NONE, jvp=NONE, batch="dims", method=False, **fields)


def _like(signature, **fields):
    return Op(signature, devices="Any", grad=NONE, jvp=NONE, batch="elementwise", method=False, **fields)


def _new(signature, **fields):
    return Op(signature, devices="Any", grad=NONE, jvp=NONE, batch="dims", function=False, **fields)


ROWS = [
    _create(f"empty.memory_format(int[] size, {LIKE}) -> Tensor", out=True, out_name="empty.out",
            shown="*size, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False, pin_memory=False, memory_format=torch.contiguous_format",
            doc="Uninitialised memory of that shape."),
    _create(f"zeros(int[] size, {OPTIONS}) -> Tensor", out=True,
            shown="*size, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False", doc="All zeros."),
    _create(f"ones(int[] size, {OPTIONS}) -> Tensor", out=True,
            shown="*size, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False", doc="All ones."),
    _create(f"full(int[] size, Scalar fill_value, {OPTIONS}) -> Tensor", out=True,
            shown="size, fill_value, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False",
            doc="One number everywhere; its kind decides the element type."),
    _create(f"empty_strided(int[] size, int[] stride, {OPTIONS}) -> Tensor", doc="Uninitialised memory with the given strides."),
    _like(f"empty_like(Tensor self, {LIKE}) -> Tensor", doc="Uninitialised memory shaped as the input."),
    _like(f"zeros_like(Tensor self, {LIKE}) -> Tensor", doc="Zeros shaped as the input."),
    _like(f"ones_like(Tensor self, {LIKE}) -> Tensor", doc="Ones shaped as the input."),
    _like(f"full_like(Tensor self, Scalar fill_value, {LIKE}) -> Tensor", doc="One number, shaped as the input."),
    _new(f"new_empty(Tensor self, int[] size, {OPTIONS}) -> Tensor", doc="Uninitialised memory of the input's type and device."),
    _new(f"new_zeros(Tensor self, int[] size, {OPTIONS}) -> Tensor", doc="Zeros of the input's type and device."),
    _new(f"new_ones(Tensor self, int[] size, {OPTIONS}) -> Tensor", doc="Ones of the input's type and device."),
    _new(f"new_full(Tensor self, int[] size, Scalar fill_value, {OPTIONS}) -> Tensor", doc="One number, of the input's type and device."),
    _create(f"arange(Scalar end, {OPTIONS}) -> Tensor", out=True,
            shown="start, end=None, step=1, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False",
            doc="The numbers from start up to, but without, end."),
    _create(f"arange.start(Scalar start, Scalar end, {OPTIONS}) -> Tensor", doc="The numbers from start up to end."),
    _create(f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {OPTIONS}) -> Tensor", out=True, out_name="arange.start_out",
            doc="Every step-th number from start up to end."),
    _create(f"linspace(Scalar start, Scalar end, int steps, {OPTIONS}) -> Tensor", out=True,
            shown="start, end, steps, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False",
            doc="`steps` numbers at equal distances from start to end, both included."),
    _create(f"eye(int n, {OPTIONS}) -> Tensor", out=True,
            shown="n, m=None, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False",
            doc="Ones on the diagonal of an n by m matrix, zeros elsewhere."),
    _create(f"eye.m(int n, int m, {OPTIONS}) -> Tensor", out=True, doc="Ones on the diagonal of an n by m matrix."),
    _create(f"scalar_tensor(Scalar s, {OPTIONS}) -> Tensor", doc="A tensor without dimensions that holds the number."),
]  # fmt: skip
