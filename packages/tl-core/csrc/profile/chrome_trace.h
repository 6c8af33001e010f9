// A recording as a Chrome trace: JSON that Perfetto, chrome://tracing and TensorBoard's plug-in read.
#pragma once

#include "profile/recorded_events.h"

namespace tl {

// `head` and `tail` are JSON that stands before the first event and behind the last one; they end and begin
// with the comma that is needed. Throws FileError.
void write_chrome_trace(const Recording& recording, const std::string& path, const std::string& head,
                        const std::string& tail, bool links);

}  // namespace tl
