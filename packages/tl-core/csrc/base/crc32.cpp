// Bytes are polynomials over GF(2), and the checksum is what is left modulo P. Long inputs are folded: a
// block of 128 bits times x^D, modulo P, is added to the block that stands D bits further on, so that only
// the last one is left (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel 2009).
#include "base/crc32.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tl {

namespace {
constexpr uint32_t kPolynomial = 0xEDB88320;  // bit 31 - e stands for x^e, as everywhere in this file
constexpr uint32_t kOne = 0x80000000;
constexpr int64_t kChunk = 1 << 20;

constexpr uint32_t times_x(uint32_t a) { return (a >> 1) ^ (a & 1 ? kPolynomial : 0); }

constexpr uint32_t power_of_x(int n) {
  uint32_t r = kOne;
  while (n-- > 0) r = times_x(r);
  return r;
}

constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (uint32_t bit = kOne; bit; bit >>= 1, b = times_x(b))
    if (a & bit) sum ^= b;
  return sum;
}

// kTables[k][b] is what byte b adds to the checksum from k bytes before the end.
using Tables = std::array<std::array<uint32_t, 256>, 8>;
constexpr Tables make_tables() {
  Tables t{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t r = b;
    for (int i = 0; i < 8; ++i) r = times_x(r);
    t[0][b] = r;
  }
  for (int k = 1; k < 8; ++k)
    for (int b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xFF];
  return t;
}
constexpr Tables kTables = make_tables();

// On the register: the checksum before it is complemented.
uint32_t run_tables(uint32_t state, const unsigned char* p, size_t n) noexcept {
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    w ^= state;
    state = 0;
    for (int k = 0; k < 8; ++k) state ^= kTables[7 - k][(w >> (8 * k)) & 0xFF];
  }
  for (; n; ++p, --n) state = (state >> 8) ^ kTables[0][(state ^ *p) & 0xFF];
  return state;
}

#if defined(__x86_64__)
// A product of two 64-bit words lacks one factor x, which the constants carry.
template <int bits>
constexpr int64_t kFactor = static_cast<int64_t>(power_of_x(bits - 1)) << 32;

#define TL_FOLDING __attribute__((target("pclmul,sse4.1")))

TL_FOLDING inline __m128i load(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

template <int bits>
TL_FOLDING inline __m128i factors() {
  return _mm_set_epi64x(kFactor<bits>, kFactor<bits + 64>);
}

TL_FOLDING inline __m128i folded(__m128i block, __m128i factors, __m128i onto) {
  const __m128i early = _mm_clmulepi64_si128(block, factors, 0x00);
  const __m128i late = _mm_clmulepi64_si128(block, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(early, late), onto);
}

// Four blocks, one behind the other, and the bytes after them.
TL_FOLDING uint32_t run_blocks(__m128i (&x)[4], const unsigned char* p, size_t n) noexcept {
  const __m128i by_four = factors<512>();
  const __m128i by_one = factors<128>();
  for (; n >= 64; p += 64, n -= 64)
    for (int i = 0; i < 4; ++i) x[i] = folded(x[i], by_four, load(p + 16 * i));
  for (int i = 1; i < 4; ++i) x[i] = folded(x[i - 1], by_one, x[i]);
  for (; n >= 16; p += 16, n -= 16) x[3] = folded(x[3], by_one, load(p));
  unsigned char left[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(left), x[3]);
  return run_tables(run_tables(0, left, 16), p, n);
}

TL_FOLDING uint32_t run_folding(uint32_t state, const unsigned char* p, size_t n) noexcept {
  __m128i x[4];
  for (int i = 0; i < 4; ++i) x[i] = load(p + 16 * i);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(static_cast<int>(state)));
  return run_blocks(x, p + 64, n - 64);
}

#define TL_WIDE_FOLDING __attribute__((target("avx512f,avx512vl,avx512dq,vpclmulqdq,pclmul,sse4.1")))

TL_WIDE_FOLDING inline __m512i wide_folded(__m512i blocks, __m512i factors, __m512i onto) {
  const __m512i early = _mm512_clmulepi64_epi128(blocks, factors, 0x00);
  const __m512i late = _mm512_clmulepi64_epi128(blocks, factors, 0x11);
  return _mm512_ternarylogic_epi64(early, late, onto, 0x96);
}

template <int bits>
TL_WIDE_FOLDING inline __m512i wide_factors() {
  return _mm512_broadcast_i32x4(_mm_set_epi64x(kFactor<bits>, kFactor<bits + 64>));
}

// Sixteen blocks, one behind the other, and the bytes after them.
TL_WIDE_FOLDING uint32_t run_wide_blocks(__m512i (&x)[4], const unsigned char* p, size_t n) noexcept {
  const __m512i by_one = wide_factors<512>();
  for (int i = 1; i < 4; ++i) x[i] = wide_folded(x[i - 1], by_one, x[i]);
  __m128i blocks[4] = {_mm512_castsi512_si128(x[3]), _mm512_extracti32x4_epi32(x[3], 1),
                       _mm512_extracti32x4_epi32(x[3], 2), _mm512_extracti32x4_epi32(x[3], 3)};
  return run_blocks(blocks, p, n);
}

