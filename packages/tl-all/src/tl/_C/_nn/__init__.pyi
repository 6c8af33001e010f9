# Written by `python -m tools.facade_stubs --write`.
from tl_core.compat.native_operators import flatten_dense_tensors as flatten_dense_tensors
from tl_core.compat.native_operators import rrelu_with_noise as rrelu_with_noise
from tl_core.compat.native_operators import rrelu_with_noise_ as rrelu_with_noise_
from tl_core.compat.native_operators import slow_conv3d as slow_conv3d
from tl_core.compat.native_operators import slow_conv_dilated2d as slow_conv_dilated2d
from tl_core.compat.native_operators import slow_conv_dilated3d as slow_conv_dilated3d
from tl_core.compat.native_operators import slow_conv_transpose2d as slow_conv_transpose2d
from tl_core.compat.native_operators import slow_conv_transpose3d as slow_conv_transpose3d
from tl_core.compat.native_operators import thnn_conv2d as thnn_conv2d
from tl_core.compat.native_operators import unflatten_dense_tensors as unflatten_dense_tensors
from tl_nn.modules.to import _parse_to as _parse_to
from tl_nn.utils.rnn import pad_sequence as pad_sequence
