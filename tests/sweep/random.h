// Numbers drawn from a seed: the same on every rank that asks with the same words.
#ifndef SWEEP_RANDOM_H
#define SWEEP_RANDOM_H
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

using std::size_t;

inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Makes one number of several.
template <class... Rest> uint64_t hash(uint64_t first, Rest... rest) {
  uint64_t all = mix(first);
  ((all = mix(all ^ (uint64_t)rest)), ...);
  return all;
}

struct Random {
  uint64_t state;

  uint64_t next() { return mix(state++); }
  // Draws from 0 to n - 1.
  int64_t below(int64_t n) { return (int64_t)(next() % (uint64_t)n); }
  // Draws from both bounds and what is between.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T> const T &pick(const std::vector<T> &all) { return all[(size_t)below((int64_t)all.size())]; }
  template <class T> void shuffle(std::vector<T> &all) {
    for (size_t i = all.size(); i > 1; i--) std::swap(all[i - 1], all[(size_t)below((int64_t)i)]);
  }
  std::vector<int> permutation(int n) {
    std::vector<int> all((size_t)n);
    std::iota(all.begin(), all.end(), 0);
    shuffle(all);
    return all;
  }
};
#endif
