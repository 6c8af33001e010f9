// Fourier transforms of short, overlapping pieces of a signal, and the way back.
#include <array>

#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/fft/shape.h"
#include "ops/shared/known_values.h"
#include "ops/shared/warn.h"

namespace tl {

namespace {
using OptInt = std::optional<int64_t>;
using OptBool = std::optional<bool>;
using OptTensor = std::optional<Tensor>;

OptTensor window_of(const Tensor* given) { return given ? OptTensor(*given) : std::nullopt; }

// The lengths that both directions share, with their defaults.
struct Frames {
  int64_t n_fft, hop, win;
};

Frames frames_of(int64_t n_fft, OptInt hop, OptInt win) {
  return {n_fft, hop.value_or(n_fft / 4), win.value_or(n_fft)};
}

// What stands before a message: the call.
std::string call_text(const char* name, const Tensor& self, const Frames& f, const OptTensor& window) {
  std::string text = cat(name, "(", dtype_name(self.dtype()), self.sizes(), ", n_fft=", f.n_fft,
                         ", hop_length=", f.hop, ", win_length=", f.win, ", window=");
  return text + (window ? cat(dtype_name(window->dtype()), window->sizes()) : std::string("None")) + ")";
}

void check_window(const std::string& call, const char* name, const Tensor& self, const Frames& f,
                  const OptTensor& window) {
  TL_CHECK(f.win > 0 && f.win <= f.n_fft, Runtime, call,
           ": expected 0 < win_length <= n_fft, but got win_length=", f.win);
  if (!window) return;
  TL_CHECK(window->device() == self.device(), Runtime, name, " input and window must be on the same device");
  TL_CHECK(window->dim() == 1 && window->size(0) == f.win, Runtime, call,
           ": expected a 1D window tensor of size equal to win_length=", f.win, ", but got window with size ",
           window->sizes());
}

// The window in the middle of n_fft numbers, zeros around it; nothing if all of them are one.
OptTensor centred_window(const OptTensor& window, const Frames& f, TensorOptions ones) {
  if (!window && f.win == f.n_fft) return std::nullopt;
  const Tensor w =
      window ? *window : ops::ones(DimVector{f.win}, {.dtype = ones.dtype, .device = ones.device});
  const int64_t left = (f.n_fft - f.win) / 2;
  if (f.win == f.n_fft) return w;
  return ops::constant_pad_nd(w, DimVector{left, f.n_fft - f.win - left});
}

void warn_without_window(const char* name, const OptTensor& window) {
  if (!window)
    warn(cat(name,
             ": A window was not provided: a rectangular one is applied. hann_window gives a smoother one; "
             "window=torch.ones(win_length) asks for the rectangle."));
}

// ---- forward ----------------------------------------------------------------------------------------------
void check_signal(const std::string& call, const Tensor& self, const Frames& f) {
  TL_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), Runtime, call,
           ": expected a tensor of floating point or complex values");
  TL_CHECK(self.dim() == 1 || self.dim() == 2, Runtime, call, ": expected a 1D or 2D tensor, but got ",
           self.dim(), "D");
  TL_CHECK(f.n_fft > 0, Runtime, call, ": expected n_fft > 0, but got n_fft=", f.n_fft);
  TL_CHECK(f.hop > 0, Runtime, call, ": expected hop_length > 0, but got hop_length=", f.hop);
}

// A signal of [batch, time], with `half` numbers more at both ends. Reflections are copied as they are:
// padding would go number by number.
Tensor padded_signal(const Tensor& signal, int64_t half, std::string_view mode) {
  const int64_t n = signal.size(1);
  if (mode == "reflect" && half > 0 && half < n) {
    const Tensor before = ops::flip(ops::narrow(signal, 1, 1, half), DimVector{1});
    const Tensor after = ops::flip(ops::narrow(signal, 1, n - 1 - half, half), DimVector{1});
    const std::array parts{before, signal, after};
    return ops::cat(parts, 1);
  }
  return ops::squeeze_dim(ops::pad(ops::unsqueeze(signal, 0), DimVector{half, half}, mode), 0);
}

struct Output {
  bool onesided, complex;
};

