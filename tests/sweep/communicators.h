// The communicators that cases use, and what a rank knows of them by computing it.
#ifndef SWEEP_COMMUNICATORS_H
#define SWEEP_COMMUNICATORS_H
#include "random.h"
#include <functional>
#include <mpi.h>
#include <string>

struct Communicator {
  std::string words;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 0;
  // The other group's size, or 0; which of the two groups the rank is in.
  int remote = 0, side = 0;
  // By rank: to whom it sends and from whom it receives, MPI_PROC_NULL included.
  std::vector<std::vector<int>> destinations, sources;
  bool grid = false;
  // Whether neighbors in rank are far from each other in the world.
  bool scattered = false;

  bool member() const { return comm != MPI_COMM_NULL; }
  bool has_topology() const { return !destinations.empty(); }
  int peers() const { return remote ? remote : size; }
  int size_of(int group) const { return remote && group != side ? remote : size; }
};

inline void finish(Communicator &it) {
  if (!it.member()) return;
  MPI_Comm_set_errhandler(it.comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(it.comm, &it.rank);
  MPI_Comm_size(it.comm, &it.size);
}

inline Communicator split(const char *words, int color, int key) {
  Communicator it;
  it.words = words;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &it.comm);
  finish(it);
  return it;
}

// Makes an intercommunicator of the ranks for which `left` holds and the others.
inline Communicator two_groups(const char *words, int rank, int size, bool (*left)(int, int), bool backwards) {
  Communicator it;
  it.words = words;
  int leaders[2] = {-1, -1}, sizes[2] = {0, 0};
  for (int i = 0; i < size; i++) {
    int r = backwards ? size - 1 - i : i, side = left(r, size) ? 0 : 1;
    if (leaders[side] < 0) leaders[side] = r;
    sizes[side]++;
  }
  it.side = left(rank, size) ? 0 : 1;
  MPI_Comm local;
  MPI_Comm_split(MPI_COMM_WORLD, it.side, backwards ? -rank : rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, leaders[1 - it.side], 7, &it.comm);
  MPI_Comm_free(&local);
  finish(it);
  it.remote = sizes[1 - it.side];
  return it;
}

inline Communicator cartesian(std::vector<int> dims, std::vector<int> periods) {
  Communicator it;
  it.words = "a grid of ";
  int n = (int)dims.size(), all = 1;
  for (int d = 0; d < n; d++) {
    it.words += (d ? "x" : "") + std::to_string(dims[(size_t)d]) + (periods[(size_t)d] ? "(periodic)" : "");
    all *= dims[(size_t)d];
  }
  MPI_Cart_create(MPI_COMM_WORLD, n, dims.data(), periods.data(), 1, &it.comm);
  it.grid = true;
  for (int r = 0; r < all; r++) {
    std::vector<int> around;
    for (int d = 0; d < n; d++) {
      int stride = 1;
      for (int e = d + 1; e < n; e++) stride *= dims[(size_t)e];
      int length = dims[(size_t)d], at = r / stride % length;
      for (int step = -1; step <= 1; step += 2) {
        bool out = (at + step < 0 || at + step >= length) && !periods[(size_t)d];
        around.push_back(out ? MPI_PROC_NULL : r + ((at + step + length) % length - at) * stride);
      }
    }
    it.destinations.push_back(around);
  }
  it.sources = it.destinations;
  finish(it);
  return it;
}

inline Communicator graph(Random &random, int size) {
  Communicator it;
  it.words = "a graph";
  it.destinations.resize((size_t)size);
  for (int64_t i = random.between(size, 3 * size); i > 0; i--) {
    int a = (int)random.below(size), b = (int)random.below(size);
    it.destinations[(size_t)a].push_back(b);
    if (a != b) it.destinations[(size_t)b].push_back(a);
  }
  std::vector<int> index, edges;
  for (auto &list : it.destinations) {
    random.shuffle(list);
    edges.insert(edges.end(), list.begin(), list.end());
    index.push_back((int)edges.size());
  }
  it.sources = it.destinations;
  MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 1, &it.comm);
  finish(it);
  return it;
}

