// Matrix products: operands are brought into row- or column-major form for the GEMM of kernels/cpu/gemm.
#include "base/matmul_precision.h"
#include "iter/dtypes.h"
#include "kernels/cpu/gemm/gemm.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"
#include "tensor/packings.h"

namespace tl {

namespace {
// The step of a single row or column is not taken and may be wider than memory.
int64_t step_of(const Tensor& t, int64_t d) {
  constexpr int64_t kFar = int64_t{1} << 48;
  return t.size(d) == 1 && t.stride(d) > kFar ? 0 : t.stride(d);
}

cpu::MatrixView matrix(const Tensor& t) {
  const int64_t n = t.dim();
  return {t.ptr<char>(), step_of(t, n - 2), step_of(t, n - 1)};
}

void check_same_type(const char* name, const Tensor& a, const Tensor& b) {
  TL_CHECK(a.dtype() == b.dtype(), Runtime,
           "expected m1 and m2 to have the same dtype, but got: ", dtype_name(a.dtype()),
           " != ", dtype_name(b.dtype()), " (", name, ")");
  TL_CHECK(a.device() == b.device(), Runtime,
           "Expected all tensors to be on the same device, but found at least two devices, ",
           device_name(a.device()), " and ", device_name(b.device()), "! (", name, ")");
  TL_CHECK(a.dtype() != DType::Bool, NotImplemented, "\"", name, "_impl_cpu_\" not implemented for 'Bool'");
}

Tensor product_out(Out out, IntSpan shape, const Tensor& like) {
  check_out_dtype(out, like.dtype());
  return prepare_out(out, shape, {like.dtype(), like.device()});
}

bool shares_memory(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.numel() && b.numel();
}

cpu::GemmArgs product_of(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor* added = nullptr,
                         const void* alpha = nullptr, const void* beta = nullptr) {
  return {a.size(0),
          b.size(1),
          a.size(1),
          matrix(a),
          matrix(b),
          matrix(c),
          added ? matrix(*added) : cpu::MatrixView{},
          alpha,
          beta};
}

// Whether a packed copy of b saves time. Very few rows read dense columns as quickly where they lie. Fewer
// bits are the matter of other kernels.
bool gains_by_packing(DType dtype, const cpu::GemmArgs& p) {
  constexpr int64_t kSkinnyRows = 4, kMostRows = 64, kElements = 1 << 14;
  const bool is_float = dtype == DType::Float32;
  if (!(is_float || dtype == DType::Float64) || p.n == 1 || p.m > kMostRows || p.k * p.n < kElements)
    return false;
  if (p.m <= kSkinnyRows && !(is_float && p.b.row_stride == 1)) return false;
  return !is_float || matmul_precision.load(std::memory_order_relaxed) == MatmulPrecision::Highest;
}

// The packed copy of b that the thread's program has made in former calls, or null.
std::shared_ptr<Packing> packing_of(DType dtype, const Tensor& b, const cpu::GemmArgs& p) {
  if (!packings() || !gains_by_packing(dtype, p)) [[likely]]
    return nullptr;
  return packings()->find(b, {p.b.data, dtype, {p.k, p.n, p.b.row_stride, p.b.column_stride}});
}

void multiply(DType dtype, cpu::GemmArgs p, const Tensor& b) {
  if (const std::shared_ptr<Packing> packing = packing_of(dtype, b, p)) [[unlikely]] {
    const auto bytes = static_cast<size_t>(cpu::packed_size(dtype, p.k, p.n) * item_size(dtype));
    const char* const copy =
        packing->form(Packing::Product, bytes, [&](char* to) { cpu::pack(dtype, p.b, p.k, p.n, to); });
    if (copy) {
      p.b.data = const_cast<char*>(copy);
      return cpu::gemm_packed(dtype, p);
    }
  }
  cpu::gemm(dtype, p);
}

// The result may be an input: then the product goes through memory of its own.
void product_into(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor* added = nullptr,
                  const void* alpha = nullptr, const void* beta = nullptr) {
  if (c.is_meta() || c.numel() == 0) return;
  if (!shares_memory(c, a) && !shares_memory(c, b))
    return multiply(c.dtype(), product_of(c, a, b, added, alpha, beta), b);
  const Tensor fresh = empty(c.sizes(), {c.dtype(), {}});
  multiply(c.dtype(), product_of(fresh, a, b, added, alpha, beta), b);
  copy_elements(c, fresh);
}

Tensor mm(const Tensor& self, const Tensor& mat2, Out out) {
  TL_CHECK(self.dim() == 2, Runtime, "self must be a matrix, got ", self.dim(), " dimensions");
  TL_CHECK(mat2.dim() == 2, Runtime, "mat2 must be a matrix, got ", mat2.dim(), " dimensions");
  TL_CHECK(self.size(1) == mat2.size(0), Runtime, "mat1 and mat2 shapes cannot be multiplied (", self.size(0),
           "x", self.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
  check_same_type("mm", self, mat2);
  const Tensor c = product_out(out, DimVector{self.size(0), mat2.size(1)}, self);
  product_into(c, self, mat2);
  return c;
}

// The product of int8 in int32.
Tensor int_mm(const Tensor& self, const Tensor& mat2, Out out) {
  constexpr const char* kName = "int_mm_out_cpu";
  for (const auto& [t, name] : {std::pair{&self, "self"}, std::pair{&mat2, "mat2"}}) {
    TL_CHECK(t->dim() == 2, Runtime, kName, ": Expected ", name, " to be of dimension 2 but got ", t->dim());
    TL_CHECK(t->dtype() == DType::Int8, Runtime, kName, ": Expected ", name,
             " dtype to be of type int8 but got ", scalar_type_name(t->dtype()));
  }
  TL_CHECK(self.size(1) == mat2.size(0), Runtime, kName,
           ": self.size(1) needs to match mat2.size(0) but got ", self.size(1), " and ", mat2.size(0));
  const DimVector shape{self.size(0), mat2.size(1)};
  if (out) {
    const Tensor& result = *out.tensor;
    TL_CHECK(result.dtype() == DType::Int32, Runtime, kName,
             ": Expected result dtype to be of type kInt but got ", scalar_type_name(result.dtype()));
    TL_CHECK(result.dim() == 2, Runtime, kName, ": Expected result to be of dimension 2 but got ",
             result.dim());
    for (int64_t d = 0; d < 2; ++d)
      TL_CHECK(result.size(d) == shape[static_cast<size_t>(d)], Runtime, kName, ": Expected result.size(", d,
               ") to be ", shape[static_cast<size_t>(d)], " but got ", result.size(d));
    TL_CHECK(result.is_contiguous(), Runtime, kName, ": Expected result to be contiguous.");
  }
  const Tensor c = prepare_out(out, shape, {DType::Int32, self.device()});
  if (!c.is_meta()) cpu::gemm_int8(product_of(c, self, mat2));
  return c;
}

// Numbers beside a product, in the type it computes in.
struct Factors {
  alignas(16) char alpha[16], beta[16];
  const void* alpha_at = nullptr;
  const void* beta_at = nullptr;

  // `type`: what the numbers are converted to first, which may round them.
  Factors(DType d, const Scalar& a, const Scalar& b) : Factors(d, opmath_type(d), a, b) {}
  Factors(DType d, DType type, const Scalar& a, const Scalar& b) {
    const DType compute = opmath_type(d);
    TL_CHECK(is_complex(d) || !(a.is_complex() || b.is_complex()), Runtime,
             "For non-complex input tensors, argument ", a.is_complex() ? "alpha" : "beta",
             " must not be a complex number.");
    as(type, a).store(compute, alpha);
    as(type, b).store(compute, beta);
    alpha_at = alpha;
    beta_at = beta;
  }

 private:
  static Scalar as(DType d, const Scalar& number) {
    number.check_fits(d);
    alignas(16) char bytes[16];
    number.store(d, bytes);
    return load_scalar(d, bytes);
  }
};

bool is_zero(const Scalar& s) { return !s.to_bool(); }

// What is added to a product, in its shape.
Tensor expanded(const char* name, const Tensor& self, IntSpan shape) {
  try {
    return ops::expand(self, shape);
  } catch (const Error&) {
    fail(ErrorKind::Runtime, "The expanded size of the tensor (", shape, ") must match the existing size ",
         self.sizes(), " of the input of ", name);
  }
}

void check_added(const Tensor& self, const Tensor& factor) {
  TL_CHECK(self.dtype() == factor.dtype(), Runtime, "Input dtypes must be the same, got: input ",
           dtype_name(self.dtype()), ", batch1: ", dtype_name(factor.dtype()));
}

// The result may be what is added, but only in the same layout.
Tensor unaliased(const Tensor& c, const Tensor& added) {
  const bool same_storage_view = c.data() == added.data() && std::ranges::equal(c.strides(), added.strides());
  return shares_memory(c, added) && !same_storage_view ? ops::clone(added) : added;
}

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha, Out out) {
  TL_CHECK(mat1.dim() == 2, Runtime, "mat1 must be a matrix, got ", mat1.dim(), "-D tensor");
  TL_CHECK(mat2.dim() == 2, Runtime, "mat2 must be a matrix, got ", mat2.dim(), "-D tensor");
  TL_CHECK(mat1.size(1) == mat2.size(0), Runtime, "mat1 and mat2 shapes cannot be multiplied (", mat1.size(0),
           "x", mat1.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
  check_same_type("addmm", mat1, mat2);
  TL_CHECK(self.dtype() == mat1.dtype(), Runtime, "self and mat2 must have the same dtype, but got ",
           scalar_type_name(self.dtype()), " and ", scalar_type_name(mat2.dtype()));
  const DimVector shape{mat1.size(0), mat2.size(1)};
  const Tensor added = expanded("addmm", self, shape), c = product_out(out, shape, mat1);
  const Factors f(c.dtype(), alpha, beta);
  const Tensor safe = unaliased(c, added);
  product_into(c, mat1, mat2, is_zero(beta) ? nullptr : &safe, f.alpha_at,
               is_zero(beta) ? nullptr : f.beta_at);
  return c;
}

void run_batched(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor* added, const Factors* f) {
  const cpu::GemmArgs p{a.size(1),
                        b.size(2),
                        a.size(2),
                        matrix(a),
                        matrix(b),
                        matrix(c),
                        added ? matrix(*added) : cpu::MatrixView{},
                        f ? f->alpha_at : nullptr,
                        added ? f->beta_at : nullptr};
  cpu::gemm_batched(c.dtype(), p, a.size(0), a.stride(0), b.stride(0), c.stride(0),
                    added ? added->stride(0) : 0);
}

void batched_into(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor* added = nullptr,
                  const Factors* f = nullptr) {
  if (c.is_meta() || c.numel() == 0) return;
  if (!shares_memory(c, a) && !shares_memory(c, b)) return run_batched(c, a, b, added, f);
  const Tensor fresh = empty(c.sizes(), {c.dtype(), {}});
  run_batched(fresh, a, b, added, f);
  copy_elements(c, fresh);
}

void check_batches(const char* name, const Tensor& a, const Tensor& b) {
  TL_CHECK(a.dim() == 3, Runtime, "batch1 must be a 3D tensor, got ", a.dim(), "D");
  TL_CHECK(b.dim() == 3, Runtime, "batch2 must be a 3D tensor, got ", b.dim(), "D");
  TL_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), Runtime,
           "Expected size for first two dimensions of batch2 tensor to be: [", a.size(0), ", ", a.size(2),
           "] but got: [", b.size(0), ", ", b.size(1), "].");
  check_same_type(name, a, b);
}

Tensor bmm(const Tensor& self, const Tensor& mat2, Out out) {
  check_batches("bmm", self, mat2);
  const Tensor c = product_out(out, DimVector{self.size(0), self.size(1), mat2.size(2)}, self);
  batched_into(c, self, mat2);
  return c;
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha, Out out) {
  check_batches("baddbmm", batch1, batch2);
  check_added(self, batch1);
  const DimVector shape{batch1.size(0), batch1.size(1), batch2.size(2)};
  const Tensor added = expanded("baddbmm", self, shape), c = product_out(out, shape, batch1);
  const Factors f(c.dtype(), alpha, beta);
  const Tensor safe = unaliased(c, added);
  batched_into(c, batch1, batch2, is_zero(beta) ? nullptr : &safe, &f);
  return c;
}

Tensor as_matrix(const Tensor& t, int64_t dim, IntSpan shape) {
  DimVector strides(t.strides());
  strides.insert(dim, dim == 0 ? 0 : 1);
  return view_of(t, shape, strides, t.offset());
}

Tensor mv(const Tensor& self, const Tensor& vec, Out out) {
  TL_CHECK(self.dim() == 2 && vec.dim() == 1, Runtime, "vector + matrix @ vector expected, got 1, ",
           self.dim(), ", ", vec.dim());
  TL_CHECK(self.size(1) == vec.size(0), Runtime, "size mismatch, got input (", self.size(0), "), mat (",
           self.size(0), "x", self.size(1), "), vec (", vec.size(0), ")");
  check_same_type("mv", self, vec);
  const Tensor c = product_out(out, DimVector{self.size(0)}, self);
  product_into(as_matrix(c, 1, DimVector{c.size(0), 1}), self, as_matrix(vec, 1, DimVector{vec.size(0), 1}));
  return c;
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha, Out out) {
  TL_CHECK(mat.dim() == 2 && vec.dim() == 1 && self.dim() <= 1, Runtime,
           "vector + matrix @ vector expected, got ", self.dim(), ", ", mat.dim(), ", ", vec.dim());
  TL_CHECK(mat.size(1) == vec.size(0) && (self.numel() == mat.size(0) || self.numel() == 1), Runtime,
           "size mismatch, got input (", self.numel(), "), mat (", mat.size(0), "x", mat.size(1), "), vec (",
           vec.size(0), ")");
  check_same_type("addmv", mat, vec);
  check_added(self, mat);
  const DimVector shape{mat.size(0)};
  const Tensor added = expanded("addmv", self, shape), c = product_out(out, shape, mat);
  const Factors f(c.dtype(), c.dtype(), alpha, beta);
  const Tensor safe = as_matrix(unaliased(c, added), 1, DimVector{c.size(0), 1});
  product_into(as_matrix(c, 1, DimVector{c.size(0), 1}), mat, as_matrix(vec, 1, DimVector{vec.size(0), 1}),
               is_zero(beta) ? nullptr : &safe, f.alpha_at, is_zero(beta) ? nullptr : f.beta_at);
  return c;
}

Tensor dot(const Tensor& self, const Tensor& tensor, Out out) {
  TL_CHECK(self.dim() == 1 && tensor.dim() == 1, Runtime, "1D tensors expected, but got ", self.dim(),
           "D and ", tensor.dim(), "D tensors");
  TL_CHECK(self.dtype() == tensor.dtype(), Runtime,
           "dot : expected both vectors to have same dtype, but found ", scalar_type_name(self.dtype()),
           " and ", scalar_type_name(tensor.dtype()));
  TL_CHECK(self.numel() == tensor.numel(), Runtime, "inconsistent tensor size, expected tensor [",
           self.numel(), "] and src [", tensor.numel(), "] to have the same number of elements, but got ",
           self.numel(), " and ", tensor.numel(), " elements respectively");
  check_same_type("dot", self, tensor);
  const Tensor c = product_out(out, {}, self);
  const Tensor view = view_of(c, DimVector{1, 1}, DimVector{1, 1}, c.offset());
  product_into(view, as_matrix(self, 0, DimVector{1, self.size(0)}),
               as_matrix(tensor, 1, DimVector{tensor.size(0), 1}));
  return c;
}

// ---- matmul: every number of dimensions -------------------------------------------------------------------
Tensor as_batch(const Tensor& t, IntSpan batch) {
  DimVector shape(batch);
  shape.push_back(t.size(t.dim() - 2));
  shape.push_back(t.size(t.dim() - 1));
  int64_t count = 1;
  for (int64_t s : batch) count *= s;
  return ops::reshape(ops::expand(t, shape), DimVector{count, shape[shape.size() - 2], shape.back()});
}

Tensor matmul_batched(const Tensor& a, const Tensor& b) {
  const DimVector batch = broadcast_shapes(a.sizes().first(static_cast<size_t>(a.dim() - 2)),
                                           b.sizes().first(static_cast<size_t>(b.dim() - 2)));
  DimVector shape(batch);
  shape.push_back(a.size(a.dim() - 2));
  shape.push_back(b.size(b.dim() - 1));
  return ops::view(ops::bmm(as_batch(a, batch), as_batch(b, batch)), shape);
}

// A batch of rows times one matrix is one large product.
Tensor matmul_folded(const Tensor& a, const Tensor& b) {
  DimVector shape(a.sizes().first(static_cast<size_t>(a.dim() - 1)));
  const Tensor rows =
      ops::reshape(a, DimVector{a.size(a.dim() - 1) ? -1 : checked_numel(shape), a.size(a.dim() - 1)});
  if (b.dim() == 1) return ops::view(ops::mv(rows, b), shape);
  shape.push_back(b.size(1));
  return ops::view(ops::mm(rows, b), shape);
}

Tensor matmul_any(const Tensor& a, const Tensor& b) {
  TL_CHECK(a.dim() > 0 && b.dim() > 0, Runtime,
           "both arguments to matmul need to be at least 1D, but they are ", a.dim(), "D and ", b.dim(), "D");
  if (a.dim() == 1 && b.dim() == 1) return ops::dot(a, b);
  if (a.dim() == 2 && b.dim() == 2) return ops::mm(a, b);
  if (a.dim() == 2 && b.dim() == 1) return ops::mv(a, b);
  if (a.dim() == 1 && b.dim() == 2) return ops::squeeze_dim(ops::mm(ops::unsqueeze(a, 0), b), 0);
  if (a.dim() >= 3 && b.dim() <= 2) return matmul_folded(a, b);
  if (a.dim() == 1) return ops::squeeze_dim(matmul_batched(ops::unsqueeze(a, 0), b), -2);
  return matmul_batched(a, b);
}

Tensor matmul(const Tensor& self, const Tensor& other, Out out) {
  const Tensor c = matmul_any(self, other);
  if (!out) return c;
  check_castable(c.dtype(), *out);
  return ops::copy_(prepare_out(out, c.sizes(), {out.tensor->dtype(), c.device()}), c);
}

Tensor matrix_rows(const Tensor& self) {
  if (self.dim() == 2) return self;
  TL_CHECK(self.dim() > 0, Runtime, "matrix_rows(): the input must have a dimension, got a 0-D tensor");
  const int64_t length = self.size(self.dim() - 1);
  return ops::reshape(self, DimVector{checked_numel(self.sizes().first(self.dim() - 1)), length});
}

Tensor linear_rows(const Tensor& input, const Tensor& transposed, const Tensor& bias) {
  if (input.dim() == 2) return ops::addmm(bias, input, transposed);
  DimVector shape(input.sizes());
  shape.back() = transposed.size(1);
  return ops::view(ops::addmm(bias, matrix_rows(input), transposed), shape);
}

Tensor linear_any(const Tensor& input, const Tensor& weight, OptTensor bias) {
  TL_CHECK(weight.dim() == 2 || weight.dim() == 1, Runtime,
           "linear(): weight must be a matrix or a vector, got ", weight.dim(), "D");
  TL_CHECK(input.dim() > 0, Runtime, "both arguments to linear need to be at least 1D, but they are 0D and ",
           weight.dim(), "D");
  const Tensor transposed = ops::t(weight);
  const bool with_rows = bias && bias->dim() == 1 && weight.dim() == 2 && input.numel() > 0;
  if (with_rows && input.dim() >= 2) return linear_rows(input, transposed, *bias);
  const Tensor product = ops::matmul(input, transposed);
  if (!bias) return product;
  const Tensor result = ops::add(product, *bias);
  const bool is_row = product.dim() == 1 && result.dim() == 2 && result.size(0) == 1;  // as addmm takes it
  TL_CHECK(is_row || std::ranges::equal(result.sizes(), product.sizes()), Runtime, "output with shape ",
           product.sizes(), " doesn't match the broadcast shape ", result.sizes(),
           ": the bias of linear() has the shape ", bias->sizes());
  return is_row ? ops::squeeze_dim(result, 0) : result;
}

Tensor linear(const Tensor& input, const Tensor& weight, OptTensor bias, Out out) {
  const Tensor result = linear_any(input, weight, bias);
  if (!out) return result;
  check_castable(result.dtype(), *out);
  return ops::copy_(prepare_out(out, result.sizes(), {out.tensor->dtype(), result.device()}), result);
}
}  // namespace

TL_KERNEL(mm, mm)
TL_KERNEL(_int_mm, int_mm)
TL_KERNEL(addmm, addmm)
TL_KERNEL(bmm, bmm)
TL_KERNEL(baddbmm, baddbmm)
TL_KERNEL(addmv, addmv)
TL_KERNEL(mv, mv)
TL_KERNEL(dot, dot)
TL_KERNEL(matmul, matmul)
TL_KERNEL(matrix_rows, matrix_rows)
TL_KERNEL(linear, linear)

}  // namespace tl
