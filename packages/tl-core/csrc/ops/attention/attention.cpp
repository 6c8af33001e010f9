// Scaled dot-product attention (Vaswani et al., 2017): checks, the tiled kernels, and the same in operators.
#include "kernels/cpu/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/checked.h"
#include "base/generator.h"
#include "base/operator_switches.h"
#include "dispatch/program_handlers.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/differentiated.h"
#include "ops/shared/expect.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// ---- the tiled kernels, on four dimensions ----------------------------------------------------------------

cpu::AttentionTensor strided(const Tensor& t) {
  return {t.ptr<char>(), t.stride(0), t.stride(1), t.stride(2), t.stride(3)};
}

cpu::AttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v) {
  return {q.size(0), q.size(1), k.size(1), q.size(2), k.size(2), q.size(3), v.size(3)};
}

// A mask of four dimensions seen at the size of the scores; not bool: in the opmath type.
Tensor spread_mask(const Tensor& mask, const Tensor& q, const Tensor& k) {
  const Tensor typed = mask.dtype() == DType::Bool ? mask : to_dtype(mask, opmath_type(q.dtype()));
  DimVector strides(typed.strides());
  const DimVector sizes{q.size(0), q.size(1), q.size(2), k.size(2)};
  for (size_t d = 0; d < 4; ++d)
    if (typed.size(static_cast<int64_t>(d)) == 1 && sizes[d] != 1) strides[d] = 0;
  return view_of(typed, sizes, strides, typed.offset());
}

// `a` is an AttentionArgs or AttentionBackwardArgs; the mask, the output and log_sums are laid out as the
// kernels read them.
template <class Args>
cpu::Attention call_of(const Args& a, const Tensor& mask, const Tensor& output, const Tensor& log_sums) {
  return {shape_of(a.query, a.key, a.value),
          strided(a.query),
          strided(a.key),
          strided(a.value),
          strided(output),
          mask ? strided(mask) : cpu::AttentionTensor{},
          mask && mask.dtype() == DType::Bool,
          a.causal,
          a.scale,
          log_sums.data(),
          a.rng_state ? a.rng_state->template ptr<int32_t>() : nullptr,
          a.dropout};
}

void check_rng_state(OptTensor rng_state, const Tensor& q, double dropout) {
  TL_CHECK((rng_state != nullptr) == (dropout > 0) && dropout < 1, Runtime,
           "attention(): dropout of a probability between 0 and 1, and nothing else, has rng_state, got ",
           dropout);
  if (rng_state)
    expect("attention", "rng_state", *rng_state, DType::Int32,
           DimVector{q.size(0) * q.size(1), cpu::dropout_tiles(q.size(2)), cpu::kRngStateWords});
}

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v, OptTensor mask) {
  constexpr const char* op = "attention";
  expect_floating(op, q);
  TL_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4, Runtime, op,
           "(): query, key and value must have 4 dimensions, got ", q.sizes(), ", ", k.sizes(), " and ",
           v.sizes());
  TL_CHECK(k.size(1) > 0 ? q.size(1) % k.size(1) == 0 : q.size(1) == 0, Runtime, op, "(): ", k.size(1),
           " heads of keys for ", q.size(1), " of queries");
  expect(op, "key", k, q.dtype(), DimVector{q.size(0), k.size(1), k.size(2), q.size(3)});
  expect(op, "value", v, q.dtype(), DimVector{q.size(0), k.size(1), k.size(2), v.size(3)});
  if (!mask) return;
  TL_CHECK(mask->dim() == 4 && (mask->dtype() == DType::Bool || is_floating(mask->dtype())), Runtime, op,
           "(): the mask must be bool or floating-point with 4 dimensions, got ", mask->sizes(), " of ",
           dtype_name(mask->dtype()));
  const DimVector scores{q.size(0), q.size(1), q.size(2), k.size(2)};
  for (int64_t d = 0; d < 4; ++d)
    TL_CHECK(mask->size(d) == 1 || mask->size(d) == scores[static_cast<size_t>(d)], Runtime, op,
             "(): a mask of shape ", mask->sizes(), " for scores of shape ", scores);
}

