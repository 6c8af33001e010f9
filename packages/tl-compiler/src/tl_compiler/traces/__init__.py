"""Programs of TorchScript from traces: the calls of a module become methods of its class."""
