// Words to values of the C interface and back, by the type that the schema states.
#include "stable_abi/values.h"

#include <cstring>

namespace tl::stable {

namespace {
template <class T>
T* pointer(Word word) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(word));
}
template <class T>
Word word(T* pointer) {
  return static_cast<Word>(reinterpret_cast<uintptr_t>(pointer));
}

bool is_tensor_list(uint8_t kind) {
  return kind == TL_ARG_TENSOR_LIST || kind == TL_ARG_OPTIONAL_TENSOR_LIST;
}
bool is_list(uint8_t kind) {
  return is_tensor_list(kind) || (kind >= TL_ARG_INT_LIST && kind <= TL_ARG_SCALAR_LIST);
}
// The kind of a list's elements.
Slot element_of(const Slot& list) {
  switch (list.kind) {
    case TL_ARG_TENSOR_LIST:
      return {TL_ARG_TENSOR, false, list.name};
    case TL_ARG_OPTIONAL_TENSOR_LIST:
      return {TL_ARG_TENSOR, true, list.name};
    case TL_ARG_FLOAT_LIST:
      return {TL_ARG_FLOAT, false, list.name};
    case TL_ARG_BOOL_LIST:
      return {TL_ARG_BOOL, false, list.name};
    case TL_ARG_SCALAR_LIST:
      return {TL_ARG_SCALAR, false, list.name};
    default:
      return {TL_ARG_INT, false, list.name};
  }
}

TlValue listed(uint32_t tag, const void* data, size_t n) {
  TlValue v = tagged(tag);
  v.len = static_cast<uint32_t>(n);
  v.u.p = data;
  return v;
}

[[noreturn]] void refuse(const Slot& slot) {
  fail(std::string("the argument or result '") + slot.name +
       "' has a type that PyTorch's stable interface does not pass (kind " + std::to_string(slot.kind) + ")");
}
}  // namespace

TlValue tagged(uint32_t tag, int64_t i) {
  TlValue v;
  v.tag = tag;
  v.len = 0;
  v.u.i = i;
  return v;
}

double float_of(Word word) {
  double number;
  std::memcpy(&number, &word, sizeof number);
  return number;
}

Word word_of_float(double number) {
  Word word;
  std::memcpy(&word, &number, sizeof word);
  return word;
}

// ---- from words -------------------------------------------------------------------------------------------

Arena::~Arena() {
  for (TlTensor* t : tensors_) api().tensor_release(t);
  for (TlGenerator* g : generators_) extension().generator_release(g);
}

TlValue Arena::take(Word word, const Slot& slot) {
  if (!slot.optional) return take_present(word, slot);
  const std::unique_ptr<Word> box(pointer<Word>(word));
  return box ? take_present(*box, slot) : tagged(TL_NONE);
}

TlValue Arena::take_tensor(Handle h, bool optional) {
  std::unique_ptr<Box> box(box_of(h));
  TlTensor* t = tensor_or_null(h);
  if (t) tensors_.push_back(t);
  if (!t && !optional) return tagged(TL_NONE);
  TlValue v = tagged(t ? TL_TENSOR : TL_NONE);
  v.u.t = t;
  return v;
}

// The word of an argument that is not None, by its kind.
TlValue Arena::take_present(Word word, const Slot& slot) {
  switch (slot.kind) {
    case TL_ARG_TENSOR:
    case TL_ARG_OPERAND:
      return take_tensor(pointer<Opaque>(word), slot.optional);
    case TL_ARG_BOOL:
      return tagged(TL_BOOL, (word & 0xff) != 0);
    case TL_ARG_INT:
      return tagged(TL_INT, static_cast<int64_t>(word));
    case TL_ARG_SCALAR:
    case TL_ARG_FLOAT: {
      TlValue v = tagged(TL_FLOAT);
      v.u.f = float_of(word);
      return v;
    }
    case TL_ARG_DTYPE:
      return tagged(TL_DTYPE, dtype_from_stable(static_cast<int32_t>(word)));
    case TL_ARG_LAYOUT:
      return tagged(TL_LAYOUT, layout_from_stable(static_cast<int32_t>(word)));
    case TL_ARG_MEMORY_FORMAT:
      return tagged(TL_MEMORY_FORMAT, static_cast<int32_t>(word));
    case TL_ARG_DEVICE:
      return tagged(TL_DEVICE,
                    device_from_stable(static_cast<int32_t>(word >> 32), static_cast<int32_t>(word)));
    case TL_ARG_STRING: {
      const auto& text = strings_.emplace_back(pointer<String>(word));
      return listed(TL_STRING, text->data(), text->size());
    }
    case TL_ARG_GENERATOR: {
      auto* g = pointer<TlGenerator>(word);
      if (g) generators_.push_back(g);
      TlValue v = tagged(g ? TL_GENERATOR : TL_NONE);
      v.u.p = g;
      return v;
    }
    default:
      if (!is_list(slot.kind)) refuse(slot);
      return take_list(std::unique_ptr<List>(pointer<List>(word)), slot);
  }
}

