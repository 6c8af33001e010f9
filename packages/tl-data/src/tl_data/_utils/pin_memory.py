"""`tl_data.pin` by the reference's name."""

from tl_data.pin import pin_memory as pin_memory
