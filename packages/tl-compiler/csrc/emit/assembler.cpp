// The encodings: three-byte VEX and EVEX prefixes, and a base with an index in memory operands.
#include "emit/assembler.h"

namespace tl::compiler {

namespace {
// rax rcx rdx r8 r9 r10 r11 rbx rbp r12 r13 r14 r15; rdi and rsi count, rsp is the stack's.
constexpr int kRegister[Assembler::kPointers] = {0, 1, 2, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15};
constexpr int kIndex = 7;  // rdi
}  // namespace

void Assembler::u32(uint32_t x) {
  for (int i = 0; i < 4; ++i) u8(x >> (8 * i));
}

void Assembler::begin() {
  for (int byte : {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57}) u8(byte);  // push rbx … r15
}

void Assembler::load_pointer(int pointer, int slot) {
  const int r = kRegister[pointer];  // mov r, [rdi + 8 slot]
  u8(0x48 | (r >> 3) << 2);
  u8(0x8B);
  u8(0x80 | (r & 7) << 3 | kIndex);
  u32(static_cast<uint32_t>(slot) * 8);
}

void Assembler::broadcast_from(int slot, int vector) {
  load_pointer(0, slot);
  const int opcode = is_double() ? 0x19 : 0x18;  // from [rax]
  if (wide_)
    evex(1, 2, is_double(), vector, 0, false, false, 0);
  else
    vex(1, 2, false, vector, 0, false, false);
  u8(opcode);
  u8((vector & 7) << 3);
}

void Assembler::begin_loop() {
  for (int byte : {0x48, 0x31, 0xFF}) u8(byte);  // xor rdi, rdi
  loop_ = code_.size();
}

void Assembler::end_loop() {
  for (int byte : {0x48, 0x83, 0xC7, vector_bytes(), 0x48, 0x39, 0xF7, 0x0F, 0x8C}) u8(byte);
  u32(static_cast<uint32_t>(static_cast<int64_t>(loop_) - static_cast<int64_t>(code_.size() + 4)));
}

void Assembler::end() {
  for (int byte : {0x41, 0x5F, 0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5D, 0x5B}) u8(byte);  // pop r15 … rbx
  for (int byte : {0xC5, 0xF8, 0x77, 0xC3}) u8(byte);                                      // vzeroupper; ret
}

void Assembler::evex(int pp, int map, bool w, int reg, int v, bool b3, bool x, int mask) {
  u8(0x62);
  u8((~reg >> 3 & 1) << 7 | (x ? 0 : 1) << 6 | (b3 ? 0 : 1) << 5 | (~reg >> 4 & 1) << 4 | map);
  u8((w ? 1 : 0) << 7 | (~v & 15) << 3 | 4 | pp);
  u8(2 << 5 | (~v >> 4 & 1) << 3 | mask);
}

void Assembler::vex(int pp, int map, bool w, int reg, int v, bool b3, bool x) {
  u8(0xC4);
  u8((~reg >> 3 & 1) << 7 | (x ? 0 : 1) << 6 | (b3 ? 0 : 1) << 5 | map);
  u8((w ? 1 : 0) << 7 | (~v & 15) << 3 | 4 | pp);
}

void Assembler::instruction(int pp, int map, bool w, int opcode, int reg, int v, int rm, int mask) {
  if (wide_)
    evex(pp, map, w, reg, v, rm >> 3 & 1, rm >> 4 & 1, mask);
  else
    vex(pp, map, w, reg, v, rm >> 3 & 1, false);
  u8(opcode);
  u8(0xC0 | (reg & 7) << 3 | (rm & 7));
}

void Assembler::logic(int wide_opcode, int opcode, int to, int a, int b) {
  if (wide_)
    instruction(1, 1, is_double(), wide_opcode, to, a, b);
  else
    arithmetic(opcode, to, a, b);
}

// vmovups [pointer + rdi], in either direction.
void Assembler::memory(int opcode, int vector, int pointer) {
  const int base = kRegister[pointer];
  if (wide_)
    evex(prefix(), 1, is_double(), vector, 0, base >> 3, false, 0);
  else
    vex(prefix(), 1, false, vector, 0, base >> 3, false);
  u8(opcode);
  u8(0x80 | (vector & 7) << 3 | 4);
  u8(kIndex << 3 | (base & 7));
  u32(0);
}

void Assembler::load(int vector, int pointer) { memory(0x10, vector, pointer); }
void Assembler::store(int pointer, int vector) { memory(0x11, vector, pointer); }
void Assembler::stream(int pointer, int vector) { memory(0x2B, vector, pointer); }
void Assembler::end_streams() {
  for (int byte : {0x0F, 0xAE, 0xF8}) u8(byte);  // sfence
}
void Assembler::move(int to, int from) { arithmetic(0x28, to, 0, from); }

void Assembler::compare(int mask, int a, int b, int predicate) {
  arithmetic(0xC2, mask, a, b);
  u8(predicate);
}

void Assembler::select(int to, int mask, int yes, int no) {
  if (wide_) {
    instruction(1, 2, is_double(), 0x65, to, no, yes, mask);
    return;
  }
  instruction(1, 3, false, is_double() ? 0x4B : 0x4A, to, no, yes);
  u8(mask << 4);
}

}  // namespace tl::compiler
