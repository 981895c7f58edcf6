// A case: one collective operation with everything that can vary drawn from the seed and the case's number, and a plain
// model of what each byte must be after it.
#ifndef SWEEP_CASE_H
#define SWEEP_CASE_H
#include "communicators.h"
#include "memory.h"
#include "operators.h"

enum class Operation {
  BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
  REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN,
  NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW, COUNT
};
inline const char *const operation_names[] = {
    "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv",
    "alltoallw", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
    "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"};

enum Form { BLOCKING, NONBLOCKING, PERSISTENT };

// One side of a call, as arguments.
struct Side {
  Memory memory;
  const void *buffer = nullptr;
  int64_t count = 0;
  MPI_Datatype type = MPI_INT;
  std::vector<int64_t> counts, displacements;
  std::vector<MPI_Datatype> types;
  std::vector<ShapePointer> shapes;
  // By piece, for each turn: what is there before, and what must be there after. Neither changes what is not named.
  std::vector<std::function<Source(int)>> before, after;
  bool used = false;
};

struct Settings {
  uint64_t seed = 1;
  int world_rank = 0;
  int64_t budget = 200000;
  bool flight = false, no_large = false, no_persistent = false;
  Limits limits;
};

class Case {
 public:
  Operation operation;
  Form form;
  bool large = false, in_place = false, user = false, derived = false, active = false;
  Reduction reduction = Reduction::SUM;
  const Communicator *comm = nullptr;
  int root = 0, root_side = 0, turns = 1;
  Side send, receive;
  MPI_Op op = MPI_OP_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int number;

  Case(const Settings &settings, const std::vector<const Communicator *> &all, int number)
      : number(number), settings_(settings), key_(hash(settings.seed, 1, number)), common_{hash(settings.seed, 2, number)},
        local_{hash(settings.seed, 3, number, settings.world_rank)} {
    draw(all);
    active = comm->member();
    if (active) build();
  }

  ~Case() {
    for (Side *side : {&send, &receive})
      for (auto &shape : side->shapes) Registry::get().remove(shape.get());
    for (MPI_Datatype &type : extra_)
      if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    if (user && op != MPI_OP_NULL) MPI_Op_free(&op);
  }
  Case(const Case &) = delete;

  bool is(Operation first, Operation last) const { return operation >= first && operation <= last; }
  bool reduces() const { return is(Operation::REDUCE, Operation::EXSCAN); }
  bool neighborly() const { return operation >= Operation::NEIGHBOR_ALLGATHER; }
  bool rooted() const { return is(Operation::BCAST, Operation::SCATTERV) || operation == Operation::REDUCE; }
  bool is_root() const { return rooted() && comm->side == root_side && comm->rank == root; }
  // The root as an argument.
  int root_argument() const {
    if (!comm->remote || comm->side != root_side) return root;
    return comm->rank == root ? MPI_ROOT : MPI_PROC_NULL;
  }

  // Fills the buffers for a turn.
  void fill(int turn) {
    for (Side *side : {&send, &receive}) {
      if (!side->used) continue;
      Memory &memory = side->memory;
      memory.fill(hash(key_, turn, side == &send, settings_.world_rank));
      for (size_t i = 0; i < memory.pieces.size(); i++) {
        if (side->before[i]) memory.place(memory.pieces[i], side->before[i](turn));
        if (side->after[i]) memory.expect(memory.pieces[i], side->after[i](turn));
        if (settings_.limits.tame) memory.forget_padding(memory.pieces[i]);
        if (reduces() && !user && reduction == Reduction::PROD) memory.forget_signs(memory.pieces[i]);
      }
    }
  }

  // Compares the buffers after a turn; returns nothing or what is wrong.
  std::string check() const {
    std::string text;
    if (send.used) text = send.memory.check("send buffer");
    if (receive.used) text += std::string(text.empty() ? "" : "; ") + receive.memory.check("receive buffer");
    if (text == "; ") text = "";
    if (Registry::get().unknown) text += "; a user operation was called with an unknown datatype";
    return text;
  }

