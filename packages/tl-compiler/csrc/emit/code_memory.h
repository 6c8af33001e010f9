// Memory for machine code. It is written first and executed then, never both; where the system refuses it,
// there is no code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tl::compiler {

using Code = void (*)(const void* const* table, int64_t bytes);

// The code of a key, or NULL.
Code find_code(const std::string& key);
// Keeps code for the life of the process; NULL where no memory can be executed, or enough is kept already.
Code keep_code(const std::string& key, const std::vector<uint8_t>& bytes);

}  // namespace tl::compiler
