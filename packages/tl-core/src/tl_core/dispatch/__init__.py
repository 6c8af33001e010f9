"""The stages of a call: keys, layers, modes, autocast, gradient mode, functions that `__torch_function__` sees."""
