// A function of libstdc++ 13 that extensions may need where the system's library is older: their build leaves
// it to PyTorch's libraries.
#include <cstring>
#include <string>

// The member of std::string that writes n2 characters of `s` over n1 at `p`, where `s` is within the string
// itself; `tail` characters follow.
extern "C" __attribute__((visibility("default"))) void tl_replace_cold(
    void*, char* p, size_t n1, const char* s, const size_t n2,
    const size_t tail) asm("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm");

void tl_replace_cold(void*, char* p, size_t n1, const char* s, const size_t n2, const size_t tail) {
  const std::string text(s, n2);
  if (tail && n1 != n2) std::memmove(p + n2, p + n1, tail);
  std::memcpy(p, text.data(), n2);
}
