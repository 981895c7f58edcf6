// Windows of all flavours, and what each rank knows of the others' parts by computing it.
#ifndef SWEEP_WINDOWS_H
#define SWEEP_WINDOWS_H
#include "communicators.h"
#include <cstdlib>

#if MPI_VERSION >= 4
#define SWEEP_LARGE 1
#else
#define SWEEP_LARGE 0
#endif

enum class Flavour { CREATE, ALLOCATE, SHARED, DYNAMIC };
inline const char *const flavour_names[] = {"create", "allocate", "shared", "dynamic"};

// A window. Each part is divided into areas of the same size: one for each rank's own accesses, and one for accumulates of all.
class Window {
 public:
  const Communicator &comm;
  const Flavour flavour;
  const int64_t area;
  MPI_Win win = MPI_WIN_NULL;
  unsigned char *base = nullptr;
  bool no_locks = false, is_ordered = true;
  // The first call that failed, and its code.
  std::string failed;
  int code = MPI_SUCCESS;

  Window(const Communicator &comm, Flavour flavour, int64_t area, uint64_t key, bool large)
      : comm(comm), flavour(flavour), area(area), random_{key} {
    static const int some[] = {1, 1, 2, 4, 8, 16, 3, 24, 40};
    bool alike = random_.one_in(2);
    has_holes_ = random_.one_in(5);
    for (int r = 0; r < comm.size; r++) units_.push_back(alike && r ? units_[0] : some[random_.below(9)]);
    if (flavour == Flavour::DYNAMIC) units_.assign((size_t)comm.size, 1);
    no_locks = random_.one_in(6);
    is_ordered = !random_.one_in(4);
    create(large, alike);
    if (!failed.empty()) return;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Aint mine = 0;
    if (flavour == Flavour::DYNAMIC) attach(), MPI_Get_address(base, &mine);
    starts_.resize((size_t)comm.size);
    MPI_Allgather(&mine, 1, MPI_AINT, starts_.data(), 1, MPI_AINT, comm.comm);
  }
  Window(const Window &) = delete;

  // Frees the window and its memory.
  void free() {
    for (int64_t at : attached_) note("MPI_Win_detach", MPI_Win_detach(win, base + at));
    if (win != MPI_WIN_NULL) note("MPI_Win_free", MPI_Win_free(&win));
    if (flavour == Flavour::CREATE || flavour == Flavour::DYNAMIC) std::free(base);
  }

  int64_t bytes(int rank) const { return has_holes_ && rank % 3 == 2 ? 0 : area * (comm.size + 1); }
  int64_t unit(int rank) const { return units_[(size_t)rank]; }
  // Where the area of a rank is; that of all is behind the last one's.
  int64_t area_of(int rank) const { return area * rank; }
  // The displacement of what is so many bytes behind the start of a rank's part.
  MPI_Aint displacement(int rank, int64_t offset) const {
    return flavour == Flavour::DYNAMIC ? MPI_Aint_add(starts_[(size_t)rank], (MPI_Aint)offset) : (MPI_Aint)(offset / unit(rank));
  }

  // Remembers a call that failed; tells whether this one succeeded.
  bool note(const char *name, int result) {
    if (result != MPI_SUCCESS && failed.empty()) failed = name, code = result;
    return result == MPI_SUCCESS;
  }

  std::string words() const {
    std::string text = std::string(flavour_names[(int)flavour]) + " window on " + comm.words + ", rank " + std::to_string(comm.rank) +
                       " of " + std::to_string(comm.size);
    return text + (no_locks ? ", no_locks" : "") + (is_ordered ? "" : ", unordered");
  }

 private:
  Random random_;
  std::vector<int64_t> units_;
  std::vector<MPI_Aint> starts_;
  std::vector<int64_t> attached_;
  bool has_holes_ = false;

  void create(bool large, bool alike) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (no_locks) MPI_Info_set(info, "no_locks", "true");
    if (!is_ordered) MPI_Info_set(info, "accumulate_ordering", "none");
    if (random_.one_in(3)) MPI_Info_set(info, "accumulate_ops", "same_op_no_op");
    if (alike && random_.one_in(2)) MPI_Info_set(info, "same_disp_unit", "true");
    if (!has_holes_ && random_.one_in(2)) MPI_Info_set(info, "same_size", "true");
    if (random_.one_in(2)) MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Aint size = (MPI_Aint)bytes(comm.rank), wide = (MPI_Aint)unit(comm.rank);
    int narrow = (int)wide;
    (void)large, (void)wide;
    if (flavour == Flavour::CREATE || flavour == Flavour::DYNAMIC) base = (unsigned char *)aligned_alloc(64, (size_t)size + 64);
    switch (flavour) {
#if SWEEP_LARGE
#define CREATED(NAME, ...) note("MPI_Win_" #NAME, large ? MPI_Win_##NAME##_c(__VA_ARGS__(wide)) : MPI_Win_##NAME(__VA_ARGS__(narrow)))
#else
#define CREATED(NAME, ...) note("MPI_Win_" #NAME, MPI_Win_##NAME(__VA_ARGS__(narrow)))
#endif
#define OF_USER(UNIT) base, size, UNIT, info, comm.comm, &win
#define OF_WINDOW(UNIT) size, UNIT, info, comm.comm, &base, &win
      case Flavour::CREATE: CREATED(create, OF_USER); break;
      case Flavour::ALLOCATE: CREATED(allocate, OF_WINDOW); break;
      case Flavour::SHARED: CREATED(allocate_shared, OF_WINDOW); break;
      case Flavour::DYNAMIC: note("MPI_Win_create_dynamic", MPI_Win_create_dynamic(info, comm.comm, &win)); break;
#undef CREATED
#undef OF_USER
#undef OF_WINDOW
    }
    MPI_Info_free(&info);
  }

  // Attaches the memory in pieces of whole areas.
  void attach() {
    int64_t end = bytes(comm.rank) / area;
    for (int64_t at = 0; at < end;) {
      int64_t next = random_.one_in(2) ? end : random_.between(at + 1, end);
      attached_.push_back(at * area);
      note("MPI_Win_attach", MPI_Win_attach(win, base + at * area, (MPI_Aint)((next - at) * area)));
      at = next;
    }
  }
};
#endif
