// isa: all
// Radix keys: loads a row as order-preserving unsigned integers, and finds the range of keys.
#include "kernels/cpu/sort/load_keys.h"

#include "kernels/cpu/simd/complex.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/sort/radix_keys.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

template <class T>
void read_line(const char* in, int64_t stride, int64_t n, bool flip, void* keys) {
  const Key<T> flipped = flip ? ~Key<T>{} : Key<T>{};
  Key<T>* out = static_cast<Key<T>*>(keys);
  if (stride == static_cast<int64_t>(sizeof(T))) {
    for (int64_t i = 0; i < n; ++i) out[i] = key_of<T>(load_one<T>(in + i * sizeof(T))) ^ flipped;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = key_of<T>(load_one<T>(in + i * stride)) ^ flipped;
  }
}

template <class T>
constexpr KeyReader reader() {
  constexpr bool common = has_float_lanes<OpMath<T>> || std::is_same_v<T, int64_t>;
  if constexpr (is_complex_type<T> || (kIsaLevel > 1 && !common))
    return nullptr;
  else
    return &read_line<T>;
}

}  // namespace

extern const KeyReader key_readers[kNumDTypes] = {
#define TL_READER(E, T, name) reader<T>(),
    TL_ALL_DTYPES(TL_READER)
#undef TL_READER
};

// Lanes apart from each other, so that none waits for the one before.
template <class K>
void find_range(const K* keys, int64_t n, KeyRange<K>& range) {
  constexpr int64_t kLanes = 128 / sizeof(K);
  K low[kLanes], high[kLanes];
  for (int64_t k = 0; k < kLanes; ++k) low[k] = ~K{}, high[k] = 0;
  const auto see = [&](K key, int64_t k) {
    low[k] = key < low[k] ? key : low[k];
    high[k] = key > high[k] ? key : high[k];
  };
  const int64_t whole = n - n % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) see(keys[i + k], k);
  }
  for (int64_t i = whole; i < n; ++i) see(keys[i], 0);
  for (int64_t k = 1; k < kLanes; ++k) see(low[k], 0), see(high[k], 0);
  range = {low[0], high[0]};
}
void range32(const uint32_t* keys, int64_t n, KeyRange<uint32_t>& range) { find_range(keys, n, range); }
void range64(const uint64_t* keys, int64_t n, KeyRange<uint64_t>& range) { find_range(keys, n, range); }

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const KeyReader key_readers[kNumDTypes];
          void range32(const uint32_t* keys, int64_t n, KeyRange<uint32_t>& range);
          void range64(const uint64_t* keys, int64_t n, KeyRange<uint64_t>& range))

namespace tl::cpu {

KeyReader key_reader(DType dtype) {
  const KeyReader reader = TL_SELECT(key_readers)[static_cast<int>(dtype)];
  return reader ? reader : base::key_readers[static_cast<int>(dtype)];
}

KeyRange<uint32_t> range_of(const uint32_t* keys, int64_t n) {
  KeyRange<uint32_t> range;
  TL_SELECT(range32)(keys, n, range);
  return range;
}
KeyRange<uint64_t> range_of(const uint64_t* keys, int64_t n) {
  KeyRange<uint64_t> range;
  TL_SELECT(range64)(keys, n, range);
  return range;
}

}  // namespace tl::cpu
#endif
