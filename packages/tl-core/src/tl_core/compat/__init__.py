"""Names of PyTorch's private modules that other libraries import, each doing what its callers need of it.

`torch._utils` is `utils`, `torch._prims_common` is `prims_common` and so on; the façade's table tells which. What has
no counterpart in tl raises when it is used, not when it is imported.
"""
