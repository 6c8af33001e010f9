// A run of a tape shows the geometry of each tensor. Elementwise calls and row calls on few elements become a
// program, views between them become the geometry of its operands.
#include "replay/fusion.h"

#include <algorithm>
#include <string_view>

#include "call.h"
#include "recipe.h"
#include "replay/bridge.h"

namespace tl::compiler {

namespace {
constexpr int kFewestLoops = 3;  // of fewer calls, a program costs what it saves

// Whether a tensor is no more than elements in memory that only this thread's operators change.
bool is_ordinary(TlTensor* t) {
  constexpr uint64_t kAutograd = uint64_t{1} << TL_LAYER_AUTOGRAD;
  const uint64_t allowed = api->grad_enabled() ? 0 : kAutograd;
  return api->tensor_layout(t) == TL_STRIDED && api->tensor_ndim(t) <= kMaxDims &&
         api->tensor_device(t) == TL_DEVICE_OF(TL_DEVICE_CPU, -1) && !(api->bits_get(t) & ~allowed) &&
         !api->storage_bits_get(t) && !api->tensor_marks(t) && api->tensor_numel(t) <= Fusion::kMostElements;
}

// Of a tensor as a new one of these sizes has it.
bool has_usual_strides(TlTensor* t) {
  int64_t step = 1;
  for (int d = api->tensor_ndim(t); d-- > 0;) {
    if (api->tensor_strides(t)[d] != step) return false;
    step *= std::max<int64_t>(api->tensor_sizes(t)[d], 1);
  }
  return api->tensor_offset(t) == 0;
}

// All strides, also those of dimensions of one element.
bool is_equal(TlTensor* t, const Geometry& g) {
  return api->tensor_ndim(t) == g.ndim && std::equal(g.sizes, g.sizes + g.ndim, api->tensor_sizes(t)) &&
         std::equal(g.strides, g.strides + g.ndim, api->tensor_strides(t));
}

bool only_reads(const TlOperatorInfo& info) {
  if (info.variant != TL_FUNCTIONAL || info.is_random) return false;
  for (int i = 0; i < info.n_args; ++i)
    if (argument_info(info, i).written) return false;
  return true;
}

TlTensor* tensor_of(const Node& node, const Slots& slots) {
  return node.kind == Node::Slot ? slots.tensor(node.slot) : python->unwrap(node.object);
}

void mark_slots(const Node& node, std::vector<char>& flags) {
  if (node.kind == Node::Slot || node.kind == Node::Shared) flags[node.slot] = 1;
  for (const Node& item : node.items) mark_slots(item, flags);
}

void mark_slots(const TapeStep& step, std::vector<char>& flags) {
  for (const Node& node : step.args) mark_slots(node, flags);
  for (const Node& node : step.tensors) mark_slots(node, flags);
}
}  // namespace

// ---- a replay ----------------------------------------------------------------------------------------------

bool Fusion::run(Slots& slots) {
  addresses_.clear();
  for (const Source& source : sources_) {
    TlTensor* const t = tensor_of(source.node, slots);
    if (!t || !is_ordinary(t) || api->tensor_dtype(t) != source.dtype || !is_equal(t, source.geometry))
      return false;
    addresses_.push_back(static_cast<const char*>(api->tensor_data(t)));
    if (!addresses_.back()) return false;
  }
  tensors_.resize(results_.size());
  plan_->run_here(addresses_, tensors_);
  for (size_t i = 0; i < tensors_.size(); ++i) slots.put(results_[i], tensors_[i].take());
  return true;
}

// ---- what a step is ----------------------------------------------------------------------------------------

void FusionWriter::before(size_t index, const Slots& slots) {
  is_candidate_ = describe(index, slots);
  loops_.clear();
  if (!is_candidate_) return;
  const TlOperator* op = steps_[index].native->op();
  if (is_cast(*api->op_info(op), steps_[index])) op = write_cast(steps_[index].dtype);
  const Recipe& recipe = recipe_for(op, args_.data(), static_cast<int>(args_.size()), 1);
  if (!recipe.waits || recipe.results[0] < 0 ||
      std::ranges::any_of(recipe.steps, [](const Step& s) { return s.call != nullptr; }))
    return;
  loops_ = recipe.steps;
  result_ = recipe.results[0];
}

// `to` is made of other operators: a cast, where the result has another type.
bool FusionWriter::is_cast(const TlOperatorInfo& info, const TapeStep& step) const {
  return std::string_view(info.name).starts_with("to.") && api->tensor_dtype(tensors_[0]) != step.dtype;
}

const TlOperator* FusionWriter::write_cast(int64_t dtype) {
  const TlOperator* const op = api->op_find("_to_copy");
  if (!op) throw Pending();
  args_.assign(7, TlValue{});
  args_[0] = {TL_TENSOR, 0, {.t = tensors_[0]}};
  args_[1] = {TL_DTYPE, 0, {.i = dtype}};
  args_[5] = {TL_BOOL, 0, {.i = 0}};
  return op;
}

bool FusionWriter::describe(size_t index, const Slots& slots) {
  const TapeStep& step = steps_[index];
  tensors_.clear();
  owners_.clear();
  if (!step.native || step.result != TapeStep::Keep || step.native->n_results() != 1) return false;
  if (!only_reads(*api->op_info(step.native->op()))) return false;
  for (const Node& node : step.tensors) {
    TlTensor* const t = tensor_of(node, slots);
    if (!t || !is_ordinary(t)) return false;
    tensors_.push_back(t);
    owners_.push_back(Tensor::share(t));
  }
  args_ = step.native->arguments(tensors_.data());
  return !args_.empty() && !tensors_.empty();
}

void FusionWriter::after(size_t index, const Slots& slots) {
  const TapeStep& step = steps_[index];
  const bool fits = is_candidate_ && !slots.is_empty(step.slot) && add(step, slots.tensor(step.slot));
  owners_.clear();
  if (!fits) return close(index);
  items_.back().step = index;
  alive_.push_back(Tensor::share(slots.tensor(step.slot)));
}

bool FusionWriter::add(const TapeStep& step, TlTensor* result) {
  if (!is_ordinary(result)) return false;
  return loops_.empty() ? add_view(step, result) : add_loops(step, result);
}

bool FusionWriter::add_loops(const TapeStep& step, TlTensor* result) {
  const Operand& out = loops_[result_].out;
  if (api->tensor_dtype(result) != out.dtype || !(geometry_of(result) == out.geometry)) return false;
  const auto first = static_cast<int>(program_.size());
  const size_t n_sources = sources_.size();
  for (Step& loop : loops_) {
    if (loop.result_of >= 0) loop.result_of += first;
    for (int i = 0; i < loop.n_inputs; ++i)
      if (!connect(loop.inputs[i], step, first)) return sources_.resize(n_sources), false;
  }
  program_.insert(program_.end(), loops_.begin(), loops_.end());
  const int last = first + static_cast<int>(result_);
  items_.push_back({0, Kind::Loop, last});
  results_[api->tensor_storage_id(result)] = {last, out.dtype};
  return true;
}

// A result that shares an argument's memory, of an operator that writes nothing.
bool FusionWriter::add_view(const TapeStep& step, TlTensor* result) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    TlTensor* const t = tensors_[i];
    if (api->tensor_storage_id(t) != api->tensor_storage_id(result)) continue;
    if (api->tensor_dtype(t) != api->tensor_dtype(result)) return false;
    const Node& node = step.tensors[i];
    if (node.kind == Node::Slot && node.slot == step.slot) {
      items_.push_back({0, Kind::Same});
      return true;
    }
    const auto root = node.kind == Node::Slot ? roots_.find(node.slot) : roots_.end();
    roots_[step.slot] =
        root == roots_.end() ? Fusion::Source{node, geometry_of(t), api->tensor_dtype(t)} : root->second;
    items_.push_back({0, Kind::View});
    return true;
  }
  return false;
}