// Which half of the spectrum, and which type: checked against the types that come in.
Output output_of(bool complex_input, OptBool onesided, OptBool return_complex) {
  TL_CHECK(!complex_input || !onesided.value_or(false), Runtime,
           "Cannot have onesided output if window or input is complex");
  TL_CHECK(complex_input || return_complex, Runtime,
           "stft requires the return_complex parameter be given for real inputs: True for a complex result, "
           "which is recommended, False for pairs of real and imaginary parts");
  return {onesided.value_or(!complex_input), return_complex.value_or(true)};
}

Tensor spectrum(const Tensor& frames, int64_t normalization, bool onesided) {
  const DimVector last{frames.dim() - 1};
  return is_complex(frames.dtype()) ? ops::_fft_c2c(frames, last, normalization, true)
                                    : ops::_fft_r2c(frames, last, normalization, onesided);
}

struct Placement {
  bool center;
  std::string_view pad_mode;
  bool align_to_window;
};

// [batch, frame, n_fft].
Tensor framed(const std::string& call, const Tensor& self, const Frames& f, const Placement& p) {
  Tensor signal = self.dim() == 1 ? ops::unsqueeze(self, 0) : self;
  if (p.center) signal = padded_signal(signal, f.n_fft / 2, p.pad_mode);
  TL_CHECK(f.n_fft <= signal.size(1), Runtime, call, ": expected 0 < n_fft <= ", signal.size(1),
           ", the length of the signal, but got n_fft=", f.n_fft);
  if (p.align_to_window && f.win < f.n_fft) {  // frames begin where their windows do
    const int64_t left = (f.n_fft - f.win) / 2;
    signal = ops::constant_pad_nd(signal, DimVector{left, f.n_fft - f.win - left});
  }
  return ops::unfold(signal, 1, f.n_fft, f.hop);
}

Tensor stft(const StftCenterArgs& a) {
  const auto& [self, n_fft, hop_length, win_length, given_window, center, pad_mode, normalized, onesided,
               return_complex, align_to_window] = a;
  const OptTensor window = window_of(given_window);
  const Frames f = frames_of(n_fft, hop_length, win_length);
  const std::string call = call_text("stft", self, f, window);
  check_signal(call, self, f);
  check_window(call, "stft", self, f, window);
  const bool complex_input = is_complex(self.dtype()) || (window && is_complex(window->dtype()));
  const Output output = output_of(complex_input, onesided, return_complex);
  TL_CHECK(!center || !align_to_window, Runtime,
           "stft align_to_window should only be set when center = false");
  if (!output.complex && !complex_input)
    warn("stft with return_complex=False is deprecated: call view_as_real on a complex result instead.");
  warn_without_window("stft", window);
  Tensor frames = framed(call, self, f, {center, pad_mode, align_to_window.value_or(false)});
  if (const OptTensor w = centred_window(window, f, {to_real(self.dtype()), self.device()}))
    frames = ops::mul(frames, *w);
  Tensor result =
      ops::transpose_int(spectrum(frames, normalized ? kFftByRoot : kFftUnscaled, output.onesided), 1, 2);
  if (self.dim() == 1) result = ops::squeeze_dim(result, 0);
  return output.complex ? result : ops::view_as_real(result);
}

// ---- backward ---------------------------------------------------------------------------------------------
void check_spectrum(const std::string& call, const Tensor& self, const Frames& f, bool onesided) {
  TL_CHECK(self.numel() != 0, Runtime, call, ": input tensor cannot be empty");
  TL_CHECK(f.n_fft > 0, Runtime, call, ": expected n_fft > 0, but got n_fft=", f.n_fft);
  const int64_t bins = self.size(-2 + self.dim()), expected = onesided ? f.n_fft / 2 + 1 : f.n_fft;
  TL_CHECK(bins == expected, Runtime, call, ": expected the frequency dimension of the input to match ",
           onesided ? "n_fft / 2 + 1 when onesided=True" : "n_fft when onesided=False", ", but got ", bins);
  TL_CHECK(f.hop > 0 && f.hop <= f.win, Runtime, call, ": expected 0 < hop_length <= win_length");
}

// Frames of [batch, frame, n_fft] from spectra of [batch, bin, frame].
Tensor inverse_spectrum(const Tensor& spectra, int64_t n_fft, int64_t normalization, bool to_complex_frames) {
  const Tensor rows = ops::transpose_int(spectra, 1, 2);
  const DimVector last{2};
  if (to_complex_frames) return ops::_fft_c2c(rows, last, normalization, false);
  return ops::_fft_c2r(ops::narrow(rows, 2, 0, n_fft / 2 + 1), last, normalization, n_fft);
}

