// Norms, condition numbers and ranks of matrices; made of other operators.
#include <algorithm>
#include <cmath>
#include <limits>

#include "iter/dtypes.h"
#include "ops.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// The order of a norm: a number, or one of two words.
struct Order {
  std::string_view word;
  double number = 0;

  explicit Order(std::string_view w) : word(w) {}
  explicit Order(double n) : number(n) {}
  bool is_word() const { return !word.empty(); }
  bool is_power_of(double p) const { return !is_word() && std::abs(number) == p; }
  bool is_known() const {
    if (is_word()) return word == "fro" || word == "nuc";
    return is_power_of(1) || is_power_of(2) || std::isinf(number);
  }
  bool is_spectral() const { return word == "nuc" || is_power_of(2); }
  std::string text() const {
    if (is_word()) return std::string(word);
    const bool is_whole = std::abs(number) < 1e9 && number == std::trunc(number);
    return is_whole ? cat(static_cast<int64_t>(number)) : cat(number);
  }
};

double real_order(const char* name, const Scalar& ord) {
  TL_CHECK(!ord.is_complex(), Runtime, name, ": Expected a non-complex scalar as the order of norm.");
  return ord.to_double();
}

// ---- norms of matrices ------------------------------------------------------------------------------------
Tensor in_dtype(const Tensor& A, std::optional<DType> dtype) {
  constexpr const char* kName = "linalg.matrix_norm";
  TL_CHECK(is_floating(A.dtype()) || is_complex(A.dtype()), Runtime, kName,
           ": Expected a floating point or complex tensor as input. Got ", scalar_type_name(A.dtype()));
  if (!dtype || *dtype == A.dtype()) return A;
  TL_CHECK(is_floating(*dtype) || is_complex(*dtype), Runtime, kName,
           ": dtype should be floating point or complex, but got ", scalar_type_name(*dtype));
  const char* kind = is_complex(A.dtype()) ? "complex" : "real";
  TL_CHECK(is_complex(A.dtype()) == is_complex(*dtype), Runtime, kName, ": dtype should be ", kind, " for ",
           kind, " inputs, but got ", scalar_type_name(*dtype));
  TL_CHECK(promote(A.dtype(), *dtype) == *dtype, Runtime, kName, ": the dtype of the input (",
           scalar_type_name(A.dtype()), ") should be convertible without narrowing to the specified dtype (",
           scalar_type_name(*dtype), ")");
  return ops::to_dtype(A, *dtype);
}

// The sum of the singular values, the largest or the smallest of them.
Tensor singular_values_norm(const Tensor& A, const Order& ord, IntSpan dims, bool keepdim) {
  TL_CHECK(item_size(to_real(A.dtype())) >= 4, Runtime,
           "linalg.matrix_norm: Low precision dtypes not supported. Got ", scalar_type_name(A.dtype()));
  const DimVector last{-2, -1};
  const int64_t which = ord.is_word() ? 0 : ord.number > 0 ? 1 : -1;
  const Tensor norms = ops::_linalg_singular_norm(ops::movedim_intlist(A, dims, last), which);
  if (!keepdim) return norms;
  return ops::movedim_intlist(ops::unsqueeze(ops::unsqueeze(norms, -1), -1), last, dims);
}

// The largest or smallest sum of magnitudes of a column or of a row.
Tensor sums_norm(const Tensor& A, const Order& ord, int64_t rows, int64_t columns, bool keepdim) {
  const int64_t along = ord.is_power_of(1) ? rows : columns;
  int64_t left = ord.is_power_of(1) ? columns : rows;
  Tensor sums = ops::sum_dim_IntList(ops::abs(A), DimVector{along}, true);
  if (!keepdim) {
    sums = ops::squeeze_dim(sums, along);
    left -= along < left;
  }
  const DimVector dim{left};
  if (ord.number < 0) return ops::amin(sums, dim, keepdim);
  if (sums.size(static_cast<int>(left)) == 0) return ops::sum_dim_IntList(sums, dim, keepdim);
  return ops::amax(sums, dim, keepdim);
}