// Lets an operand of a loop read what the program reads or has computed, in place of an argument.
bool FusionWriter::connect(Operand& operand, const TapeStep& step, int first) {
  if (operand.kind == Operand::Step) return operand.index += first, true;
  if (operand.kind == Operand::Number) return true;
  TlTensor* const t = args_[operand.index].u.t;
  if (const auto at = results_.find(api->tensor_storage_id(t)); at != results_.end()) {
    operand.kind = Operand::Step;
    operand.index = at->second.step;
    return operand.dtype == at->second.dtype;
  }
  const auto position = std::ranges::find(tensors_, t) - tensors_.begin();
  operand.index = source_of(step.tensors[position], t);
  const Fusion::Source& source = sources_[operand.index];
  operand.geometry.offset -= source.geometry.offset;
  return operand.dtype == source.dtype;
}

// By slot or object, not by storage: the arguments of a later call may share other storages.
int FusionWriter::source_of(const Node& node, TlTensor* t) {
  const auto view = node.kind == Node::Slot ? roots_.find(node.slot) : roots_.end();
  const Fusion::Source source =
      view == roots_.end() ? Fusion::Source{node, geometry_of(t), api->tensor_dtype(t)} : view->second;
  const Node& root = source.node;
  const auto at = std::ranges::find_if(sources_, [&](const Fusion::Source& other) {
    return other.node.kind == root.kind && other.node.slot == root.slot && other.node.object == root.object;
  });
  if (at != sources_.end()) return static_cast<int>(at - sources_.begin());
  sources_.push_back(source);
  return static_cast<int>(sources_.size()) - 1;
}