TlValue Arena::take_tensors(const List& list, bool optional) {
  auto& handles = lists_.emplace_back();
  for (const Word item : list) handles.push_back(take(item, {TL_ARG_TENSOR, optional, ""}).u.t);
  return listed(TL_TENSOR_LIST, handles.data(), handles.size());
}

// Lists are copied: their elements have 64 bits each, those of values have as many as they need.
TlValue Arena::take_list(std::unique_ptr<List> list, const Slot& slot) {
  switch (slot.kind) {
    case TL_ARG_TENSOR_LIST:
      return take_tensors(*list, false);
    case TL_ARG_OPTIONAL_TENSOR_LIST:
      return take_tensors(*list, true);
    case TL_ARG_FLOAT_LIST: {
      auto& floats = floats_.emplace_back();
      for (const Word item : *list) floats.push_back(float_of(item));
      return listed(TL_FLOAT_LIST, floats.data(), floats.size());
    }
    case TL_ARG_BOOL_LIST: {
      auto& bools = bools_.emplace_back();
      for (const Word item : *list) bools.push_back((item & 0xff) != 0);
      return listed(TL_BOOL_LIST, bools.data(), bools.size());
    }
    case TL_ARG_SCALAR_LIST: {
      auto& values = values_.emplace_back();
      for (const Word item : *list) values.push_back(take(item, {TL_ARG_FLOAT, false, slot.name}));
      return listed(TL_SCALAR_LIST, values.data(), values.size());
    }
    default: {
      auto& ints = ints_.emplace_back(list->begin(), list->end());
      return listed(TL_INT_LIST, ints.data(), ints.size());
    }
  }
}

// ---- to words ---------------------------------------------------------------------------------------------

namespace {
double number_of(const TlValue& v, const Slot& slot) {
  if (v.tag == TL_FLOAT) return v.u.f;
  if (v.tag == TL_INT || v.tag == TL_BOOL) return static_cast<double>(v.u.i);
  fail(std::string("the argument '") + slot.name +
       "' is a complex number, which PyTorch's stable interface does not pass");
}

TlValue item_of(const TlValue& list, uint32_t i) {
  TlValue v = tagged(TL_NONE);
  switch (list.tag) {
    case TL_TENSOR_LIST:
      v.u.t = static_cast<TlTensor* const*>(list.u.p)[i];
      v.tag = v.u.t ? TL_TENSOR : TL_NONE;
      return v;
    case TL_INT_LIST:
      return tagged(TL_INT, static_cast<const int64_t*>(list.u.p)[i]);
    case TL_BOOL_LIST:
      return tagged(TL_BOOL, static_cast<const uint8_t*>(list.u.p)[i]);
    case TL_FLOAT_LIST:
      v.tag = TL_FLOAT;
      v.u.f = static_cast<const double*>(list.u.p)[i];
      return v;
    default:
      return static_cast<const TlValue*>(list.u.p)[i];
  }
}

Word word_of_list(const TlValue& v, const Slot& slot) {
  const Slot element = element_of(slot);
  auto list = std::make_unique<List>();
  list->reserve(v.len);
  for (uint32_t i = 0; i < v.len; ++i) list->push_back(word_of(item_of(v, i), element));
  return word(list.release());
}

Word word_of_device(int64_t device) {
  const auto type = static_cast<uint32_t>(device_type_to_stable(device));
  return static_cast<Word>(type) << 32 | static_cast<uint32_t>(TL_DEVICE_INDEX(device));
}

Word word_of_generator(const TlValue& v) {
  auto* g = static_cast<TlGenerator*>(const_cast<void*>(v.u.p));
  extension().generator_retain(g);
  return word(g);
}

// The opposite of `take_present`.
Word word_of_present(const TlValue& v, const Slot& slot) {
  switch (slot.kind) {
    case TL_ARG_TENSOR:
    case TL_ARG_OPERAND:
      return word(shared_handle(v.tag == TL_TENSOR ? v.u.t : nullptr));
    case TL_ARG_BOOL:
    case TL_ARG_INT:
    case TL_ARG_MEMORY_FORMAT:
      return static_cast<Word>(v.u.i);
    case TL_ARG_SCALAR:
    case TL_ARG_FLOAT:
      return word_of_float(number_of(v, slot));
    case TL_ARG_DTYPE:
      return static_cast<Word>(dtype_to_stable(v.u.i));
    case TL_ARG_LAYOUT:
      return static_cast<Word>(layout_to_stable(v.u.i));
    case TL_ARG_DEVICE:
      return word_of_device(v.u.i);
    case TL_ARG_STRING:
      return word(new String(static_cast<const char*>(v.u.p), v.len));
    case TL_ARG_GENERATOR:
      if (v.tag == TL_GENERATOR) return word_of_generator(v);
      break;
    default:
      if (is_list(slot.kind)) return word_of_list(v, slot);
  }
  refuse(slot);
}
}  // namespace

