"""Operators on segments: sequences of different lengths, one after the other along the first dimension.

Segment i is the rows offsets[i] to offsets[i + 1] - 1, or lengths[i] rows from offsets[i] on.
"""

from opgen.row import Composite, Op

NOT_DIFFERENTIABLE = "none:random numbers do not depend on the values of a tensor"
SIZES_DIFFER = "refuse:() works on examples of different sizes, a batch of its own"
_ROWS = "Tensor query_offsets, Tensor? query_lengths, Tensor key_offsets, Tensor? key_lengths"
_HOW = "bool causal, float scale, Tensor? rng_state=None, float dropout=0.0"
_WHERE = "query_offsets, query_lengths, key_offsets, key_lengths"
_GRADIENTS = (
    f"(Tensor grad, Tensor query, Tensor key, Tensor value, {_ROWS}, "
    "Tensor output, Tensor log_sums, bool causal, float scale, Tensor? rng_state, float dropout, "
    "bool want_query, bool want_key, bool want_value) -> (Tensor, Tensor, Tensor)"
)


def _extreme(name, word):
    return Op(
        f"_segment_{name}(Tensor self, Tensor offsets, Tensor? lengths=None) -> Tensor",
        method=False,
        grad={"self": "_segment_extreme_backward(g, self, result, offsets, lengths)"},
        shape="[offsets.shape[0] - 1, *self.shape[1:]]",
        jvp="double-vjp", batch=SIZES_DIFFER,
        doc=f"The {word} row of each segment, element by element.",
    )  # fmt: skip


def _softmax(name, doc):
    return Op(
        f"_segment_{name}(Tensor self, Tensor offsets, Tensor? lengths=None) -> Tensor",
        method=False,
        grad={"self": f"_segment_{name}_backward(g, result, offsets, lengths)"},
        shape="self.shape",
        jvp="double-vjp", batch=SIZES_DIFFER,
        doc=doc,
    )  # fmt: skip


_PIECES = {
    "data": "the tensor that is reduced",
    "reduce": "sum, mean, max, min or prod",
    "lengths": "the sizes of the pieces; its dimensions before the axis are those of the data",
    "indices": "not supported",
    "offsets": "the first index of each piece and the end of the last, in the place of lengths",
    "axis": "the dimension that is reduced",
    "unsafe": "whether lengths are not checked",
    "initial": "the start of each reduction; None: the neutral element",
    "output": "the result of segment_reduce",
}
_COUNT = "lengths.shape[axis] if lengths is not None else offsets.shape[axis] - 1"