std::tuple<Tensor, Tensor> attention(const AttentionArgs& a) {
  const Tensor &q = a.query, &k = a.key, &v = a.value;
  check_operands(q, k, v, a.mask);
  check_rng_state(a.rng_state, q, a.dropout);
  const DimVector sizes{q.size(0), q.size(1), q.size(2), v.size(3)};
  const TensorOptions options{q.dtype(), q.device()};
  DimVector strides = contiguous_strides(sizes);
  if (a.rows_outside) strides = {sizes[2] * sizes[1] * sizes[3], sizes[3], sizes[1] * sizes[3], 1};
  const Tensor output = empty_strided(sizes, strides, options);
  const Tensor log_sums =
      empty(DimVector{sizes[0], sizes[1], sizes[2]}, {opmath_type(q.dtype()), q.device()});
  if (output.is_meta() || log_sums.numel() == 0) return {output, log_sums};
  const Tensor mask = a.mask ? spread_mask(*a.mask, q, k) : Tensor();
  cpu::attention(q.dtype(), call_of(a, mask, output, log_sums));
  return {output, log_sums};
}

// The generator's state at each tile of the dropout mask.
Tensor attention_rng_state(const Tensor& q, const Tensor& k) {
  TL_CHECK(q.dim() == 4 && k.dim() == 4, Runtime,
           "attention_rng_state(): query and key must have 4 dimensions, got ", q.sizes(), " and ",
           k.sizes());
  const int64_t heads = checked_mul(q.size(0), q.size(1));
  const Tensor state =
      empty(DimVector{heads, cpu::dropout_tiles(q.size(2)), cpu::kRngStateWords}, {DType::Int32, q.device()});
  if (state.is_meta() || state.numel() == 0) return state;
  Generator& g = default_generator();
  const std::lock_guard lock(g.mutex);
  cpu::save_dropout_states(g, heads, q.size(2), k.size(2), state.ptr<int32_t>());
  return state;
}

// The full dropout mask, for passes in operators.
Tensor attention_dropout_mask(const Tensor& rng_state, int64_t queries, int64_t keys, double dropout) {
  constexpr const char* op = "attention_dropout_mask";
  TL_CHECK(rng_state.dim() == 3, Runtime, op, "(): rng_state must have 3 dimensions, got ",
           rng_state.sizes());
  expect(op, "rng_state", rng_state, DType::Int32,
         DimVector{rng_state.size(0), cpu::dropout_tiles(queries), cpu::kRngStateWords});
  const Tensor mask = empty(DimVector{rng_state.size(0), queries, keys}, {DType::Bool, rng_state.device()});
  if (mask.is_meta()) return mask;
  const Tensor dense = to_contiguous(rng_state);
  for (int64_t head = 0; head < rng_state.size(0); ++head) {
    int64_t tile = head * rng_state.size(1);
    for (int64_t row = 0; row < queries; row += cpu::kDropoutTileRows, ++tile)
      cpu::fill_dropout_mask(dense.ptr<int32_t>() + tile * cpu::kRngStateWords,
                             std::min(cpu::kDropoutTileRows, queries - row), keys, keys, dropout,
                             mask.ptr<uint8_t>() + (head * queries + row) * keys);
  }
  return mask;
}

void check_attention_backward(const AttentionBackwardArgs& a) {
  constexpr const char* op = "attention_backward";
  const Tensor& q = a.query;
  check_operands(q, a.key, a.value, a.mask);
  check_rng_state(a.rng_state, q, a.dropout);
  const DimVector sizes{q.size(0), q.size(1), q.size(2), a.value.size(3)};
  expect(op, "grad", a.grad, q.dtype(), sizes);
  expect(op, "output", a.output, q.dtype(), sizes);
  expect(op, "log_sums", a.log_sums, opmath_type(q.dtype()), IntSpan(sizes).first(3));
  TL_CHECK(a.mask || !a.want.mask, Runtime, "attention_backward(): the gradient of a mask that isn't there");
}

