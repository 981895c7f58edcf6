// One-sided operations with everything that can vary drawn from a seed, and a plain model of what each changes and returns.
#ifndef SWEEP_ACCESSES_H
#define SWEEP_ACCESSES_H
#include "memory.h"
#include "operators.h"
#include "windows.h"

enum class Act { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP };
inline const char *const act_names[] = {"put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
enum class How { REDUCE, REPLACE, NO_OP };

struct Number {
  unsigned char bytes[32];
  Value value;
};

// What an operation brings: numbers that are a function of its key.
struct Numbers {
  // The atoms of a unit, and whether they have values that can be reduced.
  std::vector<Atom> atoms;
  Reduction reduction = Reduction::SUM;
  bool is_valued = false;

  const Atom &atom(uint64_t k) const { return atoms[k % atoms.size()]; }
  Number make(uint64_t key, uint64_t k) const {
    Number it = {};
    if (is_valued) {
      it.value = contribution(reduction, atom(k), (int)(k % atoms.size()), mix(key + k));
      write(k, it);
    } else {
      for (size_t i = 0; i < sizeof it.bytes; i += 8) {
        uint64_t word = hash(key, k, i);
        memcpy(it.bytes + i, &word, 8);
      }
    }
    return it;
  }
  void write(uint64_t k, Number &it) const { put(it.value, atom(k), it.bytes); }
};

// Elements at a target that operations of one origin, or accumulates of all, are about.
struct Region {
  Numbers numbers;
  std::vector<const Predefined *> unit;
  int64_t multiple = 1, units = 0, offset = 0;
  // Whether the elements are of a predefined datatype and follow each other.
  bool is_bare = false;
  Piece piece;
  std::vector<Number> now;

  size_t per() const { return numbers.atoms.size(); }
};

struct Access {
  Act act;
  How how = How::REDUCE;
  size_t region = 0;
  int phase = 0;
  // Of an operation on one element, which. Whether compare_and_swap finds what it compares with.
  int64_t element = 0;
  bool finds = false, is_large = false, has_request = false;
  uint64_t key = 0;

  bool is_single() const { return act >= Act::FETCH_AND_OP; }
};

// What an origin does to a target in a round.
struct Plan {
  std::vector<Region> regions;
  std::vector<Access> accesses;
};

inline const std::vector<Predefined> &predefined_types() {
  static const std::vector<Predefined> all = predefined();
  return all;
}

// Draws regions and accesses; all that know the seed draw the same.
class Planner {
 public:
  Planner(const Window &window, int target, uint64_t key, Limits limits) : window_(window), target_(target), random_{key}, limits_(limits) {}

  // Lays regions into an area, one behind the other.
  void lay(Plan &plan, int64_t begin, int64_t count, bool is_shared) {
    int64_t at = begin;
    for (; count > 0; count--) {
      Region it;
      draw_type(it, is_shared);
      if (place(it, at, begin + window_.area)) plan.regions.push_back(it);
    }
  }

  // Draws what one origin does to its own regions, in so many phases.
  void act(Plan &plan, int phases) {
    for (size_t i = 0; i < plan.regions.size(); i++)
      for (int phase = 0; phase < phases; phase++)
        if (phase == 0 || random_.one_in(2)) act_once(plan, i, phase);
  }

  // Draws an origin's accumulates to regions that all may change.
  void join(Plan &plan, int phases) {
    for (size_t i = 0; i < plan.regions.size(); i++)
      for (int64_t n = random_.below(3); n > 0; n--) add(plan, i, accumulating(plan.regions[i]), How::REDUCE, (int)random_.below(phases));
  }

 private:
  const Window &window_;
  const int target_;
  Random random_;
  const Limits limits_;

  void draw_type(Region &it, bool is_shared) {
    bool reduces = is_shared || random_.one_in(2);
    const auto &types = predefined_types();
    if (reduces) {
      do it.unit = {&random_.pick(types)};
      while (reductions_for(it.unit[0]->group).empty());
      it.numbers.reduction = random_.pick(reductions_for(it.unit[0]->group));
      it.numbers.is_valued = true;
    } else {
      for (int64_t n = random_.one_in(2) ? 1 : random_.between(2, 4); n > 0; n--) it.unit.push_back(&random_.pick(types));
    }
    for (const Predefined *type : it.unit) it.numbers.atoms.insert(it.numbers.atoms.end(), type->atoms.begin(), type->atoms.end());
    it.is_bare = it.unit.size() == 1 && random_.one_in(3);
    static const int multiples[] = {1, 1, 2, 3, 4, 6, 12};
    it.multiple = multiples[random_.below(7)];
    int64_t amount = random_.one_in(12) ? 0 : random_.one_in(3) ? random_.between(1, 60) : random_.between(1, 6);
    it.units = it.multiple * amount;
  }

  // Finds room behind what is taken; returns whether there is any.
  bool place(Region &it, int64_t &at, int64_t end) {
    int64_t factor;
    do factor = random_.between(1, it.multiple);
    while (it.multiple % factor);
    it.piece.count = it.is_bare ? it.units : it.units / factor;
    Shaper shaper{random_, limits_};
    it.piece.shape = shaper.make(it.unit, it.is_bare ? 1 : factor, it.piece.count, it.is_bare);
    random_ = shaper.random;
    const Shape &shape = *it.piece.shape;
    int64_t last = std::max<int64_t>(0, it.piece.count - 1) * shape.extent;
    int64_t low = shape.low + std::min<int64_t>(0, last), high = shape.high + std::max<int64_t>(0, last);
    int64_t grain = window_.unit(target_);
    if (limits_.tame || !random_.one_in(3)) grain = std::lcm(grain, 16);
    it.offset = std::max<int64_t>(0, (at - low + grain - 1) / grain * grain);
    it.piece.offset = it.offset;
    if (it.offset + high > end) return false;
    at = it.offset + high;
    return true;
  }

  Act accumulating(const Region &it) {
    // Others take elements whose numbers do not follow each other for less than they are.
    bool is_tame = !limits_.tame || it.unit[0]->group != Group::PAIR;
    int64_t kinds = it.is_bare && it.units > 0 && is_tame ? 3 : 2;
    return (Act)((int)Act::ACCUMULATE + random_.below(kinds));
  }

  void add(Plan &plan, size_t region, Act act, How how, int phase) {
    const Region &it = plan.regions[region];
    Access access;
    access.act = act, access.how = how, access.region = region, access.phase = phase;
    access.key = random_.next();
    access.is_large = random_.one_in(2) && SWEEP_LARGE && !access.is_single();
    access.has_request = random_.one_in(3) && !access.is_single();
    access.finds = random_.one_in(2);
    // An element's displacement is a whole number of the target's units.
    int64_t extent = it.unit[0]->extent;
    access.element = access.is_single() ? random_.below(it.units) : 0;
    while (access.element * extent % window_.unit(target_)) access.element--;
    plan.accesses.push_back(access);
  }

  void act_once(Plan &plan, size_t i, int phase) {
    const Region &it = plan.regions[i];
    bool single = it.unit.size() == 1;
    int64_t kind = random_.below(5);
    Group group = it.unit[0]->group;
    bool swaps = it.is_bare && it.units > 0 && (group == Group::C_INTEGER || group == Group::FORTRAN_INTEGER || group == Group::MULTI ||
                                                (group == Group::LOGICAL && !limits_.tame) || group == Group::BYTE);
    // Operations on the same place in one phase are ordered only if they are accumulates, and the window says so.
    int64_t times = window_.is_ordered ? random_.between(1, 3) : 1;
    if (kind == 1) {
      for (int64_t n = random_.between(1, 2); n > 0; n--) add(plan, i, Act::GET, How::REDUCE, phase);
    } else if (kind >= 2 && swaps && random_.one_in(2)) {
      for (; times > 0; times--) add(plan, i, Act::COMPARE_AND_SWAP, How::REPLACE, phase);
    } else if (kind >= 2 && single) {
      How main = it.numbers.is_valued && random_.below(4) ? How::REDUCE : How::REPLACE;
      for (; times > 0; times--) {
        Act act = accumulating(it);
        add(plan, i, act, act != Act::ACCUMULATE && random_.one_in(3) ? How::NO_OP : main, phase);
      }
    } else {
      add(plan, i, Act::PUT, How::REPLACE, phase);
    }
  }
};

// Changes the model of a region as an operation does.
inline void carry_out(Region &it, const Access &access) {
  if (access.act == Act::GET || access.how == How::NO_OP) return;
  size_t first = access.is_single() ? (size_t)access.element * it.per() : 0;
  size_t end = access.is_single() ? first + it.per() : it.now.size();
  if (access.act == Act::COMPARE_AND_SWAP && !access.finds) return;
  for (size_t k = first; k < end; k++) {
    Number next = it.numbers.make(access.key, k);
    if (access.how == How::REDUCE && it.numbers.reduction != Reduction::MAXLOC && it.numbers.reduction != Reduction::MINLOC) {
      Value value = it.now[k].value;
      combine(it.numbers.reduction, it.numbers.atom(k), next.value, value);
      next.value = value;
      it.numbers.write(k, next);
    } else if (access.how == How::REDUCE) {
      Value both[2] = {it.now[k].value, it.now[k + 1].value}, mine[2] = {next.value, it.numbers.make(access.key, k + 1).value};
      combine_pair(it.numbers.reduction, mine, both);
      it.now[k].value = both[0], it.now[k + 1].value = both[1];
      it.numbers.write(k, it.now[k]), it.numbers.write(k + 1, it.now[k + 1]);
      k++;
      continue;
    }
    it.now[k] = next;
  }
}

// A call with its buffers, which live until it is complete.
class Call {
 public:
  const Access access;
  const int target;
  MPI_Request request = MPI_REQUEST_NULL;

  Call(const Window &window, int target, const Region &region, const Access &access, bool may_request, Limits limits, uint64_t key)
      : access(access), target(target), window_(window), region_(region), limits_(limits), random_{key}, now_(region.now) {
    asks_ = access.has_request && may_request;
    if (access.is_single()) single();
    else if (access.act != Act::GET) {
      origin_ = side(access.how != How::NO_OP);
      if (access.how != How::NO_OP) place(origin_, [this](uint64_t k) { return region_.numbers.make(this->access.key, k); });
    }
    if (access.act == Act::GET || access.act == Act::GET_ACCUMULATE) result_ = side(true);
  }
  Call(const Call &) = delete;

  int start() {
    Side &o = access.act == Act::GET ? result_ : origin_, &r = result_;
    const void *from = o.count < 0 ? nullptr : o.memory.address();
    void *to = r.count < 0 ? nullptr : r.memory.address();
    int64_t count = std::max<int64_t>(0, o.count), results = std::max<int64_t>(0, r.count), at = region_.offset;
    MPI_Datatype type = o.shape ? o.shape->handle : MPI_INT, result = r.shape ? r.shape->handle : MPI_INT;
    MPI_Datatype there = region_.piece.shape->handle;
    MPI_Op op = access.how == How::NO_OP ? MPI_NO_OP : access.how == How::REPLACE ? MPI_REPLACE : handle_of(region_.numbers.reduction);
    if (access.is_single()) at += access.element * region_.unit[0]->extent;
    MPI_Aint disp = window_.displacement(target, at);
    MPI_Win win = window_.win;
    int code = MPI_ERR_OTHER;
#if SWEEP_LARGE
#define FORMS(BIG, REQUEST, T)                                                                                       \
  code = access.is_large ? (asks_ ? MPI_##REQUEST##_c(T((MPI_Count)), &request) : MPI_##BIG##_c(T((MPI_Count))))      \
                         : (asks_ ? MPI_##REQUEST(T((int)), &request) : MPI_##BIG(T((int))))
#else
#define FORMS(BIG, REQUEST, T) code = asks_ ? MPI_##REQUEST(T((int)), &request) : MPI_##BIG(T((int)))
#endif
#define THERE(T) target, disp, T region_.piece.count, there
#define PUT(T) from, T count, type, THERE(T), win
#define GET(T) to, T results, result, THERE(T), win
#define ACCUMULATE(T) from, T count, type, THERE(T), op, win
#define GET_ACCUMULATE(T) from, T count, type, to, T results, result, THERE(T), op, win
    switch (access.act) {
      case Act::PUT: FORMS(Put, Rput, PUT); break;
      case Act::GET: FORMS(Get, Rget, GET); break;
      case Act::ACCUMULATE: FORMS(Accumulate, Raccumulate, ACCUMULATE); break;
      case Act::GET_ACCUMULATE: FORMS(Get_accumulate, Rget_accumulate, GET_ACCUMULATE); break;
      case Act::FETCH_AND_OP:
        code = MPI_Fetch_and_op(access.how == How::NO_OP ? nullptr : one_[0], one_[1], region_.unit[0]->handle, target, disp, op, win);
        break;
      case Act::COMPARE_AND_SWAP:
        code = MPI_Compare_and_swap(one_[0], one_[2], one_[1], region_.unit[0]->handle, target, disp, win);
        break;
    }
#undef FORMS
#undef THERE
#undef PUT
#undef GET
#undef ACCUMULATE
#undef GET_ACCUMULATE
    // Datatypes may be freed while what uses them is under way.
    if (!limits_.tame && random_.one_in(4))
      for (Side *it : {&origin_, &result_})
        if (it->shape && it->shape->owned) MPI_Type_free(&it->shape->handle), it->shape->owned = false;
    return code;
  }

  // Compares the buffers with what must be in them; `knows` tells whether the results are known.
  std::string check(bool knows) {
    if (access.is_single()) {
      size_t first = (size_t)access.element * region_.per();
      for (size_t i = 0; knows && i < region_.per(); i++) {
        const Atom &atom = region_.numbers.atoms[i];
        for (int b = 0; b < atom.size; b++)
          if (one_[1][atom.at + b] != now_[first + i].bytes[b] && counts(atom, now_[first + i], b))
            return "the result's byte " + std::to_string(atom.at + b) + " is " + std::to_string(one_[1][atom.at + b]) + ", not " +
                   std::to_string(now_[first + i].bytes[b]);
      }
      return "";
    }
    std::string text;
    if (origin_.shape) text = origin_.memory.check("origin buffer");
    if (!result_.shape || !text.empty()) return text;
    Memory &memory = result_.memory;
    if (!knows) memory.free_to_change(memory.pieces[0]);
    else memory.expect(memory.pieces[0], [this](uint64_t k, const Atom &atom, unsigned char *out) { memcpy(out, now_[k].bytes, (size_t)atom.size); });
    if (limits_.tame) memory.forget_padding(memory.pieces[0]);
    if (region_.numbers.is_valued && region_.numbers.reduction == Reduction::PROD) memory.forget_signs(memory.pieces[0]);
    return memory.check("result buffer");
  }

  std::string words() const {
    std::string name = act_names[(int)access.act];
    if (asks_) name = "r" + name;
    name[0] = (char)toupper(name[0]);
    std::string text = "MPI_" + name + (access.is_large ? "_c" : "");
    if (access.act >= Act::ACCUMULATE && access.act != Act::COMPARE_AND_SWAP)
      text += std::string(" (") + (access.how == How::NO_OP ? "MPI_NO_OP" : access.how == How::REPLACE ? "MPI_REPLACE" : name_of(region_.numbers.reduction)) + ")";
    text += " to rank " + std::to_string(target) + ", byte " + std::to_string(region_.offset) + " in units of " + std::to_string(window_.unit(target)) +
            ": " + std::to_string(region_.piece.count) + " x " + region_.piece.shape->words;
    if (access.is_single()) return text + ", element " + std::to_string(access.element) + (access.finds ? ", finds" : "");
    for (const Side *it : {&origin_, &result_})
      if (it->shape) text += std::string(it == &origin_ ? "; from " : "; into ") + std::to_string(it->count) + " x " + it->shape->words;
    return text;
  }

  bool is_derived() const { return region_.piece.shape->owned || (origin_.shape && origin_.shape->owned); }

  // Tells whether a byte of a number has one value only.
  static bool counts(const Atom &atom, const Number &number, int byte) {
    if (!carries(atom, byte)) return false;
    if (!is_complex(atom.kind)) return true;
    // Zeros have either sign.
    static const unsigned char zero[16] = {0};
    int half = atom.size / 2, top = atom.kind == Kind::EXTENDED_COMPLEX ? 9 : half - 1;
    return byte % half != top || memcmp(number.bytes + byte / half * half, zero, (size_t)top) != 0 || (number.bytes[byte] & 0x7f) != 0;
  }

 private:
  struct Side {
    Memory memory;
    ShapePointer shape;
    int64_t count = -1;
  };
  const Window &window_;
  const Region &region_;
  const Limits limits_;
  Random random_;
  bool asks_ = false;
  const std::vector<Number> now_;
  Side origin_, result_;
  // What an operation on one element brings, gets, and compares with.
  alignas(32) unsigned char one_[3][48];

  void single() {
    size_t first = (size_t)access.element * region_.per();
    memset(one_, 0x5a, sizeof one_);
    for (size_t i = 0; i < region_.per(); i++) {
      const Atom &atom = region_.numbers.atoms[i];
      Number brought = region_.numbers.make(access.key, first + i), other = now_[first + i];
      // What differs in one bit only.
      if (!access.finds) other.bytes[access.key % (uint64_t)atom.size] ^= 1;
      memcpy(one_[0] + atom.at, brought.bytes, (size_t)atom.size);
      memcpy(one_[2] + atom.at, other.bytes, (size_t)atom.size);
    }
  }

  Side side(bool is_used) {
    Side it;
    if (!is_used) return it;
    int64_t factor;
    do factor = random_.between(1, region_.multiple);
    while (region_.multiple % factor);
    it.count = region_.units / factor;
    Shaper shaper{random_, limits_};
    it.shape = shaper.make(region_.unit, factor, it.count);
    random_ = shaper.random;
    Piece piece;
    piece.count = it.count, piece.shape = it.shape;
    it.memory.pieces.push_back(piece);
    it.memory.allocate();
    it.memory.fill(random_.next());
    return it;
  }

  template <class F> void place(Side &it, F number) {
    Source source = [number](uint64_t k, const Atom &atom, unsigned char *out) { memcpy(out, number(k).bytes, (size_t)atom.size); };
    it.memory.place(it.memory.pieces[0], source);
    it.memory.expect(it.memory.pieces[0], source);
  }
};
#endif