  // Frees what may be freed while the operation is under way.
  void free_early() {
    if (settings_.limits.tame) return;
    if (user && op != MPI_OP_NULL) MPI_Op_free(&op);
    if (user || !free_early_) return;
    for (Side *side : {&send, &receive})
      for (auto &shape : side->shapes)
        if (shape->owned) MPI_Type_free(&shape->handle), shape->owned = false;
  }

  std::string name() const {
    std::string text = operation_names[(int)operation];
    if (form == BLOCKING) text[0] = (char)toupper(text[0]);
    text = std::string(form == NONBLOCKING ? "MPI_I" : "MPI_") + text;
    if (form == PERSISTENT) text[4] = (char)toupper(text[4]), text += "_init";
    return text + (large ? "_c" : "");
  }

  std::string words() const {
    std::string text = name() + " on " + comm->words;
    if (!active) return text + " (not a member)";
    text += ", rank " + std::to_string(comm->rank) + " of " + std::to_string(comm->size);
    if (comm->remote) text += " with " + std::to_string(comm->remote) + " remote";
    if (rooted()) text += ", root " + std::to_string(root) + (comm->remote ? root_side ? " of the second group" : " of the first group" : "");
    if (reduces()) text += std::string(", ") + name_of(reduction);
    if (in_place) text += ", in place";
    if (turns > 1) text += ", " + std::to_string(turns) + " starts";
    for (const Side *side : {&send, &receive}) {
      if (!side->used) continue;
      text += side == &send ? "; sends" : "; receives";
      std::string last;
      size_t shown = 0;
      for (const Piece &piece : side->memory.pieces) {
        if (shown++ == 4) {
          text += " ... in " + std::to_string(side->memory.pieces.size()) + " pieces";
          break;
        }
        text += " " + std::to_string(piece.count) + " x " + (piece.shape->words == last ? "same" : piece.shape->words);
        last = piece.shape->words;
      }
    }
    return text;
  }

 private:
  const Settings &settings_;
  uint64_t key_;
  Random common_, local_;
  std::vector<const Predefined *> unit_;
  int64_t multiple_ = 1, amount_ = 0;
  std::vector<MPI_Datatype> extra_;
  bool free_early_ = false, varied_ = false;

  static const std::vector<Predefined> &types() {
    static const std::vector<Predefined> all = predefined();
    return all;
  }

