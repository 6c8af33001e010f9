"""PyTorch's own tests of quantization, run by PyTorch and by tl."""
