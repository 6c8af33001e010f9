// Attention of sequences of different lengths that stand one after the other: the tiled kernels, a sequence a
// call, on tensors of (heads, rows, columns).
#include <algorithm>
#include <mutex>

#include "base/checked.h"
#include "base/generator.h"
#include "base/parallel.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/attention/attention.h"
#include "ops.h"
#include "ops/reduce/segments.h"
#include "ops/shared/copy.h"
#include "ops/shared/differentiated.h"
#include "ops/shared/expect.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Three = std::tuple<Tensor, Tensor, Tensor>;
constexpr const char* kOp = "attention_ragged";

// Sequence i of the queries sees sequence i of the keys.
struct Sequences {
  Segments queries, keys;

  template <class Args>
  explicit Sequences(const Args& a)
      : queries(kOp, a.query_offsets, a.query_lengths, a.query.size(1)),
        keys(kOp, a.key_offsets, a.key_lengths, a.key.size(1)) {
    check();
  }
  Sequences(Segments of_queries, Segments of_keys) : queries(of_queries), keys(of_keys) { check(); }

  int64_t count() const { return queries.count(); }

 private:
  void check() const {
    TL_CHECK(queries.count() == keys.count(), Runtime, kOp, "(): ", queries.count(),
             " sequences of queries for ", keys.count(), " of keys");
  }
};

template <class Args>
void check_operands(const Args& a) {
  const Tensor &q = a.query, &k = a.key, &v = a.value;
  expect_floating(kOp, q);
  TL_CHECK(q.dim() == 3 && k.dim() == 3 && v.dim() == 3, Runtime, kOp,
           "(): query, key and value must have 3 dimensions, got ", q.sizes(), ", ", k.sizes(), " and ",
           v.sizes());
  TL_CHECK(k.size(0) > 0 ? q.size(0) % k.size(0) == 0 : q.size(0) == 0, Runtime, kOp, "(): ", k.size(0),
           " heads of keys for ", q.size(0), " of queries");
  expect(kOp, "key", k, q.dtype(), DimVector{k.size(0), k.size(1), q.size(2)});
  expect(kOp, "value", v, q.dtype(), DimVector{k.size(0), k.size(1), v.size(2)});
}

cpu::AttentionTensor rows_from(const Tensor& t, int64_t row) {
  return {t.ptr<char>() + row * t.byte_stride(1), 0, t.stride(0), t.stride(1), t.stride(2)};
}

// Where the numbers of sequence i begin that are kept for each head and row: log_sums, and the generator's
// states, of which a tile of rows has one.
struct Begins {
  std::vector<int64_t> rows{0}, tiles{0};

  explicit Begins(const Segments& queries) {
    for (int64_t i = 0; i < queries.count(); ++i) {
      rows.push_back(checked_add(rows.back(), queries.length(i)));
      tiles.push_back(checked_add(tiles.back(), cpu::dropout_tiles(queries.length(i))));
    }
  }
};

DimVector rng_shape(int64_t heads, const Begins& begins) {
  return {checked_mul(heads, begins.tiles.back()), cpu::kRngStateWords};
}

// `a` is an AttentionRaggedArgs or AttentionRaggedBackwardArgs.
template <class Args>
void check_rng_state(const Args& a, const Begins& begins) {
  TL_CHECK((a.rng_state != nullptr) == (a.dropout > 0) && a.dropout < 1, Runtime, kOp,
           "(): dropout of a probability between 0 and 1, and nothing else, has rng_state, got ", a.dropout);
  if (a.rng_state) expect(kOp, "rng_state", *a.rng_state, DType::Int32, rng_shape(a.query.size(0), begins));
}

template <class Args>
class SequenceCalls {
 public:
  SequenceCalls(const Args& a, const Sequences& sequences, const Begins& begins, const Tensor& output,
                const Tensor& log_sums)
      : a_(a),
        sequences_(sequences),
        begins_(begins),
        output_(output),
        log_sums_(log_sums),
        rng_state_(a.rng_state ? to_contiguous(*a.rng_state) : Tensor()) {}

  cpu::Attention at(int64_t i) const {
    const Tensor& q = a_.query;
    const int64_t heads = q.size(0), q0 = sequences_.queries.begin(i), k0 = sequences_.keys.begin(i);
    const auto number = static_cast<size_t>(i);
    return {{1, heads, a_.key.size(0), sequences_.queries.length(i), sequences_.keys.length(i), q.size(2),
             a_.value.size(2)},
            rows_from(q, q0),
            rows_from(a_.key, k0),
            rows_from(a_.value, k0),
            rows_from(output_, q0),
            {},
            false,
            a_.causal,
            a_.scale,
            log_sums_.ptr<char>() + heads * begins_.rows[number] * log_sums_.itemsize(),
            rng_state_
                ? rng_state_.template ptr<int32_t>() + heads * begins_.tiles[number] * cpu::kRngStateWords
                : nullptr,
            a_.dropout};
  }