inline Communicator distributed_graph(Random &random, int rank, int size, bool adjacent) {
  Communicator it;
  it.words = adjacent ? "a distributed graph (adjacent)" : "a distributed graph";
  it.destinations.resize((size_t)size), it.sources.resize((size_t)size);
  for (int64_t i = random.between(0, 4 * size); i > 0; i--) {
    int a = (int)random.below(size), b = random.one_in(4) ? (a + 1) % size : (int)random.below(size);
    it.destinations[(size_t)a].push_back(b);
    it.sources[(size_t)b].push_back(a);
  }
  for (auto &list : it.sources) random.shuffle(list);
  auto &to = it.destinations[(size_t)rank], &from = it.sources[(size_t)rank];
  if (adjacent) {
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, (int)from.size(), from.data(), MPI_UNWEIGHTED, (int)to.size(),
                                   to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &it.comm);
  } else {
    int degree = (int)to.size();
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &it.comm);
    // The order of a rank's neighbors is the library's choice.
    finish(it);
    for (int r = 0; r < size; r++) {
      for (auto *lists : {&it.sources, &it.destinations}) {
        int count = (int)(*lists)[(size_t)r].size();
        std::vector<int> in((size_t)count + 64), out(in.size());
        bool receives = lists == &it.sources;
        if (r == rank) {
          int sources = (int)it.sources[(size_t)r].size(), sends = (int)it.destinations[(size_t)r].size();
          in.resize((size_t)sources), out.resize((size_t)sends);
          MPI_Dist_graph_neighbors(it.comm, sources, in.data(), MPI_UNWEIGHTED, sends, out.data(), MPI_UNWEIGHTED);
          (*lists)[(size_t)r] = receives ? in : out;
        }
        MPI_Bcast((*lists)[(size_t)r].data(), count, MPI_INT, r, MPI_COMM_WORLD);
      }
    }
  }
  finish(it);
  return it;
}

// Makes the communicators of a run, the same on all ranks.
inline std::vector<Communicator> communicators(uint64_t seed) {
  Random random{hash(seed, 1000)};
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<Communicator> all;
  Communicator world;
  world.words = "MPI_COMM_WORLD";
  world.comm = MPI_COMM_WORLD;
  finish(world);
  all.push_back(world);
  Communicator duplicate;
  duplicate.words = "a duplicate of MPI_COMM_WORLD";
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate.comm);
  finish(duplicate);
  all.push_back(duplicate);
  all.push_back(split("the world backwards", 0, -rank));
  std::vector<int> order = random.permutation(size);
  all.push_back(split("the world shuffled", 0, order[(size_t)rank]));
  all.back().scattered = true;
  all.push_back(split("the even ranks, then the odd ones", 0, rank % 2 * size + rank));
  all.back().scattered = true;
  all.push_back(split("every other rank", rank % 2, rank));
  all.push_back(split("a third of the world", rank * 3 / size, -rank));
  std::vector<int> some = random.permutation(size);
  some.resize((size_t)random.between(1, size));
  Communicator group;
  group.words = "a group of " + std::to_string(some.size());
  MPI_Group everybody, chosen;
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  MPI_Group_incl(everybody, (int)some.size(), some.data(), &chosen);
  for (int r : some)
    if (r == rank) MPI_Comm_create_group(MPI_COMM_WORLD, chosen, 5, &group.comm);
  MPI_Group_free(&chosen);
  MPI_Group_free(&everybody);
  finish(group);
  all.push_back(group);
  Communicator self;
  self.words = "MPI_COMM_SELF";
  self.comm = MPI_COMM_SELF;
  finish(self);
  all.push_back(self);
  if (size > 1) {
    all.push_back(two_groups("an intercommunicator of a third and the rest", rank, size,
                             [](int r, int n) { return r <= n / 3 && r < n - 1; }, false));
    all.push_back(two_groups("an intercommunicator of odd and even ranks backwards", rank, size,
                             [](int r, int) { return r % 2 == 1; }, true));
  }
  all.push_back(cartesian({size}, {1}));
  all.push_back(cartesian({size}, {0}));
  int two[2] = {0, 0}, three[3] = {0, 0, 0};
  MPI_Dims_create(size, 2, two);
  MPI_Dims_create(size > 2 ? size - size % 2 : size, 3, three);
  all.push_back(cartesian({two[0], two[1]}, {(int)random.below(2), (int)random.below(2)}));
  all.push_back(cartesian({three[2], three[0], three[1]}, {(int)random.below(2), 1, (int)random.below(2)}));
  all.push_back(graph(random, size));
  all.push_back(distributed_graph(random, rank, size, true));
  all.push_back(distributed_graph(random, rank, size, false));
  return all;
}

inline void free_all(std::vector<Communicator> &all) {
  for (Communicator &it : all)
    if (it.member() && it.comm != MPI_COMM_WORLD && it.comm != MPI_COMM_SELF) MPI_Comm_free(&it.comm);
}
#endif