TL_WIDE_FOLDING inline __m512i begun(__m512i first, uint32_t state) {
  return _mm512_xor_si512(first, _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state))));
}

TL_WIDE_FOLDING uint32_t run_wide_folding(uint32_t state, const unsigned char* p, size_t n) noexcept {
  const __m512i by_four = wide_factors<2048>();
  __m512i x[4];
  for (int i = 0; i < 4; ++i) x[i] = _mm512_loadu_si512(p + 64 * i);
  x[0] = begun(x[0], state);
  for (p += 256, n -= 256; n >= 256; p += 256, n -= 256)
    for (int i = 0; i < 4; ++i) x[i] = wide_folded(x[i], by_four, _mm512_loadu_si512(p + 64 * i));
  return run_wide_blocks(x, p, n);
}

// Four parts at once: memory is read and written fastest in several places. The copy goes around the caches.
constexpr int kParts = 4;
TL_WIDE_FOLDING void copy_parts(unsigned char* to, const unsigned char* from, size_t size,
                                uint32_t (&crcs)[kParts]) noexcept {
  const __m512i by_four = wide_factors<2048>();
  __m512i x[kParts][4];
  for (size_t at = 0; at < size; at += 256) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const size_t offset = static_cast<size_t>(part) * size + at + 64 * static_cast<size_t>(i);
        const __m512i block = _mm512_loadu_si512(from + offset);
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + offset), block);
        x[part][i] = at ? wide_folded(x[part][i], by_four, block) : i ? block : begun(block, ~0u);
      }
    }
  }
  for (int part = 0; part < kParts; ++part) crcs[part] = ~run_wide_blocks(x[part], nullptr, 0);
  _mm_sfence();
}

bool can_fold_wide() noexcept {
  static const bool can = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("vpclmulqdq");
  return can;
}

bool can_fold() noexcept {
  static const bool can = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return can;
}
#endif

constexpr uint32_t kByte = power_of_x(8);

uint32_t power_of_bytes(uint64_t bytes) noexcept {
  uint32_t result = kOne;
  for (uint32_t square = kByte; bytes; bytes >>= 1, square = product(square, square))
    if (bytes & 1) result = product(result, square);
  return result;
}
}  // namespace

uint32_t crc32(uint32_t before, const void* data, size_t size) noexcept {
  const auto* p = static_cast<const unsigned char*>(data);
#if defined(__x86_64__)
  if (size >= 256 && can_fold_wide()) return ~run_wide_folding(~before, p, size);
  if (size >= 64 && can_fold()) return ~run_folding(~before, p, size);
#endif
  return ~run_tables(~before, p, size);
}

uint32_t crc32_joined(uint32_t first, uint32_t second, uint64_t size) noexcept {
  return product(first, power_of_bytes(size)) ^ second;
}

bool can_copy_checked() noexcept {
#if defined(__x86_64__)
  return can_fold_wide();
#else
  return false;
#endif
}

uint32_t crc32_copied(void* to, const void* from, size_t size) noexcept {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  uint32_t crc = 0;
  const auto copy = [&](size_t n) {
    std::memcpy(out, in, n);
    crc = crc32(crc, out, n);
    out += n, in += n, size -= n;
  };
#if defined(__x86_64__)
  copy(std::min(size, static_cast<size_t>(-reinterpret_cast<uintptr_t>(out) % 64)));
  if (const size_t part = size / kParts / 256 * 256; part && can_fold_wide()) {
    uint32_t crcs[kParts];
    copy_parts(out, in, part, crcs);
    const uint32_t power = power_of_bytes(part);
    for (const uint32_t one : crcs) crc = product(crc, power) ^ one;
    out += kParts * part, in += kParts * part, size -= kParts * part;
  }
#endif
  copy(size);
  return crc;
}

uint32_t crc32_parallel(uint32_t before, const void* data, size_t size) {
  const auto* p = static_cast<const unsigned char*>(data);
  const auto total = static_cast<int64_t>(size);
  if (total <= kChunk) return crc32(before, p, size);
  std::vector<uint32_t> parts(static_cast<size_t>((total + kChunk - 1) / kChunk));
  parallel_for(0, total, kChunk, [&](int64_t begin, int64_t end) {
    parts[static_cast<size_t>(begin / kChunk)] = crc32(0, p + begin, static_cast<size_t>(end - begin));
  });
  uint32_t whole = before;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t begin = static_cast<int64_t>(i) * kChunk;
    whole = crc32_joined(whole, parts[i], static_cast<uint64_t>(std::min(kChunk, total - begin)));
  }
  return whole;
}

}  // namespace tl
