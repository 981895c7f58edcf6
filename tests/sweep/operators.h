// Reduction operations: the predefined ones with a plain model of each, and the user's.
#ifndef SWEEP_OPERATORS_H
#define SWEEP_OPERATORS_H
#include "shapes.h"

enum class Reduction { MAX, MIN, SUM, PROD, LAND, BAND, LOR, BOR, LXOR, BXOR, MAXLOC, MINLOC, ADD, COMPOSE };

inline const char *name_of(Reduction op) {
  static const char *const names[] = {"MPI_MAX",  "MPI_MIN",  "MPI_SUM",    "MPI_PROD",   "MPI_LAND",
                                      "MPI_BAND", "MPI_LOR",  "MPI_BOR",    "MPI_LXOR",   "MPI_BXOR",
                                      "MPI_MAXLOC", "MPI_MINLOC", "a commutative user operation",
                                      "a non-commutative user operation"};
  return names[(int)op];
}

inline MPI_Op handle_of(Reduction op) {
  const MPI_Op handles[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                            MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  return handles[(int)op];
}

// Lists the predefined operations that are defined for a datatype.
inline std::vector<Reduction> reductions_for(Group group) {
  using R = Reduction;
  switch (group) {
    case Group::C_INTEGER:
      return {R::MAX, R::MIN, R::SUM, R::PROD, R::LAND, R::BAND, R::LOR, R::BOR, R::LXOR, R::BXOR};
    case Group::FORTRAN_INTEGER:
    case Group::MULTI: return {R::MAX, R::MIN, R::SUM, R::PROD, R::BAND, R::BOR, R::BXOR};
    case Group::FLOATING: return {R::MAX, R::MIN, R::SUM, R::PROD};
    case Group::COMPLEX: return {R::SUM, R::PROD};
    case Group::LOGICAL: return {R::LAND, R::LOR, R::LXOR};
    case Group::BYTE: return {R::BAND, R::BOR, R::BXOR};
    case Group::PAIR: return {R::MAXLOC, R::MINLOC};
    case Group::OTHER: break;
  }
  return {};
}

// Brings a number into the range of an integer type.
inline __int128 cut(__int128 x, const Atom &atom) {
  if (atom.size >= 16) return x;
  unsigned __int128 low = (unsigned __int128)x & (((unsigned __int128)1 << (8 * atom.size)) - 1);
  bool negative = atom.kind == Kind::SIGNED && (low >> (8 * atom.size - 1));
  return (__int128)low - (negative ? (__int128)1 << (8 * atom.size) : 0);
}

// Gives what a rank contributes as one atom. `place` is 0 for a value and 1 for the index beside it.
inline Value contribution(Reduction op, const Atom &atom, int place, uint64_t h) {
  using R = Reduction;
  Value v;
  int small = (int)(h >> 32) % 9 - 4, two = (int)(h >> 20) % 16;
  bool pair = op == R::MAXLOC || op == R::MINLOC;
  if (pair) {
    v.whole = place ? (__int128)(h % 1000) : small;
    v.real = (double)v.whole;
  } else if (is_floating(atom.kind) || is_complex(atom.kind)) {
    bool half = atom.size == (is_complex(atom.kind) ? 4 : 2);
    double power = half ? 1 : two == 0 ? 2 : two == 1 ? 0.5 : 1;
    if (op == R::SUM) v.real = small, v.imaginary = (int)(h >> 40) % 9 - 4;
    else if (op == R::PROD && is_complex(atom.kind)) (h & 1 ? v.real : v.imaginary) = h & 2 ? power : -power;
    else if (op == R::PROD) v.real = h & 1 ? power : -power;
    else v.real = (double)(h % 2001) / 2 - 500;
  } else if (atom.kind == Kind::LOGICAL) {
    // Of some elements nearly all are true, of others nearly all are false.
    v.whole = op == R::LAND ? h % 8 != 0 : op == R::LOR ? h % 8 == 0 : h & 1;
  } else if (op == R::SUM) {
    v.whole = atom.size == 1 ? small % 3 : small * 100 + two;
  } else if (op == R::PROD) {
    v.whole = two == 0 && atom.size > 1 ? 2 : atom.kind == Kind::SIGNED && h & 1 ? -1 : 1;
  } else if (op == R::LAND) {
    v.whole = h % 8 ? (__int128)(h | 1) : 0;
  } else if (op == R::LOR || op == R::LXOR) {
    v.whole = h % 3 ? 0 : (__int128)(h | 1);
  } else {
    v.whole = (__int128)((unsigned __int128)mix(h) << 64 | h);
  }
  if (!is_floating(atom.kind) && !is_complex(atom.kind) && atom.kind != Kind::LOGICAL) v.whole = cut(v.whole, atom);
  return v;
}

// Replaces `b` by `a op b`. For pairs `first` tells which of the two numbers is taken, and is kept for the index.
inline void combine(Reduction op, const Atom &atom, const Value &a, Value &b) {
  using R = Reduction;
  bool real = is_floating(atom.kind);
  switch (op) {
    case R::MAX: if (real ? a.real > b.real : atom.kind == Kind::SIGNED ? a.whole > b.whole : (unsigned __int128)a.whole > (unsigned __int128)b.whole) b = a; break;
    case R::MIN: if (real ? a.real < b.real : atom.kind == Kind::SIGNED ? a.whole < b.whole : (unsigned __int128)a.whole < (unsigned __int128)b.whole) b = a; break;
    case R::SUM: b.real += a.real, b.imaginary += a.imaginary, b.whole += a.whole; break;
    case R::PROD:
      if (is_complex(atom.kind)) {
        double re = a.real * b.real - a.imaginary * b.imaginary;
        b.imaginary = a.real * b.imaginary + a.imaginary * b.real;
        b.real = re;
      } else {
        b.real *= a.real, b.whole *= a.whole;
      }
      break;
    case R::LAND: b.whole = a.whole && b.whole; break;
    case R::LOR: b.whole = a.whole || b.whole; break;
    case R::LXOR: b.whole = !a.whole != !b.whole; break;
    case R::BAND: b.whole &= a.whole; break;
    case R::BOR: b.whole |= a.whole; break;
    case R::BXOR: b.whole ^= a.whole; break;
    default: break;
  }
  if (op == R::SUM || op == R::PROD)
    if (atom.kind == Kind::SIGNED || atom.kind == Kind::UNSIGNED) b.whole = cut(b.whole, atom);
}

// The same for a value and its index.
inline void combine_pair(Reduction op, const Value *a, Value *b) {
  double mine = a[0].real, theirs = b[0].real;
  bool better = op == Reduction::MAXLOC ? mine > theirs : mine < theirs;
  if (better || (mine == theirs && a[1].real < b[1].real)) b[0] = a[0], b[1] = a[1];
}

// Does the user's operations on one atom's bytes: sums of its lanes; or its lanes as functions x -> a x + b, composed.
inline void combine_bytes(bool composes, int size, const unsigned char *in, unsigned char *inout) {
  int width = size < 8 ? size : 8;
  for (int at = 0; at + width <= size; at += width) {
    uint64_t x = 0, y = 0;
    memcpy(&x, in + at, (size_t)width);
    memcpy(&y, inout + at, (size_t)width);
    if (composes) {
      int half = 4 * width;
      uint64_t mask = ((uint64_t)1 << half) - 1;
      uint64_t a = x >> half, b = x & mask, c = y >> half, d = y & mask;
      y = ((a * c) & mask) << half | ((a * d + b) & mask);
    } else {
      y += x;
    }
    memcpy(inout + at, &y, (size_t)width);
  }
}

// The shapes of the datatypes that the user's operations may be called with. Filled before an operation starts.
struct Registry {
  enum { ROOM = 1024 };
  MPI_Datatype handles[ROOM];
  const Shape *shapes[ROOM];
  int unknown = 0, last = 0;

  static Registry &get() {
    static Registry it = {};
    return it;
  }
  void add(const Shape *shape) {
    for (int i = 0; i < ROOM; i++)
      if (!shapes[i]) {
        handles[i] = shape->handle, shapes[i] = shape;
        if (i >= last) last = i + 1;
        return;
      }
    unknown++;
  }
  void remove(const Shape *shape) {
    for (int i = 0; i < last; i++)
      if (shapes[i] == shape) {
        shapes[i] = nullptr;
        return;
      }
  }
  const Shape *find(MPI_Datatype handle) {
    for (int i = 0; i < last; i++)
      if (shapes[i] && handles[i] == handle) return shapes[i];
    return nullptr;
  }
};

inline void user_combine(bool composes, const void *in, void *inout, int64_t length, MPI_Datatype handle) {
  const Shape *shape = Registry::get().find(handle);
  if (!shape) {
    Registry::get().unknown++;
    return;
  }
  for (int64_t i = 0; i < length; i++)
    for (const Atom &atom : shape->map) {
      int64_t at = i * shape->extent + atom.at;
      combine_bytes(composes, atom.size, (const unsigned char *)in + at, (unsigned char *)inout + at);
    }
}

extern "C" {
inline void user_add(void *in, void *inout, int *length, MPI_Datatype *handle) {
  user_combine(false, in, inout, *length, *handle);
}
inline void user_compose(void *in, void *inout, int *length, MPI_Datatype *handle) {
  user_combine(true, in, inout, *length, *handle);
}
#if MPI_VERSION >= 4
inline void user_add_c(void *in, void *inout, MPI_Count *length, MPI_Datatype *handle) {
  user_combine(false, in, inout, *length, *handle);
}
inline void user_compose_c(void *in, void *inout, MPI_Count *length, MPI_Datatype *handle) {
  user_combine(true, in, inout, *length, *handle);
}
#endif
}

inline MPI_Op create_user_operation(Reduction op, bool large) {
  MPI_Op handle;
  bool composes = op == Reduction::COMPOSE;
#if MPI_VERSION >= 4
  if (large) {
    MPI_Op_create_c(composes ? user_compose_c : user_add_c, !composes, &handle);
    return handle;
  }
#endif
  (void)large;
  MPI_Op_create(composes ? user_compose : user_add, !composes, &handle);
  return handle;
}
#endif