  // body(i, call): side by side where there are many sequences, else each over all threads.
  template <class F>
  void each(F body) const {
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (sequences_.queries.length(i) > 0) body(i, at(i));
    };
    if (sequences_.count() >= 4 * num_threads())
      parallel_for(0, sequences_.count(), 1, run);
    else
      run(0, sequences_.count());
  }

 private:
  const Args& a_;
  const Sequences& sequences_;
  const Begins& begins_;
  const Tensor &output_, &log_sums_;
  Tensor rng_state_;
};

// (heads, rows, columns) with the rows outside the heads: what a layer of a model goes on with.
Tensor empty_rows_outside(int64_t heads, int64_t rows, int64_t columns, TensorOptions options) {
  return empty_strided(DimVector{heads, rows, columns}, DimVector{columns, heads * columns, 1}, options);
}

std::tuple<Tensor, Tensor> attention_ragged(const AttentionRaggedArgs& a) {
  check_operands(a);
  const Tensor& q = a.query;
  const Sequences sequences(a);
  const Begins begins(sequences.queries);
  check_rng_state(a, begins);
  const Tensor output = empty_rows_outside(q.size(0), q.size(1), a.value.size(2), {q.dtype(), q.device()});
  const Tensor log_sums =
      empty(DimVector{checked_mul(q.size(0), begins.rows.back())}, {opmath_type(q.dtype()), q.device()});
  if (output.is_meta()) return {output, log_sums};
  if (sequences.queries.has_gaps(q.size(1))) fill_elements(output, Scalar(0.0));
  if (log_sums.numel() == 0) return {output, log_sums};
  const SequenceCalls calls(a, sequences, begins, output, log_sums);
  calls.each([&](int64_t, const cpu::Attention& call) { cpu::attention(q.dtype(), call); });
  return {output, log_sums};
}

Tensor attention_ragged_rng_state(int64_t heads, const Tensor& query_offsets, OptTensor query_lengths,
                                  const Tensor& key_offsets, OptTensor key_lengths) {
  const Sequences s(Segments(kOp, query_offsets, query_lengths, INT64_MAX),
                    Segments(kOp, key_offsets, key_lengths, INT64_MAX));
  const Begins begins(s.queries);
  const Tensor state = empty(rng_shape(heads, begins), {DType::Int32, query_offsets.device()});
  if (state.is_meta() || state.numel() == 0) return state;
  Generator& g = default_generator();
  const std::lock_guard lock(g.mutex);
  for (int64_t i = 0; i < s.count(); ++i)
    cpu::save_dropout_states(
        g, heads, s.queries.length(i), s.keys.length(i),
        state.ptr<int32_t>() + heads * begins.tiles[static_cast<size_t>(i)] * cpu::kRngStateWords);
  return state;
}

// A gradient like an input, of zeros if the kernels leave some of it out.
Tensor gradient_of(bool wanted, const Tensor& like, bool zeros) {
  if (!wanted) return {};
  const Tensor t =
      empty_rows_outside(like.size(0), like.size(1), like.size(2), {like.dtype(), like.device()});
  if (!t.is_meta() && zeros) fill_elements(t, Scalar(0.0));
  return t;
}

// Whether each sequence has queries and keys, with no rows between.
bool is_full(const Sequences& s, int64_t queries, int64_t keys) {
  for (int64_t i = 0; i < s.count(); ++i)
    if (s.queries.length(i) == 0 || s.keys.length(i) == 0) return false;
  return !s.queries.has_gaps(queries) && !s.keys.has_gaps(keys);
}

