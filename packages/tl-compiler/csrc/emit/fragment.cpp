// Steps as instructions. Each function is written as the kernels write it (csrc/kernels/cpu/elementwise of
// tl-core), so that it rounds alike.
#include "emit/fragment.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string_view>

namespace tl::compiler {

namespace {
Level supported() {
#if defined(__x86_64__) && defined(__linux__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return Level::Avx512;
  if (__builtin_cpu_supports("avx2")) return Level::Avx2;
#endif
  return Level::None;
}
std::atomic<Level> g_most{Level::Avx512};

enum class Function : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Neg,
  Abs,
  Sqrt,
  Rsqrt,
  Reciprocal,
  Square,
  Relu,
  Copy,
  Maximum,
  Minimum,
  Clamp,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Where,
  TanhBackward,
  SigmoidBackward,
  ThresholdBackward,
  Addcmul,
  Addcdiv,
  Pow,
  None
};
struct Named {
  std::string_view name;
  Function function;
};
constexpr Named kNamed[] = {
    {"add", Function::Add},
    {"sub", Function::Sub},
    {"mul", Function::Mul},
    {"div", Function::Div},
    {"neg", Function::Neg},
    {"abs", Function::Abs},
    {"sqrt", Function::Sqrt},
    {"rsqrt", Function::Rsqrt},
    {"reciprocal", Function::Reciprocal},
    {"square", Function::Square},
    {"relu", Function::Relu},
    {"copy", Function::Copy},
    {"maximum", Function::Maximum},
    {"minimum", Function::Minimum},
    {"clamp_min", Function::Maximum},
    {"clamp_max", Function::Minimum},
    {"_clamp", Function::Clamp},
    {"eq", Function::Equal},
    {"ne", Function::NotEqual},
    {"lt", Function::Less},
    {"le", Function::LessEqual},
    {"gt", Function::Greater},
    {"ge", Function::GreaterEqual},
    {"where", Function::Where},
    {"tanh_backward", Function::TanhBackward},
    {"sigmoid_backward", Function::SigmoidBackward},
    {"threshold_backward", Function::ThresholdBackward},
    {"addcmul", Function::Addcmul},
    {"addcdiv", Function::Addcdiv},
    {"pow", Function::Pow},
};

Function function_of(const Step& step) {
  for (const Named& n : kNamed)
    if (n.name == step.name) return n.function;
  return Function::None;
}

bool compares(Function f) { return f >= Function::Equal && f <= Function::GreaterEqual; }

int64_t dtype_of(Lane lane) { return TL_DTYPE_OF(TL_CODE_FLOAT, lane == Lane::Float ? 32 : 64); }

// 1, 0, the sign alone, all but the sign.
constexpr uint32_t kFloats[] = {0x3f800000, 0, 0x80000000, 0x7fffffff};
constexpr uint64_t kDoubles[] = {0x3ff0000000000000, 0, 0x8000000000000000, 0x7fffffffffffffff};
constexpr int kOne = 0, kZero = 1, kSign = 2, kNoSign = 3;

bool is_one(const char* number, Lane lane) {
  return lane == Lane::Float ? std::memcmp(number, &kFloats[kOne], 4) == 0
                             : std::memcmp(number, &kDoubles[kOne], 8) == 0;
}

// A number in the type of the lane.
double number_of(const Operand& o, Lane lane) {
  alignas(16) char from[16], to[16];
  std::memcpy(from, o.number, sizeof from);
  std::memcpy(to, o.number, sizeof to);
  if (o.convert) {
    char* const data[] = {to, from};
    const int64_t strides[] = {o.loop_bytes(), o.bytes(), 0, 0};
    o.convert(data, strides, 1, 1, nullptr);
  }
  float single;
  double number;
  std::memcpy(&single, to, sizeof single);
  std::memcpy(&number, to, sizeof number);
  return lane == Lane::Float ? single : number;
}

// The exponents for which the kernel multiplies or divides. To the power of 1, a float comes out of the
// kernel's double precision as it went in.
bool is_short_power(const Step& step, Lane lane) {
  if (step.inputs[1].kind != Operand::Number) return false;
  const double exponent = number_of(step.inputs[1], lane);
  return exponent == 2 || exponent == 3 || exponent == -1 || (exponent == 1 && lane == Lane::Float);
}
}  // namespace

Level emission_level() { return std::min(supported(), g_most.load(std::memory_order_relaxed)); }
void limit_emission(Level most) { g_most = most; }

bool Fragment::gives_mask(const Step& step) { return compares(function_of(step)); }

bool Fragment::takes(const Step& step, Lane lane) {
  const Function f = function_of(step);
  if (f == Function::None || step.out.convert) return false;
  const int64_t wanted = dtype_of(lane);
  if (!compares(f) && step.out.dtype != wanted) return false;
  for (int i = 0; i < step.n_inputs; ++i) {
    const Operand& o = step.inputs[i];
    const bool is_condition = f == Function::Where && i == 0;
    if (is_condition ? o.kind != Operand::Step : o.in_loop != wanted) return false;
    if (o.convert && o.kind != Operand::Number) return false;
  }
  return f != Function::Pow || is_short_power(step, lane);
}

const char* Fragment::literal(int which) const {
  return lane_ == Lane::Float ? reinterpret_cast<const char*>(&kFloats[which])
                              : reinterpret_cast<const char*>(&kDoubles[which]);
}

