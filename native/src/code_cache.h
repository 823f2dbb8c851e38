// The adaptive cache of one sequence: the first tokens (sinks) and the last ones (window) as
// halves, everything between as codes of 2 to 16 bits, chosen per token, layer, KV head and K or V.
//
// A quantized token has a class at each layer and head: kTag | vTag << 2, tags being indices into
// the ladder of widths. Classes are kept in the order of positions; the tokens of one class of one
// head lie in the same order in a list of blocks of 16. So classes say where a token is.
//
// Keys are stored after RoPE, or before it (CodeModel::before_rope), both keys and values less
// their mean and Hadamard-transformed. What is passed in and out here is in that space, unless it
// says otherwise. Keys stored before RoPE do not know their position: attention turns them when it
// reads them, and they move without being touched.
//
// Threads: one thread at a time, except that append, store, load and the const members may run for
// different (layer, head) at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "kv_cache.h"
#include "memory.h"
#include "page_pool.h"

namespace kvq {

constexpr int kClasses = 16;

inline int k_tag(int cls) { return cls & 3; }
inline int v_tag(int cls) { return cls >> 2; }

// What all caches of a model and controller have in common. Constant while caches use it.
struct CodeModel {
  CacheShape shape;           // capacity is not used; head_dim a multiple of 32
  std::array<int, 4> ladder;  // ascending widths out of 2, 3, 4, 8, 16
  int sinks = 4;
  int window = 32;
  bool before_rope = false;                    // how keys are stored; k_mean is of such keys
  uint32_t fingerprint = 0;                    // of the model
  std::vector<float> k_mean, v_mean;           // [layers][kv_heads][head_dim]
  std::vector<int8_t> k_exponent, v_exponent;  // [layers][kv_heads]
  std::vector<float> frequencies;              // [head_dim / 2] of RoPE, radians per position

  // Throws Error("argument") when a width, a size or an array is not as above.
  void check() const;
  int places() const { return shape.layers * shape.kv_heads; }
  // Blocks of 16 slots in a head's half-precision area.
  int window_blocks() const { return (sinks + window + 1 + kBlockTokens - 1) / kBlockTokens; }
  int window_slots() const { return window_blocks() * kBlockTokens; }
  // Where the area holds a position that is a sink or not quantized yet.
  int slot(int position) const {
    return position < sinks ? position : sinks + (position - sinks) % (window_slots() - sinks);
  }
};

class CodeCache {
 public:
  // A range of positions that were dropped: [first, last).
  struct Gap {
    int first, last;
    bool operator==(const Gap&) const = default;
  };

  // Takes the cells of the half-precision area and the tables for `capacity` tokens: address space,
  // which costs memory as it is used. Throws Error("memory"), and Error("argument") when the pool
  // is for another head_dim.
  CodeCache(std::shared_ptr<const CodeModel> model, std::shared_ptr<CellPool> pool, int capacity,
            const Kernels& kernels);
  ~CodeCache();
  CodeCache(CodeCache&& other) noexcept;
  CodeCache& operator=(CodeCache&& other) noexcept;
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  const CodeModel& model() const { return *model_; }
  CellPool& pool() const { return *pool_; }
  int capacity() const { return capacity_; }
  // Positions, dropped ones included. Sinks are [0, sinks), quantized tokens [sinks, front), the
  // half-precision window [front, length).
  int length() const { return length_; }
  int front() const { return front_; }
  // After the tokens up to here have been stored. length - front must not exceed the window's
  // window_slots() - sinks slots.
  void set_length(int tokens);

  // ---- half-precision area, per (layer, head) window_blocks() blocks as KvCache's: K halves
  // [head_dim][16], V halves [16][head_dim]
  uint16_t* const* k_window(int layer, int head) const { return halves(layer, head); }
  uint16_t* const* v_window(int layer, int head) const {
    return halves(layer, head) + model_->window_blocks();
  }
  // lanes[b] bit t: slot 16b + t holds a token of a position < visible (sinks and [front,
  // visible)). visible may be length + 1 while a step stores its token.
  void window_lanes(int visible, uint16_t* lanes /* [window_blocks] */) const;
  // Position of each such slot's token, 0 for the other slots.
  void window_positions(int visible, int32_t* positions /* [window_slots] */) const;
  // Writes one key and value [head_dim] as halves (NaN -> 0, saturating) into their slot. The
  // slot's attention received starts at zero.
  void store(int layer, int head, int position, const float* k, const float* v);
  // Reads them back as floats.
  void load(int layer, int head, int position, float* k, float* v) const;
  // Attention received by slot, [window_slots()] each.
  float* mass(int layer, int head) const { return received(layer, head, 0); }
  float* late(int layer, int head) const { return received(layer, head, 1); }
  float* peak(int layer, int head) const { return received(layer, head, 2); }

