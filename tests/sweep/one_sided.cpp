// One-sided operations of all kinds on windows of all flavours, in epochs of all kinds, with everything that can vary drawn
// from a seed, against a plain model.
//
// usage: one_sided SEED FIRST CASES [tame] [quiet] [cover]
//   Runs cases FIRST to FIRST + CASES - 1 of a seed. A case makes some windows and has some rounds of epochs. `tame`: leaves
//   out what other libraries do not do. `quiet`: does not name the cases. `cover`: says of what kinds their operations are.
#include "accesses.h"
#include "waiting.h"
#include <cstdio>
#include <set>

enum class Sync { FENCE, POST_START, LOCK, LOCK_ALL };
static const char *const sync_names[] = {"fence", "post-start", "lock", "lock_all"};

static uint64_t seed = 1;
static int world_rank, failures;
static bool covers;
static Limits limits;
static std::set<std::string> covered;

// An epoch of each rank at a window, and what is done in it.
class Round {
 public:
  Round(Window &window, Sync sync, int case_number, int number, Random &random)
      : window_(window), comm_(window.comm), sync_(sync), case_(case_number), number_(number), random_(random),
        common_{hash(seed, 31, case_number, number, window.area)} {
    phases_ = (int)common_.between(1, 3);
    is_exclusive_ = sync == Sync::LOCK && common_.one_in(2);
    // Others hang with early posts and with locks that are not checked.
    is_unchecked_ = !is_exclusive_ && (limits.tame ? sync == Sync::POST_START : common_.one_in(3));
    dense_ = comm_.size > 8 ? common_.between(2, comm_.size / 2) : common_.one_in(2) ? 1 : common_.between(1, 4);
    for (int r = 0; r < comm_.size; r++) {
      if (links(comm_.rank, r)) targets_.push_back(r);
      if (links(r, comm_.rank)) origins_.push_back(r);
    }
    plan();
  }

  // Whether it holds locks that let nobody else in.
  bool excludes() const { return is_exclusive_; }
  int phases() const { return phases_; }

  // Fills this rank's part.
  void fill() {
    own([this] {
      for (int64_t i = 0; i < window_.bytes(comm_.rank); i += 8) {
        uint64_t word = hash(seed, case_, number_, world_rank, i);
        memcpy(window_.base + i, &word, 8);
      }
      expected_.assign(window_.base, window_.base + window_.bytes(comm_.rank));
      ignored_.assign(expected_.size(), 0);
      for (Plan &it : incoming_)
        for (Region &region : it.regions) put(region, true);
      for (Region &region : shared_) put(region, true);
    });
  }

  void expose() {
    if (sync_ != Sync::POST_START) return;
    MPI_Group group = group_of(origins_);
    int assert = (is_unchecked_ ? MPI_MODE_NOCHECK : 0) | (origins_.empty() && random_.one_in(2) ? MPI_MODE_NOPUT : 0);
    good("MPI_Win_post", MPI_Win_post(group, assert, window_.win));
    MPI_Group_free(&group);
  }

  // Waits until all ranks are where nobody is to be early.
  void meet() {
    if (sync_ == Sync::LOCK || sync_ == Sync::LOCK_ALL || (sync_ == Sync::POST_START && is_unchecked_)) MPI_Barrier(comm_.comm);
  }

  void open() {
    if (sync_ == Sync::FENCE) good("MPI_Win_fence", MPI_Win_fence(common_.one_in(2) ? MPI_MODE_NOPRECEDE : 0, window_.win));
    if (sync_ == Sync::POST_START) start();
    if (sync_ == Sync::LOCK_ALL) good("MPI_Win_lock_all", MPI_Win_lock_all(is_unchecked_ ? MPI_MODE_NOCHECK : 0, window_.win));
    if (sync_ == Sync::LOCK && !is_exclusive_)
      for (int r : shuffled(targets_)) lock(r);
  }

  // Does what a phase has to do.
  void act(int phase) {
    for (int r : shuffled(targets_)) act(phase, r);
  }

