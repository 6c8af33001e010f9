// Operators that draw random numbers.
#include "kernels/cpu/random/random.h"

#include <cmath>
#include <limits>
#include <mutex>

#include "base/float_range.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "iter/loop_nest.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using OptBool = std::optional<bool>;
using OptFormat = std::optional<MemoryFormat>;

// ---- the order of elements --------------------------------------------------------------------------------

// The dimensions from the slowest to the fastest in memory: numbers are handed out in that order.
DimVector memory_order(const Tensor& t) {
  const DimVector strides(t.strides());
  DimVector order = iteration_order(t.sizes(), &strides, 1);
  std::ranges::reverse(order);
  return order;
}

Tensor permuted(const Tensor& t, const DimVector& order) {
  DimVector sizes, strides;
  for (int64_t d : order) {
    sizes.push_back(t.size(d));
    strides.push_back(t.stride(d));
  }
  return view_of(t, sizes, strides, t.offset());
}

// fill(elements) for a dense tensor, whose elements are then those of `self` in the order of its memory.
template <class Fill>
void in_memory_order(const Tensor& self, Fill fill) {
  if (self.is_contiguous()) return fill(self);
  const Tensor ordered = permuted(self, memory_order(self));
  if (ordered.is_contiguous()) return fill(ordered);
  const Tensor packed = empty(ordered.sizes(), {self.dtype()});
  fill(packed);
  copy_elements(ordered, packed);
}

// Complex numbers are pairs of real ones.
struct Elements {
  DType dtype;
  void* data;
  int64_t n;

  explicit Elements(const Tensor& t)
      : dtype(to_real(t.dtype())), data(t.data()), n(is_complex(t.dtype()) ? 2 * t.numel() : t.numel()) {}
};

// fill(elements, generator) under the generator's lock.
template <class Fill>
Tensor overwrite(const Tensor& self, Generator* generator, Fill fill) {
  check_no_internal_overlap(self);
  if (self.is_meta() || self.numel() == 0) return self;
  Generator& g = generator ? *generator : default_generator();
  const std::lock_guard lock(g.mutex);
  in_memory_order(self, [&](const Tensor& dense) { fill(Elements(dense), g); });
  return self;
}

// ---- checks -----------------------------------------------------------------------------------------------

void check_implemented(const char* what, bool implemented, const Tensor& t) {
  TL_CHECK(implemented, NotImplemented, "\"", what, "\" not implemented for '", scalar_type_name(t.dtype()),
           "'");
}
// Of elements that are filled: without any, no kernel is asked.
void check_filled(const char* what, bool implemented, const Tensor& t) {
  check_implemented(what, implemented || t.numel() == 0, t);
}
bool is_inexact(DType d) { return is_floating(d) || is_complex(d); }
bool is_wide_unsigned(DType d) { return d == DType::UInt16 || d == DType::UInt32 || d == DType::UInt64; }
bool is_common_real(DType d) { return !is_complex(d) && !is_wide_unsigned(d); }

void check_bound(const char* name, double bound, DType real) {
  TL_CHECK(std::abs(bound) <= largest(real), Runtime, name, " is out of bounds for ", dtype_name(real),
           ": got ", bound);
}

