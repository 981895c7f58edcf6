// Every collective operation in every form, with everything that can vary drawn from a seed, against a plain model.
//
// usage: sweep SEED FIRST CASES [flight] [tame] [quiet] [cover]
//   Runs cases FIRST to FIRST + CASES - 1 of a seed. `flight`: 64 at a time are under way at once, and CASES counts
//   flights. `tame`: leaves out what other libraries do not do. `quiet`: does not name the cases. `cover`: says what
//   kind each is, for the suite's sum.
#include "calls.h"
#include "waiting.h"
#include <cstdio>
#include <cstdlib>

static Settings settings;
static std::vector<Communicator> table;
static int failures;

// Says what is wrong with a case, in one line.
static void fail(const Case &it, int turn, const std::string &what) {
  if (failures++ < 5)
    fprintf(stderr, "sweep: seed %llu %s %d, start %d, world rank %d: %s: %s\n", (unsigned long long)settings.seed,
            settings.flight ? "flight" : "case", settings.flight ? it.number / 64 : it.number, turn, settings.world_rank,
            it.words().c_str(), what.c_str());
}

static bool succeeded(const Case &it, int turn, int code) {
  if (code == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(code, text, &length);
  fail(it, turn, std::string("returned an error: ") + text);
  return false;
}

static void verify(const Case &it, int turn) {
  std::string wrong = it.check();
  if (!wrong.empty()) fail(it, turn, wrong);
}

// Does one case.
static void run(const std::vector<const Communicator *> &comms, int number, Random &random) {
  Case it(settings, comms, number);
  if (!it.active) return;
  Call call(it);
  dawdle(random);
  for (int turn = 0; turn < it.turns; turn++) {
    it.fill(turn);
    if (turn == 0) {
      if (!succeeded(it, turn, call.run())) return;
      if (it.form != BLOCKING) it.free_early();
    }
    if (it.form == PERSISTENT && !succeeded(it, turn, MPI_Start(&it.request))) return;
    if (it.form != BLOCKING) {
      dawdle(random);
      if (!succeeded(it, turn, complete(random, &it.request))) return;
    }
    verify(it, turn);
    dawdle(random);
  }
  if (it.form == PERSISTENT) MPI_Request_free(&it.request);
}

// Many cases that are under way at once.
class Flight {
 public:
  Flight(const std::vector<const Communicator *> &comms, int number, Random &random) : random_(random) {
    std::vector<std::vector<size_t>> queues(comms.size());
    for (int i = 0; i < 64; i++) {
      cases_.push_back(std::make_unique<Case>(settings, comms, number * 64 + i));
      Case &it = *cases_.back();
      calls_.push_back(std::make_unique<Call>(it));
      requests_.push_back(MPI_REQUEST_NULL);
      for (size_t c = 0; c < comms.size(); c++)
        if (it.active && it.comm == comms[c]) queues[c].push_back((size_t)i);
    }
    start(queues);
  }

  // Completes everything in an order of this rank's own.
  void finish() {
    int n = (int)requests_.size(), count, index, flag;
    std::vector<int> indices((size_t)n);
    while (left_ > 0) {
      int code = MPI_SUCCESS;
      size_t one = open_[(size_t)random_.below((int64_t)open_.size())];
      count = 0;
      switch (random_.below(7)) {
        case 0:
          code = MPI_Wait(&requests_[one], MPI_STATUS_IGNORE);
          indices[0] = (int)one, count = 1;
          break;
        case 1:
          code = MPI_Test(&requests_[one], &flag, MPI_STATUS_IGNORE);
          indices[0] = (int)one, count = flag;
          break;
        case 2:
          code = MPI_Waitany(n, requests_.data(), &index, MPI_STATUS_IGNORE);
          indices[0] = index, count = 1;
          break;
        case 3:
          code = MPI_Testany(n, requests_.data(), &index, &flag, MPI_STATUS_IGNORE);
          indices[0] = index, count = flag && index != MPI_UNDEFINED;
          break;
        case 4: code = MPI_Waitsome(n, requests_.data(), &count, indices.data(), MPI_STATUSES_IGNORE); break;
        case 5: code = MPI_Testsome(n, requests_.data(), &count, indices.data(), MPI_STATUSES_IGNORE); break;
        default:
          if (!random_.one_in(10)) break;
          code = MPI_Waitall(n, requests_.data(), MPI_STATUSES_IGNORE);
          for (size_t i : open_) indices[(size_t)count++] = (int)i;
          break;
      }
      if (code != MPI_SUCCESS || count == MPI_UNDEFINED) {
        succeeded(*cases_[one], 0, code == MPI_SUCCESS ? MPI_ERR_OTHER : code);
        return;
      }
      for (int i = 0; i < count; i++) done((size_t)indices[(size_t)i]);
      dawdle(random_);
    }
    again();
    for (MPI_Request &request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }

 private:
  std::vector<std::unique_ptr<Case>> cases_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<MPI_Request> requests_;
  std::vector<size_t> open_;
  size_t left_ = 0;
  Random &random_;

  // Starts all, each communicator's in order. Persistent ones are started at any time after they were prepared.
  void start(std::vector<std::vector<size_t>> &queues) {
    std::vector<size_t> prepared, places(queues.size(), 0);
    size_t waiting = 0;
    for (auto &queue : queues) waiting += queue.size();
    while (waiting > 0 || !prepared.empty()) {
      if (!prepared.empty() && (waiting == 0 || random_.one_in(3))) {
        size_t at = (size_t)random_.below((int64_t)prepared.size()), i = prepared[at];
        prepared.erase(prepared.begin() + (long)at);
        if (succeeded(*cases_[i], 0, MPI_Start(&requests_[i]))) started(i);
        continue;
      }
      size_t c = (size_t)random_.below((int64_t)queues.size());
      if (places[c] == queues[c].size()) continue;
      size_t i = queues[c][places[c]++];
      waiting--;
      Case &it = *cases_[i];
      it.fill(0);
      if (!succeeded(it, 0, calls_[i]->run())) continue;
      it.free_early();
      requests_[i] = it.request;
      if (it.form == PERSISTENT) prepared.push_back(i);
      else started(i);
      dawdle(random_);
    }
  }

  void started(size_t i) {
    open_.push_back(i);
    left_++;
  }

  void done(size_t i) {
    verify(*cases_[i], 0);
    open_.erase(std::find(open_.begin(), open_.end(), i));
    left_--;
  }

  // Starts the persistent ones once more, all at once.
  void again() {
    std::vector<size_t> which;
    for (size_t i = 0; i < cases_.size(); i++)
      if (requests_[i] != MPI_REQUEST_NULL && cases_[i]->comm->member()) which.push_back(i);
    random_.shuffle(which);
    std::vector<MPI_Request> some;
    for (size_t i : which) cases_[i]->fill(1), some.push_back(requests_[i]);
    if (which.empty()) return;
    bool good = succeeded(*cases_[which[0]], 1, MPI_Startall((int)some.size(), some.data()));
    good = good && succeeded(*cases_[which[0]], 1, MPI_Waitall((int)some.size(), some.data(), MPI_STATUSES_IGNORE));
    for (size_t i : which)
      if (good) verify(*cases_[i], 1);
  }
};

// Says what a case covers, for the sum over a run of the suite.
static void cover(const Case &it) {
  static const char *const forms[] = {"blocking", "nonblocking", "persistent"};
  printf("cover %s %s %s %s %s\n", operation_names[(int)it.operation], forms[it.form], it.derived ? "derived" : "predefined",
         !it.reduces() ? "-" : it.reduction == Reduction::COMPOSE ? "non-commutative" : "commutative",
         it.in_place ? "in-place" : "-");
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &settings.world_rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  settings.seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  int first = argc > 2 ? atoi(argv[2]) : 0, count = argc > 3 ? atoi(argv[3]) : 200;
  bool quiet = false, covers = false;
  for (int i = 4; i < argc; i++) {
    std::string word = argv[i];
    if (word == "flight") settings.flight = true, settings.budget = 20000;
    if (word == "tame") settings.limits.tame = true;
    if (word == "quiet") quiet = true;
    if (word == "cover") covers = true;
  }
  settings.no_large = !SWEEP_LARGE, settings.no_persistent = !SWEEP_PERSISTENT;
  table = communicators(settings.seed);
  std::vector<const Communicator *> comms;
  for (const Communicator &it : table) comms.push_back(&it);
  Random random{hash(settings.seed, 20, settings.world_rank)};
  for (int number = first; number < first + count; number++) {
    if (settings.world_rank == 0 && !quiet) {
      if (settings.flight) {
        printf("flight %d\n", number);
      } else {
        Case it(settings, comms, number);
        printf("case %d: %s\n", number, it.words().c_str());
        if (covers && it.active) cover(it);
      }
      fflush(stdout);
    }
    if (!settings.flight) {
      run(comms, number, random);
      continue;
    }
    // Some are on a communicator that is freed while they are under way.
    Communicator early = table[0];
    early.words = "a communicator freed meanwhile";
    MPI_Comm_dup(MPI_COMM_WORLD, &early.comm);
    MPI_Comm_set_errhandler(early.comm, MPI_ERRORS_RETURN);
    auto all = comms;
    all.push_back(&early);
    {
      Flight flight(all, number, random);
      if (!settings.limits.tame) MPI_Comm_free(&early.comm);
      flight.finish();
    }
    if (early.comm != MPI_COMM_NULL) MPI_Comm_free(&early.comm);
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  free_all(table);
  MPI_Finalize();
  return all != 0;
}