  // Brings the operations so far to an end, so that those of the next phase come after them.
  void separate() {
    switch (sync_) {
      case Sync::FENCE: good("MPI_Win_fence", MPI_Win_fence(0, window_.win)); break;
      case Sync::POST_START:
        good("MPI_Win_complete", MPI_Win_complete(window_.win));
        verify(-1);
        wait();
        expose();
        if (is_unchecked_) MPI_Barrier(comm_.comm);
        start();
        break;
      case Sync::LOCK:
        for (int r : shuffled(targets_)) separate(r);
        break;
      case Sync::LOCK_ALL:
        finish_requests(-1);
        if (random_.one_in(5)) {
          good("MPI_Win_unlock_all", MPI_Win_unlock_all(window_.win));
          good("MPI_Win_lock_all", MPI_Win_lock_all(0, window_.win));
        } else if (random_.one_in(2)) {
          flush_local(-1);
          good("MPI_Win_flush_all", MPI_Win_flush_all(window_.win));
        } else {
          for (int r : shuffled(targets_)) {
            flush_local(r);
            good("MPI_Win_flush", MPI_Win_flush(r, window_.win));
          }
        }
        break;
    }
    verify(-1);
  }

  void close() {
    switch (sync_) {
      case Sync::FENCE: good("MPI_Win_fence", MPI_Win_fence((common_.one_in(2) ? MPI_MODE_NOSUCCEED : 0) | MPI_MODE_NOSTORE, window_.win)); break;
      case Sync::POST_START: good("MPI_Win_complete", MPI_Win_complete(window_.win)); break;
      case Sync::LOCK:
        finish_requests(-1);
        if (!is_exclusive_)
          for (int r : shuffled(targets_)) good("MPI_Win_unlock", MPI_Win_unlock(r, window_.win));
        break;
      case Sync::LOCK_ALL:
        finish_requests(-1);
        good("MPI_Win_unlock_all", MPI_Win_unlock_all(window_.win));
        break;
    }
    verify(-1);
  }

  // Locks one target after the other, as those must that let nobody else in.
  void exclusive() {
    for (int r : shuffled(targets_)) {
      lock(r);
      for (int phase = 0; phase < phases_; phase++) {
        if (phase) separate(r);
        act(phase, r);
      }
      finish_requests(r);
      good("MPI_Win_unlock", MPI_Win_unlock(r, window_.win));
      verify(r);
    }
  }

  void end() {
    if (sync_ == Sync::POST_START) wait();
    if (sync_ == Sync::LOCK || sync_ == Sync::LOCK_ALL) MPI_Barrier(comm_.comm);
    own([this] { check(); });
  }

 private:
  Window &window_;
  const Communicator &comm_;
  const Sync sync_;
  const int case_, number_;
  Random &random_;
  Random common_;
  int phases_ = 1;
  int64_t dense_ = 1;
  bool is_exclusive_ = false, is_unchecked_ = false;
  std::vector<int> targets_, origins_;
  // By place in `origins_` and in `targets_`; and what all accumulate to, here and at each target.
  std::vector<Plan> incoming_, outgoing_, joint_;
  std::vector<Region> shared_;
  std::vector<unsigned char> expected_, ignored_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<bool> known_;

  bool links(int origin, int target) const {
    return window_.bytes(target) > 0 && hash(seed, 32, case_, number_, origin, target) % (uint64_t)dense_ == 0;
  }
  uint64_t key(int origin, int target) const { return hash(seed, 33, case_, number_, window_.area, origin, target); }

  Plan plan_of(int origin, int target) const {
    Plan it;
    Planner planner(window_, target, key(origin, target), limits);
    planner.lay(it, window_.area_of(origin), (int64_t)(key(origin, target) % 3) + 1, false);
    planner.act(it, phases_);
    begin(it.regions, key(origin, target));
    return it;
  }
  // What an origin accumulates where all do.
  Plan joint_of(int origin, int target) const {
    Plan it;
    it.regions = shared_of(target);
    Planner(window_, target, hash(key(origin, target), 1), limits).join(it, phases_);
    return it;
  }
  std::vector<Region> shared_of(int target) const {
    Plan it;
    Planner(window_, target, key(-1, target), limits).lay(it, window_.area_of(comm_.size), 2, true);
    begin(it.regions, key(-1, target));
    return it.regions;
  }
  static void begin(std::vector<Region> &regions, uint64_t key) {
    for (size_t i = 0; i < regions.size(); i++)
      for (uint64_t k = 0; k < (uint64_t)regions[i].units * regions[i].per(); k++) regions[i].now.push_back(regions[i].numbers.make(hash(key, 2, i), k));
  }

