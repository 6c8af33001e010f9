"""One call over many tensors."""

from opgen.row import Composite

ROWS = [
    Composite(signature, method=False, doc=doc)
    for signature, doc in (
        ("_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]", "The sums of two lists' tensors."),
        ("_foreach_add.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "A number added to each tensor."),
        ("_foreach_mul.List(Tensor[] self, Tensor[] other) -> Tensor[]", "The products of two lists' tensors."),
        ("_foreach_mul.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", "Each tensor times a number."),
        ("_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()", "The other list's tensors added in place."),
        ("_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", "A number added in place."),
        ("_foreach_mul_.List(Tensor(a!)[] self, Tensor[] other) -> ()", "Multiplied in place by the other list's tensors."),
        ("_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()", "Multiplied in place by a number."),
        ("_foreach_zero_(Tensor(a!)[] self) -> ()", "Zero written to every element."),
    )
]
