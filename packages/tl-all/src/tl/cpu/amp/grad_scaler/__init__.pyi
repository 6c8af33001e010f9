# Written by `python -m tools.facade_stubs --write`.
from tl_amp.cpu.grad_scaler import GradScaler as GradScaler
