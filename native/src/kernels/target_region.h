// Opens and closes a region compiled for one instruction set, for GCC and clang. Standard headers
// must be included before it, so that no inline function of theirs is compiled for that set.
#pragma once

#define KVQ_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define KVQ_TARGET_BEGIN(list) \
  KVQ_PRAGMA(clang attribute push(__attribute__((target(list))), apply_to = function))
#define KVQ_TARGET_END KVQ_PRAGMA(clang attribute pop)
#else
#define KVQ_TARGET_BEGIN(list) KVQ_PRAGMA(GCC push_options) KVQ_PRAGMA(GCC target(list))
#define KVQ_TARGET_END KVQ_PRAGMA(GCC pop_options)
#endif
