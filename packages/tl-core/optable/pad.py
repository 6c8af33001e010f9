"""Padding."""

from opgen.row import Composite, Op


def _border(name, kind, dims, **fields):
    return Op(
        f"{name}(Tensor self, int[{2 * dims}] padding) -> Tensor"
        if dims
        else f"{name}(Tensor self, int[] pad) -> Tensor",
        **fields,
        shape=f"pad_sizes(self.shape, {f'each(padding, {2 * dims})' if dims else 'pad'}, '{kind}')",
        out=dims > 0,
        method=False,
        namespace="_nn",
        reported=name if dims else "",
        grad={"self": f"_border_adjoint(g, self.shape, {'padding' if dims else 'pad'}, '{kind}')"},
        jvp="linear",
        batch="fold",
    )


ROWS = [
    Composite(
        "pad(Tensor self, int[] pad, str mode='constant', float? value=None) -> Tensor",
        shape="pad_sizes(self.shape, pad, mode)",
        method=False, namespace="_nn",
        doc="A larger tensor, filled around the input with a number or from the input.",
    ),
    Op(
        "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
        shape="pad_sizes(self.shape, pad)",
        method=False, devices="Any",
        stored="float8",
        core=True,
        grad={"self": "constant_pad_nd(g, [-n for n in pad], 0)"},
        jvp="rule", batch="dims",
        doc="A number around the tensor; a negative width cuts.",
        example=">>> tl.constant_pad_nd(tl.tensor([1, 2]), (1, 2))\ntensor([0, 1, 2, 0, 0])",
    ),
    *(
        _border(
            f"reflection_pad{n}d", "reflect", n,
            autocast="float32" if n < 3 else "",
            core=True,
            doc="The tensor mirrored at its borders, which are not repeated.",
        )
        for n in (1, 2, 3)
    ),
    *(
        _border(
            f"replication_pad{n}d", "replicate", n,
            autocast="float32",
            core=n > 1,
            doc="The tensor's borders repeated.",
        )
        for n in (1, 2, 3)
    ),
    _border(
        "_pad_circular", "circular", 0,
        doc="The tensor's other side at each border.",
    ),
    Op(
        "_border_adjoint(Tensor grad, int[] sizes, int[] padding, str mode) -> Tensor", shape="list(sizes)",
        function=False, method=False,
        grad={"grad": "pad(g, padding, mode, None)"},
        jvp="linear", batch="fold",
        doc="The adjoint of padding from the tensor itself.",
    ),
]  # fmt: skip
