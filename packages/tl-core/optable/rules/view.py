"""Rules of views."""

from opgen.rule_language import batch, batch_size, jvp


@batch("t")
def _(self):
    return self.transpose(1, 2) if self.ndim > 2 else self.view(self.shape)


@batch("permute")
def _(self, dims):
    return self.permute([0] + [d + 1 if d >= 0 else d for d in dims])


@batch("expand")
def _(self, size):
    x = self.view([batch_size] + [1] * (len(size) + 1 - self.ndim) + self.shape[1:])
    return x.expand([batch_size] + size)


@batch("as_strided")
def _(self, size, stride, storage_offset):
    return self.as_strided([batch_size] + size, [self.stride(0)] + stride, storage_offset)


@batch("squeeze")
def _(self):
    return self.squeeze([i for i, n in enumerate(self.shape) if n == 1 and i > 0])


@batch("squeeze.dims")
def _(self, dim):
    return self.squeeze([d + 1 if d >= 0 else d for d in dim]) if self.ndim > 1 else self.view(self.shape)


@batch("view_as_real")
def _(self):
    return view_as_real(resolve_conj(self))


@jvp("view_as_real")
def _(t_self):
    return view_as_real(resolve_conj(t_self))


@batch("view_as_complex")
def _(self):
    return view_as_complex(self if self.ndim > 1 else new_zeros(self, []))  # its error describes the sizes
