"""Names of the overloads with out tensors that PyTorch has beside the rows' own.

An entry is the operator whose results an overload writes: `trace` for `trace.out`, `norm.Scalar` for
`norm.Scalar_out`. `>` precedes the overload's name where another is usual, and brackets list the out arguments.
"""

import re
from typing import NamedTuple

__all__ = ["OUT_FORMS", "OutForm"]

# The out tensor has the dtype of the result.
_EQUAL_DTYPE = """
    __lshift__.Scalar __lshift__.Tensor __rshift__.Scalar __rshift__.Tensor _adaptive_avg_pool2d
    _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward _aminmax _aminmax.dim
    _batch_norm_no_update _cdist_backward _cdist_forward _cholesky_solve_helper _coalesce _coalesced _conj_copy
    _convolution _dirichlet_grad _embedding_bag _euclidean_dist _fake_quantize_learnable_per_channel_affine
    _fake_quantize_learnable_per_tensor_affine _index_put_impl _indices_copy _masked_softmax
    _masked_softmax_backward _native_batch_norm_legit_no_training _native_multi_head_attention _neg_view_copy
    _nested_from_padded _nested_from_padded_and_nested_example _nested_tensor_from_mask _pdist_backward
    _pdist_forward _pin_memory _reshape_alias_copy _sample_dirichlet _segment_reduce_backward _sparse_addmm
    _sparse_broadcast_to_copy _sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors
    _sparse_log_softmax _sparse_mask_projection _sparse_softmax _sparse_sparse_matmul _sparse_sum.dim _spdiags
    _standard_gamma _standard_gamma_grad _to_copy _to_dense _to_sparse _to_sparse.sparse_dim _to_sparse_bsc
    _to_sparse_bsr _to_sparse_csc _to_sparse_csr _transform_bias_rescale_qkv _trilinear _unique _unique2
    _unsafe_view _values_copy _weight_norm_interface _weight_norm_interface_backward add.Scalar
    affine_grid_generator bartlett_window bartlett_window.periodic batch_norm_backward_elemt
    batch_norm_backward_reduce batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
    batch_norm_update_stats bernoulli.Tensor bernoulli.p>float_out binary_cross_entropy_with_logits bincount
    binomial bitwise_and.Scalar_Tensor bitwise_left_shift.Scalar_Tensor bitwise_or.Scalar_Tensor
    bitwise_right_shift.Scalar_Tensor bitwise_xor.Scalar_Tensor blackman_window blackman_window.periodic block_diag
    cauchy ccol_indices_copy celu channel_shuffle clone col_indices_copy constant_pad_nd conv_tbc
    convolution_backward copy count_nonzero count_nonzero.dim_IntList crow_indices_copy dequantize.self
    dequantize.tensors diag_embed diagonal_backward dist div.Scalar div.Scalar_mode embedding
    embedding_dense_backward embedding_renorm empty_like empty_permuted empty_strided exponential
    fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask fill.Scalar fill.Tensor
    flip floor_divide.Scalar from_file full_like geometric grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d
    grid_sampler_3d_backward hamming_window hamming_window.periodic hamming_window.periodic_alpha
    hamming_window.periodic_alpha_beta hann_window hann_window.periodic index_put indices_copy int_repr isinf isnan
    kaiser_window kaiser_window.beta kaiser_window.periodic lift_fresh_copy linalg_matrix_exp log_normal median
    mul.Scalar nanmedian native_batch_norm_backward native_dropout native_dropout_backward
    native_group_norm_backward native_layer_norm_backward native_norm native_norm.ScalarOpt_dim_dtype new_empty
    new_empty_strided new_full new_ones new_zeros norm.Scalar norm.ScalarOpt_dtype ones_like pixel_shuffle
    pixel_unshuffle poisson q_per_channel_scales q_per_channel_zero_points quantize_per_channel quantize_per_tensor
    quantize_per_tensor.tensor_qparams quantize_per_tensor.tensors quantize_per_tensor_dynamic quantized_batch_norm
    quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d rand_like rand_like.generator randint_like
    randint_like.Tensor randint_like.Tensor_generator randint_like.generator randint_like.low_dtype
    randint_like.low_generator_dtype randn_like randn_like.generator random random.from random.to relu repeat
    repeat_interleave.Tensor resize resize_as roll rot90 row_indices_copy rrelu_with_noise_backward rsub.Scalar
    scalar_tensor segment_reduce select_backward slice_backward slow_conv_dilated2d slow_conv_dilated3d
    sparse_coo_tensor.size sparse_mask sub.Scalar to_mkldnn trace tril_indices triu_indices unfold_backward uniform
    unique_consecutive unique_dim unique_dim_consecutive unsafe_split.Tensor unsafe_split_with_sizes
    upsample_bilinear2d.vec upsample_nearest2d.vec values_copy zero zeros_like
"""
# The same for the operators of other devices.
_OF_DEVICES = """
    _embedding_bag_forward_only _mkldnn_reshape _mkldnn_transpose cudnn_batch_norm cudnn_batch_norm_backward
    cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose miopen_batch_norm
    miopen_batch_norm_backward miopen_convolution miopen_depthwise_convolution mkldnn_convolution
"""
# The same for each tensor of a list.
_OF_LISTS = """
    _foreach_abs _foreach_acos _foreach_add.List _foreach_add.Scalar _foreach_add.ScalarList _foreach_add.Tensor
    _foreach_addcdiv.Scalar _foreach_addcdiv.ScalarList _foreach_addcdiv.Tensor _foreach_addcmul.Scalar
    _foreach_addcmul.ScalarList _foreach_addcmul.Tensor _foreach_asin _foreach_atan _foreach_ceil
    _foreach_clamp_max.List _foreach_clamp_max.Scalar _foreach_clamp_max.ScalarList _foreach_clamp_min.List
    _foreach_clamp_min.Scalar _foreach_clamp_min.ScalarList _foreach_clone _foreach_copy _foreach_cos _foreach_cosh
    _foreach_div.List _foreach_div.Scalar _foreach_div.ScalarList _foreach_div.Tensor _foreach_erf _foreach_erfc
    _foreach_exp _foreach_expm1 _foreach_floor _foreach_frac _foreach_lerp.List _foreach_lerp.Scalar
    _foreach_lerp.ScalarList _foreach_lgamma _foreach_log _foreach_log10 _foreach_log1p _foreach_log2 _foreach_max
    _foreach_maximum.List _foreach_maximum.Scalar _foreach_maximum.ScalarList _foreach_minimum.List
    _foreach_minimum.Scalar _foreach_minimum.ScalarList _foreach_mul.List _foreach_mul.Scalar
    _foreach_mul.ScalarList _foreach_mul.Tensor _foreach_neg _foreach_norm.Scalar _foreach_pow.List
    _foreach_pow.Scalar _foreach_pow.ScalarList _foreach_reciprocal _foreach_round _foreach_rsqrt _foreach_sigmoid
    _foreach_sign _foreach_sin _foreach_sinh _foreach_sqrt _foreach_sub.List _foreach_sub.Scalar
    _foreach_sub.ScalarList _foreach_tan _foreach_tanh _foreach_trunc _foreach_zero
"""
# The dtype of the result can be cast to that of the out tensor.
_CASTABLE = """
    _addmm_activation _batch_norm_with_update(out,save_mean,save_invstd,reserve) _chunk_cat
    _compute_linear_combination _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _fft_c2c _fft_c2r
    _fft_r2c _linalg_det>result(result,LU,pivots) _linalg_eigh>eigenvalues(eigenvalues,eigenvectors)
    _linalg_slogdet>sign(sign,logabsdet,LU,pivots) _linalg_solve_ex>result(result,LU,pivots,info)
    _linalg_svd>U(U,S,Vh) _logcumsumexp _native_batch_norm_legit(out,save_mean,save_invstd)
    _native_batch_norm_legit.no_stats(out,save_mean,save_invstd) _scaled_mm _scaled_mm_v2 _stack
    adaptive_max_pool2d_backward>grad_input adaptive_max_pool3d_backward>grad_input addmm.dtype argsort.stable
    avg_pool2d_backward>grad_input avg_pool3d_backward>grad_input baddbmm.dtype batch_norm_elemt
    binary_cross_entropy binary_cross_entropy_backward>grad_input bitwise_left_shift.Tensor_Scalar
    bitwise_right_shift.Tensor_Scalar bmm.dtype clamp_max.Tensor clamp_min.Tensor copysign.Scalar
    elu_backward>grad_input fractional_max_pool2d_backward>grad_input fractional_max_pool3d_backward>grad_input
    frobenius_norm.dim>out gelu_backward>grad_input glu_backward>grad_input hash_tensor hspmm huber_loss
    huber_loss_backward(grad_input) leaky_relu_backward>grad_input lerp.Scalar linalg_pinv.atol_rtol_tensor
    log_sigmoid_forward>output(output,buffer) logit_backward>grad_input max_pool2d_with_indices_backward>grad_input
    max_pool3d_with_indices_backward>grad_input mm.dtype mse_loss mse_loss_backward>grad_input multi_margin_loss
    multi_margin_loss_backward>grad_input multilabel_margin_loss multilabel_margin_loss_backward>grad_input
    multilabel_margin_loss_forward>output(output,is_target) nll_loss nll_loss2d nll_loss2d_backward>grad_input
    nll_loss2d_forward>output(output,total_weight) nll_loss_backward>grad_input
    nll_loss_forward>output(output,total_weight) nuclear_norm nuclear_norm.dim range>out_
    reflection_pad1d_backward>grad_input reflection_pad2d_backward>grad_input reflection_pad3d_backward>grad_input
    replication_pad1d_backward>grad_input replication_pad2d_backward>grad_input
    replication_pad3d_backward>grad_input rrelu_with_noise slow_conv3d slow_conv_transpose2d slow_conv_transpose3d
    smooth_l1_loss smooth_l1_loss_backward>grad_input soft_margin_loss soft_margin_loss_backward>grad_input
    sparse_sampled_addmm special_chebyshev_polynomial_t.n_scalar special_chebyshev_polynomial_u.n_scalar
    special_chebyshev_polynomial_v.n_scalar special_chebyshev_polynomial_w.n_scalar
    special_hermite_polynomial_h.n_scalar special_hermite_polynomial_he.n_scalar
    special_laguerre_polynomial_l.n_scalar special_legendre_polynomial_p.n_scalar
    special_shifted_chebyshev_polynomial_t.n_scalar special_shifted_chebyshev_polynomial_u.n_scalar
    special_shifted_chebyshev_polynomial_v.n_scalar special_shifted_chebyshev_polynomial_w.n_scalar
    special_xlog1py.other_scalar special_zeta.other_scalar split_copy.Tensor split_with_sizes_copy sspaddmm
    thnn_conv2d unbind_copy.int xlogy.Scalar_Other>OutScalar_Other
"""
# Functions that take out tensors: handlers see their parts.
_IMPLICIT = """

    linalg_cond linalg_cond.p_str linalg_matmul linalg_matrix_norm linalg_matrix_norm.str_ord linalg_matrix_rank
    linalg_matrix_rank.atol_rtol_float linalg_matrix_rank.atol_rtol_tensor
    linalg_matrix_rank.tol_tensor>out_tol_tensor linalg_norm linalg_norm.ord_str linalg_pinv.atol_rtol_float
    linalg_pinv.rcond_tensor>out_rcond_tensor special_digamma special_erf special_erfc special_erfinv special_exp2
    special_expit special_expm1 special_gammainc special_gammaincc special_gammaln special_i0 special_log1p
    special_logit special_logsumexp special_multigammaln special_polygamma special_psi special_round special_sinc
    special_xlogy special_xlogy.other_scalar
"""


class OutForm(NamedTuple):
    """An overload with out tensors.

    Args:
        base: the overload of the same packet whose results it writes.
        names: the names of its out arguments; empty where they follow from the number of results.
        rule: the rule of its dtypes: `equal`, `castable` or `implicit`.
    """

    base: str
    names: tuple[str, ...]
    rule: str


def _forms() -> dict[str, dict[str, OutForm]]:
    """The overloads by packet and name."""
    forms: dict[str, dict[str, OutForm]] = {}
    for rule, text in (
        ("equal", _EQUAL_DTYPE + _OF_DEVICES + _OF_LISTS),
        ("castable", _CASTABLE),
        ("implicit", _IMPLICIT),
    ):
        for name, base, overload, names in re.findall(r"(\w+)(?:\.(\w+))?(?:>(\w+))?(?:\(([\w,]+)\))?", text):
            usual = f"{base}_out" if base else "out"
            listed = tuple(names.split(",")) if names else ()
            forms.setdefault(name, {})[overload or usual] = OutForm(base or "default", listed, rule)
    return forms


OUT_FORMS = _forms()
