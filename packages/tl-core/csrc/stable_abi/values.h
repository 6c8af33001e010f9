// Values in 64 bits, as PyTorch's stable functions pass them, and values of the C interface.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "stable_abi/handles.h"

namespace tl::stable {

using List = std::vector<Word>;
using String = std::string;

// What a schema says of one argument or result.
struct Slot {
  uint8_t kind = 0;  // TlArgKind
  bool optional = false;
  const char* name = "";
};

// Owns what borrowed values point to, until the call is over.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  ~Arena();

  // The value of a word, whose shares and memory go to the arena.
  TlValue take(Word word, const Slot& slot);

 private:
  TlValue take_present(Word word, const Slot& slot);
  TlValue take_tensor(Handle h, bool optional);
  TlValue take_list(std::unique_ptr<List> list, const Slot& slot);
  TlValue take_tensors(const List& list, bool optional);

  // Lists, which take no memory while they are empty.
  std::vector<TlTensor*> tensors_;
  std::list<std::vector<int64_t>> ints_;
  std::list<std::vector<double>> floats_;
  std::list<std::vector<uint8_t>> bools_;
  std::list<std::vector<TlTensor*>> lists_;
  std::list<std::vector<TlValue>> values_;
  std::list<std::unique_ptr<String>> strings_;
  std::vector<TlGenerator*> generators_;
};

// A word with shares and memory of its own for a borrowed value.
Word word_of(const TlValue& value, const Slot& slot);
// Gives back what a word holds that nobody took.
void release_word(Word word, const Slot& slot);

TlValue tagged(uint32_t tag, int64_t i = 0);
double float_of(Word word);
Word word_of_float(double number);

}  // namespace tl::stable
