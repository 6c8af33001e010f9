"""Operators that make tensors from sizes and numbers."""

from opgen.row import NO_VALUES, Op

OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
LIKE = OPTIONS + ", MemoryFormat? memory_format=None"


def _create(signature, **fields):
    fields.setdefault("batch", "dims")
    return Op(signature, devices="Any", grad=NO_VALUES, jvp=NO_VALUES, method=False, **fields)


def _like(signature, **fields):
    return Op(
        signature,
        **fields,
        method=False,
        devices="Any",
        marked=True,
        grad=NO_VALUES,
        jvp=NO_VALUES,
        batch="elementwise",
    )


def _new(signature, **fields):
    return Op(
        signature,
        function=False,
        devices="Any",
        marked=True,
        grad=NO_VALUES,
        jvp=NO_VALUES,
        **{"batch": "dims", **fields},
    )


def _between(name, parameters, text):
    """The forms that take an end or both as a tensor without dimensions."""
    return [
        _create(
            f"{name}.{first}_{last}({first} start, {last} end, {parameters}, {OPTIONS}) -> Tensor",
            out=True,
            shape="[steps]",
            batch="rule",
            doc=text,
        )
        for first, last in (("Tensor", "Tensor"), ("Tensor", "Scalar"), ("Scalar", "Tensor"))
    ]  # fmt: skip


