// The CPU generator: MT19937 with the seeding and the state layout of PyTorch 2.7.
#include "base/generator.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/fork.h"

namespace tl {
namespace {

// The words stand in 64 bits each, and `left` counts one more than there is.
struct StateBytes {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[Mt19937::kWords];
  double normal_x;
  double normal;
  double normal_rho;
  int32_t has_normal;
  int32_t padding;
  float float_normal;
  uint8_t has_float_normal;
  uint8_t padding_end[3];
};
static_assert(sizeof(StateBytes) == Generator::kStateBytes);

template <class T>
std::optional<T> present(bool has, T value) {
  return has ? std::optional<T>(value) : std::nullopt;
}

}  // namespace

Generator::Generator(uint64_t seed) : seed_(seed), engine_(static_cast<uint32_t>(seed)) {}

void Generator::seed(uint64_t seed) {
  seed_ = seed;
  engine_.reseed(static_cast<uint32_t>(seed));
  next_double_normal.reset();
  next_float_normal.reset();
}

uint64_t Generator::seed_from_system() {
  uint64_t drawn;
  TL_CHECK(getentropy(&drawn, sizeof drawn) == 0, Runtime,
           "seed(): the operating system gave no random bytes: ", std::strerror(errno));
  seed(drawn);
  return drawn;
}

void Generator::get_state(void* bytes) const {
  StateBytes s{};
  s.seed = seed_;
  s.left = engine_.left() + 1;
  s.seeded = 1;
  s.next = static_cast<uint64_t>(engine_.next());
  std::copy_n(engine_.words(), Mt19937::kWords, s.words);
  s.has_normal = next_double_normal.has_value();
  s.normal = next_double_normal.value_or(0.0);
  s.has_float_normal = next_float_normal.has_value();
  s.float_normal = next_float_normal.value_or(0.0f);
  std::memcpy(bytes, &s, sizeof s);
}

void Generator::set_state(const void* bytes, size_t size) {
  TL_CHECK(size == kStateBytes, Runtime, "Expected a CPU generator state of size ", kStateBytes,
           " but found the input RNG state size to be ", size);
  StateBytes s;
  std::memcpy(&s, bytes, sizeof s);
  const bool in_range = s.seeded == 1 && s.left > 0 && s.next <= Mt19937::kWords;
  TL_CHECK(in_range && engine_.restore(s.words, s.left - 1, static_cast<int>(s.next)), Runtime,
           "Invalid mt19937 state: seeded ", s.seeded, ", left ", s.left, ", next ", s.next);
  seed_ = s.seed;
  next_double_normal = present(s.has_normal != 0, s.normal);
  next_float_normal = present(s.has_float_normal != 0, s.float_normal);
}

Generator* Generator::clone() const {
  auto* copy = new Generator(seed_);
  copy->engine_ = engine_;
  copy->next_double_normal = next_double_normal;
  copy->next_float_normal = next_float_normal;
  return copy;
}

Generator& default_generator() {
  static Generator* const generator = [] {
    static Generator* made = new Generator;
    register_fork_lock(ForkOrder::Generator, [] { made->mutex.lock(); }, [] { made->mutex.unlock(); });
    return made;
  }();
  return *generator;
}

}  // namespace tl
