# Written by `python -m tools.facade_stubs --write`.
from tl_amp.grad_scaler import AVAILABLE as AVAILABLE
from tl_amp.grad_scaler import DeprecatedGradScaler as DeprecatedGradScaler
from tl_amp.grad_scaler import GradScaler as GradScaler
from tl_amp.grad_scaler import OptState as OptState
from tl_amp.grad_scaler import _MultiDeviceReplicator as _MultiDeviceReplicator
