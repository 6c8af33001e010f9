// Call stacks as numbers: frames are hashed and each distinct stack is stored once.
#include "bind/call_stacks.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/event_log.h"
#include "base/fork.h"
#include "tl/python.hpp"

namespace tl::bind {

namespace {
constexpr int kMostFrames = 192;

struct Stacks {
  std::mutex mutex;
  std::deque<std::vector<TlFrame>> all{{}};  // a deque: what is in it stays where it is
  std::unordered_multimap<size_t, uint32_t> numbers;

  Stacks() {
    register_fork_lock(ForkOrder::Stacks, [] { stacks().mutex.lock(); }, [] { stacks().mutex.unlock(); });
  }
  static Stacks& stacks();
};

Stacks& Stacks::stacks() {
  static Stacks& s = *new Stacks;
  return s;
}

size_t hash_of(const TlFrame* frames, int n) {
  size_t h = static_cast<size_t>(n);
  for (int i = 0; i < n; ++i)
    h = (h ^ reinterpret_cast<uintptr_t>(frames[i].instruction)) * size_t{0x9E3779B97F4A7C15} + (h >> 29);
  return h;
}

bool same(const std::vector<TlFrame>& a, const TlFrame* b, int n) {
  return a.size() == static_cast<size_t>(n) &&
         std::equal(a.begin(), a.end(), b, [](const TlFrame& x, const TlFrame& y) {
           return x.code == y.code && x.instruction == y.instruction;
         });
}

uint32_t find(Stacks& s, size_t hash, const TlFrame* frames, int n) {
  const auto [first, last] = s.numbers.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (same(s.all[it->second], frames, n)) return it->second;
  return 0;
}

// The code objects are kept, so that their addresses stand for nothing else later. References need the GIL,
// which is asked for without holding the lock.
uint32_t add(Stacks& s, size_t hash, const TlFrame* frames, int n) {
  {
    const WithGil lock;
    for (int i = 0; i < n; ++i) Py_INCREF(static_cast<PyObject*>(const_cast<void*>(frames[i].code)));
  }
  std::lock_guard guard(s.mutex);
  const auto number = static_cast<uint32_t>(s.all.size());
  s.all.emplace_back(frames, frames + n);
  s.numbers.emplace(hash, number);
  return number;
}
}  // namespace

uint32_t stack_number() noexcept {
  TlFrame frames[kMostFrames];
  const int n = tl_python_stack(frames, kMostFrames);
  if (n == 0) return 0;
  Stacks& s = Stacks::stacks();
  const size_t hash = hash_of(frames, n);
  try {
    {
      std::lock_guard guard(s.mutex);
      if (const uint32_t known = find(s, hash, frames, n)) return known;
    }
    return add(s, hash, frames, n);
  } catch (const std::bad_alloc&) {
    return 0;  // the stack is lost, what runs in it goes on
  }
}

const std::vector<TlFrame>& stack_frames(uint32_t number) {
  Stacks& s = Stacks::stacks();
  std::lock_guard guard(s.mutex);
  return s.all[number < s.all.size() ? number : 0];
}

SourceLine source_line(const TlFrame& frame) {
  auto* code = static_cast<PyCodeObject*>(const_cast<void*>(frame.code));
  const auto* first = reinterpret_cast<const char*>(code->co_code_adaptive);
  const auto offset = static_cast<const char*>(frame.instruction) - first;
  return {code->co_filename, code->co_qualname, PyCode_Addr2Line(code, static_cast<int>(offset))};
}

void install_stack_source() { set_stack_source(stack_number); }

}  // namespace tl::bind