// Where the signal lies in the sum of all frames.
struct Range {
  int64_t begin, end, total;
};

Range range_of(const Frames& f, int64_t count, bool center, OptInt length) {
  const int64_t total = checked_add(f.n_fft, checked_mul(f.hop, count - 1)), begin = center ? f.n_fft / 2 : 0;
  return {begin, length ? checked_add(begin, *length) : total - begin, total};
}

// The sum of overlapping frames.
Tensor overlapped(const Tensor& frames, const Frames& f, int64_t total) {
  return ops::unfold_backward(frames, DimVector{frames.size(0), total}, 1, f.n_fft, f.hop);
}

Tensor envelope_of(const std::string& call, const Tensor& window, const Frames& f, int64_t count,
                   const Range& r) {
  const Tensor squares = ops::expand(ops::mul(window, window), DimVector{1, count, f.n_fft});
  const int64_t end = std::min(r.end, r.total);
  const Tensor envelope = ops::narrow(overlapped(squares, f, r.total), 1, r.begin, end - r.begin);
  if (has_known_values(envelope)) {
    const double lowest = ops::_local_scalar_dense(ops::min(ops::abs(envelope))).to_double();
    TL_CHECK(lowest > 1e-11, Runtime, call, ": window overlap add min: ", lowest,
             ": the windows must nowhere add up to zero where the signal is wanted");
  }
  return envelope;
}

void check_istft_types(const Tensor& self, const OptTensor& window, OptBool onesided, bool return_complex) {
  TL_CHECK(is_complex(self.dtype()), Runtime,
           "istft requires a complex-valued input tensor matching the output from stft with "
           "return_complex=True.");
  const bool complex_window = window && is_complex(window->dtype());
  TL_CHECK(!return_complex || !onesided.value_or(false), Runtime,
           "Cannot have onesided output if window or input is complex");
  TL_CHECK(return_complex || !complex_window, Runtime,
           "Complex windows are incompatible with return_complex=False");
}

// Overlap-add: inverse transforms of the frames times the window, summed, divided by the sum of the squared
// windows (the envelope), which must not vanish.
Tensor istft(const IstftArgs& a) {
  const auto& [self, n_fft, hop_length, win_length, given_window, center, normalized, onesided, length,
               return_complex] = a;
  const OptTensor window = window_of(given_window);
  const Frames f = frames_of(n_fft, hop_length, win_length);
  const std::string call = call_text("istft", self, f, window);
  check_istft_types(self, window, onesided, return_complex);
  TL_CHECK(self.dim() == 2 || self.dim() == 3, Runtime, call,
           ": expected a complex tensor with 2 or 3 dimensions, but got ", self.dim());
  const bool half = onesided.value_or(!return_complex && self.size(self.dim() - 2) != n_fft);
  check_spectrum(call, self, f, half);
  check_window(call, "istft", self, f, window);
  TL_CHECK(!length || *length > 0, Runtime, call,
           ": expected length > 0, but got length=", length.value_or(0));
  warn_without_window("istft", window);
  const Tensor spectra = self.dim() == 2 ? ops::unsqueeze(self, 0) : self;
  const int64_t count = spectra.size(2);
  const Range r = range_of(f, count, center, length);
  TL_CHECK(r.end > r.begin && r.begin < r.total, Runtime, call, ": ", count,
           " frames leave no signal to return");
  const Tensor frames =
      inverse_spectrum(spectra, n_fft, normalized ? kFftByRoot : kFftByLength, return_complex);
  const OptTensor given = centred_window(window, f, {to_real(self.dtype()), self.device()});
  const Tensor w =
      given ? *given : ops::ones(DimVector{n_fft}, {.dtype = to_real(self.dtype()), .device = self.device()});
  const Tensor envelope = envelope_of(call, w, f, count, r);
  const Tensor sum = overlapped(given ? ops::mul(frames, w) : frames, f, r.total);
  Tensor signal = ops::div(ops::narrow(sum, 1, r.begin, envelope.size(1)), envelope);
  if (r.end > r.total) {
    warn("istft: The length of signal is shorter than the length parameter. The signal ends with zeros.");
    signal = ops::constant_pad_nd(signal, DimVector{0, r.end - r.total});
  }
  return self.dim() == 2 ? ops::squeeze_dim(signal, 0) : signal;
}
}  // namespace

TL_KERNEL(stft_center, stft)
TL_KERNEL(istft, istft)

}  // namespace tl
