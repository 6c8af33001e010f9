"""In which type operators run in a region of autocast for the CPU: the lists of the API's page on mixed precision.

Layers whose recurrence that page leaves to their parts take the widest type, as their parts' types would not fit.
"""

from __future__ import annotations

_POLICIES = {
    "lower": """
        addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear lstm
        matmul mm prelu rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention
    """,
    "float32": """
        adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d cross_entropy_of_classes
        fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler grid_sampler_2d grid_sampler_3d
        fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn
        fft_rfft fft_rfft2 fft_rfftn linalg_householder_product linalg_qr linalg_solve linalg_svd linalg_svdvals
        max_pool3d max_pool3d_with_indices max_unpool2d max_unpool3d nanquantile nll_loss_nd orgqr polar prod quantile
        reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d stft svd trace
        view_as_complex
    """,
    "widest": "cat gru gru_cell index_copy lstm_cell stack",
}
POLICY = {name: policy for policy, names in _POLICIES.items() for name in names.split()}