// The kernel of flash attention's backward: scores are recomputed from the saved log-sums. Gradients nobody
// wants are not made; a call without rows has zero gradients.
Four attention_backward(const AttentionBackwardArgs& a) {
  check_attention_backward(a);
  const Tensor &q = a.query, &k = a.key;
  const auto fresh = [](bool wanted, const Tensor& like) {
    return wanted ? empty(like.sizes(), {like.dtype(), like.device()}) : Tensor();
  };
  const Tensor gq = fresh(a.want.query, q), gk = fresh(a.want.key, k), gv = fresh(a.want.value, a.value);
  Tensor gm;
  if (a.want.mask) gm = empty(a.mask->sizes(), {opmath_type(q.dtype()), q.device()});
  if (q.is_meta()) return {gq, gk, gv, gm};
  if (gm) fill_elements(gm, Scalar(0.0));
  if (a.log_sums.numel() == 0) {
    for (const Tensor& t : {gq, gk, gv})
      if (t) fill_elements(t, Scalar(0.0));
    return {gq, gk, gv, gm};
  }
  const Tensor mask = a.mask ? spread_mask(*a.mask, q, k) : Tensor(), g = to_dtype(a.grad, q.dtype());
  cpu::AttentionGradients gradients{strided(g), {}, {}, {}, {}};
  if (gq) gradients.query = strided(gq);
  if (gk) gradients.key = strided(gk);
  if (gv) gradients.value = strided(gv);
  if (gm) gradients.mask = strided(spread_mask(gm, q, k));
  const Tensor log_sums = to_contiguous(a.log_sums);
  cpu::attention_backward(q.dtype(), call_of(a, mask, a.output, log_sums), gradients);
  return {gq, gk, gv, gm};
}

// ---- the same in operators --------------------------------------------------------------------------------

// Each key head repeated for the query heads that share it.
Tensor repeat_heads(const Tensor& t, int64_t heads) {
  const int64_t own = t.size(-3 + t.dim());
  if (own == heads) return t;
  DimVector sizes(t.sizes()), wide(t.sizes());
  const auto d = sizes.size() - 3;
  sizes.insert(d + 1, heads / own);
  wide[d] = heads;
  return ops::reshape(ops::expand(ops::unsqueeze(t, static_cast<int64_t>(d) + 1), sizes), wide);
}
// The adjoint of it.
Tensor sum_heads(const Tensor& t, int64_t heads) {
  if (t.size(1) == heads) return t;
  const DimVector sizes{t.size(0), heads, t.size(1) / heads, t.size(2), t.size(3)};
  return ops::sum_dim_IntList(ops::reshape(t, sizes), DimVector{2}, false);
}

Tensor causal_mask(int64_t queries, int64_t keys, Device device) {
  const Tensor q = ops::arange(Scalar(queries), {.dtype = DType::Int64, .device = device});
  const Tensor k = ops::arange(Scalar(keys), {.dtype = DType::Int64, .device = device});
  return ops::ge(ops::unsqueeze(q, 1), k);
}

// Rows in which nothing is seen are zeros.
Tensor safe_softmax(const Tensor& scores) {
  const Tensor blind =
      ops::all_dim(ops::eq(scores, Scalar(-std::numeric_limits<double>::infinity())), -1, true);
  return ops::where_self(blind, Scalar(0.0),
                         ops::softmax_int(ops::masked_fill_Scalar(scores, blind, Scalar(0.0)), -1));
}

Tensor probabilities(const Tensor& q, const Tensor& k, OptTensor mask, bool causal, double scale) {
  Tensor scores = ops::mul(ops::matmul(q, ops::transpose_int(k, -2, -1)), Scalar(scale));
  const Tensor seen = causal ? causal_mask(q.size(q.dim() - 2), k.size(k.dim() - 2), q.device()) : Tensor();
  if (!causal && !mask) return ops::softmax_int(scores, -1);
  const Tensor& m = causal ? seen : *mask;
  if (m.dtype() != DType::Bool) return safe_softmax(ops::add(scores, m));
  return safe_softmax(ops::where_self(m, scores, Scalar(-std::numeric_limits<double>::infinity())));
}

Tensor attention_in_operators(const Tensor& q, const Tensor& k, const Tensor& v, OptTensor mask,
                              double dropout, bool causal, double scale) {
  const Tensor p = probabilities(q, k, mask, causal, scale);
  return ops::matmul(ops::dropout(p, dropout, true), v);
}