  void draw(const std::vector<const Communicator *> &all) {
    // Each operation once in as many cases as there are operations.
    const int kinds = (int)Operation::COUNT;
    Random order{hash(settings_.seed, 4, number / kinds)};
    operation = (Operation)order.permutation(kinds)[(size_t)(number % kinds)];
    form = (Form)(settings_.flight ? common_.between(1, 2) : common_.below(3));
    if (form == PERSISTENT && settings_.no_persistent) form = NONBLOCKING;
    if (form == PERSISTENT) turns = (int)common_.between(1, 3);
    large = common_.one_in(2) && !settings_.no_large && operation != Operation::BARRIER;
    std::vector<const Communicator *> intra, inter, topologies;
    for (const Communicator *it : all) (it->has_topology() ? topologies : it->remote ? inter : intra).push_back(it);
    bool between = common_.one_in(4) && !inter.empty() && !is(Operation::SCAN, Operation::EXSCAN);
    comm = common_.pick(neighborly() ? topologies : between ? inter : intra);
    root_side = comm->remote ? (int)common_.below(2) : 0;
    bool may_be_in_place = !comm->remote && !neighborly() && operation > Operation::BCAST;
    in_place = may_be_in_place && common_.one_in(3);
    varied_ = operation == Operation::GATHERV || operation == Operation::SCATTERV || operation == Operation::ALLGATHERV ||
              is(Operation::ALLTOALLV, Operation::ALLTOALLW) || operation == Operation::NEIGHBOR_ALLGATHERV ||
              operation >= Operation::NEIGHBOR_ALLTOALLV;
    free_early_ = form != BLOCKING && local_.one_in(4) && !settings_.limits.tame;
    user = reduces() && common_.one_in(2);
    if (reduces() && !user) {
      do unit_ = {&common_.pick(types())};
      while (reductions_for(unit_[0]->group).empty());
      reduction = common_.pick(reductions_for(unit_[0]->group));
    } else {
      for (int64_t n = common_.one_in(2) ? 1 : common_.between(2, 4); n > 0; n--) unit_.push_back(&common_.pick(types()));
      static const int multiples[] = {1, 1, 2, 3, 4, 6, 12};
      multiple_ = multiples[common_.below(7)];
      if (user) reduction = common_.one_in(2) ? Reduction::ADD : Reduction::COMPOSE;
    }
    // The order of operands is at risk where ranks that work together do not follow each other.
    if (reduction == Reduction::COMPOSE && !comm->remote && common_.one_in(2)) {
      intra.erase(std::remove_if(intra.begin(), intra.end(), [](const Communicator *it) { return !it->scattered; }), intra.end());
      comm = common_.pick(intra);
    }
    uint64_t root_draw = common_.next();
    if (!comm->member()) return;
    root = (int)(root_draw % (uint64_t)comm->size_of(root_side));
    int64_t bytes = 0;
    for (const Predefined *type : unit_) bytes += type->extent;
    int64_t parties = std::max(comm->size, comm->remote);
    int64_t most = settings_.budget / (bytes * multiple_ * (operation == Operation::BCAST ? 1 : parties));
    switch (common_.below(10)) {
      case 0: amount_ = 0; break;
      case 1:
      case 2:
      case 3:
      case 4: amount_ = common_.between(1, 4); break;
      case 5:
      case 6: amount_ = common_.between(1, 40); break;
      case 7:
      case 8: amount_ = common_.between(1, 600); break;
      default: amount_ = common_.between(1, 100000); break;
    }
    amount_ = std::min(amount_, std::max<int64_t>(1, common_.one_in(2) ? most : common_.between(1, std::max<int64_t>(1, most))));
  }

  // Returns how many units rank `from` of a group has for `to`.
  int64_t units(int group, int from, int to) const {
    if (!varied_) return multiple_ * (group == 0 || amount_ == 0 ? amount_ : 1 + amount_ / 2);
    if (in_place && is(Operation::ALLTOALLV, Operation::ALLTOALLW) && from > to) std::swap(from, to);
    uint64_t h = hash(key_, 5, group, from, to);
    return amount_ == 0 || h % 5 == 0 ? 0 : multiple_ * (int64_t)(1 + (h >> 8) % (uint64_t)amount_);
  }

  ShapePointer shape(Random &random, int64_t times, int64_t most) {
    Shaper shaper{random, settings_.limits};
    ShapePointer it = shaper.make(unit_, times, most);
    random = shaper.random;
    derived = derived || it->owned;
    return it;
  }

  // Draws how many units an element has, from what divides all amounts.
  int64_t divisor() {
    int64_t d;
    do d = local_.between(1, multiple_);
    while (multiple_ % d);
    return d;
  }

  void piece(Side &side, int64_t offset, int64_t count, const ShapePointer &shape, int peer) {
    side.memory.pieces.push_back({offset, count, shape, peer});
    side.before.emplace_back(), side.after.emplace_back();
  }

  void one_type(Side &side, const ShapePointer &shape) {
    side.shapes = {shape};
    side.type = shape->handle;
  }

  void build_whole(Side &side, int64_t units, int peer) {
    int64_t d = divisor();
    one_type(side, shape(local_, d, units / d));
    side.count = units / d;
    piece(side, 0, side.count, side.shapes[0], peer);
    finish(side);
  }

  void build_even(Side &side, int64_t units, const std::vector<int> &peers) {
    int64_t d = divisor(), n = (int64_t)peers.size();
    one_type(side, shape(local_, d, units / d * n));
    side.count = units / d;
    for (int64_t i = 0; i < n; i++)
      piece(side, i * side.count * side.shapes[0]->extent, side.count, side.shapes[0], peers[(size_t)i]);
    finish(side);
  }

