"""Pointwise Ops: logical and bitwise functions."""

from opgen.row import Binary, Comparison, Pointwise, Unary, real

ALL = "bool int float complex"
NO_SIGN = "none:piecewise constant"
OF_INTEGERS = "none:defined on integers only"

ROWS = [
    Unary(
        "logical_not",
        to="bool", dtypes=ALL,
        core=True, array_api="logical_not",
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="!x", ref="numpy.logical_not",
        doc="Whether each element is zero.",
        example=">>> tl.logical_not(tl.tensor([0, 5]))\ntensor([ True, False])",
    ),
    Unary(
        "bitwise_not",
        dtypes="bool int",
        core=True, array_api="bitwise_invert",
        grad="none:defined on integers only",
        jvp="none:defined on integers only",
        expr="~x", ref="numpy.bitwise_not",
        doc="Each element's bits inverted; of bool, the logical not.",
        example=">>> tl.bitwise_not(tl.tensor([0, 5]))\ntensor([-1, -6])",
    ),
    Comparison(
        "logical_and", overload="", other="Tensor",
        core=True, array_api="logical_and",
        expr="x && y", ref="numpy.logical_and",
        doc="Whether both elements are non-zero.",
        example=">>> tl.logical_and(tl.tensor([0, 1]), tl.tensor([2, 3]))\ntensor([False,  True])",
    ),
    Comparison(
        "logical_or", overload="", other="Tensor",
        core=True, array_api="logical_or",
        expr="x || y", ref="numpy.logical_or",
        doc="Whether either element is non-zero.",
        example=">>> tl.logical_or(tl.tensor([0, 1]), tl.tensor([0, 3]))\ntensor([False,  True])",
    ),
    Comparison(
        "logical_xor", overload="", other="Tensor",
        core=True, array_api="logical_xor",
        expr="!x != !y", ref="numpy.logical_xor",
        doc="Whether exactly one element is non-zero.",
        example=">>> tl.logical_xor(tl.tensor([0, 1]), tl.tensor([2, 3]))\ntensor([ True, False])",
    ),
    Binary(
        "bitwise_and", number_first=True,
        dtypes="bool int",
        out_name="bitwise_and.Tensor_out",
        core=True, array_api="bitwise_and",
        grad="none:defined on integers only",
        jvp="none:defined on integers only",
        expr="x & y", ref="numpy.bitwise_and",
        doc="The bits both elements have.",
        example=">>> tl.bitwise_and(tl.tensor([6, 5]), 3)\ntensor([2, 1])",
    ),
    Binary(
        "bitwise_or", number_first=True,
        dtypes="bool int",
        out_name="bitwise_or.Tensor_out",
        core=True, array_api="bitwise_or",
        grad="none:defined on integers only",
        jvp="none:defined on integers only",
        expr="x | y", ref="numpy.bitwise_or",
        doc="The bits either element has.",
        example=">>> tl.bitwise_or(tl.tensor([6, 5]), 3)\ntensor([7, 7])",
    ),
    Binary(
        "bitwise_xor", number_first=True,
        dtypes="bool int",
        out_name="bitwise_xor.Tensor_out",
        core=True, array_api="bitwise_xor",
        grad="none:defined on integers only",
        jvp="none:defined on integers only",
        expr="x ^ y", ref="numpy.bitwise_xor",
        doc="The bits exactly one element has.",
        example=">>> tl.bitwise_xor(tl.tensor([6, 5]), 3)\ntensor([5, 6])",
    ),
    *(row for name, cpu, ref, what in (
          ("bitwise_left_shift", "lshift", "numpy.left_shift", "left"),
          ("bitwise_right_shift", "rshift", "numpy.right_shift", "right"),
      )
      for row in (
          Binary(
              name, cpu=cpu,
              out_name=f"{name}.Tensor_out",
              dtypes="int", loops="widest", hot="int64",
              grad=OF_INTEGERS,
              jvp=OF_INTEGERS,
              expr=f"{cpu}(x, y)", ref=ref, samples=real(0, 6),
              reported=f"{cpu}_cpu",
              array_api=name,
              doc=f"Each element's bits moved to the {what}.",
          ),
          Pointwise(
              f"{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", inputs=2, cpu=cpu,
              dtypes="int", loops="widest", hot="int64",
              inplace=False, out=False, method=False,
              grad=OF_INTEGERS,
              jvp=OF_INTEGERS,
              expr=f"{cpu}(x, y)", ref=ref, samples=real(0, 6),
              reported=f"{cpu}_cpu",
              doc=f"A number's bits moved to the {what}.",
          ))),
]  # fmt: skip
