"""Complex numbers: conjugation, their parts, and how they are made."""

from opgen.row import Composite, Op, Unary

ROWS = [
    Unary(
        "_conj_physical", cpu="conj_physical",
        dtypes="complex complex32", hot="complex64 complex128",
        function=False, method=False,
        grad={"self": "g.conj_physical()"},
        expr="conj(x)",
        doc="The conjugates of complex elements, written out.",
    ),
    Composite(
        "conj_physical(Tensor self) -> Tensor", shape="self.shape",
        inplace=True, out=True,
        array_api="conj",
        ref="numpy.conjugate",
        doc="The complex conjugate of each element, written out; real tensors come back as they are.",
        example=">>> tl.conj_physical(tl.tensor([1 + 2j]))\ntensor([1.-2.j])",
    ),
    Composite(
        "conj(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        doc=(
            "The complex conjugate, as a view that is carried out when it is read; real tensors come back as "
            "they are."
        ),
        example=">>> tl.conj(tl.tensor([1 + 2j]))\ntensor([1.-2.j])",
    ),
    Composite(
        "resolve_conj(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        doc="The tensor with its conjugates written out; itself if they are.",
        example=">>> tl.resolve_conj(tl.tensor([1 + 2j]).conj()).is_conj()\nFalse",
    ),
    Composite(
        "resolve_neg(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        doc="The tensor with its negatives written out; itself if they are.",
        example=">>> tl.resolve_neg(tl.tensor([1.0]))\ntensor([1.])",
    ),
    Unary(
        "angle",
        to="real float", dtypes="float complex", loops="wide", hot="float32 float64",
        inplace=False,
        grad={"self": "angle_backward(g, self)"},
        expr="angle(x)", ref="numpy.angle",
        doc="The angle of each complex number; 0 or pi of a real one.",
        example=">>> tl.angle(tl.tensor([1j, -1 + 0j]))\ntensor([1.5708, 3.1416])",
    ),
    Composite(
        "angle_backward(Tensor grad, Tensor self) -> Tensor", shape="self.shape",
        function=False, method=False,
        doc="The gradient of angle; 0 at 0 and of real numbers.",
    ),
    Op(
        "complex(Tensor real, Tensor imag) -> Tensor", shape="broadcast(real.shape, imag.shape)",
        out=True, method=False, devices="Any",
        grad={"real": "g.real()", "imag": "g.imag()"},
        jvp="linear", batch="elementwise",
        doc="Complex numbers from their parts.",
        example=">>> tl.complex(tl.tensor([1.0]), tl.tensor([2.0]))\ntensor([1.+2.j])",
    ),
    Op(
        "polar(Tensor abs, Tensor angle) -> Tensor", shape="broadcast(abs.shape, angle.shape)",
        out=True, method=False, devices="Any", autocast="float32",
        grad={"abs": "(g.conj() * sgn(result)).real()", "angle": "(g.conj() * (result * 1j)).real()"},
        jvp="rule", batch="elementwise",
        doc="Complex numbers from their lengths and angles.",
        example=">>> tl.polar(tl.tensor([2.0]), tl.tensor([0.0]))\ntensor([2.+0.j])",
    ),
]  # fmt: skip