  void build_varied(Side &side, const std::vector<int64_t> &units, const std::vector<int> &peers) {
    int64_t d = divisor();
    one_type(side, shape(local_, d, 0));
    size_t n = units.size();
    side.counts.resize(n), side.displacements.resize(n);
    int64_t at = local_.between(-3, 3);
    for (int i : local_.permutation((int)n)) {
      side.counts[(size_t)i] = units[(size_t)i] / d;
      side.displacements[(size_t)i] = at;
      at += side.counts[(size_t)i] + local_.below(3);
    }
    for (size_t i = 0; i < n; i++)
      piece(side, side.displacements[i] * side.shapes[0]->extent, side.counts[i], side.shapes[0], peers[i]);
    finish(side);
  }

  void build_typed(Side &side, const std::vector<int64_t> &units, const std::vector<int> &peers) {
    size_t n = units.size();
    side.counts.resize(n), side.displacements.resize(n), side.shapes.resize(n);
    int64_t cursor = local_.between(-4, 4) * 16;
    for (int i : local_.permutation((int)n)) {
      size_t at = (size_t)i;
      int64_t d = divisor(), count = units[at] / d;
      side.shapes[at] = i > 0 && at > 0 && side.shapes[at - 1] && local_.one_in(2) ? nullptr : shape(local_, d, count);
      if (!side.shapes[at]) {
        // The same type as the piece before, if that divides evenly.
        side.shapes[at] = side.shapes[at - 1];
        d = (int64_t)(side.shapes[at]->map.size() / unit_atoms());
        count = units[at] / d;
        // Elements that lie between each other are made for one piece only.
        if (std::abs(side.shapes[at]->extent) < side.shapes[at]->span()) side.shapes[at] = shape(local_, 1, 0), count = units[at];
      }
      const Shape &s = *side.shapes[at];
      int64_t last = (std::max<int64_t>(count, 1) - 1) * s.extent;
      int64_t low = std::min<int64_t>(0, last) + s.low, high = std::max<int64_t>(0, last) + s.high;
      cursor = (cursor + 1600 + 15) / 16 * 16 - 1600;
      int64_t offset = cursor - low;
      offset = (offset + (int64_t)16000000 + 15) / 16 * 16 - 16000000;
      cursor = offset + high + local_.below(3) * 8;
      side.counts[at] = count, side.displacements[at] = offset;
    }
    for (size_t i = 0; i < n; i++) {
      side.types.push_back(side.shapes[i]->handle);
      piece(side, side.displacements[i], side.counts[i], side.shapes[i], peers[i]);
    }
    finish(side);
  }

  size_t unit_atoms() const {
    size_t n = 0;
    for (const Predefined *type : unit_) n += type->atoms.size();
    return n;
  }

  // Gives the side its memory. Now and then the datatypes hold the address, and the buffer is MPI_BOTTOM.
  void finish(Side &side) {
    side.used = true;
    side.memory.allocate();
    side.buffer = side.memory.address();
    int64_t all = 0;
    for (const Piece &piece : side.memory.pieces) all += piece.count;
    if (all == 0 && local_.one_in(2) && !settings_.limits.tame) {
      side.buffer = nullptr;
    } else if (all > 0 && !reduces() && local_.one_in(12) && !settings_.limits.tame) {
      auto absolute = [&](const Shape &shape) {
        MPI_Aint address;
        MPI_Datatype moved, whole;
        MPI_Get_address(side.buffer, &address);
        MPI_Type_create_hindexed_block(1, 1, &address, shape.handle, &moved);
        MPI_Type_create_resized(moved, shape.lb, shape.extent, &whole);
        MPI_Type_free(&moved);
        MPI_Type_commit(&whole);
        extra_.push_back(whole);
        return whole;
      };
      if (side.types.empty()) side.type = absolute(*side.shapes[0]);
      for (size_t i = 0; i < side.types.size(); i++) side.types[i] = absolute(*side.shapes[i]);
      side.buffer = MPI_BOTTOM;
    }
  }

