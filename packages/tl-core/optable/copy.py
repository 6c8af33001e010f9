"""Copies, conversions, filling, and reading one element."""

from opgen.row import Composite, Op

ROWS = [
    Op(
        "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
        function=False, devices="Any", sparse="sparse_copy_",
        names="unify", stored="float8 float4 bits quantized", reported="copy_",
        grad={"self": "zeros_like(g)", "src": "g"},
        jvp="linear", batch="elementwise",
        doc="The elements of `src`, broadcast and converted, written here.",
    ),
    Composite(
        "copy_.number(Tensor(a!) self, Scalar src, bool non_blocking=False) -> Tensor(a!)",
        kernel="copy_number",
        function=False,
        names="unify", stored="float8 float4 bits quantized", reported="copy_",
        doc="A number, converted as a tensor is, written to every element.",
    ),
    Op(
        "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", shape="self.shape",
        devices="Any", sparse="sparse_clone",
        names="keep", stored="float8 float4 bits quantized", reported="copy_kernel",
        core=True,
        grad={"self": "g"},
        jvp="linear", batch="elementwise",
        doc="A copy with memory of its own.",
        example=">>> tl.clone(tl.tensor([1, 2]))\ntensor([1, 2])",
    ),
    Composite(
        "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous) -> Tensor(a)",
        shape="self.shape",
        function=False,
        names="keep",
        doc="The tensor itself if its elements lie in that order, else a copy in which they do.",
        example=">>> tl.zeros(2, 3).t().contiguous().is_contiguous()\nTrue",
    ),
    Op(
        (
            "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor"
        ),
        shape="self.shape",
        method=False, devices="Any", sparse="sparse_to_copy",
        names="keep", stored="all",
        core=True,
        grad={"self": "g"},
        jvp="linear", batch="elementwise",
        doc="A copy in another type or on another device.",
    ),
    Composite(
        (
            "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, *, "
            "MemoryFormat? memory_format=None) -> Tensor(a)"
        ),
        shape="self.shape",
        function=False, sparse="itself",
        doc="In another type; the tensor itself if nothing changes and copy is not asked for.",
    ),
    Composite(
        (
            "to.device(Tensor(a) self, Device? device, ScalarType? dtype=None, bool non_blocking=False, bool "
            "copy=False, *, MemoryFormat? memory_format=None) -> Tensor(a)"
        ),
        shape="self.shape",
        function=False, sparse="itself",
        doc="On another device.",
    ),
    Composite(
        (
            "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, *, "
            "MemoryFormat? memory_format=None) -> Tensor(a)"
        ),
        shape="self.shape",
        function=False, sparse="itself",
        doc="With the other tensor's type and device.",
    ),
    Composite(
        (
            "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Device? device=None, bool "
            "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)"
        ),
        shape="self.shape",
        function=False, sparse="itself",
        doc="With the given type, device and memory format.",
    ),
    Op(
        "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
        devices="CpuMeta",
        names="keep", stored="float8",
        grad={"self": "zeros_like(g)"},
        jvp="none:the result does not depend on self", batch="elementwise",
        doc="One value written to every element.",
    ),
    Op(
        "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
        devices="CpuMeta",
        names="keep", stored="float8",
        grad={"self": "zeros_like(g)", "value": "g.sum()"},
        jvp="linear", batch="rule",
        doc="The one element of `value` written everywhere.",
    ),
    Op(
        "fill.Scalar(Tensor self, Scalar value) -> Tensor", shape="self.shape",
        method=False, devices="Any",
        names="keep", stored="float8",
        core=True,
        grad={"self": "zeros_like(g)"},
        jvp="none:the result does not depend on self", batch="elementwise",
        doc="A tensor of one value, shaped as the input.",
        example=">>> tl.fill(tl.zeros(2), 7)\ntensor([7., 7.])",
    ),
    Op(
        "fill.Tensor(Tensor self, Tensor value) -> Tensor", shape="self.shape",
        method=False, devices="Any",
        names="keep", stored="float8",
        grad={"self": "zeros_like(g)", "value": "g.sum()"},
        jvp="linear", batch="rule",
        doc="The one element of `value`, shaped as the input.",
    ),
    Op(
        "zero_(Tensor(a!) self) -> Tensor(a!)",
        devices="CpuMeta", sparse="sparse_zero_",
        names="keep", stored="all",
        grad={"self": "zeros_like(g)"},
        jvp="none:the result does not depend on self", batch="elementwise",
        doc="Zero written everywhere.",
    ),
    Op(
        "resize_(Tensor(a!) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
        shape="list(size)",
        function=False, devices="Any", marked=True,
        names="resize", stored="all",
        core=True,
        grad="none:resizing has no derivative",
        jvp="none:resizing has no derivative", batch="refuse:() is done to the batch itself",
        doc="Another shape in place; the memory grows if it must and new elements are uninitialised.",
    ),
    Op(
        "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
        shape="the_template.shape",
        devices="Any", marked=True,
        names="resize", stored="all",
        grad="none:resizing has no derivative",
        jvp="none:resizing has no derivative", batch="refuse:() is done to the batch itself",
        doc="The template's shape in place; the memory grows if it must and new elements are uninitialised.",
    ),
    Op(
        "_local_scalar_dense(Tensor self) -> Scalar",
        method=False, devices="CpuOnly",
        names="through", stored="float8", reported="_local_scalar_dense_cpu",
        core=True,
        grad="none:the result is not a tensor",
        jvp="none:the result is not a tensor",
        batch=(
            "refuse:: It looks like you're calling .item() on a Tensor, or attempting to use a Tensor in "
            "some data-dependent control flow. The value of a batched tensor is one for each example: use "
            "torch.where, or move it out of the vmap"
        ),
        doc="The one element as a number.",
    ),
    Composite(
        "sum_to_size(Tensor self, int[] size) -> Tensor", shape="list(size)",
        function=False, sparse="itself",
        doc="Summed over the dimensions in which `size` was broadcast to the tensor's shape.",
        example=">>> tl.ones(2, 3).sum_to_size(1, 3)\ntensor([[2., 2., 2.]])",
    ),
]  # fmt: skip
