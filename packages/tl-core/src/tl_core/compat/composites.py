"""Operators of the namespace aten whose functions exist for the names of PyTorch's internals: attention, FBGEMM,
other devices.
"""

from __future__ import annotations

from tl_core.compat import device_operators
from tl_core.operators.composites import add, function

_HEADS = (
    "int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias"
)
_INT8 = "Tensor weight, Tensor packed, Tensor col_offsets, Scalar weight_scale, Scalar weight_zero_point, Tensor bias"
_FUNCTIONS = (
    (
        "compat.attention",
        (
            "_fused_sdp_choice(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., "
            "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> int"
        ),
    ),
    (
        "compat.attention",
        (
            "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
            "float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, "
            "bool enable_gqa=False) -> (Tensor, Tensor)"
        ),
    ),
    (
        "compat.attention",
        (
            f"_native_multi_head_attention(Tensor query, Tensor key, Tensor value, {_HEADS}, Tensor? mask=None, "
            "bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)"
        ),
    ),
    (
        "compat.attention",
        (
            "_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, "
            "Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, "
            "Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, "
            "Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, "
            "int? mask_type=None) -> Tensor"
        ),
    ),
    (
        "compat.attention",
        "_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)",
    ),
    ("compat.fbgemm", "fbgemm_pack_gemm_matrix_fp16(Tensor input) -> Tensor"),
    (
        "compat.fbgemm",
        "fbgemm_linear_fp16_weight(Tensor input, Tensor packed_weight, Tensor bias) -> Tensor",
    ),
    (
        "compat.fbgemm",
        "fbgemm_linear_fp16_weight_fp32_activation(Tensor input, Tensor packed_weight, Tensor? bias) -> Tensor",
    ),
    (
        "compat.fbgemm",
        (
            "fbgemm_linear_fp16_weight.out(Tensor input, Tensor packed_weight, Tensor bias, Tensor(a!) output) "
            "-> Tensor"
        ),
    ),
    (
        "compat.fbgemm",
        (
            "fbgemm_linear_fp16_weight_fp32_activation.out(Tensor input, Tensor packed_weight, Tensor? bias, "
            "Tensor(a!) output) -> Tensor"
        ),
    ),
    ("compat.fbgemm", "fbgemm_linear_quantize_weight(Tensor input) -> (Tensor, Tensor, float, int)"),
    ("compat.fbgemm", "fbgemm_pack_quantized_matrix(Tensor input) -> Tensor"),
    ("compat.fbgemm", "fbgemm_pack_quantized_matrix.KN(Tensor input, int K, int N) -> Tensor"),
    ("compat.fbgemm", f"fbgemm_linear_int8_weight(Tensor input, {_INT8}) -> Tensor"),
    ("compat.fbgemm", f"fbgemm_linear_int8_weight_fp32_activation(Tensor input, {_INT8}) -> Tensor"),
)

add(
    (schema, function(f"{module}.{schema.partition('(')[0].partition('.')[0]}"))
    for module, schema in _FUNCTIONS
)
add(device_operators.rows())
add([("_is_mkldnn_acl_supported() -> bool", lambda: False)], "mkldnn")