  // Fills arguments that mean nothing with what must not be looked at.
  void junk(Side &side) {
    static char nothing[64];
    if (settings_.limits.tame && !side.buffer && side.memory.pieces.empty()) side.buffer = nothing;
    if (side.used || settings_.limits.tame || local_.one_in(2)) return;
    side.buffer = (void *)(uintptr_t)16;
    side.count = -3;
    side.type = MPI_DATATYPE_NULL;
  }

  // The bytes that rank `from` of a group has for `to`.
  std::function<Source(int)> raw(int group, int from, int to) const {
    uint64_t key = key_;
    return [=](int turn) -> Source {
      uint64_t base = hash(key, 6, turn, group, from, to);
      return [base](uint64_t k, const Atom &atom, unsigned char *out) { raw_bytes(base, k, atom.size, out); };
    };
  }

  static void raw_bytes(uint64_t base, uint64_t k, int size, unsigned char *out) {
    for (int i = 0; i < size; i += 8) {
      uint64_t word = mix(base + 4 * k + (uint64_t)i / 8);
      memcpy(out + i, &word, (size_t)std::min(8, size - i));
    }
  }

  // What a rank contributes to a reduction, from a number on.
  std::function<Source(int)> contributed(int group, int from, uint64_t first) const {
    return [=](int turn) -> Source {
      uint64_t base = hash(key_, 7, turn, group, from);
      return [=](uint64_t k, const Atom &atom, unsigned char *out) {
        k += first;
        if (user) raw_bytes(base, k, atom.size, out);
        else put(single(base, k, atom), atom, out);
      };
    };
  }

  bool pairs() const { return unit_[0]->group == Group::PAIR; }

  Value single(uint64_t base, uint64_t k, const Atom &atom) const {
    return contribution(reduction, atom, pairs() ? (int)(k % 2) : 0, mix(base + k));
  }

  // What the first `many` ranks of a group contribute, reduced, from a number on.
  std::function<Source(int)> reduced(int group, int many, uint64_t first) const {
    return [=](int turn) -> Source {
      std::vector<uint64_t> bases;
      for (int r = 0; r < many; r++) bases.push_back(hash(key_, 7, turn, group, r));
      return [=](uint64_t k, const Atom &atom, unsigned char *out) {
        k += first;
        if (user) {
          unsigned char in[32];
          raw_bytes(bases.back(), k, atom.size, out);
          for (int r = many - 2; r >= 0; r--) {
            raw_bytes(bases[(size_t)r], k, atom.size, in);
            combine_bytes(reduction == Reduction::COMPOSE, atom.size, in, out);
          }
        } else if (pairs()) {
          uint64_t even = k / 2 * 2;
          const auto &both = unit_[0]->atoms;
          auto get = [&](int r, Value *v) {
            v[0] = single(bases[(size_t)r], even, both[0]), v[1] = single(bases[(size_t)r], even + 1, both[1]);
          };
          Value all[2], one[2];
          get(many - 1, all);
          for (int r = many - 2; r >= 0; r--) get(r, one), combine_pair(reduction, one, all);
          put(all[k % 2], atom, out);
        } else {
          Value all = single(bases.back(), k, atom);
          for (int r = many - 2; r >= 0; r--) combine(reduction, atom, single(bases[(size_t)r], k, atom), all);
          put(all, atom, out);
        }
      };
    };
  }

  void build() {
    std::vector<int> everybody((size_t)comm->peers());
    std::iota(everybody.begin(), everybody.end(), 0);
    if (neighborly()) build_neighbors();
    else if (reduces()) build_reduction();
    else if (operation != Operation::BARRIER) build_movement(everybody);
    junk(send);
    junk(receive);
  }

