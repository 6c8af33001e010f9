// Numbers that stand for storages without keeping them: each tells whether its storage is gone.
#pragma once

#include <cstdint>

#include "tensor/storage.h"

namespace tl {

// The storage's number, the same for each caller; every call needs its drop_weak_storage.
int64_t weak_storage(Storage& s);
StoragePtr lock_weak_storage(int64_t number);  // empty once the storage is gone; raises for no such number
void drop_weak_storage(int64_t number);        // raises for no such number

// Called where a storage that has a number ends: false if somebody has got a share of it meanwhile.
bool forget_weak_storage(Storage& s);

}  // namespace tl