int Fragment::add_source(bool is_number) {
  sources_.push_back({n_values_, is_number});
  return n_values_++;
}

int Fragment::number(const char* bytes) {
  const auto at = std::find(numbers_.begin(), numbers_.end(), bytes);
  if (at != numbers_.end()) return number_values_[at - numbers_.begin()];
  numbers_.push_back(bytes);
  number_values_.push_back(n_values_);
  return n_values_++;
}

int Fragment::param(const Step& step, int i) {
  return number(step.params + i * (lane_ == Lane::Float ? 4 : 8));
}

int Fragment::emit(Micro op, int a, int b, int mask) {
  instructions_.push_back({op, a, b, mask});
  results_.push_back(n_values_);
  return n_values_++;
}

// Times one, a number is what it was.
int Fragment::times_param(const Step& step, int i, int y) {
  const bool one = is_one(step.params + i * (lane_ == Lane::Float ? 4 : 8), lane_);
  return one ? y : emit(Micro::Mul, param(step, i), y);
}

// NaN wins, and of two zeros the first.
int Fragment::maximum(int a, int b, Micro op) {
  const int larger = emit(op, b, a), is_nan = emit(Micro::Unordered, b, b);
  return emit(Micro::Select, b, larger, is_nan);
}

int Fragment::power(int x, double exponent) {
  if (exponent == 1) return emit(Micro::Move, x);
  if (exponent == -1) return emit(Micro::Div, one(), x);
  const int squared = emit(Micro::Mul, x, x);
  return exponent == 2 ? squared : emit(Micro::Mul, squared, x);
}

int Fragment::add_one(const Step& step, const int* in) {
  const int x = in[0];
  switch (function_of(step)) {
    case Function::Neg:
      return emit(Micro::Xor, x, number(literal(kSign)));
    case Function::Abs:
      return emit(Micro::And, x, number(literal(kNoSign)));
    case Function::Sqrt:
      return emit(Micro::Sqrt, x);
    case Function::Rsqrt:
      return emit(Micro::Div, one(), emit(Micro::Sqrt, x));
    case Function::Reciprocal:
      return emit(Micro::Div, one(), x);
    case Function::Square:
      return emit(Micro::Mul, x, x);
    case Function::Relu: {
      const int zero = number(literal(kZero));
      return emit(Micro::Select, zero, x, emit(Micro::Less, x, zero));
    }
    default:
      return emit(Micro::Move, x);
  }
}

int Fragment::add_two(const Step& step, const int* in) {
  const int x = in[0], y = in[1];
  switch (function_of(step)) {
    case Function::Add:
      return emit(Micro::Add, x, times_param(step, 0, y));
    case Function::Sub:
      return emit(Micro::Sub, x, times_param(step, 0, y));
    case Function::Mul:
      return emit(Micro::Mul, x, y);
    case Function::Div:
      return emit(Micro::Div, x, y);
    case Function::Maximum:
      return maximum(x, y, Micro::Max);
    case Function::Minimum:
      return maximum(x, y, Micro::Min);
    case Function::Pow:
      return power(x, number_of(step.inputs[1], lane_));
    case Function::TanhBackward:
      return emit(Micro::Mul, x, emit(Micro::Sub, one(), emit(Micro::Mul, y, y)));
    case Function::SigmoidBackward:
      return emit(Micro::Mul, x, emit(Micro::Mul, emit(Micro::Sub, one(), y), y));
    case Function::ThresholdBackward: {
      const int low = emit(Micro::LessEqual, y, param(step, 0));
      return emit(Micro::Select, number(literal(kZero)), x, low);
    }
    // A comparison: both lists have the same order.
    default: {
      const int offset = static_cast<int>(function_of(step)) - static_cast<int>(Function::Equal);
      return emit(static_cast<Micro>(static_cast<int>(Micro::Equal) + offset), x, y);
    }
  }
}

int Fragment::add(const Step& step, const int* in) {
  switch (function_of(step)) {
    case Function::Where:
      return emit(Micro::Select, in[1], in[2], in[0]);
    case Function::Clamp:
      return maximum(maximum(in[0], in[1], Micro::Max), in[2], Micro::Min);
    case Function::Addcmul: {
      const int product = emit(Micro::Mul, times_param(step, 0, in[1]), in[2]);
      return emit(Micro::Add, in[0], product);
    }
    case Function::Addcdiv: {
      const int quotient = emit(Micro::Div, times_param(step, 0, in[1]), in[2]);
      return emit(Micro::Add, in[0], quotient);
    }
    default:
      return step.n_inputs == 1 ? add_one(step, in) : add_two(step, in);
  }
}

std::string Fragment::key(Level level) const {
  std::string out;
  const auto word = [&](int x) { out.append(reinterpret_cast<const char*>(&x), sizeof x); };
  word(static_cast<int>(level) << 8 | static_cast<int>(lane_));
  for (const Source& s : sources_) word(s.value << 1 | s.is_number);
  word(-2);
  for (int v : number_values_) word(v);
  word(-2);
  for (size_t i = 0; i < instructions_.size(); ++i)
    for (int x : {static_cast<int>(instructions_[i].op), instructions_[i].a, instructions_[i].b,
                  instructions_[i].mask, results_[i]})
      word(x);
  word(-2);
  for (const Store& s : stores_) word(s.value << 1 | s.streams);
  return out;
}

}  // namespace tl::compiler
