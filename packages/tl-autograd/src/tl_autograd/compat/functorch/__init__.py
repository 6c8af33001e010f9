"""The private names of function transforms that libraries import, over the levels of `tl_autograd.func`.

`tl._functorch` and `tl._C._functorch` are found here. Programs should use `tl.func`.
"""