// Sequence by sequence, as the forward call: each writes its own rows of the packed gradients.
Three attention_ragged_backward(const AttentionRaggedBackwardArgs& a) {
  check_operands(a);
  const Tensor& q = a.query;
  const Sequences sequences(a);
  const Begins begins(sequences.queries);
  check_rng_state(a, begins);
  const DimVector sizes{q.size(0), q.size(1), a.value.size(2)};
  expect(kOp, "grad", a.grad, q.dtype(), sizes);
  expect(kOp, "output", a.output, q.dtype(), sizes);
  expect(kOp, "log_sums", a.log_sums, opmath_type(q.dtype()),
         DimVector{checked_mul(q.size(0), begins.rows.back())});
  const bool zeros = q.is_meta() || q.size(0) == 0 || !is_full(sequences, q.size(1), a.key.size(1));
  const Tensor gq = gradient_of(a.want.query, q, zeros), gk = gradient_of(a.want.key, a.key, zeros),
               gv = gradient_of(a.want.value, a.value, zeros);
  if (q.is_meta() || a.log_sums.numel() == 0) return {gq, gk, gv};
  const Tensor log_sums = to_contiguous(a.log_sums);
  const SequenceCalls calls(a, sequences, begins, a.output, log_sums);
  calls.each([&](int64_t i, const cpu::Attention& call) {
    if (sequences.keys.length(i) == 0) return;
    const int64_t q0 = sequences.queries.begin(i), k0 = sequences.keys.begin(i);
    cpu::AttentionGradients gradients{rows_from(a.grad, q0), {}, {}, {}, {}};
    if (gq) gradients.query = rows_from(gq, q0);
    if (gk) gradients.key = rows_from(gk, k0);
    if (gv) gradients.value = rows_from(gv, k0);
    cpu::attention_backward(q.dtype(), call, gradients);
  });
  return {gq, gk, gv};
}

// ---- in operators, where the backward pass is recorded in turn --------------------------------------------

// The rows of sequence i, as a batch of one.
Tensor sequence(const Tensor& t, const Segments& segments, int64_t i) {
  return ops::unsqueeze(ops::narrow(t, 1, segments.begin(i), segments.length(i)), 0);
}

// The parts of all sequences in their places, zeros between them.
Tensor joined(const std::vector<Tensor>& parts, const Tensor& like, const Segments& segments) {
  std::vector<Tensor> pieces;
  int64_t row = 0;
  const auto gap = [&](int64_t to) {
    if (to > row)
      pieces.push_back(ops::zeros(DimVector{like.size(0), to - row, like.size(2)},
                                  {.dtype = like.dtype(), .device = like.device()}));
    row = to;
  };
  for (int64_t i = 0; i < segments.count(); ++i) {
    gap(segments.begin(i));
    pieces.push_back(ops::squeeze_dim(parts[static_cast<size_t>(i)], 0));
    row += segments.length(i);
  }
  gap(like.size(1));
  return ops::cat(pieces, 1);
}

// Of operators, so that it can be differentiated once more: the gradients of each sequence, joined.
Three recorded_backward(const AttentionRaggedGradientsArgs& a) {
  check_operands(a);
  const int64_t heads = a.query.size(0);
  const Sequences s(a);
  const Begins begins(s.queries);
  std::vector<Tensor> parts[3];
  for (int64_t i = 0; i < s.count(); ++i) {
    const int64_t rows = s.queries.length(i), tiles = cpu::dropout_tiles(rows);
    const auto number = static_cast<size_t>(i);
    const Tensor rng_state =
        a.rng_state ? ops::view(ops::narrow(*a.rng_state, 0, heads * begins.tiles[number], heads * tiles),
                                DimVector{heads, tiles, cpu::kRngStateWords})
                    : Tensor();
    const Tensor log_sums = ops::view(ops::narrow(a.log_sums, 0, heads * begins.rows[number], heads * rows),
                                      DimVector{1, heads, rows});
    const auto [gq, gk, gv, unused] = ops::_attention_gradients(
        sequence(a.grad, s.queries, i), sequence(a.query, s.queries, i), sequence(a.key, s.keys, i),
        sequence(a.value, s.keys, i), nullptr, sequence(a.output, s.queries, i), log_sums, a.causal, a.scale,
        rng_state ? &rng_state : nullptr, a.dropout, true, true, true, false);
    parts[0].push_back(gq);
    parts[1].push_back(gk);
    parts[2].push_back(gv);
  }
  return {joined(parts[0], a.query, s.queries), joined(parts[1], a.key, s.keys),
          joined(parts[2], a.value, s.keys)};
}

Three attention_ragged_gradients(const AttentionRaggedGradientsArgs& a) {
  if (is_differentiated(a.grad, a.query, a.key, a.value)) return recorded_backward(a);
  return ops::_attention_ragged_backward(a.grad, a.query, a.key, a.value, a.query_offsets, a.query_lengths,
                                         a.key_offsets, a.key_lengths, a.output, a.log_sums, a.causal,
                                         a.scale, a.rng_state, a.dropout, a.want.query, a.want.key,
                                         a.want.value);
}
}  // namespace

TL_KERNEL(_attention_ragged, attention_ragged)
TL_KERNEL(_attention_ragged_rng_state, attention_ragged_rng_state)
TL_KERNEL(_attention_ragged_backward, attention_ragged_backward)
TL_KERNEL(_attention_ragged_gradients, attention_ragged_gradients)

}  // namespace tl