ROWS = [
    Op(
        (
            "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? "
            "offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor"
        ),
        shape=f"[*data.shape[:wrap(axis, data.ndim)], {_COUNT}, *data.shape[wrap(axis, data.ndim) + 1:]]",
        declared=False,
        method=False, devices="Any",
        grad={
            "data": (
                "_segment_reduce_backward(g, result, data, reduce, lengths=lengths, offsets=offsets, "
                "axis=axis, initial=initial)"
            ),
        },
        jvp="double-vjp", batch="loop",
        doc="The reduction of each of the pieces that follow each other along a dimension.",
        about=_PIECES,
        example=(
            ">>> tl.segment_reduce(tl.tensor([1.0, 2.0, 3.0]), \"max\", lengths=tl.tensor([2, 1]))\n"
            "tensor([2., 3.])"
        ),
    ),
    Composite(
        (
            "_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? "
            "lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor"
        ),
        shape="data.shape", declared=False,
        method=False,
        doc="The gradient of the data of segment_reduce; equal extremes share it.",
        about=_PIECES,
    ),
    Op(
        "_segment_sum(Tensor self, Tensor offsets, Tensor? lengths=None) -> Tensor",
        shape="[offsets.shape[0] - 1, *self.shape[1:]]",
        method=False,
        grad={"self": "_segment_expand(g, offsets, lengths, self.shape[0])"},
        jvp="linear", batch=SIZES_DIFFER,
        doc="The sum of the rows of each segment.",
        example=">>> tl._segment_sum(tl.tensor([1.0, 2.0, 3.0]), tl.tensor([0, 2, 3]))\ntensor([3., 3.])",
    ),
    Op(
        "_segment_expand(Tensor self, Tensor offsets, Tensor? lengths, int total) -> Tensor",
        shape="[total, *self.shape[1:]]",
        method=False,
        grad={"self": "_segment_sum(g, offsets, lengths)"},
        jvp="linear", batch=SIZES_DIFFER,
        doc="Row i at every place of segment i, zeros between segments: the adjoint of _segment_sum.",
    ),
    _extreme("amax", "largest"),
    _extreme("amin", "smallest"),
    Composite(
        (
            "_segment_extreme_backward(Tensor grad, Tensor self, Tensor result, Tensor offsets, Tensor? "
            "lengths) -> Tensor"
        ),
        shape="self.shape",
        function=False, method=False,
        doc="The derivative of _segment_amax and _segment_amin: equal elements share the gradient.",
    ),
    _softmax("softmax", "The softmax of each segment along the rows; zeros between segments."),
    _softmax("log_softmax", "The logarithm of _segment_softmax."),
    Composite(
        "_segment_softmax_backward(Tensor grad, Tensor result, Tensor offsets, Tensor? lengths) -> Tensor",
        shape="grad.shape",
        function=False, method=False,
        doc="The derivative of _segment_softmax.",
    ),
    Composite(
        (
            "_segment_log_softmax_backward(Tensor grad, Tensor result, Tensor offsets, Tensor? lengths) -> "
            "Tensor"
        ),
        shape="grad.shape",
        function=False, method=False,
        doc="The derivative of _segment_log_softmax.",
    ),
    Op(
        "_segment_matmul(Tensor self, Tensor weight, Tensor offsets, Tensor? lengths=None) -> Tensor",
        shape="[self.shape[0], weight.shape[-1]]",
        method=False,
        grad={
            "self": "_segment_matmul(g, weight.transpose(1, 2).conj(), offsets, lengths)",
            "weight": "_segment_products(self.conj(), g, offsets, lengths)",
        },
        jvp="double-vjp", batch=SIZES_DIFFER,
        doc="The rows of segment i times the i-th of a batch of matrices; zeros between segments.",
    ),
    Op(
        "_segment_products(Tensor self, Tensor other, Tensor offsets, Tensor? lengths=None) -> Tensor",
        shape="[offsets.shape[0] - 1, self.shape[1], other.shape[1]]",
        method=False,
        grad={
            "self": "_segment_matmul(other.conj(), g.transpose(1, 2), offsets, lengths)",
            "other": "_segment_matmul(self.conj(), g, offsets, lengths)",
        },
        jvp="double-vjp", batch=SIZES_DIFFER,
        doc="The transpose of the rows of each segment times the other's: a batch of matrices.",
    ),
    Op(
        (
            "_jagged_to_padded(Tensor self, Tensor offsets, Tensor? lengths, int max_length, Scalar padding) "
            "-> Tensor"
        ),
        shape="[offsets.shape[0] - 1, max_length, *self.shape[1:]]",
        method=False,
        grad={"self": "_padded_to_jagged(g, offsets, lengths, self.shape[0])"},
        jvp="double-vjp", batch=SIZES_DIFFER,
        doc="The segments as a batch of one length, (segments, max_length, *), filled up with `padding`.",
    ),
    Op(
        "_padded_to_jagged(Tensor self, Tensor offsets, Tensor? lengths, int total) -> Tensor",
        shape="[total, *self.shape[2:]]",
        method=False,
        grad={"self": "_jagged_to_padded(g, offsets, lengths, self.shape[1], 0)"},
        jvp="linear", batch=SIZES_DIFFER,
        doc="The first rows of each example of a batch as segments, zeros between them.",
    ),
    Op(
        (
            f"_attention_ragged(Tensor query, Tensor key, Tensor value, {_ROWS}, {_HOW}) -> (Tensor output, "
            f"Tensor "
            "log_sums)"
        ),
        function=False, method=False,
        grad={
            "query, key, value": (
                f"_attention_ragged_gradients(g0, query, key, value, {_WHERE}, output, log_sums, causal, "
                f"scale, "
                "rng_state, dropout, needs[0], needs[1], needs[2])"
            ),
        },
        jvp="double-vjp", batch=SIZES_DIFFER,
        doc=(
            "Attention within segments: (heads, rows, columns), segment i of the queries over segment i of "
            "the keys."
        ),
    ),
    Op(
        f"_attention_ragged_backward{_GRADIENTS}",
        function=False, method=False,
        grad="none:only runs where nothing is recorded",
        jvp="none:not implemented: only runs where nothing is differentiated", batch=SIZES_DIFFER,
        doc="The gradients of _attention_ragged, in tiles.",
    ),
    Op(
        f"_attention_ragged_rng_state(int heads, {_ROWS}) -> Tensor",
        function=False, method=False, random=True,
        grad=NOT_DIFFERENTIABLE,
        jvp=NOT_DIFFERENTIABLE, batch=SIZES_DIFFER,
        doc="The generator's state at each tile of the dropout masks of _attention_ragged.",
    ),
    Composite(
        f"_attention_ragged_gradients{_GRADIENTS}",
        function=False, method=False,
        doc="The gradients of _attention_ragged, in operators where they are recorded.",
    ),
]  # fmt: skip
