"""Which operators take the element types that are stored but not computed with, and how the others refuse them.

Views and what is made of other operators take all of them, and so do the rows below that only make or move elements.
An elementwise row takes the float8 types that its `dtypes` name.
"""

from __future__ import annotations

from opgen.row import FLOAT8, Row

# In the order of the bits of `Stored` in dispatch/stored_dtypes.h.
KINDS = ("float8", "float4", "bits", "quantized", "narrow")
_ALL = " ".join(KINDS)
_TAKEN = {
    _ALL: """
        _to_copy as_strided_ cat diag_embed empty empty_like empty_permuted empty_strided full full_like index_select
        index_select_backward new_empty new_empty_strided new_full new_ones new_zeros ones ones_like permute_backward
        resize_ resize_as_ scalar_tensor select_backward slice_backward squeeze_ stack t_ transpose_ unsafe_split
        unsafe_split_with_sizes unsqueeze_ zero_ zeros zeros_like
    """,
    "float8 float4 bits quantized": """
        clone copy_ as_strided_scatter diagonal_scatter select_scatter slice_scatter
    """,
    "float8 float4 bits": "flip gather masked_select",
    "float8": """
        _as_strided_gather _local_scalar_dense all any as_strided_backward constant_pad_nd diagonal_backward equal eye
        fill fill_ index index_backward index_put_ masked_fill masked_scatter split_backward
        split_with_sizes_backward unbind_backward unfold_backward
    """,
}
_KINDS_OF = {name: kinds for kinds, names in _TAKEN.items() for name in names.split()}

# What the reference calls the kernel that refuses; the name and `_cpu` where it isn't here.
_REPORTED = {
    "add_stub": "add rsub sub",
    "addcdiv_cpu_out": "addcdiv",
    "addcmul_cpu_out": "addcmul",
    "addmm_impl_cpu_": "addmm mm",
    "addmv_impl_cpu": "addmv mv",
    "adaptive_avg_pool2d": "_adaptive_avg_pool",
    "adaptive_max_pool2d": "_adaptive_max_pool",
    "avg_pool2d": "_avg_pool",
    "baddbmm": "baddbmm",
    "_local_scalar_dense_cpu": "_local_scalar_dense",
    "batch_norm": "_batch_norm",
    "bernoulli_scalar_cpu_": "native_dropout",
    "bernoulli_tensor_cpu_self_": "bernoulli bernoulli_",
    "bmm": "bmm",
    "check_uniform_bounds": "rand rand_like uniform_ _fractional_max_pool",
    "clamp_cpu": "_clamp",
    "clamp_scalar_cpu": "hardtanh",
    "copy_": "copy_",
    "copy_kernel": "clone",
    "cross": "linalg_cross",
    "cumprod_out_cpu": "cumprod",
    "cumsum_out_cpu": "cumsum",
    "digamma": "digamma",
    "div_floor_cpu": "floor_divide",
    "div_trunc_cpu": "_div_trunc",
    "dot": "dot",
    "exp2": "exp2",
    "geqrf_cpu": "geqrf linalg_qr",
    "GeluKernelImpl": "_gelu _gelu_tanh",
    "GroupNormKernelImpl": "_sample_norm",
    "im2col_out_cpu": "im2col",
    "isfinite": "isfinite",
    "isinf": "isinf",
    "lerp_kernel_tensor": "lerp",
    "linalg_eigh_cpu": "_linalg_eigh",
    "linalg_svd_cpu": "_linalg_svd",
    "log_normal_cpu": "log_normal_",
    "log_softmax_lastdim_kernel_impl": "_log_softmax",
    "logcumsumexp_out_cpu": "logcumsumexp",
    "lshift_cpu": "bitwise_left_shift",
    "lu_cpu": "_linalg_det _linalg_solve linalg_lu_factor_ex",
    "max_pool2d": "_max_pool",
    "max_values_cpu": "amax logsumexp",
    "min_values_cpu": "amin",
    "mul_cpu_reduced_float": "deg2rad mul rad2deg",
    "multinomial": "multinomial",
    "nan_to_num": "_nan_to_num nan_to_num",
    "nll_loss_out_frame": "nll_loss_forward",
    "nonzero_count_cpu": "nonzero nonzero_static",
    "norm_cpu": "linalg_vector_norm",
    "normal_kernel_cpu": "normal normal_ randn randn_like",
    "pow": "pow square",
    "prod_out_cpu": "prod",
    "random_update_from_to": "randint randint_like",
    "reflection_pad1d": "reflection_pad1d",
    "reflection_pad2d": "reflection_pad2d",
    "reflection_pad3d": "reflection_pad3d",
    "replication_pad1d": "replication_pad1d",
    "replication_pad2d": "replication_pad2d",
    "replication_pad3d": "replication_pad3d",
    "rshift_cpu": "bitwise_right_shift",
    "scatter_gather_tensor_cpu": "gather scatter scatter_add scatter_reduce",
    "searchsorted_out_cpu": "bucketize searchsorted",
    "sigmoid_cpu_reduced_float": "sigmoid",
    "sign_cpu": "sgn",
    "slow_conv2d_cpu": "_convolve convolution",
    "softmax_lastdim_kernel_impl": "_softmax",
    "sorting_kernel_method_name": "argsort sort",
    "std_cpu": "std var",
    "sum_cpu": "mean sum",
    "triangular_solve_cpu": "linalg_solve_triangular",
    "tril": "tril",
    "triu": "triu",
    "unique": "_unique2 unique_consecutive unique_dim",
}
_NAME_OF = {name: reported for reported, names in _REPORTED.items() for name in names.split()}
# Those that the reference computes on vectors of its own name it.
_NAME_OF |= {
    name: f"{name}_vml_cpu"
    for name in [
        "acos",
        "asin",
        "atan",
        "ceil",
        "cos",
        "erf",
        "erfc",
        "erfinv",
        "exp",
        "expm1",
        "floor",
        "i0",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "round",
        "sin",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
    ]
}


def taken(row: Row) -> int:
    """A bit for each kind that the row takes."""
    if row.elementwise and set(row.elementwise.dtypes) & set(FLOAT8):
        kinds = "float8"
    else:
        kinds = _KINDS_OF.get(row.base, _ALL if row.composite or row.view else "")
    return sum(1 << KINDS.index(kind) for kind in kinds.split())


def reported(row: Row) -> str:
    """The kernel's name in the message that refuses a type."""
    return _NAME_OF.get(row.base, f"{row.base.strip('_')}_cpu")


def unknown(rows: list[Row]) -> set[str]:
    """Names above that no row has."""
    return (_KINDS_OF.keys() | _NAME_OF.keys()) - {row.base for row in rows}
