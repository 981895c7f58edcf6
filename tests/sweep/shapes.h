// Datatypes, each with the list of its numbers' places, which the program works out itself.
#ifndef SWEEP_SHAPES_H
#define SWEEP_SHAPES_H
#include "values.h"
#include <algorithm>
#include <memory>

struct Shape {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  bool owned = false;
  std::vector<Atom> map;
  int64_t lb = 0, extent = 0, low = 0, high = 0;
  std::string words;

  int64_t span() const { return high - low; }
};
using ShapePointer = std::shared_ptr<Shape>;

// What is not to be drawn because another MPI does not do it.
struct Limits {
  bool tame = false;
};

class Shaper {
 public:
  Random random;
  Limits limits;

  // Makes a committed datatype of `times` units; a unit has one number of each of the predefined types. `most` elements
  // of it will follow each other. A bare type is the predefined one.
  ShapePointer make(const std::vector<const Predefined *> &unit, int64_t times, int64_t most, bool bare = false) {
    Shape shape = of_unit(unit);
    bool plain = bare || (times == 1 && random.one_in(3));
    for (int depth = (int)random.below(3); !plain && (times > 1 || depth > 0); depth--) {
      int64_t factor = times;
      if (depth > 0) {
        do factor = random.between(1, times);
        while (times % factor);
      }
      if (factor == times && depth <= 0 && most > 1 && most <= 40 && factor <= 64 && random.one_in(6))
        columns(shape, factor, most);
      else
        derive(shape, factor);
      times /= factor;
    }
    if (shape.owned) MPI_Type_commit(&shape.handle);
    return ShapePointer(new Shape(shape), [](Shape *s) {
      if (s->owned) MPI_Type_free(&s->handle);
      delete s;
    });
  }

 private:
  static int alignment(int size) { return size >= 16 ? 16 : size; }

  Shape of_unit(const std::vector<const Predefined *> &unit) {
    Shape shape;
    if (unit.size() == 1) {
      shape.handle = unit[0]->handle;
      shape.map = unit[0]->atoms;
      shape.words = unit[0]->name;
      measure(shape);
      return shape;
    }
    size_t n = unit.size();
    std::vector<int> lengths(n, 1);
    std::vector<MPI_Aint> places(n);
    std::vector<MPI_Datatype> types(n);
    int64_t at = random.one_in(3) ? random.between(-3, 3) * 16 : 0;
    bool odd = random.one_in(4);
    for (int i : random.permutation((int)n)) {
      int64_t unit_of_gaps = odd ? 1 : alignment(unit[(size_t)i]->atoms[0].size);
      if (random.one_in(2)) at += random.between(1, 5) * unit_of_gaps;
      if (!odd) at = (at + 1600 + unit_of_gaps - 1) / unit_of_gaps * unit_of_gaps - 1600;
      places[(size_t)i] = at;
      at += unit[(size_t)i]->extent;
    }
    shape.words = "struct(";
    for (size_t i = 0; i < n; i++) {
      types[i] = unit[i]->handle;
      for (Atom atom : unit[i]->atoms) {
        atom.at += places[i];
        shape.map.push_back(atom);
      }
      shape.words += std::string(i ? ", " : "") + unit[i]->name + " at " + std::to_string(places[i]);
    }
    shape.words += ")";
    MPI_Type_create_struct((int)n, lengths.data(), places.data(), types.data(), &shape.handle);
    shape.owned = true;
    measure(shape);
    return shape;
  }

  // Finds bounds, and makes room if elements that follow each other would overlap.
  void measure(Shape &shape) {
    MPI_Aint lb, extent;
    MPI_Type_get_extent(shape.handle, &lb, &extent);
    shape.lb = lb, shape.extent = extent;
    shape.low = INT64_MAX, shape.high = INT64_MIN;
    for (const Atom &atom : shape.map) {
      shape.low = std::min(shape.low, atom.at);
      shape.high = std::max(shape.high, atom.at + atom.size);
    }
    if (std::abs(shape.extent) < shape.span()) resize(shape, shape.low, (shape.span() + 15) / 16 * 16);
  }