// Differentiable in turn: for backward passes that are recorded. With scores S = scale Q K' + mask, P =
// softmax(S) by rows, D = dropout(P) and O = D V:
//   dV = D' dO;  dP = dropout'(dO V');
//   dS = P o (dP - rowsum(dP o P)), since dP_i/dS_j = P_i ([i = j] - P_j) within a row;
//   dQ = scale dS K;  dK = scale dS' Q;  dmask = dS, summed over what it was broadcast to.
// Key heads that several query heads share are repeated for them, and their gradients summed.
Four recorded_backward(const AttentionGradientsArgs& a) {
  const Tensor &q = a.query, &grad = a.grad;
  check_operands(q, a.key, a.value, a.mask);
  TL_CHECK(a.mask || !a.want.mask, Runtime, "attention_backward(): the gradient of a mask that isn't there");
  const int64_t heads = q.size(1), shared = a.key.size(1);
  const Tensor k = repeat_heads(a.key, heads), v = repeat_heads(a.value, heads);
  const auto transposed = [](const Tensor& t) { return ops::transpose_int(t, -2, -1); };
  const DimVector sizes{q.size(0), q.size(1), q.size(2), k.size(2)};
  const Tensor dropout_mask =
      a.rng_state
          ? ops::view(ops::_attention_dropout_mask(*a.rng_state, q.size(2), k.size(2), a.dropout), sizes)
          : Tensor();
  const auto drop = [&](const Tensor& t) {
    return dropout_mask ? ops::native_dropout_backward(t, dropout_mask, 1 / (1 - a.dropout)) : t;
  };
  const Tensor p = probabilities(q, k, a.mask, a.causal, a.scale),
               dp = drop(ops::matmul(grad, transposed(v)));
  const Tensor row_sums = ops::sum_dim_IntList(ops::mul(dp, p), DimVector{-1}, true);
  const Tensor ds = ops::mul(p, ops::sub(dp, row_sums)), scaled = ops::mul(ds, Scalar(a.scale));
  return {ops::matmul(scaled, k), sum_heads(ops::matmul(transposed(scaled), q), shared),
          sum_heads(ops::matmul(transposed(drop(p)), grad), shared),
          a.want.mask ? ops::sum_to_size(ds, a.mask->sizes()) : Tensor()};
}

Four attention_gradients(const AttentionGradientsArgs& a) {
  if (is_differentiated(a.grad, a.query, a.key, a.value)) return recorded_backward(a);
  return ops::_attention_backward(a.grad, a.query, a.key, a.value, a.mask, a.output, a.log_sums, a.causal,
                                  a.scale, a.rng_state, a.dropout, a.want.query, a.want.key, a.want.value,
                                  a.want.mask);
}

// ---- what programs call -----------------------------------------------------------------------------------

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, OptTensor mask, bool causal) {
  TL_CHECK(
      attention_is_allowed, Runtime,
      "No viable backend for scaled_dot_product_attention was found: on a CPU there is one way of computing "
      "it, "
      "which counts as SDPBackend.FLASH_ATTENTION and SDPBackend.MATH, and both are forbidden (sdpa_kernel, "
      "enable_flash_sdp, enable_math_sdp)");
  TL_CHECK(!(mask && causal), Runtime,
           "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  TL_CHECK(
      q.dtype() == k.dtype() && q.dtype() == v.dtype(), Runtime,
      "Expected query, key, and value to have the same dtype, but got query.dtype: ", dtype_name(q.dtype()),
      " key.dtype: ", dtype_name(k.dtype()), " and value.dtype: ", dtype_name(v.dtype()), " instead.");
  TL_CHECK(q.device() == k.device() && q.device() == v.device(), Runtime,
           "Expected query, key, and value to have the same device type, but got query.device: ",
           device_name(q.device()), " key.device: ", device_name(k.device()),
           " and value.device: ", device_name(v.device()), " instead.");
  TL_CHECK(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, Runtime,
           "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ", q.dim(),
           " key.dim: ", k.dim(), " and value.dim: ", v.dim(), " instead.");
  TL_CHECK(
      !mask || mask->dtype() == DType::Bool || mask->dtype() == q.dtype() || mask->dtype() == DType::Float32,
      Runtime,
      "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
      dtype_name(mask->dtype()), " and  query.dtype: ", dtype_name(q.dtype()), " instead.");
  TL_CHECK(q.size(q.dim() - 1) == k.size(k.dim() - 1), Runtime,
           "scaled_dot_product_attention: query and key must have "
           "vectors of one size, got ",
           q.sizes(), " and ", k.sizes());
  TL_CHECK(k.size(k.dim() - 2) == v.size(v.dim() - 2), Runtime,
           "scaled_dot_product_attention: key and value must be "
           "as many, got ",
           k.sizes(), " and ", v.sizes());
}