  void build_movement(const std::vector<int> &everybody) {
    int me = comm->rank, side = comm->side, other = comm->remote ? 1 - side : 0;
    bool inter = comm->remote != 0, idle = inter && rooted() && side == root_side && me != root;
    auto several = [&](Side &s, auto amount) {
      std::vector<int64_t> all;
      for (int peer : everybody) all.push_back(amount(peer));
      if (operation == Operation::ALLTOALLW) build_typed(s, all, everybody);
      else if (varied_) build_varied(s, all, everybody);
      else build_even(s, all[0], everybody);
    };
    switch (operation) {
      case Operation::BCAST:
        if (idle) break;
        if (is_root()) {
          build_whole(send, units(root_side, root, 0), root);
          send.before[0] = raw(root_side, root, 0);
        } else {
          build_whole(receive, units(root_side, root, 0), root);
          receive.after[0] = raw(root_side, root, 0);
        }
        break;
      case Operation::GATHER:
      case Operation::GATHERV:
        in_place = in_place && is_root();
        if (!idle && (!inter || side != root_side) && !in_place) {
          build_whole(send, units(side, me, 0), root);
          send.before[0] = raw(side, me, 0);
        }
        if (is_root()) {
          several(receive, [&](int peer) { return units(other, peer, 0); });
          for (int peer : everybody) receive.after[(size_t)peer] = raw(other, peer, 0);
          if (in_place) receive.before[(size_t)me] = raw(other, me, 0);
        }
        break;
      case Operation::SCATTER:
      case Operation::SCATTERV:
        in_place = in_place && is_root();
        if (is_root()) {
          several(send, [&](int peer) { return units(root_side, root, peer); });
          for (int peer : everybody) send.before[(size_t)peer] = raw(root_side, root, peer);
        }
        if (!idle && (!inter || side != root_side) && !in_place) {
          build_whole(receive, units(root_side, root, me), root);
          receive.after[0] = raw(root_side, root, me);
        }
        break;
      case Operation::ALLGATHER:
      case Operation::ALLGATHERV:
        if (!in_place) {
          build_whole(send, units(side, me, 0), me);
          send.before[0] = raw(side, me, 0);
        }
        several(receive, [&](int peer) { return units(other, peer, 0); });
        for (int peer : everybody) receive.after[(size_t)peer] = raw(other, peer, 0);
        if (in_place) receive.before[(size_t)me] = raw(other, me, 0);
        break;
      default:
        if (!in_place) {
          several(send, [&](int peer) { return units(side, me, peer); });
          for (int peer : everybody) send.before[(size_t)peer] = raw(side, me, peer);
        }
        several(receive, [&](int peer) { return units(other, peer, me); });
        for (int peer : everybody) {
          receive.after[(size_t)peer] = raw(other, peer, me);
          if (in_place) receive.before[(size_t)peer] = raw(side, me, peer);
        }
        break;
    }
  }

