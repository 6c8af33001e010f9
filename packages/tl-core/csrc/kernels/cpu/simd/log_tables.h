// Logarithms of floats by tables of sixteen, which one instruction of AVX-512 looks up: at most 1.2 units in
// the last place off, whole numbers whole.
//
// x = (1 + r) c 2^k, with c of the table and r from -1/32 to 1/16, has the logarithm k log 2 + log c plus
// that of 1 + r. The first two terms' upper parts are short enough to be added without loss. The first and
// the last c are 1 and 2: next to powers of two nothing but the third term is left to round.
#pragma once

#include "kernels/cpu/simd/polynomial.h"
#include "kernels/cpu/simd/vec.h"

#if TL_ISA_LEVEL >= 4

namespace tl::cpu::TL_ISA_NAMESPACE {

// In parts, an upper and a lower one, which is zero where it is not needed.
struct LogTable {
  float two[2];     // log 2
  float factor[2];  // of natural logarithms, to get to this base
  float series[4];  // (log(1 + r) - r * factor) / r^2, the highest power first
  VecF logs[2];     // log c
};

inline constexpr LogTable kLogE = {
    {0x1.62e4p-1f, 0x1.7f7d1cp-20f},
    {1.0f, 0.0f},
    {0x1.826f18p-3f, -0x1.00139cp-2f, 0x1.555836p-2f, -0x1p-1f},
    {{0.0f, 0x1.7p-4f, 0x1.287p-3f, 0x1.95ap-3f, 0x1.f99p-3f, 0x1.2eap-2f, 0x1.5d58p-2f, 0x1.887p-2f,
      0x1.b3e8p-2f, 0x1.dc8p-2f, 0x1.028cp-1f, 0x1.151cp-1f, 0x1.2778p-1f, 0x1.399cp-1f, 0x1.4a7cp-1f,
      0x1.62e4p-1f},
     {0.0f, 0x1.a615d6p-17f, 0x1.4ef046p-17f, 0x1.6b73dcp-17f, 0x1.c6cb3cp-19f, -0x1.d431eep-18f,
      0x1.eefacap-17f, 0x1.b2c194p-17f, -0x1.05f726p-19f, -0x1.4c2e6ep-18f, 0x1.2d6a96p-17f, 0x1.fb794cp-20f,
      0x1.e1ec94p-17f, -0x1.ea85ap-17f, -0x1.e10382p-19f, 0x1.7f7d1cp-20f}}};

inline constexpr LogTable kLog2 = {
    {1.0f, 0.0f},
    {0x1.715476p+0f, 0x1.4ae0cp-26f},
    {0x1.16e29ep-2f, -0x1.7172eap-2f, 0x1.ec74bcp-2f, -0x1.715476p-1f},
    {{0.0f, 0x1.098p-3f, 0x1.abbp-3f, 0x1.249cp-2f, 0x1.6cbp-2f, 0x1.b494p-2f, 0x1.f804p-2f, 0x1.1b18p-1f,
      0x1.3a7p-1f, 0x1.57b8p-1f, 0x1.7502p-1f, 0x1.8fcap-1f, 0x1.aa48p-1f, 0x1.c46ep-1f, 0x1.dccap-1f, 1.0f},
     {0.0f, -0x1.c731ap-19f, 0x1.654f64p-18f, 0x1.a5627ap-19f, 0x1.ed0cbap-19f, 0x1.d4e918p-18f,
      0x1.5d1a1ap-19f, -0x1.7b6524p-21f, 0x1.f287d2p-20f, -0x1.47fc7p-21f, 0x1.98945p-18f, -0x1.b66ecap-18f,
      0x1.59ae54p-20f, 0x1.20ed98p-18f, -0x1.d01a7ep-18f, 0.0f}}};

inline constexpr LogTable kLog10 = {
    {0x1.344p-2f, 0x1.3509f8p-18f},
    {0x1.bcb7b2p-2f, -0x1.5b235ep-27f},
    {0x1.4f63ep-4f, -0x1.bcd54ep-4f, 0x1.287cfep-3f, -0x1.bcb7b2p-3f},
    {{0.0f, 0x1.3fcp-5f, 0x1.018p-4f, 0x1.606p-4f, 0x1.b72p-4f, 0x1.06ep-3f, 0x1.2f7p-3f, 0x1.54ep-3f,
      0x1.7aap-3f, 0x1.9dep-3f, 0x1.c12p-3f, 0x1.e16p-3f, 0x1.00a8p-2f, 0x1.1068p-2f, 0x1.1f1p-2f,
      0x1.344p-2f},
     {0.0f, -0x1.08399cp-17f, 0x1.9924ap-26f, -0x1.19422cp-17f, 0x1.cd1716p-20f, -0x1.90eb1p-17f,
      0x1.80e7a8p-18f, 0x1.be6332p-20f, -0x1.bac28ap-20f, 0x1.a87f0cp-20f, 0x1.9831ccp-17f, 0x1.ea93f4p-18f,
      -0x1.25d7b2p-17f, -0x1.ef1878p-17f, -0x1.27562ap-17f, 0x1.3509f8p-18f}}};

// 1 / c; 2 / c of the upper half, of which the mantissas are halved.
inline constexpr VecF kLogInverses = {
    1.0f,        0x1.d4p-1f,  0x1.bbp-1f, 0x1.a4p-1f, 0x1.9p-1f,   0x1.7dp-1f,  0x1.6cp-1f,  0x1.5dp-1f,
    0x1.4e8p+0f, 0x1.418p+0f, 0x1.35p+0f, 0x1.2ap+0f, 0x1.1f8p+0f, 0x1.158p+0f, 0x1.0c8p+0f, 1.0f};

// What has no logarithm comes apart so that it leads to the right end: infinity and zero have an infinite k,
// a negative number's mantissa is NaN.
template <const LogTable& table>
TL_INLINE VecF log_by(VecF x) {
  const VecF mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
  const VecF k = _mm512_getexp_ps(x);
  const __m512i which = _mm512_srli_epi32(bitcast<__m512i>(mantissa), 19);  // its last four bits count
  const auto pick = [&](VecF of) -> VecF { return _mm512_permutexvar_ps(which, of); };

  const VecF r = fma(mantissa, pick(kLogInverses), VecF{} - 1.0f);
  VecF low = pick(table.logs[1]);
  if (table.two[1] != 0) low = fma(k, VecF{} + table.two[1], low);
  if (table.factor[1] != 0) low = fma(r, VecF{} + table.factor[1], low);
  const auto& s = table.series;
  low = fma(r * r, polynomial(r, s[0], s[1], s[2], s[3]), low);
  low = table.factor[0] == 1 ? r + low : fma(r, VecF{} + table.factor[0], low);
  return fma(k, VecF{} + table.two[0], pick(table.logs[0])) + low;
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#endif