ROWS = [
    _create(
        f"empty.memory_format(int[] size, {LIKE}) -> Tensor", shape="list(size)",
        out=True, out_name="empty.out",
        shown=(
            "*size, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False, "
            "pin_memory=False, memory_format=torch.contiguous_format"
        ),
        stored="all",
        core=True,
        doc="Uninitialised memory of that shape.",
        example=">>> tl.empty(2, 3).shape\ntorch.Size([2, 3])",
    ),
    _create(
        f"zeros(int[] size, {OPTIONS}) -> Tensor", shape="list(size)",
        out=True, shown="*size, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False",
        stored="all",
        doc="All zeros.",
        example=">>> tl.zeros(2, 2)\ntensor([[0., 0.],\n        [0., 0.]])",
    ),
    _create(
        f"ones(int[] size, {OPTIONS}) -> Tensor", shape="list(size)",
        out=True, shown="*size, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False",
        stored="all",
        doc="All ones.",
        example=">>> tl.ones(2, 2)\ntensor([[1., 1.],\n        [1., 1.]])",
    ),
    _create(
        f"full(int[] size, Scalar fill_value, {OPTIONS}) -> Tensor", shape="list(size)",
        out=True,
        shown=(
            "size, fill_value, *, out=None, dtype=None, layout=torch.strided, device=None, "
            "requires_grad=False"
        ),
        stored="all",
        core=True,
        doc="One number everywhere; its kind decides the element type.",
        example=">>> tl.full((2, 2), 7)\ntensor([[7, 7],\n        [7, 7]])",
    ),
    _create(
        f"empty_strided(int[] size, int[] stride, {OPTIONS}) -> Tensor", shape="list(size)",
        stored="all",
        core=True,
        doc="Uninitialised memory with the given strides.",
        about={"stride": "the step in memory along each dimension, in elements"},
        example=">>> tl.empty_strided((2, 3), (1, 2)).stride()\n(1, 2)",
    ),
    _like(
        f"empty_like(Tensor self, {LIKE}) -> Tensor", shape="self.shape",
        sparse="sparse_empty_like",
        names="keep", stored="all",
        doc="Uninitialised memory shaped as the input.",
        example=">>> tl.empty_like(tl.zeros(2, 3)).shape\ntorch.Size([2, 3])",
    ),
    _like(
        f"zeros_like(Tensor self, {LIKE}) -> Tensor", shape="self.shape",
        sparse="sparse_zeros_like",
        names="keep", stored="all",
        doc="Zeros shaped as the input.",
        example=">>> tl.zeros_like(tl.tensor([1, 2]))\ntensor([0, 0])",
    ),
    _like(
        f"ones_like(Tensor self, {LIKE}) -> Tensor", shape="self.shape",
        names="keep", stored="all",
        doc="Ones shaped as the input.",
        example=">>> tl.ones_like(tl.tensor([3.0, 4.0]))\ntensor([1., 1.])",
    ),
    _like(
        f"full_like(Tensor self, Scalar fill_value, {LIKE}) -> Tensor", shape="self.shape",
        names="keep", stored="all",
        core=True,
        doc="One number, shaped as the input.",
        example=">>> tl.full_like(tl.tensor([3.0, 4.0]), 5)\ntensor([5., 5.])",
    ),
    _new(
        f"new_empty(Tensor self, int[] size, {OPTIONS}) -> Tensor", shape="list(size)",
        names="drop", stored="all",
        doc="Uninitialised memory of the input's type and device.",
    ),
    _new(
        f"new_zeros(Tensor self, int[] size, {OPTIONS}) -> Tensor", shape="list(size)",
        names="drop", stored="all",
        doc="Zeros of the input's type and device.",
        example=">>> tl.tensor([1]).new_zeros(2)\ntensor([0, 0])",
    ),
    _new(
        f"new_ones(Tensor self, int[] size, {OPTIONS}) -> Tensor", shape="list(size)",
        names="drop", stored="all",
        doc="Ones of the input's type and device.",
        example=">>> tl.tensor([1]).new_ones(2)\ntensor([1, 1])",
    ),
    _new(
        f"new_full(Tensor self, int[] size, Scalar fill_value, {OPTIONS}) -> Tensor", shape="list(size)",
        names="drop", stored="all",
        doc="One number, of the input's type and device.",
        example=">>> tl.tensor([1]).new_full((2,), 7)\ntensor([7, 7])",
    ),
    _create(
        f"arange(Scalar end, {OPTIONS}) -> Tensor", shape="[arange(0, end)]",
        out=True,
        shown=(
            "start, end=None, step=1, *, out=None, dtype=None, layout=torch.strided, device=None, "
            "requires_grad=False"
        ),
        doc="The numbers from start up to, but without, end.",
        example=">>> tl.arange(1, 2.5, 0.5)\ntensor([1.0000, 1.5000, 2.0000])",
    ),
    _create(
        f"arange.start(Scalar start, Scalar end, {OPTIONS}) -> Tensor", shape="[arange(start, end)]",
        doc="The numbers from start up to end.",
    ),
    _create(
        f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {OPTIONS}) -> Tensor",
        shape="[arange(start, end, step)]",
        out=True, out_name="arange.start_out",
        core=True,
        doc="Every step-th number from start up to end.",
    ),
    _create(
        f"range.step(Scalar start, Scalar end, Scalar step=1, {OPTIONS}) -> Tensor",
        out=True, out_name="range.out",
        shown=(
            "start, end, step=1, *, out=None, dtype=None, layout=torch.strided, device=None, "
            "requires_grad=False"
        ),
        doc=(
            "Every step-th number from start to end, both included. Deprecated: `arange` is like Python's "
            "`range`."
        ),
    ),
    _create(
        f"range(Scalar start, Scalar end, {OPTIONS}) -> Tensor",
        doc="The numbers from start to end, both included.",
    ),
    _create(
        f"linspace(Scalar start, Scalar end, int steps, {OPTIONS}) -> Tensor", shape="[steps]",
        out=True,
        shown=(
            "start, end, steps, *, out=None, dtype=None, layout=torch.strided, device=None, "
            "requires_grad=False"
        ),
        doc="`steps` numbers at equal distances from start to end, both included.",
        example=">>> tl.linspace(0, 1, 5)\ntensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])",
    ),
    *_between("linspace", "int steps", "`steps` numbers at equal distances between ends given as tensors."),
    _create(
        f"logspace(Scalar start, Scalar end, int steps, float base=10.0, {OPTIONS}) -> Tensor",
        shape="[steps]",
        out=True,
        shown=(
            "start, end, steps, base=10.0, *, out=None, dtype=None, layout=torch.strided, device=None, "
            "requires_grad=False"
        ),
        doc=(
            "The powers of the base whose exponents stand at equal distances from start to end, both "
            "included."
        ),
        example=">>> tl.logspace(0, 2, 3)\ntensor([  1.,  10., 100.])",
    ),
    *_between(
        "logspace", "int steps, float base=10.0", "Powers of the base between exponents given as tensors.",
    ),
    _create(
        f"tril_indices(int row, int col, int offset=0, {OPTIONS}) -> Tensor",
        shape="[2, triangle(row, col, offset, False)]",
        shown="row, col, offset=0, *, dtype=torch.long, device='cpu', layout=torch.strided",
        doc=(
            "The positions of a row by col matrix's lower triangle, up to the diagonal `offset`: rows, then "
            "columns; shape (2, n)."
        ),
        example=">>> tl.tril_indices(2, 2)\ntensor([[0, 1, 1],\n        [0, 0, 1]])",
    ),
    _create(
        f"triu_indices(int row, int col, int offset=0, {OPTIONS}) -> Tensor",
        shape="[2, triangle(row, col, offset, True)]",
        shown="row, col, offset=0, *, dtype=torch.long, device='cpu', layout=torch.strided",
        doc=(
            "The positions of a row by col matrix's upper triangle, from the diagonal `offset` on: rows, "
            "then columns; shape (2, n)."
        ),
        example=">>> tl.triu_indices(2, 2)\ntensor([[0, 0, 1],\n        [0, 1, 1]])",
    ),
    _create(
        f"empty_permuted(int[] size, int[] physical_layout, {OPTIONS}) -> Tensor", shape="list(size)",
        shown=(
            "size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, "
            "pin_memory=False"
        ),
        stored="all",
        doc=(
            "Uninitialised memory; the layout names the dimensions from the slowest in memory to the fastest."
        ),
        example=">>> tl.empty_permuted((2, 3), (1, 0)).stride()\n(1, 2)",
    ),
    _new(
        f"new_empty_strided(Tensor self, int[] size, int[] stride, {OPTIONS}) -> Tensor", shape="list(size)",
        names="drop", stored="all",
        batch="rule",
        doc="Uninitialised memory of the input's type and device, with the given strides.",
    ),
    _create(
        f"eye(int n, {OPTIONS}) -> Tensor", shape="[n, n]",
        out=True,
        shown="n, m=None, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False",
        stored="float8",
        doc="Ones on the diagonal of an n by m matrix, zeros elsewhere.",
        about={"n": "the number of rows"},
        example=">>> tl.eye(2)\ntensor([[1., 0.],\n        [0., 1.]])",
    ),
    _create(
        f"eye.m(int n, int m, {OPTIONS}) -> Tensor", shape="[n, m]",
        out=True,
        stored="float8",
        doc="Ones on the diagonal of an n by m matrix.",
    ),
    _create(
        f"scalar_tensor(Scalar s, {OPTIONS}) -> Tensor", shape="[]",
        stored="all",
        core=True,
        doc="A tensor without dimensions that holds the number.",
        example=">>> tl.scalar_tensor(3.0)\ntensor(3.)",
    ),
]  # fmt: skip
