"""Batch rules of copies of views."""

from opgen.rule_language import batch, batch_size


@batch("t_copy")
def _(self):
    return transpose_copy(self, 1, 2) if self.ndim > 2 else view_copy(self, self.shape)


@batch("permute_copy")
def _(self, dims):
    return permute_copy(self, [0] + [d + 1 if d >= 0 else d for d in dims])


@batch("expand_copy")
def _(self, size):
    x = self.view([batch_size] + [1] * (len(size) + 1 - self.ndim) + self.shape[1:])
    return expand_copy(x, [batch_size] + size)


@batch("as_strided_copy")
def _(self, size, stride, storage_offset):
    return as_strided_copy(self, [batch_size] + size, [self.stride(0)] + stride, storage_offset)


@batch("squeeze_copy")
def _(self):
    return squeeze_copy(self, [i for i, n in enumerate(self.shape) if n == 1 and i > 0])


@batch("squeeze_copy.dims")
def _(self, dim):
    dims = [d + 1 if d >= 0 else d for d in dim]
    return squeeze_copy(self, dims) if self.ndim > 1 else view_copy(self, self.shape)


@batch("view_as_real_copy")
def _(self):
    return view_as_real_copy(self)


@batch("view_as_complex_copy")
def _(self):
    pairs = self if self.ndim > 1 else new_zeros(self, [])  # its error describes the sizes
    return view_as_complex_copy(pairs.contiguous())
