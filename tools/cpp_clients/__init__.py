"""Published binaries and sources in C++ that are written for PyTorch, on tl."""