  void plan() {
    for (int r : targets_) outgoing_.push_back(plan_of(comm_.rank, r)), joint_.push_back(joint_of(comm_.rank, r));
    for (int r : origins_) incoming_.push_back(plan_of(r, comm_.rank));
    if (!origins_.empty()) shared_ = shared_of(comm_.rank);
  }

  MPI_Group group_of(const std::vector<int> &ranks) {
    MPI_Group all, some;
    MPI_Comm_group(comm_.comm, &all);
    std::vector<int> list = shuffled(ranks);
    MPI_Group_incl(all, (int)list.size(), list.data(), &some);
    MPI_Group_free(&all);
    return some;
  }
  std::vector<int> shuffled(std::vector<int> ranks) {
    random_.shuffle(ranks);
    return ranks;
  }

  void start() {
    MPI_Group group = group_of(targets_);
    good("MPI_Win_start", MPI_Win_start(group, is_unchecked_ ? MPI_MODE_NOCHECK : 0, window_.win));
    MPI_Group_free(&group);
  }
  void wait() {
    int flag = 0;
    for (int64_t tries = random_.one_in(2) ? random_.below(40) : 0; tries > 0 && !flag; tries--)
      good("MPI_Win_test", MPI_Win_test(window_.win, &flag));
    if (!flag) good("MPI_Win_wait", MPI_Win_wait(window_.win));
  }
  void lock(int r) {
    good("MPI_Win_lock", MPI_Win_lock(is_exclusive_ ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, r, is_unchecked_ ? MPI_MODE_NOCHECK : 0, window_.win));
  }
  void separate(int r) {
    finish_requests(r);
    // Who else may lock meanwhile changes other places.
    if (random_.one_in(4)) {
      good("MPI_Win_unlock", MPI_Win_unlock(r, window_.win));
      lock(r);
    } else {
      flush_local(r);
      good("MPI_Win_flush", MPI_Win_flush(r, window_.win));
    }
    verify(r);
  }
  // Looks sometimes whether results are there before their operations are complete at the target.
  void flush_local(int r) {
    if (!random_.one_in(3)) return;
    if (r < 0) good("MPI_Win_flush_local_all", MPI_Win_flush_local_all(window_.win));
    else good("MPI_Win_flush_local", MPI_Win_flush_local(r, window_.win));
    verify(r);
  }

