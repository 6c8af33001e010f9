"""`tl_data.pin` under PyTorch's name."""

from tl_data.pin import pin_memory as pin_memory