  void build_reduction() {
    int me = comm->rank, side = comm->side, other = comm->remote ? 1 - side : 0, size = comm->size;
    int contributors = comm->size_of(other);
    int64_t count = amount_;
    // All ranks reduce elements of one type.
    ShapePointer shape;
    if (user) {
      Random random{hash(key_, 8)};
      shape = this->shape(random, multiple_, 0);
    } else {
      shape = Shaper{{0}, settings_.limits}.make(unit_, 1, 0, true);
    }
    op = user ? create_user_operation(reduction, large) : handle_of(reduction);
    uint64_t atoms = shape->map.size();
    auto build = [&](Side &s, int64_t elements, int64_t rest) {
      one_type(s, shape);
      s.count = elements;
      piece(s, 0, elements, shape, me);
      if (rest) piece(s, elements * shape->extent, rest, shape, me);
      finish(s);
      if (user) Registry::get().add(shape.get());
    };
    auto sends = [&](int64_t elements) {
      build(send, elements, 0);
      send.before[0] = contributed(side, me, 0);
    };
    auto receives = [&](int64_t elements, int many, int64_t first, int64_t rest) {
      build(receive, elements, rest);
      receive.after[0] = reduced(other, many, (uint64_t)first * atoms);
      if (in_place) {
        receive.before[0] = contributed(side, me, 0);
        if (rest) receive.before[1] = contributed(side, me, (uint64_t)elements * atoms);
        // What becomes of the part of the input that is not replaced is not said.
        if (rest) receive.memory.free_to_change(receive.memory.pieces[1]);
      }
      receive.memory.forget_padding(receive.memory.pieces[0]);
    };
    switch (operation) {
      case Operation::REDUCE:
        in_place = in_place && is_root();
        if (!in_place && (!comm->remote || side != root_side)) sends(count);
        if (is_root()) receives(count, contributors, 0, 0);
        break;
      case Operation::ALLREDUCE:
        if (!in_place) sends(count);
        receives(count, contributors, 0, 0);
        break;
      case Operation::REDUCE_SCATTER_BLOCK: {
        int64_t mine = (count + size - 1) / size;
        if (comm->remote) mine = (count + size * comm->remote - 1) / (size * comm->remote) * comm->remote;
        if (!in_place) sends(mine * size);
        receives(mine, contributors, mine * me, in_place ? mine * size - mine : 0);
        receive.count = mine;
        break;
      }
      case Operation::REDUCE_SCATTER: {
        // Each group divides the same number of elements in its own way.
        Random random{hash(key_, 9, side)};
        int64_t left = count, first = 0, mine = 0;
        for (int r = 0; r < size; r++) {
          int64_t part = r == size - 1 ? left : random.one_in(5) ? 0 : random.between(0, std::min(left, 2 * count / size + 1));
          receive.counts.push_back(part);
          if (r < me) first += part;
          if (r == me) mine = part;
          left -= part;
        }
        if (!in_place) sends(count);
        receives(mine, contributors, first, in_place ? count - mine : 0);
        break;
      }
      default: {
        bool nothing = operation == Operation::EXSCAN && me == 0;
        if (!in_place) sends(count);
        if (nothing && !in_place) break;
        receives(count, operation == Operation::SCAN ? me + 1 : std::max(1, me), 0, 0);
        if (nothing) receive.memory.free_to_change(receive.memory.pieces[0]);
        break;
      }
    }
  }

  void build_neighbors() {
    int me = comm->rank;
    const auto &to = comm->destinations[(size_t)me], &from = comm->sources[(size_t)me];
    bool gathers = operation <= Operation::NEIGHBOR_ALLGATHERV;
    auto several = [&](Side &s, const std::vector<int64_t> &all, const std::vector<int> &peers) {
      if (operation == Operation::NEIGHBOR_ALLTOALLW) build_typed(s, all, peers);
      else if (varied_) build_varied(s, all, peers);
      else build_even(s, multiple_ * amount_, peers);
    };
    if (gathers) {
      build_whole(send, units(0, me, 0), me);
      send.before[0] = raw(0, me, 0);
    } else {
      std::vector<int64_t> all;
      for (size_t e = 0; e < to.size(); e++) all.push_back(units(0, me, (int)e));
      several(send, all, to);
      for (size_t e = 0; e < to.size(); e++) send.before[e] = raw(0, me, (int)e);
    }
    std::vector<int64_t> all;
    std::vector<int> edges;
    for (size_t i = 0; i < from.size(); i++) {
      int edge = gathers || from[i] < 0 ? 0 : edge_of(from, i, me);
      edges.push_back(edge);
      all.push_back(from[i] < 0 ? multiple_ * amount_ : units(0, from[i], edge));
    }
    several(receive, all, from);
    for (size_t i = 0; i < from.size(); i++)
      if (from[i] >= 0) receive.after[i] = raw(0, from[i], edges[i]);
  }

  // Finds which of the sender's edges ends in place `i` of the receiver's list: in a grid what is sent up comes from
  // below; else the first edge between two ranks goes with the first, and so on.
  int edge_of(const std::vector<int> &from, size_t i, int me) const {
    if (comm->grid) return (int)(i ^ 1);
    auto earlier = std::count(from.begin(), from.begin() + (long)i, from[i]);
    const auto &edges = comm->destinations[(size_t)from[i]];
    for (size_t e = 0; e < edges.size(); e++)
      if (edges[e] == me && earlier-- == 0) return (int)e;
    return 0;
  }
};
#endif