// Without the fraction where there is none.
std::string brief(double value) {
  const std::string text = shortest(value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

void check_uniform(const Tensor& self, double from, double to) {
  check_implemented("check_uniform_bounds", is_inexact(self.dtype()), self);
  const DType real = to_real(self.dtype());
  check_bound("from", from, real);
  check_bound("to", to, real);
  TL_CHECK(from <= to, Runtime, "uniform_ expects to return a [from, to) range, but found from=", brief(from),
           " > to=", brief(to));
  TL_CHECK(to - from <= largest(real), Runtime, "uniform_ expects to-from <= std::numeric_limits<",
           scalar_type_name(real), ">::max(), but found to=", to, " and from=", from,
           " which result in to-from to exceed the limit");
}

void check_std(double std) { TL_CHECK(std >= 0, Runtime, "normal expects std >= 0.0, but found std ", std); }

void check_continuous(const char* distribution, const Tensor& self) {
  TL_CHECK(is_floating(self.dtype()) || self.numel() == 0, Runtime, distribution,
           " distribution is a continuous probability distribution. dtype must be a floating point but you "
           "specified ",
           scalar_type_name(self.dtype()));
}

void check_probability(double p) {
  TL_CHECK(p >= 0 && p <= 1, Runtime, "bernoulli_ expects p to be in [0, 1], but got p=", p);
}

// ---- floating numbers in place ----------------------------------------------------------------------------

Tensor uniform_(const Tensor& self, double from, double to, Generator* generator) {
  check_uniform(self, from, to);
  return overwrite(self, generator,
                   [=](Elements e, Generator& g) { cpu::fill_uniform(e.dtype, e.data, e.n, from, to, g); });
}

Tensor normal_(const Tensor& self, double mean, double std, Generator* generator) {
  check_std(std);
  check_filled("normal_kernel_cpu", is_inexact(self.dtype()), self);
  if (is_complex(self.dtype())) std /= std::sqrt(2.0);  // the variance is shared by both parts
  const auto fill = self.is_contiguous() ? cpu::fill_normal : cpu::fill_normal_in_turn;
  return overwrite(self, generator,
                   [=](Elements e, Generator& g) { fill(e.dtype, e.data, e.n, mean, std, g); });
}

Tensor exponential_(const Tensor& self, double rate, Generator* generator) {
  TL_CHECK(rate > 0, Runtime, "exponential_ expects lambda > 0.0, but found lambda=", rate);
  check_continuous("Exponential", self);
  return overwrite(self, generator,
                   [=](Elements e, Generator& g) { cpu::fill_exponential(e.dtype, e.data, e.n, rate, g); });
}

Tensor cauchy_(const Tensor& self, double median, double sigma, Generator* generator) {
  TL_CHECK(sigma > 0, Runtime, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check_continuous("Cauchy", self);
  return overwrite(self, generator, [=](Elements e, Generator& g) {
    cpu::fill_cauchy(e.dtype, e.data, e.n, median, sigma, g);
  });
}

Tensor log_normal_(const Tensor& self, double mean, double std, Generator* generator) {
  TL_CHECK(std > 0, Runtime, "log_normal_ expects std > 0.0, but found std=", std);
  check_filled("log_normal_cpu", is_floating(self.dtype()), self);
  return overwrite(self, generator, [=](Elements e, Generator& g) {
    cpu::fill_log_normal(e.dtype, e.data, e.n, mean, std, g);
  });
}

Tensor geometric_(const Tensor& self, double p, Generator* generator) {
  TL_CHECK(p > 0 && p < 1, Runtime, "geometric_ expects p to be in (0, 1), but got p=", p);
  check_filled("geometric_cpu", is_common_real(self.dtype()) && self.dtype() != DType::Bool, self);
  return overwrite(self, generator,
                   [=](Elements e, Generator& g) { cpu::fill_geometric(e.dtype, e.data, e.n, p, g); });
}

// ---- integers in place ------------------------------------------------------------------------------------

// The bits of a floating dtype's mantissa; 63 for the others, which hold every int64 in their range.
int digits(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 11;
    case DType::BFloat16:
      return 8;
    case DType::Float32:
      return 24;
    case DType::Float64:
      return 53;
    default:
      return 63;
  }
}

// The largest value that random_ draws where no upper bound is given.
int64_t largest_drawn(DType dtype) {
  if (is_floating(dtype)) return int64_t{1} << digits(dtype);
  if (dtype == DType::Bool) return 1;
  const int bits = static_cast<int>(8 * item_size(dtype)) - (is_unsigned(dtype) ? 0 : 1);
  return bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
}

void check_integer(const char* name, int64_t value, DType dtype) {
  const auto magnitude = static_cast<double>(value);
  const bool fits = is_floating(dtype) ? std::abs(magnitude) <= largest(dtype)
                    : is_unsigned(dtype)
                        ? value >= 0 && value <= largest_drawn(dtype)
                        : value <= largest_drawn(dtype) && value >= -largest_drawn(dtype) - 1;
  TL_CHECK(fits, Runtime, name, " is out of bounds for ", dtype_name(dtype), ": got ", value);
}

// The value as the dtype holds it; what does not fit becomes the least integer, as on x86.
int64_t rounded(int64_t value, DType dtype) {
  auto x = static_cast<double>(value);
  if (dtype == DType::Float16)
    x = static_cast<float>(Half(static_cast<float>(value)));
  else if (dtype == DType::BFloat16)
    x = static_cast<float>(BFloat16(static_cast<float>(value)));
  else if (dtype == DType::Float32)
    x = static_cast<float>(value);
  return x >= -0x1p63 && x < 0x1p63 ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min();
}

// The distance between neighbours of that magnitude in a floating dtype.
int64_t spacing(int64_t value, DType dtype) {
  const uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return int64_t{1} << std::max(64 - __builtin_clzll(magnitude | 1) - digits(dtype), 0);
}

// Bounds that a floating dtype would round outwards move inwards: the stream depends on how far, and this is
// the reference's.
int64_t moved_up(int64_t from, DType dtype) {
  const int64_t next = rounded(from + 1, dtype);
  return next < from ? next + spacing(from + 1, dtype) : from;
}
int64_t moved_down(int64_t to, DType dtype) {
  const int64_t last = rounded(to - 1, dtype);
  return last >= to ? last - spacing(to - 1, dtype) : to;
}

void warn_inexact(const char* name, int64_t bound, DType dtype) {
  const int64_t exact = int64_t{1} << digits(dtype);
  if (bound < -exact || bound > exact)
    warn(cat(
        name, " is out of bounds [-(2^", digits(dtype), "), 2^", digits(dtype), "]. ", dtype_name(dtype),
        " holds only the integers in that range exactly: beyond, not all are drawn, nor all equally often."));
}

Tensor draw_integers(const Tensor& self, uint64_t range, int64_t base, Generator* generator) {
  return overwrite(self, generator, [=](Elements e, Generator& g) {
    cpu::fill_integers(e.dtype, e.data, e.n, range, base, g);
  });
}

Tensor random_between(const Tensor& self, int64_t from, int64_t to, Generator* generator) {
  const DType dtype = self.dtype();
  TL_CHECK(from < to, Runtime, "random_ expects 'from' to be less than 'to', but got from=", from,
           " >= to=", to);
  if (is_floating(dtype)) {
    from = moved_up(from, dtype);
    to = moved_down(to, dtype);
    TL_CHECK(from < to, Runtime,
             "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from=",
             from, " >= to=", to);
  }
  check_integer("from", from, dtype);
  check_integer("to - 1", to - 1, dtype);
  if (is_floating(dtype)) {
    warn_inexact("from", from, dtype);
    warn_inexact("to - 1", to - 1, dtype);
  }
  return draw_integers(self, static_cast<uint64_t>(to) - static_cast<uint64_t>(from), from, generator);
}

Tensor random_upward(const Tensor& self, int64_t from, Generator* generator) {
  const DType dtype = self.dtype();
  const int64_t last = largest_drawn(dtype);
  check_integer("from", from, dtype);
  TL_CHECK(from <= last, Runtime, "random_ expects 'from' casted to dtype to be less than or equal to ", last,
           ", but got from=", from);
  if (is_floating(dtype)) from = moved_up(from, dtype);
  return draw_integers(self, static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1, from, generator);
}

Tensor random_every_bit(const Tensor& self, Generator* generator) {
  const DType d = self.dtype();
  check_implemented("random_full_64_bits_range_kernel_cpu", d != DType::Float16, self);
  TL_CHECK(d == DType::Int64 || is_floating(d), Runtime,
           "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16, but got ",
           dtype_name(d));
  return draw_integers(self, 0, 0, generator);
}

Tensor random__from(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator) {
  TL_CHECK(!is_complex(self.dtype()), Runtime,
           "check_random_bounds handles only integral, floating-point and boolean types, but got ",
           dtype_name(self.dtype()));
  if (to) return random_between(self, from, *to, generator);
  if (from == std::numeric_limits<int64_t>::min()) return random_every_bit(self, generator);
  return random_upward(self, from, generator);
}
Tensor random__to(const Tensor& self, int64_t to, Generator* generator) {
  return random__from(self, 0, to, generator);
}

Tensor random_(const Tensor& self, Generator* generator) {
  check_filled("random_kernel_cpu", is_common_real(self.dtype()), self);
  return overwrite(self, generator,
                   [](Elements e, Generator& g) { cpu::fill_all_integers(e.dtype, e.data, e.n, g); });
}

// ---- bernoulli --------------------------------------------------------------------------------------------

Tensor bernoulli__float(const Tensor& self, double p, Generator* generator) {
  check_probability(p);
  check_implemented("bernoulli_scalar_cpu_", !is_complex(self.dtype()), self);
  return overwrite(self, generator,
                   [=](Elements e, Generator& g) { cpu::fill_bernoulli(e.dtype, e.data, e.n, p, g); });
}

template <class P>
void check_probabilities(const Tensor& p) {
  const P* values = p.ptr<P>();
  const P* bad = std::find_if(values, values + p.numel(), [](P x) { return !(x >= 0 && x <= 1); });
  TL_CHECK(bad == values + p.numel(), Runtime,
           "Expected p_in >= 0 && p_in <= 1 to be true, but got p=", static_cast<double>(*bad));
}

// The probabilities, one for each element of `self`, in the order of its memory and in a type that is drawn.
Tensor probabilities_for(const Tensor& self, const Tensor& p) {
  const Tensor each = to_contiguous(permuted(ops::expand(p, self.sizes()), memory_order(self)));
  return to_dtype(each, p.dtype() == DType::Float64 ? DType::Float64 : DType::Float32);
}

Tensor bernoulli__Tensor(const Tensor& self, const Tensor& p, Generator* generator) {
  check_implemented("bernoulli_tensor_cpu_self_", !is_complex(self.dtype()), self);
  check_implemented("bernoulli_tensor_cpu_p_", is_floating(p.dtype()) || self.numel() == 0, p);
  if (self.is_meta() || self.numel() == 0) return ops::expand(p, self.sizes()), self;
  const Tensor each = probabilities_for(self, p);
  const bool wide = each.dtype() == DType::Float64;
  wide ? check_probabilities<double>(each) : check_probabilities<float>(each);
  return overwrite(self, generator, [&](Elements e, Generator& g) {
    if (wide)
      cpu::fill_bernoulli(e.dtype, e.data, e.n, each.ptr<double>(), g);
    else
      cpu::fill_bernoulli(e.dtype, e.data, e.n, each.ptr<float>(), g);
  });
}

Tensor like(const Tensor& self, Out out) {
  if (out) return prepare_out(out, self.sizes(), {out.tensor->dtype(), self.device()});
  return empty(self.sizes(), {self.dtype(), self.device()});
}

Tensor bernoulli(const Tensor& self, Generator* generator, Out out) {
  return ops::bernoulli_(like(self, out), self, generator);
}
Tensor bernoulli_p(const Tensor& self, double p, Generator* generator) {
  return ops::bernoulli__float(like(self, {}), p, generator);
}

// ---- fresh tensors ----------------------------------------------------------------------------------------

Tensor fresh(IntSpan size, const FactoryOptions& options, DType fallback, Out out) {
  const std::optional<DType> dtype = options.dtype;
  if (!out)
    return ops::empty_memory_format(
        size, {.dtype = dtype.value_or(fallback), .layout = options.layout, .device = options.device});
  const DType given = out.tensor->dtype();
  TL_CHECK(!dtype || *dtype == given, Runtime, "dtype ", scalar_type_name(dtype.value_or(given)),
           " does not match dtype of out parameter (", scalar_type_name(given), ")");
  return prepare_out(out, size, {given, out.tensor->device()});
}

// Integers and permutations are made in the type of `out`, whatever is asked for.
FactoryOptions in_type_of(Out out, const FactoryOptions& options) {
  return {.dtype = out ? std::nullopt : options.dtype, .layout = options.layout, .device = options.device};
}

Tensor rand_generator(IntSpan size, Generator* generator, const FactoryOptions& options, Out out) {
  return ops::uniform_(fresh(size, options, default_dtype(), out), 0.0, 1.0, generator);
}
Tensor rand(IntSpan size, const FactoryOptions& options, Out out) {
  return rand_generator(size, nullptr, options, out);
}
Tensor rand_like_generator(const Tensor& self, Generator* generator, const FactoryOptions& options,
                           OptFormat format) {
  return ops::uniform_(ops::empty_like(self, options, format), 0.0, 1.0, generator);
}
Tensor rand_like(const Tensor& self, const FactoryOptions& options, OptFormat format) {
  return rand_like_generator(self, nullptr, options, format);
}

Tensor normal_float_float(double mean, double std, IntSpan size, Generator* generator,
                          const FactoryOptions& options, Out out) {
  check_std(std);
  return ops::normal_(fresh(size, options, default_dtype(), out), mean, std, generator);
}
Tensor randn_generator(IntSpan size, Generator* generator, const FactoryOptions& options, Out out) {
  return normal_float_float(0, 1, size, generator, options, out);
}
Tensor randn(IntSpan size, const FactoryOptions& options, Out out) {
  return randn_generator(size, nullptr, options, out);
}
Tensor randn_like_generator(const Tensor& self, Generator* generator, const FactoryOptions& options,
                            OptFormat format) {
  return ops::normal_(ops::empty_like(self, options, format), 0.0, 1.0, generator);
}
Tensor randn_like(const Tensor& self, const FactoryOptions& options, OptFormat format) {
  return randn_like_generator(self, nullptr, options, format);
}

Tensor randint_low_generator(int64_t low, int64_t high, IntSpan size, Generator* generator,
                             const FactoryOptions& options, Out out) {
  return ops::random__from(fresh(size, in_type_of(out, options), DType::Int64, out), low, high, generator);
}
Tensor randint_low(int64_t low, int64_t high, IntSpan size, const FactoryOptions& options, Out out) {
  return randint_low_generator(low, high, size, nullptr, options, out);
}
Tensor randint_generator(int64_t high, IntSpan size, Generator* generator, const FactoryOptions& options,
                         Out out) {
  return randint_low_generator(0, high, size, generator, options, out);
}
Tensor randint(int64_t high, IntSpan size, const FactoryOptions& options, Out out) {
  return randint_low_generator(0, high, size, nullptr, options, out);
}

Tensor randint_like_low_generator_dtype(const Tensor& self, int64_t low, int64_t high, Generator* generator,
                                        const FactoryOptions& options, OptFormat format) {
  return ops::random__from(ops::empty_like(self, options, format), low, high, generator);
}
Tensor randint_like_low_dtype(const Tensor& self, int64_t low, int64_t high, const FactoryOptions& options,
                              OptFormat format) {
  return randint_like_low_generator_dtype(self, low, high, nullptr, options, format);
}
Tensor randint_like_generator(const Tensor& self, int64_t high, Generator* generator,
                              const FactoryOptions& options, OptFormat format) {
  return randint_like_low_generator_dtype(self, 0, high, generator, options, format);
}
Tensor randint_like(const Tensor& self, int64_t high, const FactoryOptions& options, OptFormat format) {
  return randint_like_low_generator_dtype(self, 0, high, nullptr, options, format);
}
Tensor randint_like_Tensor_generator(const Tensor& self, const Tensor& high, Generator* generator,
                                     const FactoryOptions& options, OptFormat format) {
  TL_CHECK(high.dim() == 0 && high.device().is_cpu(), Runtime,
           "high must be a scalar tensor and on CPU, got sizes ", high.sizes(), " on ",
           device_name(high.device()));
  return randint_like_generator(self, ops::_local_scalar_dense(high).to_int(), generator, options, format);
}
Tensor randint_like_Tensor(const Tensor& self, const Tensor& high, const FactoryOptions& options,
                           OptFormat format) {
  return randint_like_Tensor_generator(self, high, nullptr, options, format);
}

// ---- permutations -----------------------------------------------------------------------------------------

void check_permutation(int64_t n, DType dtype) {
  TL_CHECK(n >= 0, Runtime, "n must be non-negative, got: ", n,
           ". Trying to create tensor with negative dimension ", n);
  TL_CHECK(is_common_real(dtype) && dtype != DType::Bool, NotImplemented,
           "\"randperm\" not implemented for '", scalar_type_name(dtype), "'");
  if (is_floating(dtype)) {
    const int64_t most = (int64_t{1} << digits(dtype)) + 1;
    TL_CHECK(n <= most, Runtime, "n cannot be greater than ", most, " for ", scalar_type_name(dtype),
             " type, got ", n);
  } else if (n > 0) {
    Scalar(n - 1).check_fits(dtype);
  }
}

Tensor randperm_generator(int64_t n, Generator* generator, const FactoryOptions& options, Out out) {
  const DType d = out ? out.tensor->dtype() : options.dtype.value_or(DType::Int64);
  check_permutation(n, d);
  Tensor t = fresh(DimVector{n}, in_type_of(out, options), DType::Int64, out);
  if (t.device().is_cpu())
    return overwrite(t, generator,
                     [=](Elements e, Generator& g) { cpu::fill_permutation(e.dtype, e.data, e.n, g); });
  if (t.is_meta()) return t;
  return ops::copy_(
      t, randperm_generator(n, generator, {.dtype = d, .layout = options.layout, .device = Device{}}, {}));
}
Tensor randperm(int64_t n, const FactoryOptions& options, Out out) {
  return randperm_generator(n, nullptr, options, out);
}

// ---- normal numbers with parameters in tensors ------------------------------------------------------------

void check_std(const Tensor& std) {
  TL_CHECK(!is_complex(std.dtype()), Runtime, "normal expects standard deviation to be non-complex, got ",
           dtype_name(std.dtype()));
  if (std.is_meta() || std.numel() == 0) return;
  const Tensor host =
      std.device().is_cpu() ? std : ops::_to_copy(std, {.dtype = DType::Float64, .device = Device{}});
  const Tensor values = to_dtype(to_contiguous(host), DType::Float64);
  const double* p = values.ptr<double>();
  TL_CHECK(std::all_of(p, p + values.numel(), [](double x) { return x >= 0; }), Runtime,
           "normal expects all elements of std >= 0.0");
}

Tensor normal_like(IntSpan sizes, const Tensor& model, double std, Generator* generator, Out out) {
  if (out && out.tensor->numel()) broadcast_shapes(out.tensor->sizes(), sizes);
  Tensor t = out ? prepare_out(out, sizes, {out.tensor->dtype(), model.device()})
                 : empty(sizes, {model.dtype(), model.device()});
  return ops::normal_(t, 0.0, std, generator);
}

Tensor normal_Tensor_float(const Tensor& mean, double std, Generator* generator, Out out) {
  check_std(std);
  return ops::add_(normal_like(mean.sizes(), mean, std, generator, out), mean);
}
Tensor normal_float_Tensor(double mean, const Tensor& std, Generator* generator, Out out) {
  check_std(std);
  return ops::add_(ops::mul_(normal_like(std.sizes(), std, 1, generator, out), std), Scalar(mean));
}
Tensor normal_Tensor_Tensor(const Tensor& mean, const Tensor& std, Generator* generator, Out out) {
  check_std(std);
  const DimVector sizes = broadcast_shapes(mean.sizes(), std.sizes());
  return ops::add_(ops::mul_(normal_like(sizes, mean, 1, generator, out), std), mean);
}

// ---- dropout ----------------------------------------------------------------------------------------------

// One pass instead of two multiplications.
bool is_masked_in_one_pass(const Tensor& x, const Tensor& mask) {
  const bool plain = x.dtype() == DType::Float32 || x.dtype() == DType::Float64;
  return plain && x.device().is_cpu() && x.is_contiguous() && mask.device().is_cpu() &&
         mask.dtype() == DType::Bool && mask.is_contiguous() && std::ranges::equal(x.sizes(), mask.sizes());
}

Tensor native_dropout_backward(const Tensor& grad, const Tensor& mask, double scale) {
  if (!is_masked_in_one_pass(grad, mask)) return ops::mul(ops::mul(grad, mask), Scalar(scale));
  Tensor out = empty(grad.sizes(), {grad.dtype()});
  const int64_t size = grad.itemsize();
  parallel_for(0, grad.numel(), kGrain, [&](int64_t begin, int64_t end) {
    cpu::scale_masked(grad.dtype(), grad.ptr<char>() + begin * size, mask.ptr<uint8_t>() + begin, end - begin,
                      scale, out.ptr<char>() + begin * size);
  });
  return out;
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, OptBool train) {
  if (input.numel() == 0) return {input, ops::empty_like(input)};
  if (!train.value_or(true)) return {ops::clone(input), ops::ones_like(input, {.dtype = DType::Bool})};
  check_probability(1 - p);
  if (p < 1) check_castable(default_dtype(), input);
  const Tensor mask = bernoulli__float(ops::empty_like(input, {.dtype = DType::Bool}), 1 - p, nullptr);
  return {native_dropout_backward(input, mask, p == 1 ? 0 : 1 / (1 - p)), mask};
}

void check_dropout(double p) {
  TL_CHECK(p >= 0 && p <= 1, Runtime, "dropout probability has to be between 0 and 1, but got ", p);
}

Tensor dropout(const Tensor& input, double p, bool train) {
  check_dropout(p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return ops::mul(input, Scalar(0));
  return std::get<0>(ops::native_dropout(input, p, true));
}

Tensor dropout_(const Tensor& self, double p, bool train) {
  check_dropout(p);
  if (p == 0 || !train || self.numel() == 0) return self;
  if (p == 1) return ops::mul_(self, Scalar(0));
  check_castable(default_dtype(), self);
  const Tensor noise = ops::bernoulli__float(ops::empty_like(self), 1 - p);
  return ops::mul_(self, ops::mul_(noise, Scalar(1 / (1 - p))));
}
}  // namespace

#define TL_SAME_NAME(name) TL_KERNEL(name, name)
TL_SAME_NAME(rand)
TL_SAME_NAME(rand_generator)
TL_SAME_NAME(rand_like)
TL_SAME_NAME(rand_like_generator)
TL_SAME_NAME(randn)
TL_SAME_NAME(randn_generator)
TL_SAME_NAME(randn_like)
TL_SAME_NAME(randn_like_generator)
TL_SAME_NAME(randint)
TL_SAME_NAME(randint_generator)
TL_SAME_NAME(randint_low)
TL_SAME_NAME(randint_low_generator)
TL_SAME_NAME(randint_like)
TL_SAME_NAME(randint_like_generator)
TL_SAME_NAME(randint_like_Tensor)
TL_SAME_NAME(randint_like_Tensor_generator)
TL_SAME_NAME(randint_like_low_dtype)
TL_SAME_NAME(randint_like_low_generator_dtype)
TL_SAME_NAME(randperm)
TL_SAME_NAME(randperm_generator)
TL_SAME_NAME(uniform_)
TL_SAME_NAME(normal_)
TL_SAME_NAME(exponential_)
TL_SAME_NAME(cauchy_)
TL_SAME_NAME(log_normal_)
TL_SAME_NAME(geometric_)
TL_SAME_NAME(random__from)
TL_SAME_NAME(random__to)
TL_SAME_NAME(random_)
TL_SAME_NAME(bernoulli__Tensor)
TL_SAME_NAME(bernoulli__float)
TL_SAME_NAME(bernoulli)
TL_SAME_NAME(bernoulli_p)
TL_SAME_NAME(normal_Tensor_float)
TL_SAME_NAME(normal_float_Tensor)
TL_SAME_NAME(normal_Tensor_Tensor)
TL_SAME_NAME(normal_float_float)
TL_SAME_NAME(native_dropout)
TL_SAME_NAME(native_dropout_backward)
TL_SAME_NAME(dropout)
TL_SAME_NAME(dropout_)
#undef TL_SAME_NAME

}  // namespace tl