void check_shared_heads(const Tensor& q, const Tensor& k, const Tensor& v) {
  TL_CHECK(q.dim() >= 3 && k.dim() >= 3 && v.dim() >= 3 && k.size(k.dim() - 3) > 0 &&
               v.size(v.dim() - 3) > 0 && q.size(q.dim() - 3) % k.size(k.dim() - 3) == 0 &&
               q.size(q.dim() - 3) % v.size(v.dim() - 3) == 0,
           Runtime, "Number of heads in key and value must divide the number of heads in query, got ",
           q.sizes(), ", ", k.sizes(), " and ", v.sizes());
}

// The dimensions before the last two, broadcast; with shared heads, those before the heads.
DimVector common_batch(const Tensor& q, const Tensor& k, const Tensor& v, int64_t own) {
  const auto lead = [own](const Tensor& t) { return t.sizes().first(static_cast<size_t>(t.dim() - own)); };
  return broadcast_shapes(broadcast_shapes(lead(q), lead(k)), lead(v));
}

// As four dimensions. `own` dimensions at the end are the tensor's, those before become `batch`.
Tensor in_four(const Tensor& t, const DimVector& batch, int64_t own) {
  if (t.dim() == 4 && std::ranges::equal(t.sizes().first(static_cast<size_t>(4 - own)), batch)) return t;
  DimVector sizes(batch), folded;
  for (int64_t d = t.dim() - own; d < t.dim(); ++d) sizes.push_back(t.size(d));
  if (own == 3) {
    folded = {checked_numel(batch), t.size(t.dim() - 3), t.size(t.dim() - 2), t.size(t.dim() - 1)};
  } else {
    const int64_t heads = batch.empty() ? 1 : batch.back();
    const int64_t rest = batch.empty() ? 1 : checked_numel(IntSpan(batch).first(batch.size() - 1));
    folded = {rest, heads, t.size(t.dim() - 2), t.size(t.dim() - 1)};
  }
  return ops::reshape(ops::expand(t, sizes), folded);
}

// The mask as four dimensions that broadcast with the scores.
Tensor mask_in_four(const Tensor& mask, IntSpan batch, const Tensor& q, const Tensor& k,
                    int64_t scores_dims) {
  Tensor m = mask;
  while (m.dim() < 2) m = ops::unsqueeze(m, 0);
  if (m.dim() <= 4 && scores_dims <= 4) {
    while (m.dim() < scores_dims) m = ops::unsqueeze(m, 0);
    while (m.dim() < 4) m = ops::unsqueeze(m, 0);
  } else {
    DimVector sizes(batch);
    sizes.push_back(m.size(m.dim() - 2));
    sizes.push_back(m.size(m.dim() - 1));
    const DimVector four{q.size(0), q.size(1), m.size(m.dim() - 2), m.size(m.dim() - 1)};
    m = ops::reshape(ops::expand(m, sizes), four);
  }
  broadcast_shapes(m.sizes(), DimVector{q.size(0), q.size(1), q.size(2), k.size(2)});
  const DimVector scores{q.size(0), q.size(1), q.size(2), k.size(2)};
  for (size_t d = 0; d < 4; ++d)
    TL_CHECK(m.size(static_cast<int64_t>(d)) == 1 || m.size(static_cast<int64_t>(d)) == scores[d], Runtime,
             "scaled_dot_product_attention: a mask of shape ", mask.sizes(), " doesn't fit scores of shape ",
             scores);
  return m;
}

