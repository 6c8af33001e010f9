/* What `tensor_view_flags` of the table says beside the flags of c_api.h. */
#ifndef TL_VIEW_FLAGS_H
#define TL_VIEW_FLAGS_H

enum {
  TL_VIEW_INFERENCE = 4, /* taken under inference_mode */
  TL_VIEW_WRITTEN = 8    /* taken without recording, and its memory was written since */
};

#endif
