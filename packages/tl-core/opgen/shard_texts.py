"""The placements of rows whose other fields do not say them: `shard_rules.py` describes the language."""

from __future__ import annotations

_TERMS = "; terms: "
_POOL = "...{kernel_size} -> ...{kernel_size}, ...{kernel_size}"


def _upsampling() -> dict[str, str]:
    names = {
        "upsample_nearest": "123",
        "_upsample_nearest_exact": "123",
        "upsample_linear": "1",
        "upsample_bilinear": "2",
        "upsample_trilinear": "3",
        "upsample_bicubic": "2",
    }
    texts = {}
    for name, counts in names.items():
        for count in counts:
            pattern = f"...{'_' * int(count)} -> ...{'_' * int(count)}"
            texts |= dict.fromkeys((f"{name}{count}d", f"{name}{count}d_backward"), pattern)
    for name in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
        texts |= dict.fromkeys((name, f"{name}_backward"), "...__ -> ...__")
    return texts


def _padding() -> dict[str, str]:
    return {
        f"{kind}_pad{count}d": f"...{'_' * count} -> ...{'_' * count}"
        for kind in ("reflection", "replication")
        for count in (1, 2, 3)
    }


def _reductions() -> dict[str, str]:
    kinds = {
        "sum": "sum",
        "mean": "avg",
        "prod": "product",
        "max": "max",
        "min": "min",
        "any": "max",
        "all": "min",
    }
    texts = {name: f"... ->; reduce: {kind}" for name, kind in kinds.items()}
    by_dims = {
        "sum.dim_IntList": "sum",
        "mean.dim": "avg",
        "prod.dim_int": "product",
        "amax": "max",
        "amin": "min",
        "any.dim": "max",
        "any.dims": "max",
        "all.dim": "min",
        "all.dims": "min",
    }
    return texts | {name: f"dims; reduce: {kind}" for name, kind in by_dims.items()}


