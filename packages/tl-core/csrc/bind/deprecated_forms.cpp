// Deprecated signatures: positional factors are moved to today's keywords, then the call is parsed again.
#include "bind/deprecated_forms.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "bind/error.h"
#include "ops/shared/warn.h"

namespace tl::bind {

namespace {
// `beta` stands before the tensor that it scales, `factor` behind it.
struct OlderForm {
  std::string_view name;
  const char* factor;
  size_t tensors;
  bool has_beta;
};
constexpr std::array kOlderForms{
    OlderForm{"add", "alpha", 2, false},     OlderForm{"sub", "alpha", 2, false},
    OlderForm{"addcmul", "value", 3, false}, OlderForm{"addcdiv", "value", 3, false},
    OlderForm{"addmm", "alpha", 3, true},    OlderForm{"addbmm", "alpha", 3, true},
    OlderForm{"baddbmm", "alpha", 3, true},  OlderForm{"addmv", "alpha", 3, true},
    OlderForm{"addr", "alpha", 3, true},     OlderForm{"sspaddmm", "alpha", 3, true}};

const OlderForm* older_form(std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  const auto* found = std::ranges::find(kOlderForms, name, &OlderForm::name);
  return found == kOlderForms.end() ? nullptr : found;
}

bool is_factor(PyObject* o) { return PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o); }

// The numbers' positions among all arguments, the method's own tensor included.
bool are_where_older_forms_have_them(const OlderForm& form, const std::vector<size_t>& at, bool method) {
  if (!form.has_beta) return at == std::vector<size_t>{1};
  const size_t beta = method ? 1 : 0;
  return at == std::vector<size_t>{beta} || at == std::vector<size_t>{beta, 2};
}
}  // namespace

// Numbers among the positional arguments become keywords where the older form had them; nothing is returned
// for any other call.
std::optional<TodaysForm> todays_form(const char* name, const PyArgs& in) {
  const OlderForm* form = older_form(name);
  if (!form) return std::nullopt;
  std::vector<PyObject*> given, tensors, numbers;
  if (in.self) given.push_back(in.self);
  given.insert(given.end(), in.args, in.args + in.nargs);
  std::vector<size_t> at;
  for (size_t i = 0; i < given.size(); ++i) {
    if (is_factor(given[i])) at.push_back(i);
    (is_factor(given[i]) ? numbers : tensors).push_back(given[i]);
  }
  if (tensors.size() != form->tensors || !are_where_older_forms_have_them(*form, at, in.self))
    return std::nullopt;
  const char* first = form->has_beta ? "beta" : form->factor;
  warn(cat("This overload of ", name, " is deprecated: give ", first, numbers.size() > 1 ? " and alpha" : "",
           " by name, behind the tensors."));

  TodaysForm today{std::move(tensors), PyRef{}, static_cast<Py_ssize_t>(form->tensors)};
  const Py_ssize_t n_keywords = in.n_keywords();
  today.keywords = checked(PyTuple_New(n_keywords + static_cast<Py_ssize_t>(numbers.size())));
  for (Py_ssize_t i = 0; i < n_keywords; ++i) {
    PyTuple_SET_ITEM(today.keywords.get(), i, Py_NewRef(in.keyword(i)));
    today.args.push_back(in.keyword_value(i));
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    PyRef keyword = checked(PyUnicode_FromString(i ? "alpha" : first));
    PyTuple_SET_ITEM(today.keywords.get(), n_keywords + static_cast<Py_ssize_t>(i), keyword.release());
    today.args.push_back(numbers[i]);
  }
  return today;
}

}  // namespace tl::bind