  void replace(Shape &shape, MPI_Datatype next) {
    if (shape.owned) MPI_Type_free(&shape.handle);
    shape.handle = next, shape.owned = true;
  }

  void resize(Shape &shape, int64_t lb, int64_t extent) {
    MPI_Datatype next;
    MPI_Type_create_resized(shape.handle, lb, extent, &next);
    replace(shape, next);
    shape.words = "resized(" + std::to_string(lb) + ", " + std::to_string(extent) + ", " + shape.words + ")";
    shape.lb = lb, shape.extent = extent;
  }

  void repeat(Shape &shape, const std::vector<int64_t> &places) {
    std::vector<Atom> map;
    map.reserve(shape.map.size() * places.size());
    for (int64_t place : places)
      for (Atom atom : shape.map) {
        atom.at += place;
        map.push_back(atom);
      }
    shape.map = std::move(map);
  }

  // Makes a type whose elements lie between each other, like the columns of a matrix stored by rows.
  void columns(Shape &shape, int64_t times, int64_t most) {
    int64_t extent = shape.extent;
    MPI_Datatype next;
    int64_t stride = most + random.below(3);
    MPI_Type_vector((int)times, 1, (int)stride, shape.handle, &next);
    replace(shape, next);
    std::vector<int64_t> places;
    for (int64_t i = 0; i < times; i++) places.push_back(i * stride * extent);
    repeat(shape, places);
    shape.words = "vector(" + std::to_string(times) + ", 1, " + std::to_string(stride) + ", " + shape.words + ")";
    shape.low = INT64_MAX, shape.high = INT64_MIN;
    for (const Atom &atom : shape.map) {
      shape.low = std::min(shape.low, atom.at);
      shape.high = std::max(shape.high, atom.at + atom.size);
    }
    resize(shape, 0, extent);
  }

