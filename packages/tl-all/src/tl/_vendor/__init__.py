"""Libraries that PyTorch has copies of. The names import the installed library."""
