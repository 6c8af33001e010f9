"""The first form of operators from Python, `torch._custom_op` and `torch._custom_ops`, for programs that still use "
"it."""
