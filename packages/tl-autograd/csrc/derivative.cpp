// The derivative machine: interprets a row's compiled formula, one register a step, by calling operators.
#include "derivative.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "ops.h"

namespace tl::autograd {

TensorMeta meta_of(const TlTensor* t) {
  const int64_t* sizes = api->tensor_sizes(t);
  return {{sizes, sizes + api->tensor_ndim(t)}, api->tensor_dtype(t), api->tensor_device(t)};
}

int Derivative::block_of(int target) const {
  for (int b = 0; b < program.n_blocks; ++b)
    if (target < program.blocks[b].first_target + program.blocks[b].n_targets) return b;
  return 0;
}

const std::vector<const TlOperator*>& Derivative::ops() const {
  if (resolved_.load(std::memory_order_acquire)) return ops_;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (resolved_.load(std::memory_order_relaxed)) return ops_;
  std::vector<const TlOperator*> found;
  for (int i = 0; i < program.n_ops; ++i) {
    const TlOperator* op = operator_named(program.ops[i]);
    found.push_back(instead_ ? instead_(op) : op);
  }
  ops_ = std::move(found);
  resolved_.store(true, std::memory_order_release);
  return ops_;
}

bool target_needed(const Inputs& in, int target) {
  const uint8_t* end = in.needs + in.first_edge[target + 1];
  return std::find(in.needs + in.first_edge[target], end, 1) != end;
}

bool block_needed(const Derivative& derivative, const Inputs& in, int block) {
  const TlBlock& b = derivative.program.blocks[block];
  for (int t = b.first_target; t < b.first_target + b.n_targets; ++t)
    if (target_needed(in, t)) return true;
  return false;
}

namespace {
constexpr int kMaxArgs = 32;

class Machine {
 public:
  Machine(const Derivative& derivative, const Inputs& in, TlTensor** out, TlValue* values = nullptr)
      : derivative_(derivative), program_(derivative.program), in_(in), out_(out), values_(values) {
    if (program_.n_registers > kInline) {
      spilled_ = std::make_unique<TlValue[]>(program_.n_registers);
      registers_ = spilled_.get();
    }
  }
  ~Machine() {
    for (int i = 0; i < n_owned_; ++i) api->value_release(&owned_[i]);
    for (TlValue& v : more_owned_) api->value_release(&v);
    for (TlValue& v : held_lists_) forget(v);
  }

  void run() {
    for (int b = 0; b < program_.n_blocks; ++b)
      if (block_needed(derivative_, in_, b)) run_block(program_.blocks[b]);
  }

 private:
  static constexpr int kInline = 16;

  void run_block(const TlBlock& block) {
    block_ = &block;
    const int end = block.first_step + block.n_steps;
    for (int at = block.first_step; at < end;) at = step(program_.steps[at], at);
    for (int t = 0; t < block.n_targets; ++t) {
      const uint16_t word = program_.operands[block.results + t];
      if (values_)
        hand_out(get(word), values_[t]);
      else
        store(block.first_target + t, word);
    }
  }

  // A result that is no gradient: a list as the interface has it.
  void hand_out(const TlValue& v, TlValue& out) {
    const TlValue whole = v.tag == kList ? packed(v, TL_ARG_OPTIONAL_TENSOR_LIST) : v;
    check(api->value_own(&whole, &out));
  }

  // Returns the number of the next step.
  int step(const TlStep& s, int at) {
    const uint16_t* in = program_.operands + s.inputs;
    switch (s.code) {
      case TL_STEP_CALL:
        call(s, in);
        break;
      case TL_STEP_ARITH:
        arith(s, in);
        break;
      case TL_STEP_CONJ:
        conj(s, in);
        break;
      case TL_STEP_MOVE:
        registers_[s.target] = get(in[0]);
        break;
      case TL_STEP_JUMP:
        return s.op;
      case TL_STEP_JUMP_UNLESS:
        return truth(get(in[0])) ? at + 1 : s.op;
      case TL_STEP_UNARY:
        unary(s, in);
        break;
      case TL_STEP_META:
        registers_[s.target] = held_list(read_meta(get(in[0]), s.arith));
        break;
      case TL_STEP_INDEX:
        registers_[s.target] = list_element(get(in[0]), position(in));
        break;
      case TL_STEP_SLICE:
        slice(s, in);
        break;
      case TL_STEP_LIST:
        list(s, in);
        break;
      case TL_STEP_NEXT:
        return next(s, in) ? at + 1 : s.op;
      case TL_STEP_APPEND:
        append(s, in);
        break;
      default:
        fail(TL_ERROR_RUNTIME, "a derivative program has a step this engine does not know");
    }
    return at + 1;
  }

  // ---- operands -------------------------------------------------------------------------------------------

