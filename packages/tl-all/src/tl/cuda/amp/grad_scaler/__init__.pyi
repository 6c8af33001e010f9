# Written by `python -m tools.facade_stubs --write`.
from tl_amp.cuda.grad_scaler import GradScaler as GradScaler