SHARDS: dict[str, str] = {
    # ---- elementwise: what is linear in several operands, or in one of them
    "neg": "elementwise; terms: self",
    "add.Tensor": "elementwise; terms: self other",
    "sub.Tensor": "elementwise; terms: self other",
    "rsub.Tensor": "elementwise; terms: self other",
    "mul.Tensor": "elementwise; terms: self | other",
    "div.Tensor": "elementwise; terms: self",
    "where.self": "elementwise; terms: self other",
    # ---- products
    "mm": "ik, kj -> ij; terms: self | mat2",
    "_int_mm": "ik, kj -> ij",
    "bmm": "bik, bkj -> bij; terms: self | mat2",
    "addmm": "+ij, ik, kj -> ij; terms: self mat1 | self mat2",
    "baddbmm": "+bij, bik, bkj -> bij; terms: self batch1 | self batch2",
    "mv": "ik, k -> i; terms: self | vec",
    "addmv": "+i, ik, k -> i; terms: self mat | self vec",
    "dot": "k, k ->; terms: self | tensor",
    "linear": "...k, jk, +j -> ...j; terms: input bias | weight bias",
    "_distances": "...i_, ...j_ -> ...ij",
    "_distances_backward": "...ij, ...i_, ...j_, ...ij -> ...i_",
    "linalg_cross": "dims",
    # ---- convolutions
    "convolution": "n*, *, * -> n* / nc*, oc*, +o -> no* [groups=1, transposed=False]; terms: input bias | weight bias",
    "_convolve": "n*, *, * -> n* / nc*, oc*, +o -> no* [groups=1]; terms: input bias | weight bias",
    "_convolve_input": "n*, *, * -> n* / no*, oc*, +c -> nc* [groups=1]; terms: grad_output bias | weight bias",
    "_convolve_weight": "no*, nc* -> oc* [groups=1] / n*, n* -> *; terms: grad_output | input",
    # ---- attention, normalization, losses, recurrent layers
    "_attention": "...__, ...__, ...__, ...__ -> ...__, ..._ [dropout=0.0]",
    "_attention_backward": (
        "...__, ...__, ...__, ...__, ...__, ...__, ..._ -> ...__, ...__, ...__, ...__ [dropout=0.0]"
    ),
    "_attention_rng_state": "replicate",
    "_attention_dropout_mask": "replicate",
    "_sample_norm": "function",
    "_sample_norm_backward": "function",
    "_batch_norm": "_c*, c, c, c, c -> _c*, c, c",
    "_batch_norm_backward": "_c*, _c*, c, c, c -> _c*, c, c",
    "nll_loss_forward": "function",
    "_nll_loss_backward": "function",
    "_cross_entropy": "function",
    "_cross_entropy_backward": "function",
    "ctc_losses": "_n_, n_, n, n -> n, n__",
    "_ctc_backward": "n, _n_, n_, n, n, n, n__ -> _n_",
    "_recurrent_layer": "replicate",
    "_recurrent_layer_backward": "replicate",
    # ---- pooling, padding, patches
    "_max_pool": _POOL,
    "_adaptive_max_pool": "...{output_size} -> ...{output_size}, ...{output_size}",
    "_fractional_max_pool": "replicate",
    "_avg_pool": "...{kernel_size} -> ...{kernel_size}; terms: self",
    "_avg_pool_adjoint": "...{kernel_size} -> ...{kernel_size}; terms: grad",
    "_adaptive_avg_pool": "...{output_size} -> ...{output_size}; terms: self",
    "_unpool": "...{output_size}, ...{output_size} -> ...{output_size}",
    "_pad_circular": "dims; padded: pad",
    "constant_pad_nd": "dims; padded: pad",
    # ---- embeddings, indices
    "embedding": "_c, ... -> ...c; terms: weight",
    "embedding_dense_backward": "...c, ... -> _c [scale_grad_by_freq=False] / *c, * -> _c; terms: grad_output",
    "embedding_renorm_": "replicate",
    "_embedding_bag": "replicate",
    "index_select": "function",
    "index_select_backward": "function",
    "index.Tensor": "function",
    "index_backward": "function",
    "index_put_": "function",
    "gather": "dims; terms: self",
    "scatter.value": "dims",
    "masked_fill.Tensor": "..., ..., - -> ...",
    "masked_scatter": "replicate",
    "masked_select": "replicate",
    "nonzero_static": "replicate",
    "argwhere": "replicate",
    "repeat_interleave.Tensor": "replicate",
    "searchsorted.Tensor": "_, ..., _ -> ...",
    "searchsorted.Scalar": "replicate",
    "bucketize.Tensor": "..., - -> ...",
    "bucketize.Scalar": "replicate",
    "histc": "replicate",
    "bincount": "replicate",
    "histogram.bins_tensor": "replicate",
    "histogram.bin_ct": "replicate",
    "_histogramdd_from_bin_tensors": "replicate",
    "segment_reduce": "replicate",
    "multinomial": "replicate",
    # ---- reductions without a dimension
    "median": "replicate",
    "nanmedian": "replicate",
    # ---- matrices
    "_linalg_svdvals": "front",
    "linalg_householder_product": "front",
    "diag_embed": "function",
    "diagonal_backward": "replicate",
    "diagonal_scatter": "replicate",
    # ---- geometry
    "fill_.Tensor": "..., - -> ...",
    "fill.Tensor": "..., - -> ...",
    "empty_like": "sizes",
    "zeros_like": "sizes",
    "ones_like": "sizes",
    "full_like": "sizes",
    "new_empty": "sizes",
    "new_zeros": "sizes",
    "new_ones": "sizes",
    "new_full": "sizes",
    "new_empty_strided": "replicate",
    "view": "function",
    "view_copy": "function",
    "unsum": "function",
    "view.dtype": "..._ -> ..._",
    "view_copy.dtype": "..._ -> ..._",
    "view_as_real": "... -> ..._; terms: self",
    "view_as_real_copy": "... -> ..._; terms: self",
    "view_as_complex": "..._ -> ...; terms: self",
    "view_as_complex_copy": "..._ -> ...; terms: self",
    "permute_backward": "function",
    "slice_backward": "dims; terms: grad",
    "split_backward": "dims; terms: grads",
    "split_with_sizes_backward": "dims; terms: grads",
    "unfold_backward": "replicate",
    "as_strided": "replicate",
    "as_strided_copy": "replicate",
    "as_strided_backward": "replicate",
    "_as_strided_gather": "replicate",
    "as_strided_scatter": "replicate",
    "linspace.Tensor_Tensor": "replicate",
    "linspace.Tensor_Scalar": "replicate",
    "linspace.Scalar_Tensor": "replicate",
    "logspace.Tensor_Tensor": "replicate",
    "logspace.Tensor_Scalar": "replicate",
    "logspace.Scalar_Tensor": "replicate",
    # ---- answers about the whole
    "equal": "replicate",
    "_local_scalar_dense": "replicate",
    "nonzero": "replicate",
    "_unique2": "replicate",
    "unique_dim": "replicate",
    "unique_consecutive": "replicate",
    **_upsampling(),
    **_padding(),
    **_reductions(),
}  # fmt: skip