  TlValue get(uint16_t word) {
    const int i = TL_OPERAND_INDEX(word);
    switch (TL_OPERAND_KIND(word)) {
      case TL_OPERAND_CONST:
        return program_.consts[i];
      case TL_OPERAND_SAVED:
        return in_.saved[i];
      case TL_OPERAND_GRAD:
        return static_cast<uint32_t>(i) < in_.n_grads ? value(in_.grads[i]) : none();
      case TL_OPERAND_GRADS:
        return {TL_TENSOR_LIST, in_.n_grads, {.p = in_.grads}};
      case TL_OPERAND_REGISTER:
        return registers_[i];
      case TL_OPERAND_NEEDS:
        return value(target_needed(in_, i));
      default:
        return needs_list();
    }
  }

  TlValue needs_list() {
    List& list = new_list();
    for (int t = 0; t < block_->n_targets; ++t)
      list.push_back(value(target_needed(in_, block_->first_target + t)));
    return {kList, 0, {.p = &list}};
  }

  size_t position(const uint16_t* in) {
    const int64_t i = get(in[1]).u.i;
    return static_cast<size_t>(i < 0 ? i + static_cast<int64_t>(list_length(get(in[0]))) : i);
  }

  List& new_list() { return *lists_.emplace_back(std::make_unique<List>()); }
  TlValue held_list(TlValue v) {
    if (v.tag >= TL_BOOL_LIST || v.tag == TL_COMPLEX) held_lists_.push_back(v);
    return v;
  }
  void own(const TlValue& v) {
    if (v.tag != TL_TENSOR && v.tag < TL_BOOL_LIST && v.tag != TL_COMPLEX) return;
    if (n_owned_ < kInline)
      owned_[n_owned_++] = v;
    else
      more_owned_.push_back(v);
  }

  // ---- steps on values ------------------------------------------------------------------------------------

  void unary(const TlStep& s, const uint16_t* in) {
    TlValue v = get(in[0]);
    if (s.arith == TL_ARITH_RANGE) {
      List& list = new_list();
      for (int64_t i = 0; i < v.u.i; ++i) list.push_back(value(i));
      registers_[s.target] = {kList, 0, {.p = &list}};
    } else {
      registers_[s.target] = arithmetic(s.arith, &v, 1);
    }
  }

  void slice(const TlStep& s, const uint16_t* in) {
    const TlValue v = get(in[0]), from = get(in[1]), to = get(in[2]);
    const auto n = static_cast<int64_t>(list_length(v));
    auto end = [n](const TlValue& e, int64_t otherwise) {
      if (e.tag == TL_NONE) return otherwise;
      return std::clamp<int64_t>(e.u.i < 0 ? e.u.i + n : e.u.i, 0, n);
    };
    List& list = new_list();
    for (int64_t i = end(from, 0); i < end(to, n); ++i) list.push_back(list_element(v, i));
    registers_[s.target] = {kList, 0, {.p = &list}};
  }

  void list(const TlStep& s, const uint16_t* in) {
    List& list = new_list();
    for (int i = 0; i < s.n_inputs; ++i) list.push_back(get(in[i]));
    registers_[s.target] = {kList, 0, {.p = &list}};
  }

  bool next(const TlStep& s, const uint16_t* in) {
    const TlValue list = get(in[0]);
    TlValue& counter = registers_[TL_OPERAND_INDEX(in[1])];
    if (counter.u.i >= static_cast<int64_t>(list_length(list))) return false;
    registers_[s.target] = list_element(list, counter.u.i++);
    return true;
  }

  void append(const TlStep& s, const uint16_t* in) {
    static_cast<List*>(const_cast<void*>(registers_[s.target].u.p))->push_back(get(in[0]));
  }

  TlValue joined(const TlValue& a, const TlValue& b) {
    List& list = new_list();
    for (size_t i = 0; i < list_length(a); ++i) list.push_back(list_element(a, i));
    for (size_t i = 0; i < list_length(b); ++i) list.push_back(list_element(b, i));
    return {kList, 0, {.p = &list}};
  }

  TlValue repeated(const TlValue& list, int64_t times) {
    List& out = new_list();
    for (int64_t k = 0; k < times; ++k)
      for (size_t i = 0; i < list_length(list); ++i) out.push_back(list_element(list, i));
    return {kList, 0, {.p = &out}};
  }

  TlValue plain(int arith, const TlValue* v, int n) {
    if (n == 2 && arith == TL_ARITH_ADD && is_list(v[0])) return joined(v[0], v[1]);
    if (n == 2 && arith == TL_ARITH_MUL && is_list(v[0])) return repeated(v[0], v[1].u.i);
    return arithmetic(arith, v, n);
  }

  // ---- steps that call operators --------------------------------------------------------------------------

