"""Rules of products of matrices and vectors."""

from opgen.rule_language import batch, batch_size, batched, defined, jvp, unexpanded

# ---- tangents ------------------------------------------------------------------------------------------------------


@jvp("mm")
def _(self, mat2, t_self, t_mat2):
    return mm(t_self, mat2) + mm(self, t_mat2)


@jvp("bmm")
def _(self, mat2, t_self, t_mat2):
    return bmm(t_self, mat2) + bmm(self, t_mat2)


@jvp("mv")
def _(self, vec, t_self, t_vec):
    return mv(t_self, vec) + mv(self, t_vec)


@jvp("dot")
def _(self, tensor, t_self, t_tensor):
    return dot(t_self, tensor) + dot(self, t_tensor)


@jvp("addmm")
def _(mat1, mat2, beta, alpha, t_self, t_mat1, t_mat2):
    return t_self * beta + (mm(t_mat1, mat2) + mm(mat1, t_mat2)) * alpha


@jvp("baddbmm")
def _(batch1, batch2, beta, alpha, t_self, t_batch1, t_batch2):
    return t_self * beta + (bmm(t_batch1, batch2) + bmm(batch1, t_batch2)) * alpha


@jvp("addmv")
def _(mat, vec, beta, alpha, t_self, t_mat, t_vec):
    return t_self * beta + (mv(t_mat, vec) + mv(mat, t_vec)) * alpha


@jvp("linear")
def _(input, weight, t_input, t_weight, t_bias):
    if defined(t_input):
        return linear(t_input, weight, t_bias) + linear(input, t_weight, None)
    return linear(input, t_weight, t_bias) if defined(t_weight) else t_bias


# ---- batches -------------------------------------------------------------------------------------------------------


@batch("mm")
def _(self, mat2):
    # Products of columns with rows, such as the gradient of a sample's weights, are bound by their writes.
    if batched(self) and batched(mat2) and self.shape[2] == 1:
        return self * mat2
    return matmul(unexpanded(self), unexpanded(mat2))


@batch("bmm")
def _(self, mat2):
    return matmul(unexpanded(self), unexpanded(mat2))


@batch("_int_mm")
def _(self, mat2):
    return matmul(_to_copy(self, dtype="int32"), _to_copy(mat2, dtype="int32"))


@batch("dot")
def _(self, tensor):
    return matmul(self.unsqueeze(1), tensor.unsqueeze(2)).reshape([batch_size])


def _times_vector(mat, vec):
    if batched(vec) and batched(mat):
        return matmul(mat, vec.unsqueeze(-1)).squeeze(-1)
    return matmul(vec, unexpanded(mat).t()) if batched(vec) else matmul(unexpanded(mat), unexpanded(vec))


@batch("mv")
def _(self, vec):
    return _times_vector(self, vec)


def _sum(self, product, beta, rank):
    """beta · self + product, with the dimensions of `self` behind the batch."""
    if defined(product):
        if beta == 0:  # only `self` may have a batch
            return product.expand([batch_size] + product.shape) if product.ndim == rank else product
        return self.reshape([batch_size] + [1] * (rank + 1 - self.ndim) + self.shape[1:]) * beta + product
    return None


@batch("addmm")
def _(self, mat1, mat2, beta, alpha):
    product = matmul(unexpanded(mat1), unexpanded(mat2)) * alpha
    return _sum(self, product, beta, 2)


@batch("baddbmm")
def _(self, batch1, batch2, beta, alpha):
    product = matmul(unexpanded(batch1), unexpanded(batch2)) * alpha
    return _sum(self, product, beta, 3)


@batch("addmv")
def _(self, mat, vec, beta, alpha):
    product = _times_vector(mat, vec) * alpha
    return _sum(self, product, beta, 1)


@batch("linear")
def _(input, weight, bias):
    if not batched(weight) and not batched(bias):
        return linear(unexpanded(input), weight, bias)
    if batched(input):
        x = input.reshape([batch_size, prod(input.shape[1:-1]), input.shape[-1]])
    else:
        x = input.reshape([prod(input.shape[:-1]), input.shape[-1]])
    if batched(weight) and weight.ndim == 2:
        m = weight.unsqueeze(1)
    else:
        m = weight.unsqueeze(0) if not batched(weight) and weight.ndim == 1 else weight
    y = matmul(x, m.transpose(-1, -2))
    lead = input.shape[1:-1] if batched(input) else input.shape[:-1]
    tail = [] if weight.ndim == (2 if batched(weight) else 1) else [y.shape[-1]]
    if y.ndim == 3:
        z = y.reshape([batch_size] + lead + tail)
    else:
        z = y.reshape(lead + tail).unsqueeze(0).expand([batch_size] + lead + tail)
    if bias is None:
        return z
    return z + bias.reshape([batch_size] + [1] * len(lead) + tail) if batched(bias) else z + bias