// ---- what is fused -----------------------------------------------------------------------------------------

std::vector<char> FusionWriter::slots_read_after(size_t end) const {
  std::vector<char> read(n_slots_);
  for (size_t i = end; i < steps_.size(); ++i) mark_slots(steps_[i], read);
  mark_slots(output_, read);
  return read;
}

void FusionWriter::begin_again() {
  items_.clear();
  program_.clear();
  sources_.clear();
  results_.clear();
  roots_.clear();
  alive_.clear();
}

void FusionWriter::close(size_t end) {
  const auto n_loops = std::ranges::count(items_, Kind::Loop, &Item::kind);
  auto fusion = std::make_unique<Fusion>();
  std::vector<char> read = slots_read_after(end);
  std::vector<int> wanted;
  bool fits = n_loops >= kFewestLoops;
  // From the last: a view that is read later reads its argument later, too.
  for (size_t i = items_.size(); fits && i-- > 0;) {
    const Item& item = items_[i];
    const TapeStep& step = steps_[item.step];
    if (!read[step.slot] || item.kind == Kind::Same) continue;
    if (item.kind == Kind::View) {
      mark_slots(step, read);
      fusion->views_.insert(fusion->views_.begin(), item.step);
    } else {
      wanted.insert(wanted.begin(), item.last);
      fusion->results_.insert(fusion->results_.begin(), step.slot);
      fits = has_usual_strides(alive_[i].get());
    }
  }
  if (fits) {
    fusion->begin_ = items_.front().step;
    fusion->end_ = end;
    fusion->sources_ = sources_;
    fusion->plan_ = std::make_unique<Plan>(program_, wanted);
    for (size_t i = fusion->begin_; i < end; ++i)
      fusion->dead_.insert(fusion->dead_.end(), steps_[i].dead.begin(), steps_[i].dead.end());
    if (!fusion->plan_->has_calls()) fusions_.push_back(std::move(fusion));
  }
  begin_again();
}

std::vector<std::unique_ptr<Fusion>> FusionWriter::finish() {
  close(steps_.size());
  return std::move(fusions_);
}

}  // namespace tl::compiler