  void arith(const TlStep& s, const uint16_t* in) {
    TlValue v[kMaxArgs];
    for (int i = 0; i < s.n_inputs; ++i) v[i] = get(in[i]);
    const int n_operands = s.arith >= TL_ARITH_NEG ? 1 : 2;
    const bool left = v[0].tag == TL_TENSOR, right = n_operands == 2 && v[1].tag == TL_TENSOR;
    TlValue& result = registers_[s.target];
    if (s.op == TL_NO_OPERATOR) {
      result = plain(s.arith, v, n_operands);
    } else if (v[0].tag == TL_NONE || (n_operands == 2 && v[1].tag == TL_NONE)) {
      result = with_undefined(s.arith, v, n_operands);
    } else if (!left && !right) {
      result = arithmetic(s.arith, v, n_operands);
    } else if (n_operands == 2 && is_neutral(s.arith, v, left)) {
      result = left ? v[0] : v[1];
    } else if (left) {
      call(s, v);
    } else {
      number_first(s, v);
    }
  }

  // An undefined gradient is zero in a sum and makes everything else undefined.
  TlValue with_undefined(int arith, const TlValue* v, int n) {
    if (n == 1 || (arith != TL_ARITH_ADD && arith != TL_ARITH_SUB)) return none();
    if (v[1].tag == TL_NONE) return v[0];
    if (arith == TL_ARITH_ADD || v[1].tag != TL_TENSOR) return v[1];
    return hold(negated(v[1].u.t));
  }

  static bool is_one(const TlValue& v) {
    return (v.tag == TL_FLOAT && v.u.f == 1) || ((v.tag == TL_INT || v.tag == TL_BOOL) && v.u.i == 1);
  }
  static bool is_neutral(int arith, const TlValue* v, bool left) {
    const TlValue& number = left ? v[1] : v[0];
    const TlTensor* t = left ? v[0].u.t : v[1].u.t;
    const bool keeps = arith == TL_ARITH_MUL || (arith == TL_ARITH_DIV && left);
    return keeps && is_one(number) && is_differentiable(api->tensor_dtype(t));
  }

  // number - t and number / t through operators that take the tensor first.
  void number_first(const TlStep& s, TlValue* v) {
    if (s.arith == TL_ARITH_SUB || s.arith == TL_ARITH_DIV) {
      const TlValue opposite = hold(s.arith == TL_ARITH_SUB ? negated(v[1].u.t) : inverted(v[1].u.t));
      registers_[s.target] =
          hold(s.arith == TL_ARITH_SUB ? added(opposite, v[0]) : multiplied(opposite, v[0]));
    } else {
      if (s.arith == TL_ARITH_ADD || s.arith == TL_ARITH_MUL) std::swap(v[0], v[1]);
      call(s, v);
    }
  }

  TlValue hold(Tensor t) {
    const TlValue v = value(t.take());
    own(v);
    return v;
  }

  void conj(const TlStep& s, const uint16_t* in) {
    const TlValue v = get(in[0]);
    if (v.tag == TL_TENSOR && is_complex(api->tensor_dtype(v.u.t))) {
      call(s, in);
    } else if (v.tag == TL_COMPLEX) {
      const auto* c = static_cast<const double*>(v.u.p);
      const double conjugated[2] = {c[0], -c[1]};
      registers_[s.target] = held_list(keep({TL_COMPLEX, 0, {.p = conjugated}}));
    } else {
      registers_[s.target] = v;
    }
  }

  void call(const TlStep& s, const uint16_t* in) {
    TlValue args[kMaxArgs];
    for (int i = 0; i < s.n_inputs; ++i) args[i] = get(in[i]);
    call(s, args);
  }

  void call(const TlStep& s, TlValue* args) {
    const TlOperator* op = derivative_.ops()[s.op];
    const TlOperatorInfo* info = api->op_info(op);
    for (int i = 0; i < s.n_inputs; ++i) {
      if (args[i].tag == TL_NONE && demands(argument_info(*info, i))) return undefined(s);
      if (is_list(args[i]))
        args[i] = packed(args[i], argument_info(*info, i).kind);
      else if (args[i].tag == TL_INT && argument_info(*info, i).kind == TL_ARG_INT_LIST)
        args[i] = single(args[i]);
    }
    TlValue rets[kMaxArgs] = {};
    check(api->op_call(op, args, s.n_inputs, rets, info->n_rets));
    for (int i = 0; i < info->n_rets; ++i) {
      own(rets[i]);
      if (i < s.n_results) registers_[s.target + i] = rets[i];
    }
  }

  static bool demands(const TlArgInfo& arg) {
    return !arg.optional &&
           (arg.kind == TL_ARG_TENSOR || arg.kind == TL_ARG_OPERAND || arg.kind == TL_ARG_TENSOR_LIST);
  }
  void undefined(const TlStep& s) {
    for (int i = 0; i < s.n_results; ++i) registers_[s.target + i] = none();
  }

  // ---- lists as operators take them -----------------------------------------------------------------------

