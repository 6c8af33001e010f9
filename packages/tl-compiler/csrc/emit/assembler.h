// Machine code for loops of arithmetic on vectors: x86-64 with AVX-512 (EVEX) or AVX2 (VEX).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tl::compiler {

enum class Lane : uint8_t { Float, Double };
enum class Level : uint8_t { None, Avx2, Avx512 };

// Registers of the loop: pointers lie in general registers, the offset in rdi, its end in rsi.
class Assembler {
 public:
  Assembler(Level level, Lane lane) : wide_(level == Level::Avx512), lane_(lane) {}

  static constexpr int kPointers = 13;
  int vectors() const { return wide_ ? 32 : 16; }
  int vector_bytes() const { return wide_ ? 64 : 32; }
  int lane_bytes() const { return lane_ == Lane::Float ? 4 : 8; }
  bool has_mask_registers() const { return wide_; }

  void begin();                               // saves what the caller keeps
  void load_pointer(int pointer, int slot);   // from the table in rdi
  void broadcast_from(int slot, int vector);  // the number that the table's entry points at
  void begin_loop();
  void end_loop();  // steps on, and goes back while elements are left
  void end();

  void load(int vector, int pointer);
  void store(int pointer, int vector);
  void stream(int pointer, int vector);  // past the caches, to whole lines
  void end_streams();
  void move(int to, int from);
  void add(int to, int a, int b) { arithmetic(0x58, to, a, b); }
  void mul(int to, int a, int b) { arithmetic(0x59, to, a, b); }
  void sub(int to, int a, int b) { arithmetic(0x5C, to, a, b); }
  void min(int to, int a, int b) { arithmetic(0x5D, to, a, b); }
  void div(int to, int a, int b) { arithmetic(0x5E, to, a, b); }
  void max(int to, int a, int b) { arithmetic(0x5F, to, a, b); }
  void sqrt(int to, int from) { arithmetic(0x51, to, 0, from); }
  void bit_and(int to, int a, int b) { logic(0xDB, 0x54, to, a, b); }
  void bit_xor(int to, int a, int b) { logic(0xEF, 0x57, to, a, b); }
  // Masks are registers of their own with AVX-512, vectors with AVX2.
  void compare(int mask, int a, int b, int predicate);
  void select(int to, int mask, int yes, int no);

  const std::vector<uint8_t>& code() const { return code_; }

 private:
  void u8(int x) { code_.push_back(static_cast<uint8_t>(x)); }
  void u32(uint32_t x);
  int prefix() const { return lane_ == Lane::Double ? 1 : 0; }
  bool is_double() const { return lane_ == Lane::Double; }
  void arithmetic(int opcode, int to, int a, int b) {
    instruction(prefix(), 1, is_double(), opcode, to, a, b);
  }
  void logic(int wide_opcode, int opcode, int to, int a, int b);
  // reg, second operand, register operand; `mask` only with EVEX.
  void instruction(int pp, int map, bool w, int opcode, int reg, int v, int rm, int mask = 0);
  void evex(int pp, int map, bool w, int reg, int v, bool b3, bool x, int mask);
  void vex(int pp, int map, bool w, int reg, int v, bool b3, bool x);
  void memory(int opcode, int vector, int pointer);

  bool wide_;
  Lane lane_;
  std::vector<uint8_t> code_;
  size_t loop_ = 0;
};

}  // namespace tl::compiler
