// A buffer with what is around it: filled before an operation, and compared byte by byte after it.
#ifndef SWEEP_MEMORY_H
#define SWEEP_MEMORY_H
#include "shapes.h"
#include <functional>

// Writes number `k` of some stream of data, as the atom says, to the place.
using Source = std::function<void(uint64_t k, const Atom &, unsigned char *)>;

// Elements of a datatype at an offset from the buffer's address.
struct Piece {
  int64_t offset = 0, count = 0;
  ShapePointer shape;
  // Who sends it, for reports.
  int peer = 0;
};

class Memory {
 public:
  std::vector<Piece> pieces;

  // Allocates room for the pieces and some bytes around them.
  void allocate() {
    int64_t low = 0, high = 0;
    for (const Piece &piece : pieces)
      if (piece.count > 0) {
        int64_t last = (piece.count - 1) * piece.shape->extent;
        low = std::min(low, piece.offset + std::min<int64_t>(0, last) + piece.shape->low);
        high = std::max(high, piece.offset + std::max<int64_t>(0, last) + piece.shape->high);
      }
    low_ = (low - 64) / 64 * 64 - 64;
    size_ = (size_t)(high + 64 - low_);
    room_.assign(size_ + 64, 0);
    expected_.assign(size_, 0);
    free_.clear();
    start_ = room_.data() + (64 - (uintptr_t)room_.data() % 64) % 64;
  }

  unsigned char *address() const { return start_ - low_; }

  // Fills everything with what no operation brings.
  void fill(uint64_t seed) {
    for (size_t i = 0; i < size_; i += 8) {
      uint64_t word = mix(seed + i);
      memcpy(start_ + i, &word, std::min<size_t>(8, size_ - i));
    }
    memcpy(expected_.data(), start_, size_);
  }

  // Writes a piece's data, as it is before the operation.
  void place(const Piece &piece, const Source &source) { put(piece, source, true); }

  // Writes a piece's data, as it must be after the operation.
  void expect(const Piece &piece, const Source &source) { put(piece, source, false); }

  // Says that a piece may have any value after the operation.
  void free_to_change(const Piece &piece) {
    free_.resize(size_, 0);
    each(piece, [&](uint64_t, const Atom &atom, size_t at) { memset(&free_[at], 1, (size_t)atom.size); });
  }

  // Says that bytes of atoms that carry no value may change.
  void forget_padding(const Piece &piece) {
    each(piece, [&](uint64_t, const Atom &atom, size_t at) {
      for (int i = 0; i < atom.size; i++)
        if (!carries(atom, i)) free_.resize(size_, 0), free_[at + (size_t)i] = 1;
    });
  }

  // Says that zeros in complex numbers may have either sign: it depends on the order of multiplications.
  void forget_signs(const Piece &piece) {
    static const unsigned char zero[16] = {0};
    each(piece, [&](uint64_t, const Atom &atom, size_t at) {
      size_t half = (size_t)atom.size / 2, top = half - 1;
#if __LDBL_MANT_DIG__ == 64
      if (atom.kind == Kind::EXTENDED_COMPLEX) top = 9;
#endif
      for (size_t part = at; is_complex(atom.kind) && part < at + 2 * half; part += half)
        if (memcmp(&expected_[part], zero, top + 1) == 0) free_.resize(size_, 0), free_[part + top] = 1;
    });
  }

  // Compares; returns nothing or what differs first.
  std::string check(const char *name) const {
    if (free_.empty() && memcmp(start_, expected_.data(), size_) == 0) return "";
    size_t at = 0;
    while (at < size_ && (start_[at] == expected_[at] || (!free_.empty() && free_[at]))) at++;
    return at == size_ ? "" : explain(name, at);
  }

 private:
  std::vector<unsigned char> room_, expected_, free_;
  unsigned char *start_ = nullptr;
  int64_t low_ = 0;
  size_t size_ = 0;

  template <class F> void each(const Piece &piece, F f) const {
    uint64_t k = 0;
    for (int64_t i = 0; i < piece.count; i++)
      for (const Atom &atom : piece.shape->map)
        f(k++, atom, (size_t)(piece.offset + i * piece.shape->extent + atom.at - low_));
  }

  void put(const Piece &piece, const Source &source, bool now) {
    unsigned char bytes[32];
    each(piece, [&](uint64_t k, const Atom &atom, size_t at) {
      source(k, atom, bytes);
      memcpy(&expected_[at], bytes, (size_t)atom.size);
      if (now) memcpy(start_ + at, bytes, (size_t)atom.size);
    });
  }

  std::string explain(const char *name, size_t at) const {
    std::string where = "a byte that belongs to no data, " + std::to_string((int64_t)at + low_) + " after the address";
    size_t first = at, length = 1;
    for (const Piece &piece : pieces)
      each(piece, [&](uint64_t k, const Atom &atom, size_t begin) {
        if (at < begin || at >= begin + (size_t)atom.size) return;
        first = begin, length = (size_t)atom.size;
        where = "number " + std::to_string(k) + " (element " + std::to_string(k / piece.shape->map.size()) + " of " +
                std::to_string(piece.count) + ") of peer " + std::to_string(piece.peer) + "'s piece, " +
                std::to_string((int64_t)begin + low_) + " bytes after the address";
      });
    size_t wrong = 0;
    for (size_t i = 0; i < size_; i++) wrong += start_[i] != expected_[i] && (free_.empty() || !free_[i]);
    auto hex = [&](const unsigned char *bytes) {
      std::string text;
      char two[4];
      for (size_t i = first; i < first + length; i++) snprintf(two, sizeof two, "%02x", bytes[i]), text += two;
      return text;
    };
    return std::string(name) + ": " + where + ": expected " + hex(expected_.data()) + ", found " + hex(start_) + " (" +
           std::to_string(wrong) + " bytes of the buffer differ)";
  }
};
#endif
