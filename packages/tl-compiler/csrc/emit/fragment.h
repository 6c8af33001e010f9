// A run of arithmetic steps as one loop: the instructions of eager's loops in their order, without the stores
// and loads between them.
#pragma once

#include <string>
#include <vector>

#include "emit/assembler.h"
#include "program.h"

namespace tl::compiler {

Level emission_level();           // what the processor has, up to the limit
void limit_emission(Level most);  // the highest that is used

enum class Micro : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Min,
  Max,
  Sqrt,
  And,
  Xor,
  Move,
  Select,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Unordered,  // the result is a mask
};
inline bool is_comparison(Micro op) { return op >= Micro::Equal; }

struct Instruction {
  Micro op;
  int a, b, mask;  // values; -1: none
};

// Values are numbered: sources and results of instructions together.
class Fragment {
 public:
  explicit Fragment(Lane lane) : lane_(lane) {}

  static bool takes(const Step& step, Lane lane);
  static bool gives_mask(const Step& step);

  int add_source(bool is_number);
  // The step's value. `inputs`: its inputs' values.
  int add(const Step& step, const int* inputs);
  // `streams`: past the caches, to memory that is aligned to 64 bytes.
  void store(int value, bool streams) { stores_.push_back({value, streams}); }

  // Machine code; empty where there are too few registers. Its table has pointers to the elements of sources,
  // to those of stores, to numbers that are sources, then those of `numbers()`.
  std::vector<uint8_t> assemble(Level level) const;
  std::string key(Level level) const;
  // Parameters of steps and literals, as bytes of the lane.
  const std::vector<const char*>& numbers() const { return numbers_; }

 private:
  friend class Generator;
  struct Source {
    int value;
    bool is_number;
  };
  struct Store {
    int value;
    bool streams;
  };

  int emit(Micro op, int a, int b = -1, int mask = -1);
  int number(const char* bytes);
  int param(const Step& step, int i);
  int one() { return number(literal(0)); }
  const char* literal(int which) const;
  int times_param(const Step& step, int param, int y);
  int add_two(const Step& step, const int* in);
  int power(int x, double exponent);
  int add_one(const Step& step, const int* in);
  int maximum(int a, int b, Micro op);

  Lane lane_;
  int n_values_ = 0;
  std::vector<Source> sources_;
  std::vector<int> number_values_;  // of `numbers_`
  std::vector<const char*> numbers_;
  std::vector<Instruction> instructions_;
  std::vector<int> results_;  // one an instruction: its value
  std::vector<Store> stores_;
};

}  // namespace tl::compiler
