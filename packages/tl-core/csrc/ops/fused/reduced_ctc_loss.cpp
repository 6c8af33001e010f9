// The CTC loss as programs call it: lengths as tensors or numbers, labels in rows or joined, a reduction.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/fused/losses.h"
#include "ops/shared/elements.h"
#include "ops/shared/known_values.h"

namespace tl {

namespace {
// The lengths of sequences, and the same as numbers, unless they stand for a batch or have no memory.
struct Lengths {
  Tensor tensor;
  std::optional<std::vector<int64_t>> values;

  static Lengths of(const char* name, const Tensor& lengths, const Tensor& log_probs) {
    TL_CHECK(is_integral(lengths.dtype(), false), Runtime, name, " must be integral, got ",
             scalar_type_name(lengths.dtype()));
    const Tensor t = ops::to_device(ops::reshape(lengths, DimVector{-1}), log_probs.device(), DType::Int64);
    std::optional<std::vector<int64_t>> values;
    if (has_known_values(t)) {
      const Tensor dense = ops::contiguous(ops::to_device(t, Device{DeviceType::CPU}));
      const int64_t* first = elements_of<int64_t>("ctc_loss", dense, t.numel());
      values.emplace(first, first + t.numel());
    }
    return checked(name, {t, std::move(values)}, log_probs);
  }

  static Lengths of(const char* name, IntSpan lengths, const Tensor& log_probs) {
    const DimVector size{static_cast<int64_t>(lengths.size())};
    const Tensor t = empty(size, {DType::Int64, Device{DeviceType::CPU}});
    std::ranges::copy(lengths, t.ptr<int64_t>());
    return checked(
        name, {ops::to_device(t, log_probs.device()), std::vector<int64_t>(lengths.begin(), lengths.end())},
        log_probs);
  }

  // The largest, or, where that is not known, the room that there is.
  int64_t longest(int64_t room) const {
    if (!values) return room;
    return values->empty() ? 0 : *std::ranges::max_element(*values);
  }

 private:
  static Lengths checked(const char* name, Lengths lengths, const Tensor& log_probs) {
    TL_CHECK(lengths.tensor.size(0) == log_probs.size(1), Runtime, name, " must be of size batch_size ",
             log_probs.size(1), ", got ", lengths.tensor.size(0));
    return lengths;
  }
};

void check_lengths(const Tensor& log_probs, const Lengths& inputs, const Lengths& targets) {
  const int64_t steps = log_probs.size(0);
  for (const int64_t n : inputs.values.value_or(std::vector<int64_t>()))
    TL_CHECK(n >= 0 && n <= steps, Runtime, "Expected input_lengths to have value at most ", steps,
             ", but got value ", n);
  if (targets.values)
    TL_CHECK(std::ranges::all_of(*targets.values, [](int64_t n) { return n >= 0; }), Runtime,
             "Expected target_lengths to have no negative value, got ", IntSpan(*targets.values));
}

// Labels joined in one row, as a row for each sample.
Tensor rows_of_joined(const Tensor& targets, const Lengths& lengths, int64_t blank) {
  const int64_t room = targets.size(0);
  const Tensor positions = ops::arange(Scalar(lengths.longest(room)), {.device = targets.device()});
  const Tensor firsts = ops::unsqueeze(ops::sub(ops::cumsum(lengths.tensor, 0), lengths.tensor), 1);
  const Tensor counted = ops::lt(positions, ops::unsqueeze(lengths.tensor, 1));
  const Tensor index = ops::where_self(counted, ops::add(firsts, positions), Scalar(0));
  const Tensor labels = ops::gather(targets, 0, ops::reshape(index, DimVector{-1}));
  const Tensor rows = ops::where_self(counted, ops::view(labels, counted.sizes()), Scalar(blank));
  return ops::to_dtype(rows, DType::Int64);
}

// The labels, a row for each sample.
Tensor label_rows(const Tensor& targets, const Lengths& lengths, int64_t blank) {
  if (targets.dim() == 2) {
    const int64_t longest = lengths.longest(targets.size(1));
    TL_CHECK(targets.size(1) >= longest, Runtime, "Expected targets of at least ", longest, " labels, got ",
             targets.sizes());
    return ops::to_dtype(ops::slice(targets, 1, 0, longest), DType::Int64);
  }
  const std::vector<int64_t> values = lengths.values.value_or(std::vector<int64_t>());
  const int64_t total = std::accumulate(values.begin(), values.end(), int64_t{0});
  TL_CHECK(targets.dim() == 1 && (!lengths.values || targets.size(0) == total), Runtime,
           "Expected targets of ", total, " labels, got ", targets.sizes());
  return rows_of_joined(targets, lengths, blank);
}

template <class L>
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const L& input_lengths,
                const L& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  check_reduction("ctc_loss", reduction);
  TL_CHECK(log_probs.dim() == 3 || log_probs.dim() == 2, Runtime,
           "log_probs must have 2 or 3 dimensions, got ", log_probs.dim());
  const bool batched = log_probs.dim() == 3;
  const Tensor scores = batched ? log_probs : ops::unsqueeze(log_probs, 1);
  TL_CHECK(blank >= 0 && blank < scores.size(2), Runtime, "blank must be in label range: got ", blank, " of ",
           scores.size(2), " labels");
  const Lengths inputs = Lengths::of("input_lengths", input_lengths, scores);
  const Lengths lengths = Lengths::of("target_lengths", target_lengths, scores);
  check_lengths(scores, inputs, lengths);
  const Tensor labels = label_rows(targets, lengths, blank);
  Tensor losses = std::get<0>(ops::ctc_losses(scores, labels, inputs.tensor, lengths.tensor, blank));
  if (zero_infinity) losses = ops::where_self(ops::isinf(losses), Scalar(0.0), losses);
  if (reduction == kMean) {
    const Tensor counts = ops::to_dtype(ops::clamp_min(lengths.tensor, Scalar(1)), losses.dtype());
    return ops::mean(ops::div(losses, counts));
  }
  return reduced_losses("ctc_loss", batched ? losses : ops::squeeze_dim(losses, 0), reduction);
}

Tensor ctc_loss_of_tensors(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                           const Tensor& target_lengths, int64_t blank, int64_t reduction,
                           bool zero_infinity) {
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity);
}
Tensor ctc_loss_of_numbers(const Tensor& log_probs, const Tensor& targets, IntSpan input_lengths,
                           IntSpan target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity);
}
}  // namespace

TL_KERNEL(ctc_loss_Tensor, ctc_loss_of_tensors)
TL_KERNEL(ctc_loss_IntList, ctc_loss_of_numbers)

}  // namespace tl