Word word_of(const TlValue& value, const Slot& slot) {
  if (!slot.optional) return word_of_present(value, slot);
  if (value.tag == TL_NONE) return 0;
  auto box = std::make_unique<Word>(word_of_present(value, slot));
  return word(box.release());
}

void release_word(Word w, const Slot& slot) {
  Arena arena;
  attempt([&] { arena.take(w, slot); });
}

}  // namespace tl::stable

// ---- lists, strings, places, generators -------------------------------------------------------------------

using namespace tl::stable;

TL_STABLE Status torch_new_list_reserve_size(size_t size, List** ret) {
  return attempt([&] {
    auto list = std::make_unique<List>();
    list->reserve(size);
    *ret = list.release();
  });
}
TL_STABLE Status torch_list_size(List* list, size_t* size) {
  *size = list->size();
  return 0;
}
TL_STABLE Status torch_list_get_item(List* list, size_t index, Word* element) {
  return attempt([&] { *element = list->at(index); });
}
TL_STABLE Status torch_list_set_item(List* list, size_t index, Word element) {
  return attempt([&] { list->at(index) = element; });
}
TL_STABLE Status torch_list_push_back(List* list, Word element) {
  return attempt([&] { list->push_back(element); });
}
TL_STABLE Status torch_delete_list(List* list) {
  delete list;
  return 0;
}

TL_STABLE Status torch_new_string_handle(const char* data, size_t length, String** handle) {
  return attempt([&] { *handle = new String(data, length); });
}
TL_STABLE Status torch_delete_string(String* handle) {
  delete handle;
  return 0;
}
TL_STABLE Status torch_string_length(String* handle, size_t* length) {
  *length = handle->size();
  return 0;
}
TL_STABLE Status torch_string_c_str(String* handle, const char** data) {
  *data = handle->c_str();
  return 0;
}

TL_STABLE Status torch_new_stable_ivalue(Word** ret) {
  return attempt([&] { *ret = new Word(0); });
}
TL_STABLE Status torch_delete_stable_ivalue(Word* value) {
  if (!value) return keep_failure("torch_delete_stable_ivalue: the pointer is NULL");
  delete value;
  return 0;
}

TL_STABLE Status torch_new_generator_handle(TlGenerator* self, TlGenerator** ret) {
  extension().generator_retain(self);
  *ret = self;
  return 0;
}
TL_STABLE Status torch_delete_generator(TlGenerator* generator) {
  if (generator) extension().generator_release(generator);
  return 0;
}
TL_STABLE Status torch_generator_get_device(TlGenerator* generator, int32_t* type, int32_t* index) {
  const int64_t device = extension().generator_device(generator);
  *type = device_type_to_stable(device);
  *index = TL_DEVICE_INDEX(device);
  return 0;
}