  // Does something to this rank's own part between epochs.
  template <class F> void own(F f) {
    bool locks = sync_ == Sync::LOCK || sync_ == Sync::LOCK_ALL;
    if (locks) good("MPI_Win_lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, comm_.rank, 0, window_.win));
    f();
    if (locks) good("MPI_Win_unlock", MPI_Win_unlock(comm_.rank, window_.win));
  }

  void act(int phase, int target) {
    size_t place = (size_t)(std::find(targets_.begin(), targets_.end(), target) - targets_.begin());
    for (bool is_joint : {false, true}) {
      Plan &plan = is_joint ? joint_[place] : outgoing_[place];
      for (const Access &access : plan.accesses)
        if (access.phase == phase) act(plan.regions[access.region], access, target, !is_joint);
    }
  }

  void act(Region &region, const Access &access, int target, bool is_known) {
    bool passive = sync_ == Sync::LOCK || sync_ == Sync::LOCK_ALL;
    calls_.push_back(std::make_unique<Call>(window_, target, region, access, passive, limits, random_.next()));
    known_.push_back(is_known);
    Call &call = *calls_.back();
    if (covers) {
      std::string kind = std::string(" ") + (call.is_derived() ? "derived" : "predefined");
      covered.insert(std::string(flavour_names[(int)window_.flavour]) + " " + sync_names[(int)sync_] + " " + act_names[(int)access.act] + kind);
    }
    int code = call.start();
    if (code != MPI_SUCCESS) {
      fail(call.words() + ": returned an error: " + text_of(code));
      calls_.pop_back(), known_.pop_back();
      return;
    }
    if (is_known) carry_out(region, access);
    dawdle(random_);
    if (call.request != MPI_REQUEST_NULL && random_.one_in(3)) finish(calls_.size() - 1);
  }

  // Completes a request; what it gets is there then.
  void finish(size_t i) {
    good("completion of a request", complete(random_, &calls_[i]->request));
    judge(i);
  }
  void finish_requests(int target) {
    for (size_t i = 0; i < calls_.size(); i++)
      if (calls_[i]->request != MPI_REQUEST_NULL && (target < 0 || calls_[i]->target == target)) finish(i);
  }

  void judge(size_t i) {
    std::string wrong = calls_[i]->check(known_[i]);
    if (!wrong.empty()) fail(calls_[i]->words() + ": " + wrong);
  }
  // Compares what is complete and forgets it, unless it has a request still.
  void verify(int target) {
    for (size_t i = calls_.size(); i-- > 0;) {
      if ((target >= 0 && calls_[i]->target != target) || calls_[i]->request != MPI_REQUEST_NULL) continue;
      judge(i);
      calls_.erase(calls_.begin() + (long)i), known_.erase(known_.begin() + (long)i);
    }
  }

  void put(Region &region, bool now) {
    uint64_t k = 0;
    for (int64_t i = 0; i < region.piece.count; i++)
      for (const Atom &atom : region.piece.shape->map) {
        size_t at = (size_t)(region.offset + i * region.piece.shape->extent + atom.at);
        const Number &number = region.now[k];
        memcpy(&expected_[at], number.bytes, (size_t)atom.size);
        if (now) memcpy(window_.base + at, number.bytes, (size_t)atom.size);
        for (int b = 0; !now && b < atom.size; b++) ignored_[at + (size_t)b] = !Call::counts(atom, number, b);
        k++;
      }
  }

  // Compares this rank's part with what all have done to it.
  void check() {
    for (size_t i = 0; i < origins_.size(); i++) {
      for (const Access &access : incoming_[i].accesses) carry_out(incoming_[i].regions[access.region], access);
      for (Region &region : incoming_[i].regions) put(region, false);
      for (const Access &access : joint_of(origins_[i], comm_.rank).accesses) carry_out(shared_[access.region], access);
    }
    for (Region &region : shared_) put(region, false);
    for (size_t at = 0; at < expected_.size(); at++)
      if (window_.base[at] != expected_[at] && !ignored_[at]) return explain(at);
  }
  void explain(size_t at) {
    size_t wrong = 0;
    for (size_t i = 0; i < expected_.size(); i++) wrong += window_.base[i] != expected_[i] && !ignored_[i];
    std::string where = "in no region";
    auto look = [&](const Region &region, const std::string &whose) {
      for (int64_t i = 0; i < region.piece.count; i++)
        for (const Atom &atom : region.piece.shape->map) {
          size_t begin = (size_t)(region.offset + i * region.piece.shape->extent + atom.at);
          if (at >= begin && at < begin + (size_t)atom.size)
            where = "in element " + std::to_string(i) + " of " + std::to_string(region.piece.count) + " x " + region.piece.shape->words + " at " +
                    std::to_string(region.offset) + " of " + whose;
        }
    };
    for (size_t i = 0; i < origins_.size(); i++)
      for (const Region &region : incoming_[i].regions) look(region, "rank " + std::to_string(origins_[i]));
    for (const Region &region : shared_) look(region, "all");
    char text[200];
    snprintf(text, sizeof text, "byte %zu of the window is %02x, not %02x (%zu differ), ", at, window_.base[at], expected_[at], wrong);
    fail(text + where);
  }

  static std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    return text;
  }
  void good(const char *what, int code) {
    if (code != MPI_SUCCESS) fail(std::string(what) + " returned an error: " + text_of(code));
  }
  void fail(const std::string &what) {
    if (failures++ < 5)
      fprintf(stderr, "sweep: seed %llu case %d, round %d, world rank %d: %s on a %s: %s\n", (unsigned long long)seed, case_, number_, world_rank,
              sync_names[(int)sync_], window_.words().c_str(), what.c_str());
  }
};

// The flavour of a window, and what its epochs may be.
static Flavour flavour_of(Random &random, bool may_share) {
  Flavour flavour;
  do flavour = (Flavour)random.below(4);
  while (flavour == Flavour::SHARED && !may_share);
  return flavour;
}