// Whether the result's rows stand outside its heads, as the query's do.
bool has_rows_outside(const Tensor& q, const Tensor& k, const Tensor& v, OptTensor mask, bool shared) {
  const auto plain = [](const Tensor& t) { return t.dim() == 4 && t.stride(3) == 1 && t.size(2) > 0; };
  return plain(q) && q.stride(1) < q.stride(2) && plain(k) && plain(v) && q.size(0) == k.size(0) &&
         q.size(0) == v.size(0) && (shared || (q.size(1) == k.size(1) && q.size(1) == v.size(1))) &&
         q.size(3) == v.size(3) && (!mask || mask->dim() == 2 || mask->dim() == 4);
}

// softmax(scale Q K' + mask) V. Batches become [batch, heads, length, size]; grouped heads share keys without
// copies unless keys and values differ in number.
Tensor scaled_dot_product_attention(const ScaledDotProductAttentionArgs& a) {
  const auto& [q_in, k_in, v_in, mask, dropout, causal, scale_in, enable_gqa] = a;
  check_attention(q_in, k_in, v_in, mask, causal);
  TL_CHECK(dropout >= 0 && dropout <= 1, Runtime, "dropout probability has to be between 0 and 1, but got ",
           dropout);
  if (enable_gqa) check_shared_heads(q_in, k_in, v_in);
  const int64_t size = q_in.size(q_in.dim() - 1);
  const double scale = scale_in ? *scale_in : 1 / std::sqrt(static_cast<double>(size));
  const bool shared = enable_gqa && (q_in.size(q_in.dim() - 3) != k_in.size(k_in.dim() - 3) ||
                                     q_in.size(q_in.dim() - 3) != v_in.size(v_in.dim() - 3));
  // The kernel's dropout mask and its mask's gradient are no operators that others know.
  const bool apart = (dropout > 0 || (mask && may_be_differentiated(*mask))) &&
                     handled_by_program({&q_in, &k_in, &v_in, mask});
  if (apart || !is_floating(q_in.dtype())) {
    const int64_t heads = shared ? q_in.size(q_in.dim() - 3) : 0;
    return attention_in_operators(q_in, shared ? repeat_heads(k_in, heads) : k_in,
                                  shared ? repeat_heads(v_in, heads) : v_in, mask, dropout, causal, scale);
  }
  const int64_t own = shared ? 3 : 2;
  const DimVector batch = common_batch(q_in, k_in, v_in, own);
  const Tensor q = in_four(q_in, batch, own), key = in_four(k_in, batch, own),
               value = in_four(v_in, batch, own);
  const bool uneven = key.size(1) != value.size(1);
  const Tensor k = uneven ? repeat_heads(key, q.size(1)) : key,
               v = uneven ? repeat_heads(value, q.size(1)) : value;
  DimVector shape(batch);
  if (shared) shape.push_back(q.size(1));
  const Tensor m = mask ? mask_in_four(*mask, shape, q, k, static_cast<int64_t>(shape.size()) + 2) : Tensor();
  const bool rows_outside = has_rows_outside(q_in, k_in, v_in, mask, shared);
  const Tensor rng_state = dropout > 0 && dropout < 1 ? ops::_attention_rng_state(q, k) : Tensor();
  Tensor output = std::get<0>(ops::_attention(q, k, v, m ? &m : nullptr, causal, scale, rows_outside,
                                              rng_state ? &rng_state : nullptr, rng_state ? dropout : 0));
  if (dropout == 1) output = ops::mul(output, Scalar(0.0));
  shape.push_back(q.size(2));
  shape.push_back(v.size(3));
  if (std::ranges::equal(output.sizes(), IntSpan(shape))) return output;
  // The derivative reads the output. As with PyTorch, a program may write to a result that has not four
  // dimensions.
  return ops::reshape(is_recorded(output) ? ops::clone(output) : output, shape);
}
}  // namespace

TL_KERNEL(_attention, attention)
TL_KERNEL(_attention_rng_state, attention_rng_state)
TL_KERNEL(_attention_dropout_mask, attention_dropout_mask)
TL_KERNEL(_attention_backward, attention_backward)
TL_KERNEL(_attention_gradients, attention_gradients)
TL_KERNEL(scaled_dot_product_attention, scaled_dot_product_attention)

}  // namespace tl