  void derive(Shape &shape, int64_t times) {
    int64_t extent = shape.extent, sign = extent < 0 ? -1 : 1, width = std::abs(extent);
    int64_t block = times;
    do block = random.between(1, times);
    while (times % block);
    int64_t blocks = times / block;
    MPI_Datatype next = MPI_DATATYPE_NULL;
    std::vector<int64_t> places;
    std::string head;
    auto text = [](int64_t n) { return std::to_string(n); };
    auto kind = random.below(times == 1 ? 12 : 10);
    if (extent < 0 && (kind == 8 || kind == 9)) kind = 0;
    // Places of blocks, in elements, in any order with gaps between; and further gaps in bytes.
    std::vector<int> lengths, elements;
    std::vector<MPI_Aint> bytes;
    auto scatter = [&](bool even) {
      std::vector<int64_t> sizes;
      for (int64_t left = times; left > 0; left -= sizes.back())
        sizes.push_back(even ? block : random.one_in(5) ? 0 : random.between(1, left));
      std::vector<int64_t> at(sizes.size()), further(sizes.size());
      int64_t cursor = random.between(-3, 3), gap = random.below(3) * 16, extra = 0;
      for (int i : random.permutation((int)sizes.size())) {
        at[(size_t)i] = cursor, further[(size_t)i] = extra;
        cursor += sizes[(size_t)i] + random.below(3), extra += gap;
      }
      for (size_t i = 0; i < sizes.size(); i++) {
        lengths.push_back((int)sizes[i]);
        elements.push_back((int)at[i]);
        bytes.push_back((MPI_Aint)(at[i] * extent + sign * further[i]));
      }
    };
    switch (kind) {
      case 0:
        MPI_Type_contiguous((int)times, shape.handle, &next);
        for (int64_t i = 0; i < times; i++) places.push_back(i * extent);
        head = "contiguous(" + text(times);
        break;
      case 1: {
        int64_t stride = (block + random.below(4)) * (random.one_in(4) ? -1 : 1);
        MPI_Type_vector((int)blocks, (int)block, (int)stride, shape.handle, &next);
        for (int64_t i = 0; i < times; i++) places.push_back((i / block * stride + i % block) * extent);
        head = "vector(" + text(blocks) + ", " + text(block) + ", " + text(stride);
        break;
      }
      case 2: {
        int64_t stride = (block * width + random.below(4) * 16) * (random.one_in(4) ? -1 : 1);
        MPI_Type_create_hvector((int)blocks, (int)block, stride, shape.handle, &next);
        for (int64_t i = 0; i < times; i++) places.push_back(i / block * stride + i % block * extent);
        head = "hvector(" + text(blocks) + ", " + text(block) + ", " + text(stride);
        break;
      }
      case 3:
      case 4:
      case 5:
      case 6:
      case 7: {
        scatter(kind == 5 || kind == 6);
        int n = (int)lengths.size();
        if (kind == 3) MPI_Type_indexed(n, lengths.data(), elements.data(), shape.handle, &next), head = "indexed(";
        if (kind == 4) MPI_Type_create_hindexed(n, lengths.data(), bytes.data(), shape.handle, &next), head = "hindexed(";
        if (kind == 5)
          MPI_Type_create_indexed_block(n, (int)block, elements.data(), shape.handle, &next), head = "indexed_block(";
        if (kind == 6)
          MPI_Type_create_hindexed_block(n, (int)block, bytes.data(), shape.handle, &next), head = "hindexed_block(";
        if (kind == 7) {
          std::vector<MPI_Datatype> types((size_t)n, shape.handle);
          MPI_Type_create_struct(n, lengths.data(), bytes.data(), types.data(), &next), head = "struct(";
        }
        bool in_elements = kind == 3 || kind == 5;
        for (int i = 0; i < n; i++) {
          int64_t at = in_elements ? elements[(size_t)i] * extent : (int64_t)bytes[(size_t)i];
          for (int k = 0; k < lengths[(size_t)i]; k++) places.push_back(at + k * extent);
          if (i < 6) head += (i ? " " : "") + text(lengths[(size_t)i]) + "@" + text(in_elements ? elements[(size_t)i] : (int64_t)bytes[(size_t)i]);
        }
        if (n > 6) head += " ... " + text(n) + " blocks";
        break;
      }
      case 8:
      case 9: {
        int sizes[2] = {(int)(blocks + random.below(3)), (int)(block + random.below(3))};
        int parts[2] = {(int)blocks, (int)block};
        int starts[2] = {(int)random.between(0, sizes[0] - parts[0]), (int)random.between(0, sizes[1] - parts[1])};
        int order = kind == 8 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        MPI_Type_create_subarray(2, sizes, parts, starts, order, shape.handle, &next);
        int fast = kind == 8 ? 1 : 0, slow = 1 - fast;
        for (int i = 0; i < parts[slow]; i++)
          for (int k = 0; k < parts[fast]; k++)
            places.push_back(((int64_t)(starts[slow] + i) * sizes[fast] + starts[fast] + k) * extent);
        head = std::string("subarray(") + text(parts[0]) + "x" + text(parts[1]) + " of " + text(sizes[0]) + "x" +
               text(sizes[1]) + (kind == 8 ? " C" : " Fortran");
        break;
      }
      case 10:
        MPI_Type_dup(shape.handle, &next);
        places.push_back(0);
        head = "dup(";
        break;
      default: {
        bool negative = !limits.tame && random.one_in(8);
        int64_t gap = random.below(4) * 16;
        resize(shape, random.between(-4, 4) * 8, ((shape.span() + 15) / 16 * 16 + gap) * (negative ? -1 : 1));
        return;
      }
    }
    replace(shape, next);
    repeat(shape, places);
    shape.words = head + (head.back() == '(' ? "" : ", ") + shape.words + ")";
    measure(shape);
  }
};
#endif