  TlValue single(const TlValue& v) {
    List& list = new_list();
    list.push_back(v);
    return packed({kList, 0, {.p = &list}}, TL_ARG_INT_LIST);
  }

  template <class T, class F>
  TlValue pack(uint32_t tag, const TlValue& v, F convert) {
    const size_t n = list_length(v);
    blocks_.push_back(std::make_unique<TlValue[]>((n * sizeof(T) + sizeof(TlValue)) / sizeof(TlValue) + 1));
    T* out = reinterpret_cast<T*>(blocks_.back().get());
    for (size_t i = 0; i < n; ++i) out[i] = convert(list_element(v, i), i);
    return {tag, static_cast<uint32_t>(n), {.p = out}};
  }

  TlValue packed(const TlValue& v, int kind) {
    switch (kind) {
      case TL_ARG_TENSOR_LIST:
        return pack_tensors(v);
      case TL_ARG_OPTIONAL_TENSOR_LIST:
        return pack<TlTensor*>(TL_TENSOR_LIST, v,
                               [](const TlValue& e, size_t) { return e.tag == TL_TENSOR ? e.u.t : nullptr; });
      case TL_ARG_INT_LIST:
        return pack<int64_t>(TL_INT_LIST, v, [](const TlValue& e, size_t) { return e.u.i; });
      case TL_ARG_BOOL_LIST:
        return pack<uint8_t>(TL_BOOL_LIST, v, [](const TlValue& e, size_t) { return uint8_t(e.u.i != 0); });
      case TL_ARG_FLOAT_LIST:
        return pack<double>(TL_FLOAT_LIST, v, [](const TlValue& e, size_t) { return number(e); });
      default:
        return v.tag == kList ? pack<TlValue>(TL_SCALAR_LIST, v, [](const TlValue& e, size_t) { return e; })
                              : v;
    }
  }
  static double number(const TlValue& e) { return e.tag == TL_FLOAT ? e.u.f : static_cast<double>(e.u.i); }

  // The gradients of all results have zeros where they are undefined.
  TlValue pack_tensors(const TlValue& v) {
    const bool all_grads = v.tag == TL_TENSOR_LIST && v.u.p == in_.grads;
    return pack<TlTensor*>(TL_TENSOR_LIST, v, [&](const TlValue& e, size_t i) {
      if (e.tag == TL_TENSOR) return e.u.t;
      if (!all_grads || !in_.results)
        fail(TL_ERROR_RUNTIME, "a derivative program passes an undefined gradient in a list");
      return hold(zeros(in_.results[i])).u.t;
    });
  }

  // ---- results --------------------------------------------------------------------------------------------

  void store(int target, uint16_t word) {
    const uint32_t first = in_.first_edge[target], n = in_.first_edge[target + 1] - first;
    const TlValue v = get(word);
    if (v.tag == TL_NONE) return;
    if (!program_.targets[target].is_list) {
      if (v.tag != TL_TENSOR)
        fail(TL_ERROR_RUNTIME, "a derivative program gives a gradient that is no tensor");
      if (in_.needs[first]) out_[first] = taken(v.u.t);
      return;
    }
    if (list_length(v) != n)
      fail(TL_ERROR_RUNTIME, "a derivative program gives another number of gradients than inputs");
    for (uint32_t i = 0; i < n; ++i) {
      const TlValue e = list_element(v, i);
      if (e.tag == TL_TENSOR && in_.needs[first + i]) out_[first + i] = taken(e.u.t);
    }
  }

  // Our own reference if the machine owns one, else a new one.
  TlTensor* taken(TlTensor* t) {
    for (int i = n_owned_ - 1; i >= 0; --i) {
      if (owned_[i].tag == TL_TENSOR && owned_[i].u.t == t) {
        owned_[i] = owned_[--n_owned_];
        return t;
      }
    }
    api->tensor_retain(t);
    return t;
  }

  const Derivative& derivative_;
  const TlProgram& program_;
  const Inputs& in_;
  TlTensor** out_;
  TlValue* values_;  // instead of out_
  const TlBlock* block_ = nullptr;
  TlValue inline_registers_[kInline];
  TlValue* registers_ = inline_registers_;
  std::unique_ptr<TlValue[]> spilled_;
  TlValue owned_[kInline];
  int n_owned_ = 0;
  std::vector<TlValue> more_owned_, held_lists_;
  std::vector<std::unique_ptr<List>> lists_;
  std::vector<std::unique_ptr<TlValue[]>> blocks_;
};
}  // namespace

void run_program(const Derivative& derivative, const Inputs& in, TlTensor** out) {
  Machine(derivative, in, out).run();
}

void run_program_values(const Derivative& derivative, const Inputs& in, TlValue* values) {
  Machine(derivative, in, nullptr, values).run();
}

}  // namespace tl::autograd