static void run_rounds(std::vector<std::unique_ptr<Round>> &rounds) {
  bool excludes = false;
  int phases = 0;
  for (auto &it : rounds) excludes = excludes || it->excludes(), phases = std::max(phases, it->phases());
  for (auto &it : rounds) it->fill();
  for (auto &it : rounds) it->expose();
  for (auto &it : rounds) it->meet();
  if (excludes) {
    rounds[0]->exclusive();
  } else {
    for (auto &it : rounds) it->open();
    for (int phase = 0; phase < phases; phase++) {
      for (auto &it : rounds)
        if (phase > 0 && phase < it->phases()) it->separate();
      for (auto &it : rounds) it->act(phase);
    }
    for (auto &it : rounds) it->close();
  }
  for (auto &it : rounds) it->end();
}

static void run(const std::vector<const Communicator *> &comms, int number, bool may_share, bool quiet, Random &random) {
  Random common{hash(seed, 30, number)};
  int count = (int)(common.one_in(3) ? common.between(2, 3) : 1);
  const Communicator &comm = *common.pick(comms);
  std::vector<std::unique_ptr<Window>> windows;
  static const int areas[] = {256, 1024, 1024, 4096, 16384};
  std::string text;
  for (int i = 0; i < count; i++) {
    Flavour flavour = flavour_of(common, may_share);
    // The size tells windows apart.
    int64_t area = (comm.size > 8 ? 1024 : areas[common.below(5)]) + 64 * i;
    uint64_t key = common.next();
    bool large = common.one_in(2);
    text += std::string(i ? ", " : "") + flavour_names[(int)flavour];
    if (!comm.member()) continue;
    windows.push_back(std::make_unique<Window>(comm, flavour, area, key, large));
  }
  if (world_rank == 0 && !quiet) printf("case %d: %s on %s\n", number, text.c_str(), comm.words.c_str()), fflush(stdout);
  if (!comm.member()) return;
  bool is_made = true;
  for (auto &it : windows) is_made = is_made && it->failed.empty();
  for (int64_t turn = 0, turns = common.between(1, 3); turn < turns && is_made; turn++) {
    std::vector<std::unique_ptr<Round>> rounds;
    bool excludes = false;
    for (auto &it : windows) {
      Sync sync = (Sync)common.below(it->no_locks ? 2 : 4);
      rounds.push_back(std::make_unique<Round>(*it, sync, number, (int)turn, random));
      excludes = excludes || rounds.back()->excludes();
    }
    // Who holds an exclusive lock keeps others from what they meet in elsewhere.
    if (!excludes) {
      run_rounds(rounds);
      continue;
    }
    for (auto &it : rounds) {
      std::vector<std::unique_ptr<Round>> one;
      one.push_back(std::move(it));
      run_rounds(one);
    }
  }
  for (auto &it : windows) {
    it->free();
    if (it->failed.empty() || failures++ >= 5) continue;
    char words[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(it->code, words, &length);
    fprintf(stderr, "sweep: seed %llu case %d, world rank %d: %s of a %s returned an error: %s\n", (unsigned long long)seed, number, world_rank,
            it->failed.c_str(), it->words().c_str(), words);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  int first = argc > 2 ? atoi(argv[2]) : 0, count = argc > 3 ? atoi(argv[3]) : 100;
  bool quiet = false;
  for (int i = 4; i < argc; i++) {
    std::string word = argv[i];
    if (word == "tame") limits.tame = true;
    if (word == "quiet") quiet = true;
    if (word == "cover") covers = true;
  }
  std::vector<Communicator> table = communicators(seed);
  std::vector<const Communicator *> comms;
  for (const Communicator &it : table)
    if (!it.remote) comms.push_back(&it);
  // Windows of shared memory are for ranks that can share memory.
  MPI_Comm host;
  int size, together;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_size(host, &together);
  MPI_Comm_free(&host);
  Random random{hash(seed, 20, world_rank)};
  for (int number = first; number < first + count; number++) run(comms, number, size == together, quiet, random);
  for (const std::string &kind : covered)
    if (world_rank == 0) printf("cover %s\n", kind.c_str());
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  free_all(table);
  MPI_Finalize();
  return all != 0;
}
