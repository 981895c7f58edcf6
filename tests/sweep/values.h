// The predefined datatypes, and values of them: chosen so that the result of every reduction is exact in any order.
#ifndef SWEEP_VALUES_H
#define SWEEP_VALUES_H
#include "random.h"
#include <cmath>
#include <cstddef>
#include <cstring>
#include <mpi.h>
#include <string>

enum class Kind { SIGNED, UNSIGNED, FLOAT, EXTENDED, QUAD, COMPLEX, EXTENDED_COMPLEX, QUAD_COMPLEX, LOGICAL, RAW };

// One number in memory.
struct Atom {
  Kind kind;
  int size;
  int64_t at;
};

// What operators are defined for a datatype.
enum class Group { C_INTEGER, FORTRAN_INTEGER, MULTI, FLOATING, COMPLEX, LOGICAL, BYTE, PAIR, OTHER };

struct Predefined {
  const char *name;
  MPI_Datatype handle;
  Group group;
  std::vector<Atom> atoms;
  int64_t extent;
};

inline bool same_handle(MPI_Datatype a, MPI_Datatype b) { return a == b; }

// Lists the predefined datatypes that this MPI has.
inline std::vector<Predefined> predefined() {
  std::vector<Predefined> all;
  auto add = [&](const char *name, MPI_Datatype handle, Group group, Kind kind) {
    int size = 0;
    MPI_Aint lb, extent;
    if (handle == MPI_DATATYPE_NULL || MPI_Type_size(handle, &size) != MPI_SUCCESS || size <= 0) return;
    MPI_Type_get_extent(handle, &lb, &extent);
    all.push_back({name, handle, group, {{kind, size, 0}}, (int64_t)extent});
  };
  auto pair = [&](const char *name, MPI_Datatype handle, Kind kind, int size, Kind index_kind, int index, int64_t at) {
    int found = 0;
    MPI_Aint lb, extent;
    if (handle == MPI_DATATYPE_NULL || MPI_Type_size(handle, &found) != MPI_SUCCESS || found != size + index) return;
    MPI_Type_get_extent(handle, &lb, &extent);
    all.push_back({name, handle, Group::PAIR, {{kind, size, 0}, {index_kind, index, at}}, (int64_t)extent});
  };
#define ADD(NAME, GROUP, KIND) add(#NAME, NAME, Group::GROUP, Kind::KIND)
  ADD(MPI_CHAR, OTHER, RAW);
  ADD(MPI_WCHAR, OTHER, RAW);
  ADD(MPI_SIGNED_CHAR, C_INTEGER, SIGNED);
  ADD(MPI_UNSIGNED_CHAR, C_INTEGER, UNSIGNED);
  ADD(MPI_SHORT, C_INTEGER, SIGNED);
  ADD(MPI_UNSIGNED_SHORT, C_INTEGER, UNSIGNED);
  ADD(MPI_INT, C_INTEGER, SIGNED);
  ADD(MPI_UNSIGNED, C_INTEGER, UNSIGNED);
  ADD(MPI_LONG, C_INTEGER, SIGNED);
  ADD(MPI_UNSIGNED_LONG, C_INTEGER, UNSIGNED);
  ADD(MPI_LONG_LONG, C_INTEGER, SIGNED);
  ADD(MPI_UNSIGNED_LONG_LONG, C_INTEGER, UNSIGNED);
  ADD(MPI_INT8_T, C_INTEGER, SIGNED);
  ADD(MPI_INT16_T, C_INTEGER, SIGNED);
  ADD(MPI_INT32_T, C_INTEGER, SIGNED);
  ADD(MPI_INT64_T, C_INTEGER, SIGNED);
  ADD(MPI_UINT8_T, C_INTEGER, UNSIGNED);
  ADD(MPI_UINT16_T, C_INTEGER, UNSIGNED);
  ADD(MPI_UINT32_T, C_INTEGER, UNSIGNED);
  ADD(MPI_UINT64_T, C_INTEGER, UNSIGNED);
  ADD(MPI_AINT, MULTI, SIGNED);
  ADD(MPI_COUNT, MULTI, SIGNED);
  ADD(MPI_OFFSET, MULTI, SIGNED);
  ADD(MPI_BYTE, BYTE, UNSIGNED);
  ADD(MPI_FLOAT, FLOATING, FLOAT);
  ADD(MPI_DOUBLE, FLOATING, FLOAT);
  ADD(MPI_LONG_DOUBLE, FLOATING, EXTENDED);
  ADD(MPI_C_BOOL, LOGICAL, LOGICAL);
  ADD(MPI_CXX_BOOL, LOGICAL, LOGICAL);
  ADD(MPI_C_FLOAT_COMPLEX, COMPLEX, COMPLEX);
  ADD(MPI_C_DOUBLE_COMPLEX, COMPLEX, COMPLEX);
  ADD(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, EXTENDED_COMPLEX);
  ADD(MPI_CXX_FLOAT_COMPLEX, COMPLEX, COMPLEX);
  ADD(MPI_CXX_DOUBLE_COMPLEX, COMPLEX, COMPLEX);
  ADD(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, EXTENDED_COMPLEX);
#ifndef SWEEP_WITHOUT_FORTRAN
  ADD(MPI_CHARACTER, OTHER, RAW);
  ADD(MPI_LOGICAL, LOGICAL, LOGICAL);
  ADD(MPI_INTEGER, FORTRAN_INTEGER, SIGNED);
  ADD(MPI_INTEGER1, FORTRAN_INTEGER, SIGNED);
  ADD(MPI_INTEGER2, FORTRAN_INTEGER, SIGNED);
  ADD(MPI_INTEGER4, FORTRAN_INTEGER, SIGNED);
  ADD(MPI_INTEGER8, FORTRAN_INTEGER, SIGNED);
  ADD(MPI_REAL, FLOATING, FLOAT);
  ADD(MPI_REAL4, FLOATING, FLOAT);
  ADD(MPI_REAL8, FLOATING, FLOAT);
  ADD(MPI_DOUBLE_PRECISION, FLOATING, FLOAT);
  ADD(MPI_COMPLEX, COMPLEX, COMPLEX);
  ADD(MPI_DOUBLE_COMPLEX, COMPLEX, COMPLEX);
  ADD(MPI_COMPLEX8, COMPLEX, COMPLEX);
  ADD(MPI_COMPLEX16, COMPLEX, COMPLEX);
#if MPI_VERSION >= 5 && !defined(MPICH_VERSION)
  ADD(MPI_LOGICAL1, LOGICAL, LOGICAL);
  ADD(MPI_LOGICAL2, LOGICAL, LOGICAL);
  ADD(MPI_LOGICAL4, LOGICAL, LOGICAL);
  ADD(MPI_LOGICAL8, LOGICAL, LOGICAL);
  ADD(MPI_INTEGER16, FORTRAN_INTEGER, SIGNED);
  ADD(MPI_REAL2, FLOATING, FLOAT);
  ADD(MPI_COMPLEX4, COMPLEX, COMPLEX);
  ADD(MPI_REAL16, FLOATING, QUAD);
  ADD(MPI_COMPLEX32, COMPLEX, QUAD_COMPLEX);
#endif
  pair("MPI_2REAL", MPI_2REAL, Kind::FLOAT, 4, Kind::FLOAT, 4, 4);
  pair("MPI_2DOUBLE_PRECISION", MPI_2DOUBLE_PRECISION, Kind::FLOAT, 8, Kind::FLOAT, 8, 8);
  pair("MPI_2INTEGER", MPI_2INTEGER, Kind::SIGNED, 4, Kind::SIGNED, 4, 4);
#endif
#undef ADD
#define PAIR(NAME, KIND, TYPE)                                                                                    \
  {                                                                                                               \
    struct Both { TYPE value; int index; };                                                                       \
    pair(#NAME, NAME, Kind::KIND, sizeof(TYPE), Kind::SIGNED, sizeof(int), (int64_t)offsetof(Both, index));       \
  }
  PAIR(MPI_FLOAT_INT, FLOAT, float)
  PAIR(MPI_DOUBLE_INT, FLOAT, double)
  PAIR(MPI_LONG_INT, SIGNED, long)
  PAIR(MPI_2INT, SIGNED, int)
  PAIR(MPI_SHORT_INT, SIGNED, short)
  PAIR(MPI_LONG_DOUBLE_INT, EXTENDED, long double)
#undef PAIR
  return all;
}

// A value as a reduction sees it.
struct Value {
  __int128 whole = 0;
  double real = 0, imaginary = 0;
};

inline bool is_complex(Kind kind) {
  return kind == Kind::COMPLEX || kind == Kind::EXTENDED_COMPLEX || kind == Kind::QUAD_COMPLEX;
}
inline bool is_floating(Kind kind) { return kind == Kind::FLOAT || kind == Kind::EXTENDED || kind == Kind::QUAD; }

// Writes a floating-point number that the format can hold exactly.
inline void put_real(double value, Kind kind, int size, unsigned char *out) {
  value += 0.0;  // no negative zero
  if (kind == Kind::EXTENDED || kind == Kind::EXTENDED_COMPLEX) {
    long double x = value;
    memset(out, 0, (size_t)size);
    memcpy(out, &x, sizeof x);
#if __LDBL_MANT_DIG__ == 64
    memset(out + 10, 0, (size_t)size - 10);
#endif
  } else if (kind == Kind::QUAD || kind == Kind::QUAD_COMPLEX) {
#ifdef __SIZEOF_FLOAT128__
    __float128 x = value;
#else
    long double x = value;
#endif
    memcpy(out, &x, sizeof x);
  } else if (size == 8) {
    memcpy(out, &value, 8);
  } else if (size == 4) {
    float x = (float)value;
    memcpy(out, &x, 4);
  } else {
    int exponent = 0;
    double part = std::frexp(std::fabs(value), &exponent);
    uint16_t bits = value == 0 ? 0 : (uint16_t)(((exponent + 14) << 10) + ((int)(part * 2048) - 1024));
    bits |= std::signbit(value) ? 0x8000 : 0;
    memcpy(out, &bits, 2);
  }
}

inline void put(const Value &value, const Atom &atom, unsigned char *out) {
  if (is_complex(atom.kind)) {
    put_real(value.real, atom.kind, atom.size / 2, out);
    put_real(value.imaginary, atom.kind, atom.size / 2, out + atom.size / 2);
  } else if (is_floating(atom.kind)) {
    put_real(value.real, atom.kind, atom.size, out);
  } else {
    memcpy(out, &value.whole, (size_t)atom.size);  // the low bytes come first
  }
}

// Tells which bytes of an atom carry its value: an x87 number has six that do not.
inline bool carries(const Atom &atom, int byte) {
#if __LDBL_MANT_DIG__ == 64
  if (atom.kind == Kind::EXTENDED || atom.kind == Kind::EXTENDED_COMPLEX) return byte % 16 < 10;
#endif
  return true;
}
#endif
