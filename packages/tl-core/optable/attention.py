"""Scaled dot-product attention."""

from opgen.row import Composite, Op

NOT_DIFFERENTIABLE = "none:random numbers do not depend on the values of a tensor"
GRADIENTS = (
    "(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor output, Tensor log_sums, "
    "bool causal, float scale, Tensor? rng_state, float dropout, "
    "bool want_query, bool want_key, bool want_value, bool want_mask) -> (Tensor, Tensor, Tensor, Tensor)"
)

ROWS = [
    Op(
        (
            "_attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float scale, bool "
            "rows_outside, Tensor? rng_state=None, float dropout=0.0) -> (Tensor output, Tensor log_sums)"
        ),
        shape="[[*query.shape[:-1], value.shape[-1]], query.shape[:-1]]",
        function=False, method=False,
        grad={
            "query, key, value, mask": (
                "_attention_gradients(g0, query, key, value, mask, output, log_sums, causal, scale, "
                "rng_state, dropout, needs[0], needs[1], needs[2], needs[3])"
            ),
        },
        jvp="double-vjp", batch="fold",
        doc="Attention of (batch, heads, rows, columns) in tiles, and the logarithms of the softmax's sums.",
    ),
    Op(
        f"_attention_backward{GRADIENTS}",
        shape=(
            "[query.shape if want_query else None, key.shape if want_key else None, value.shape if "
            "want_value else None, mask.shape if want_mask else None]"
        ),
        function=False, method=False,
        grad="none:only runs where nothing is recorded",
        jvp="none:not implemented: only runs where nothing is differentiated", batch="fold",
        doc="The gradients of _attention, in tiles.",
    ),
    Op(
        "_attention_rng_state(Tensor query, Tensor key) -> Tensor",
        function=False, method=False, random=True,
        grad=NOT_DIFFERENTIABLE,
        jvp=NOT_DIFFERENTIABLE, batch="rule",
        doc="The generator's state at each tile of the dropout mask of _attention.",
    ),
    Op(
        "_attention_dropout_mask(Tensor rng_state, int queries, int keys, float dropout) -> Tensor",
        function=False, method=False,
        grad=NOT_DIFFERENTIABLE,
        jvp=NOT_DIFFERENTIABLE, batch="loop",
        doc="The dropout mask of _attention, true where a probability stays: (heads, queries, keys).",
    ),
    Composite(
        f"_attention_gradients{GRADIENTS}",
        function=False, method=False,
        doc="The gradients of _attention, in operators where they are recorded.",
    ),
    Composite(
        (
            "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
            "float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> "
            "Tensor"
        ),
        shape="attention(query.shape, key.shape, value.shape, enable_gqa)",
        method=False, namespace="_nn", random=True, autocast="lower",
        doc="softmax(scale * query @ key.mT + mask) @ value.",
        about={"value": "the values, (*, S, Ev)", "scale": "the factor of the scores; None: 1 / sqrt(E)"},
        example=(
            ">>> query, key, value = tl.zeros(1, 1, 2), tl.ones(1, 2, 2), tl.tensor([[[1.0, 2.0], [3.0, "
            "6.0]]])\n>>> tl.nn_functions.scaled_dot_product_attention(query, key, value)\ntensor([[[2., "
            "4.]]])"
        ),
    ),
]  # fmt: skip
