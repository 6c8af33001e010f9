"""PyTorch's own test files, run on tl under a sanitizer: they reach memory that generated examples do not."""