  // ---- quantizing: plan, then append everywhere, then commit
  // The next n tokens from front on get these classes [n][layers * kv_heads]. Takes all cells they
  // need, and makes shared ones private; when the pool is exhausted it throws Error("memory") and
  // the cache is as before. n = 0 gives back what an abandoned plan took.
  void plan(int n, const uint8_t* classes);
  // Quantizes the next token of one head (in order of position) into the class that was planned.
  // Neither locks nor allocates. For codes that do not depend on how the cache was filled, k and v
  // must have been rounded to halves (as load gives them).
  void append(int layer, int head, int cls, const float* k, const float* v);
  // Ends the plan: front += n. All heads must have got their n tokens.
  void commit();

  // ---- what attention reads
  int tokens(int layer, int head, int cls) const { return list(layer, head, cls).tokens; }
  // Blocks of one head, all classes: they count through in order of class.
  int blocks(int layer, int head) const;
  // Blocks [first, first + n) of that order: out [n] and one entry of lists [kClasses] per class
  // that has any among them, with the class's widths and exponents. Returns the number of lists.
  int blocks(int layer, int head, int first, int n, CodeBlock* out, CodeList* lists) const;
  // Blocks [first, first + n) of one class.
  void blocks(int layer, int head, int cls, int first, int n, CodeBlock* out) const;
  // Positions of one head's quantized tokens, [blocks(layer, head)][16] in the blocks' order; 0 in
  // lanes without a token. Reads the tags of all tokens.
  void positions(int layer, int head, int32_t* out) const;
  // Class of a quantized position (sinks <= position < front).
  int class_of(int layer, int head, int position) const;
  // Classes [front - sinks][layers * kv_heads] in order of position, those of gaps as they were.
  std::vector<uint8_t> classes() const;
  // One quantized token of one head, dequantized; false when its position was dropped.
  bool read(int layer, int head, int position, float* k, float* v) const;

  // ---- changes
  // Forgets the tokens from n on.
  void truncate(int n);
  // A second cache with the same contents: cells are shared until one of the two writes to them.
  // Throws Error("memory").
  CodeCache fork() const;
  // New classes [front - sinks] for all quantized tokens of one head (entries of gaps are ignored).
  // What keeps its tag keeps its codes. Throws Error("memory"); the head is as before then.
  void requantize(int layer, int head, const uint8_t* classes);
  // Lowers every tag by `shift` steps, as far as it goes. Works on an exhausted pool too, unless
  // forks share the cells. Heads before one that fails with Error("memory") stay lowered.
  void requantize(int shift);
  // Drops the quantized positions [first, last) for good. The length and the positions of all
  // others stay; gaps() remembers the range, tags within it mean nothing. Throws Error("argument")
  // unless sinks <= first <= last <= front.
  void evict(int first, int last);
  const std::vector<Gap>& gaps() const { return gaps_; }
  // Drops the n oldest positions after the sinks and moves all others down by n: keys that were
  // stored after RoPE are turned back by n positions (and quantized again in their class), those
  // from before it and values stay as they are. n <= length - sinks. Throws Error("memory") before
  // anything changed.
  void slide(int n);

  // ---- as bytes
  // tokens: the ids of all positions, length() of them.
  std::vector<uint8_t> save(const std::vector<int32_t>& tokens) const;
  // Fills the cache and returns the ids. Throws Error("snapshot") for bytes that are damaged or of
  // another model, controller, ladder, window, shape or layout of keys, and for more tokens than
  // fit; Error("memory") when the pool cannot hold old and new together. The cache is then as
  // before.
  std::vector<int32_t> restore(std::string_view bytes);

  // ---- counters
  // Moves cells out of pages that are hardly used and gives those back to the pool. For when memory
  // is short; it takes milliseconds.
  void compact();

  // Bytes of the stored tokens: codes, scales, zero points, tags, halves of sinks and window.
  size_t kv_bytes() const;
  // Pages that the cells of this cache fill (shared ones too), counted in whole pages per width.
  size_t page_bytes() const;
  // Tags, tables, attention received and the pool's bytes about this cache's cells.
  size_t metadata_bytes() const;
  // Quantized (token, layer, head)s by class.
  std::array<uint64_t, kClasses> class_tokens() const;
  // Tokens that are stored at all: length less the gaps.
  int live_tokens() const;
  // kv_bytes in bits per number stored; 0 when empty.
  double bits_mean() const;

 private:
  static constexpr int kRun = 16;           // blocks whose cells lie next to each other
  static constexpr uint8_t kDropped = 255;  // in place of a class
  static constexpr uint16_t kNoRun = UINT16_MAX;