Tensor matrix_norm(const Tensor& self, const Order& ord, IntSpan dim, bool keepdim,
                   std::optional<DType> dtype) {
  TL_CHECK(self.dim() >= 2, Runtime,
           "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  TL_CHECK(dim.size() == 2, Runtime, "linalg.matrix_norm: dim must be a 2-tuple. Got ", dim);
  const int64_t rows = wrap_dim(dim[0], self.dim()), columns = wrap_dim(dim[1], self.dim());
  TL_CHECK(rows != columns, Runtime, "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ",
           dim[1], ")");
  TL_CHECK(ord.is_known(), Runtime, "linalg.matrix_norm: Order ", ord.text(), " not supported.");
  const Tensor A = in_dtype(self, dtype);
  const DimVector dims{rows, columns};
  if (ord.word == "fro") return ops::linalg_vector_norm(A, Scalar(2), dims, keepdim);
  if (ord.is_spectral()) return singular_values_norm(A, ord, dims, keepdim);
  return sums_norm(A, ord, rows, columns, keepdim);
}

Tensor matrix_norm_of_number(const Tensor& self, const Scalar& ord, IntSpan dim, bool keepdim,
                             std::optional<DType> dtype) {
  return matrix_norm(self, Order(real_order("linalg.matrix_norm", ord)), dim, keepdim, dtype);
}
Tensor matrix_norm_of_word(const Tensor& self, std::string_view ord, IntSpan dim, bool keepdim,
                           std::optional<DType> dtype) {
  return matrix_norm(self, Order(ord.empty() ? std::string_view("''") : ord), dim, keepdim, dtype);
}

constexpr int64_t kLastTwo[] = {-2, -1};

// ---- norms of vectors or matrices -------------------------------------------------------------------------
void check_dims(const Tensor& self, std::optional<IntSpan> dim, bool has_number, bool has_word) {
  TL_CHECK(!dim || dim->size() == 1 || dim->size() == 2, Runtime,
           "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  if (dim || !(has_number || has_word)) return;
  TL_CHECK(self.dim() <= 2 && (self.dim() > 0 || has_word), Runtime,
           "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", self.dim(),
           "D.");
}

Tensor norm_of_number(const Tensor& self, const std::optional<Scalar>& ord, std::optional<IntSpan> dim,
                      bool keepdim, std::optional<DType> dtype) {
  check_dims(self, dim, ord.has_value(), false);
  const auto n = dim ? static_cast<int64_t>(dim->size()) : self.dim();
  if (!ord || n != 2) return ops::linalg_vector_norm(self, ord.value_or(Scalar(2)), dim, keepdim, dtype);
  return ops::linalg_matrix_norm(self, *ord, dim.value_or(kLastTwo), keepdim, dtype);
}
Tensor norm_of_word(const Tensor& self, std::string_view ord, std::optional<IntSpan> dim, bool keepdim,
                    std::optional<DType> dtype) {
  check_dims(self, dim, false, true);
  return ops::linalg_matrix_norm_str_ord(self, ord, dim.value_or(kLastTwo), keepdim, dtype);
}

// ---- older names ------------------------------------------------------------------------------------------
Tensor frobenius_norm(const Tensor& self, IntSpan dim, bool keepdim) {
  const auto dims = dim.empty() ? std::nullopt : std::optional(dim);
  return ops::linalg_vector_norm(self, Scalar(2), dims, keepdim);
}
Tensor nuclear_norm(const Tensor& self, bool keepdim) {
  return ops::linalg_matrix_norm_str_ord(self, "nuc", kLastTwo, keepdim);
}
Tensor nuclear_norm_over(const Tensor& self, IntSpan dim, bool keepdim) {
  return ops::linalg_matrix_norm_str_ord(self, "nuc", dim, keepdim);
}

// ---- condition numbers ------------------------------------------------------------------------------------
// Infinity for what has no inverse.
Tensor condition(const Tensor& A, const Order& p) {
  const DimVector dims{-2, -1};
  const auto [inverse, info] = ops::linalg_inv_ex(A);
  const Tensor singular = ops::gt(info, Scalar(0));
  const Tensor spread = ops::unsqueeze(ops::unsqueeze(singular, -1), -1);
  const Tensor regular = ops::where_self(spread, Scalar(0), inverse);
  const Tensor product =
      ops::mul(matrix_norm(A, p, dims, false, {}), matrix_norm(regular, p, dims, false, {}));
  return ops::where_self(singular, Scalar(std::numeric_limits<double>::infinity()), product);
}

Tensor cond(const Tensor& A, const Order& p) {
  TL_CHECK(A.dim() >= 2, Runtime, "linalg.cond: The input tensor must have at least 2 dimensions.");
  TL_CHECK(p.is_word() || p.is_known(), Runtime, "linalg.cond got an invalid norm type: ", p.text());
  const int64_t rows = A.size(A.dim() - 2), columns = A.size(A.dim() - 1);
  const bool ratio = p.is_power_of(2);
  TL_CHECK(ratio || rows == columns, Runtime, "linalg.cond(ord=", p.text(),
           "): A must be batches of square matrices, but they are ", rows, " by ", columns, " matrices");
  if (rows == 0 || columns == 0) return ops::sum_dim_IntList(ops::abs(A), DimVector{-2, -1});
  if (!ratio) return condition(A, p);
  const Tensor values = ops::linalg_svdvals(A);
  const Tensor largest = ops::select_int(values, -1, 0), smallest = ops::select_int(values, -1, -1);
  return p.number < 0 ? ops::div(smallest, largest) : ops::div(largest, smallest);
}
Tensor cond_of_number(const Tensor& self, const std::optional<Scalar>& p) {
  return cond(self, Order(p ? real_order("linalg.cond", *p) : 2));
}
Tensor cond_of_word(const Tensor& self, std::string_view p) {
  return cond(self, Order(p.empty() ? std::string_view("''") : p));
}

// ---- ranks ------------------------------------------------------------------------------------------------
void check_tolerance(const char* name, OptTensor t) {
  TL_CHECK(!t || !is_complex(t->dtype()), Runtime, "torch.linalg.matrix_rank: ", name,
           " tensor of complex type is not supported. Got ", scalar_type_name(t->dtype()));
}

Tensor values_for_rank(const Tensor& A, bool hermitian) {
  TL_CHECK(A.dim() >= 2, Runtime,
           "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.");
  if (!hermitian) return ops::linalg_svdvals(A);
  const int64_t rows = A.size(A.dim() - 2), columns = A.size(A.dim() - 1);
  TL_CHECK(rows == columns, Runtime,
           "linalg.matrix_rank: A must be batches of square matrices, but they are ", rows, " by ", columns,
           " matrices");
  const Tensor below = ops::conj(ops::transpose_int(ops::tril(A, -1), -2, -1));
  return ops::linalg_svdvals(ops::add(ops::tril(A), below));
}

Tensor count_above(const Tensor& values, const Tensor& limit) {
  return ops::sum_dim_IntList(ops::gt(values, ops::unsqueeze(limit, -1)), DimVector{-1});
}
Tensor number_like(double number, const Tensor& t) { return ops::new_full(t, {}, Scalar(number)); }

Tensor matrix_rank(const Tensor& A, OptTensor atol, OptTensor rtol, bool hermitian) {
  check_tolerance("atol", atol);
  check_tolerance("rtol", rtol);
  const Tensor values = values_for_rank(A, hermitian);
  if (values.size(values.dim() - 1) == 0)
    return ops::sum_dim_IntList(ops::gt(values, Scalar(0)), DimVector{-1});
  const Tensor least = atol ? *atol : number_like(0, values);
  const double step = values.dtype() == DType::Float32 ? 0x1p-23 : 0x1p-52;
  const auto size = static_cast<double>(std::max(A.size(A.dim() - 2), A.size(A.dim() - 1)));
  const Tensor share =
      rtol ? *rtol
           : ops::where_self(ops::gt(least, Scalar(0)), Scalar(0.0), number_like(step * size, values));
  return count_above(values, ops::maximum(least, ops::mul(share, ops::select_int(values, -1, 0))));
}
Tensor matrix_rank_of_numbers(const Tensor& self, std::optional<double> atol, std::optional<double> rtol,
                              bool hermitian) {
  const Tensor real = ops::real(self);
  const Tensor least = atol ? number_like(*atol, real) : Tensor();
  const Tensor share = rtol ? number_like(*rtol, real) : Tensor();
  return matrix_rank(self, atol ? &least : nullptr, rtol ? &share : nullptr, hermitian);
}
Tensor matrix_rank_above(const Tensor& self, const Tensor& tol, bool hermitian) {
  const Tensor none = number_like(0, ops::real(self));
  return matrix_rank(self, &tol, &none, hermitian);
}
Tensor matrix_rank_above_number(const Tensor& self, double tol, bool hermitian) {
  return matrix_rank_above(self, number_like(tol, ops::real(self)), hermitian);
}
}  // namespace

TL_KERNEL(linalg_matrix_norm, matrix_norm_of_number)
TL_KERNEL(linalg_matrix_norm_str_ord, matrix_norm_of_word)
TL_KERNEL(linalg_norm, norm_of_number)
TL_KERNEL(linalg_norm_ord_str, norm_of_word)
TL_KERNEL(frobenius_norm_dim, frobenius_norm)
TL_KERNEL(nuclear_norm, nuclear_norm)
TL_KERNEL(nuclear_norm_dim, nuclear_norm_over)
TL_KERNEL(linalg_cond, cond_of_number)
TL_KERNEL(linalg_cond_p_str, cond_of_word)
TL_KERNEL(linalg_matrix_rank, matrix_rank_above_number)
TL_KERNEL(linalg_matrix_rank_tol_tensor, matrix_rank_above)
TL_KERNEL(linalg_matrix_rank_atol_rtol_float, matrix_rank_of_numbers)
TL_KERNEL(linalg_matrix_rank_atol_rtol_tensor, matrix_rank)

}  // namespace tl