  struct Cells {
    CellRef k, v;
  };
  // Tokens of one class of one head; pending ones are appended but not committed.
  struct List {
    int tokens, pending, blocks;
  };
  // The lists of one (layer, head), and which runs of its part of the table they use.
  struct Place {
    std::array<List, kClasses> lists{};
    uint16_t runs = 0;           // ever taken
    uint16_t free_run = kNoRun;  // first of those given back; each names the next
  };
  // All blocks of one place, where they are or as copies: what the place is built anew from.
  struct Source {
    std::array<std::vector<CodeBlock>, kClasses> blocks;
    Buffer copies;
  };
  // Writes the classes [front - sinks] that a place is to have.
  using Choose = std::function<void(size_t place, uint8_t* classes)>;
  // Turns stored keys back by a number of positions.
  struct KeyShift;

  size_t n_places() const { return static_cast<size_t>(model_->places()); }
  size_t place_of(int layer, int head) const {
    return static_cast<size_t>(layer * model_->shape.kv_heads + head);
  }
  const List& list(int layer, int head, int cls) const {
    return places_[place_of(layer, head)].lists[static_cast<size_t>(cls)];
  }
  int k_bits(int cls) const { return model_->ladder[static_cast<size_t>(k_tag(cls))]; }
  int v_bits(int cls) const { return model_->ladder[static_cast<size_t>(v_tag(cls))]; }
  uint16_t* const* halves(int layer, int head) const {
    return window_.data() +
           place_of(layer, head) * 2 * static_cast<size_t>(model_->window_blocks());
  }
  float* received(int layer, int head, int which) const {
    return received_.as<float>() + (place_of(layer, head) * 3 + static_cast<size_t>(which)) *
                                       static_cast<size_t>(model_->window_slots());
  }
  int class_at(size_t place, int position) const {
    return tags_.data()[static_cast<size_t>(position) * tag_stride_ + place / 2] >>
               (4 * (place & 1)) &
           15;
  }
  void set_class(size_t place, int position, int cls);
  bool dropped(int position) const;
  int gap_tokens() const;

  Cells* run(size_t place, size_t number) const {
    return table_.as<Cells>() + (place * place_runs_ + number) * kRun;
  }
  uint16_t* directory(size_t place, int cls) const {
    return directory_.as<uint16_t>() + (place * kClasses + static_cast<size_t>(cls)) * list_runs_;
  }
  Cells& cells(size_t place, int cls, int block) const {
    return run(place, directory(place, cls)[block / kRun])[block % kRun];
  }
  CodeBlock pointers(const Cells& cells, int cls) const;
  void add_block(size_t place, int cls, Cells cells);
  bool take_block(size_t place, int cls);
  void drop_block(size_t place, int cls);
  void shrink(size_t place, int cls);  // to the blocks that its tokens need
  void clear(size_t place);
  CellRef copy(CellRef cell, int bits) const;
  bool make_private(size_t place, int cls, int block);
  bool shares(size_t place) const;
  void abandon_plan();
  void release();

  Source source(size_t place, bool copies) const;
  bool fill(size_t place, const Source& from, const uint8_t* classes, const KeyShift* shift);
  void replace_by_spare(size_t place);
  bool rebuild(size_t first, size_t last, const Choose& choose, const KeyShift* shift);
  void set_classes(size_t place, const uint8_t* classes);
  void drop(int first, int last, const KeyShift* shift);
  void own_everything();
  void slide_window(int n, const KeyShift* shift);
  std::vector<int> filled_slots() const;
  uint32_t space_checksum() const;

  std::shared_ptr<const CodeModel> model_;
  std::shared_ptr<CellPool> pool_;
  Kernels kernels_{};
  int capacity_ = 0, length_ = 0, front_ = 0, planned_ = 0;
  size_t tag_stride_ = 0;              // bytes of a position's classes
  size_t list_runs_ = 0;               // runs that one list can have
  size_t place_runs_ = 0;              // runs that all lists of a place can have
  std::vector<Gap> gaps_;              // ascending, apart from each other
  std::vector<Place> places_;          // [places], and the spare one, to build in
  std::vector<CellRef> window_cells_;  // [places][K, V][window_blocks]
  std::vector<uint16_t*> window_;      // the same as pointers
  Buffer received_;                    // floats [places][mass, late, peak][window_slots]
  Buffer tags_;                        // [capacity][tag_stride] two classes a byte
  Buffer directory_;                   // u16 [places + 1][kClasses][list_runs]
  Buffer table_;                       // Cells [places + 1][place_runs][kRun]
};

}  // namespace kvq
