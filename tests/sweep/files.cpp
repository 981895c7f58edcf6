// Operations on files of all kinds through views of all kinds, with everything that can vary drawn from a seed, against a plain
// model: the file is an array in memory.
//
// usage: files SEED FIRST CASES [tame] [quiet] [cover]
//   Runs cases FIRST to FIRST + CASES - 1 of a seed. A case is a file, whose etypes are dealt to the ranks in a pattern that
//   repeats; in some rounds each rank writes a part of its own, and then reads what anybody may have written. `tame`: leaves out
//   what other libraries do not do. `quiet`: does not name the cases. `cover`: says of what kinds the operations are.
#include "random.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <set>
#include <string>
#include <unistd.h>

enum class Form { AT, INDIVIDUAL, SHARED };
enum class Way { BLOCKING, COLLECTIVE, NONBLOCKING, NONBLOCKING_COLLECTIVE, SPLIT };
static const char *const form_names[] = {"explicit", "individual", "shared"};
static const char *const way_names[] = {"blocking", "collective", "nonblocking", "nonblocking-collective", "split"};

static uint64_t seed = 1;
static int world_rank, world_size, failures;
static bool tame;
static std::set<std::string> covered;

static void fail(int number, const std::string &what) {
  if (failures++ < 5)
    fprintf(stderr, "sweep: seed %llu case %d, world rank %d: %s\n", (unsigned long long)seed, number, world_rank, what.c_str());
}

// An elementary datatype: how many numbers of which size it has.
struct Element {
  MPI_Datatype number;
  int size, numbers;
};

// The program's data: numbers at places that a datatype says, in another order than in memory.
class Memory {
 public:
  MPI_Datatype type;
  int64_t count;
  std::vector<unsigned char> bytes;

  Memory(Random &random, const Element &element, int64_t elements) : size_(element.size) {
    int64_t numbers = elements * element.numbers, each = 1;
    for (int64_t n : {2, 3, 4, 6})
      if (numbers % n == 0 && random.one_in(2)) each = n;
    bool is_plain = random.one_in(3);
    if (is_plain) each = 1;
    count = numbers / each;
    slots_ = is_plain ? 1 : each + random.below(4);
    std::vector<int> all = random.permutation((int)slots_);
    places_.assign(all.begin(), all.begin() + each);
    if (random.one_in(2)) std::sort(places_.begin(), places_.end());
    std::vector<MPI_Aint> displacements;
    for (int place : places_) displacements.push_back((MPI_Aint)place * size_);
    if (is_plain) {
      type = element.number;
      places_ = {0};
      is_predefined = true;
    } else {
      MPI_Datatype inner;
      MPI_Type_create_hindexed_block((int)each, 1, displacements.data(), element.number, &inner);
      MPI_Type_create_resized(inner, 0, slots_ * size_, &type);
      MPI_Type_commit(&type);
      MPI_Type_free(&inner);
    }
    bytes.assign((size_t)std::max<int64_t>(1, count * slots_ * size_), 0xee);
  }
  ~Memory() {
    if (!is_predefined) MPI_Type_free(&type);
  }
  Memory(const Memory &) = delete;

  // The place of a number.
  unsigned char *at(int64_t number) {
    int64_t each = (int64_t)places_.size();
    return &bytes[(size_t)((number / each * slots_ + places_[(size_t)(number % each)]) * size_)];
  }
  bool is_predefined = false;

 private:
  int size_;
  int64_t slots_;
  std::vector<int> places_;
};

class Case {
 public:
  Case(int number) : number_(number), common_{hash(seed, 1, number)}, random_{hash(seed, 2, number, world_rank)} {}

  void run() {
    const Element elements[] = {{MPI_BYTE, 1, 1}, {MPI_SHORT, 2, 1}, {MPI_INT, 4, 1}, {MPI_DOUBLE, 8, 1}, {MPI_INT, 4, 3}, {MPI_CHAR, 1, 5}};
    element_ = elements[common_.below(6)];
    unit_ = (int64_t)element_.size * element_.numbers;
    etype_ = element_.number;
    if (element_.numbers > 1) {
      MPI_Type_contiguous(element_.numbers, element_.number, &etype_);
      MPI_Type_commit(&etype_);
    }
    is_external_ = !tame && common_.one_in(4);
    displacement_ = common_.one_in(2) ? 0 : common_.below(100);
    // Who owns which etype of the pattern; -1 is nobody.
    int64_t period = common_.one_in(4) ? world_size : common_.between(1, 12 * world_size);
    bool in_turns = common_.one_in(3);
    for (int64_t i = 0; i < period; i++) owner_.push_back(in_turns ? (int)(i % world_size) : (int)common_.between(-1, world_size - 1));
    open();
    int rounds = (int)common_.between(1, 4);
    for (int round = 0; round < rounds; round++) {
      write(round);
      MPI_File_sync(file_);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_File_sync(file_);
      for (int i = 0; i < 2; i++) read(round, i);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    good("MPI_File_close", MPI_File_close(&file_));
    if (element_.numbers > 1) MPI_Type_free(&etype_);
  }

 private:
  int number_;
  Random common_, random_;
  Element element_;
  MPI_Datatype etype_;
  int64_t unit_, displacement_;
  bool is_external_;
  std::vector<int> owner_;
  std::vector<unsigned char> model_;
  MPI_File file_;

  bool good(const char *what, int code) {
    if (code == MPI_SUCCESS) return true;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    fail(number_, std::string(what) + " returned an error: " + text);
    return false;
  }

  // How ranks work for each other in collective operations: in small windows, too, so that there are several.
  MPI_Info hints() {
    MPI_Info info = MPI_INFO_NULL;
    if (tame || common_.one_in(3)) return info;
    MPI_Info_create(&info);
    auto set = [&](const char *key, int64_t most) {
      if (common_.one_in(2)) MPI_Info_set(info, key, std::to_string(common_.between(1, most)).c_str());
    };
    set("cb_nodes", world_size + 2);
    set("cb_buffer_size", common_.one_in(2) ? 200 : 5000);
    set("striping_unit", common_.one_in(2) ? 100 : 2000);
    const char *const ways[] = {"enable", "enable", "automatic", "disable"};
    MPI_Info_set(info, "romio_cb_write", ways[common_.below(4)]);
    MPI_Info_set(info, "romio_cb_read", ways[common_.below(4)]);
    return info;
  }

  void open() {
    char name[512];
    const char *folder = getenv("TMPDIR");
    if (world_rank == 0) {
      snprintf(name, sizeof name, "%s/weft-sweep-XXXXXX", folder ? folder : "/tmp");
      int descriptor = mkstemp(name);
      if (descriptor >= 0) close(descriptor);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Info info = hints();
    int code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file_);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    if (!good("MPI_File_open", code)) MPI_Abort(MPI_COMM_WORLD, 1);
    if (common_.one_in(4)) good("MPI_File_set_atomicity", MPI_File_set_atomicity(file_, 1));
  }

  // The etypes of the pattern that are somebody's; of -2 all.
  std::vector<int64_t> owned(int rank) const {
    std::vector<int64_t> all;
    for (size_t i = 0; i < owner_.size(); i++)
      if (rank == -2 || owner_[i] == rank) all.push_back((int64_t)i);
    return all;
  }
  // Where an etype of somebody's data lies in the file.
  int64_t place(const std::vector<int64_t> &all, int64_t index) const {
    int64_t n = (int64_t)all.size();
    return displacement_ + (index / n * (int64_t)owner_.size() + all[(size_t)(index % n)]) * unit_;
  }

  // `cut`: says where in the data the filetype's extent ends, so that there is one instance; -1: behind it.
  void view(const std::vector<int64_t> &all, int64_t cut = -1) {
    MPI_Datatype filetype = etype_, inner;
    bool is_whole = all.size() == owner_.size() && cut < 0;
    MPI_Aint extent = (MPI_Aint)(owner_.size() * (size_t)unit_);
    if (cut >= 0) extent = (MPI_Aint)(cut % (all.back() - all.front() + 1));
    if (!is_whole) {
      std::vector<MPI_Aint> displacements;
      for (int64_t i : all) displacements.push_back((MPI_Aint)(i * unit_));
      MPI_Type_create_hindexed_block((int)all.size(), 1, displacements.data(), etype_, &inner);
      MPI_Type_create_resized(inner, 0, extent, &filetype);
      MPI_Type_commit(&filetype);
      MPI_Type_free(&inner);
    }
    good("MPI_File_set_view", MPI_File_set_view(file_, displacement_, etype_, filetype, is_external_ ? "external32" : "native", MPI_INFO_NULL));
    if (!is_whole) MPI_Type_free(&filetype);
  }

  // What a rank writes in a round: from which etype of its own on, how many, and each byte.
  void part(int rank, int round, int64_t &first, int64_t &count) const {
    Random random{hash(seed, 3, number_, round, rank)};
    first = random.one_in(3) ? 0 : random.below(40);
    count = owned(rank).empty() || random.one_in(8) ? 0 : random.between(1, random.one_in(5) ? 3000 : 60);
  }
  unsigned char byte(int rank, int round, int64_t index) const {
    return (unsigned char)hash(seed, 4, number_, round, rank, index);
  }
  // Copies a number as it is in the file, and back.
  void convert(const unsigned char *from, unsigned char *to) const {
    for (int b = 0; b < element_.size; b++) to[b] = from[is_external_ ? element_.size - 1 - b : b];
  }

  void write(int round) {
    Form form = (Form)common_.below(3);
    Way way = (Way)common_.below(5);
    // What is written by a shared pointer is at places that ranks find out together: the view is everybody's.
    if (form == Form::SHARED) return write_ordered(round, way);
    view(owned(world_rank));
    int64_t first, count;
    part(world_rank, round, first, count);
    Memory memory(random_, element_, count);
    for (int64_t i = 0; i < count * element_.numbers; i++)
      for (int b = 0; b < element_.size; b++) memory.at(i)[b] = byte(world_rank, round, i * element_.size + b);
    move(true, form, way, first, count, memory);
    for (int rank = 0; rank < world_size; rank++) {
      part(rank, round, first, count);
      std::vector<int64_t> all = owned(rank);
      for (int64_t i = 0; i < count; i++) note(rank, round, i, place(all, first + i));
    }
  }

  void note(int rank, int round, int64_t i, int64_t at) {
    if ((int64_t)model_.size() < at + unit_) model_.resize((size_t)(at + unit_), 0);
    for (int n = 0; n < element_.numbers; n++) {
      unsigned char value[16];
      for (int b = 0; b < element_.size; b++) value[b] = byte(rank, round, i * unit_ + n * element_.size + b);
      convert(value, &model_[(size_t)(at + n * element_.size)]);
    }
  }

  void write_ordered(int round, Way way) {
    view(owned(-2));
    int64_t start = common_.below(30), first, count, at = start;
    good("MPI_File_seek_shared", MPI_File_seek_shared(file_, start, MPI_SEEK_SET));
    part(world_rank, round, first, count);
    Memory memory(random_, element_, count);
    for (int64_t i = 0; i < count * element_.numbers; i++)
      for (int b = 0; b < element_.size; b++) memory.at(i)[b] = byte(world_rank, round, i * element_.size + b);
    move(true, Form::SHARED, way == Way::SPLIT ? Way::SPLIT : Way::COLLECTIVE, 0, count, memory);
    for (int rank = 0; rank < world_size; rank++) {
      part(rank, round, first, count);
      for (int64_t i = 0; i < count; i++) note(rank, round, i, displacement_ + (at + i) * unit_);
      at += count;
    }
  }

  void read(int round, int turn) {
    Form form = (Form)common_.below(2);
    Way way = (Way)common_.below(5);
    int whose = common_.one_in(2) ? -2 : (int)common_.below(world_size);
    std::vector<int64_t> all = owned(whose == -2 ? -2 : (whose + world_rank) % world_size);
    // What others do not do: use one instance of a filetype whose instances would overlap.
    int64_t cut = common_.below(1 << 20);
    bool is_short = common_.one_in(6) && !tame && all.size() > 1;
    view(all, is_short ? cut : -1);
    Random mine{hash(seed, 5, number_, round, turn, world_rank)};
    int64_t first = mine.below(40), count = all.empty() ? 0 : mine.between(0, mine.one_in(4) ? 4000 : 80);
    if (is_short) {
      first %= (int64_t)all.size();
      count = std::min(count, (int64_t)all.size() - first);
    }
    check_end(all, is_short);
    Memory memory(random_, element_, count);
    // The numbers that are whole in the file.
    int64_t numbers = 0, bytes = 0, size = (int64_t)model_.size();
    for (int64_t i = 0; i < count; i++) {
      int64_t at = place(all, first + i);
      if (at + unit_ <= size) numbers += element_.numbers;
      bytes += std::max<int64_t>(0, std::min(unit_, size - at));
    }
    std::vector<unsigned char> before = memory.bytes;
    int64_t got = move(false, form, way, first, count, memory);
    if (got < 0) return;
    if (got != bytes) fail(number_, "a read returns " + std::to_string(got) + " bytes, not " + std::to_string(bytes));
    for (int64_t i = 0; i < numbers; i++) {
      int64_t at = place(all, first + i / element_.numbers) + i % element_.numbers * element_.size;
      unsigned char value[16];
      convert(&model_[(size_t)at], value);
      if (memcmp(value, memory.at(i), (size_t)element_.size) != 0) {
        fail(number_, "number " + std::to_string(i) + " of " + std::to_string(numbers) + ", byte " + std::to_string(at) +
                          " of the file, is wrong in round " + std::to_string(round));
        return;
      }
      memcpy(memory.at(i), &before[(size_t)(memory.at(i) - memory.bytes.data())], (size_t)element_.size);
    }
    // What was not read is what it was, but for a number of which the file has a part.
    for (int64_t i = numbers; i < (bytes + element_.size - 1) / element_.size; i++)
      memcpy(memory.at(i), &before[(size_t)(memory.at(i) - memory.bytes.data())], (size_t)element_.size);
    if (memory.bytes != before) fail(number_, "a read has changed memory that is not its own");
  }

  // The end of the file, as a view sees it: behind the last etype of which the file has something.
  void check_end(const std::vector<int64_t> &all, bool is_short) {
    int64_t expected = 0, limit = is_short ? (int64_t)all.size() : INT64_MAX;
    while (!all.empty() && expected < limit && place(all, expected) < (int64_t)model_.size()) expected++;
    MPI_Offset position = -1;
    good("MPI_File_seek", MPI_File_seek(file_, 0, MPI_SEEK_END));
    good("MPI_File_get_position", MPI_File_get_position(file_, &position));
    if (position != expected)
      fail(number_, "the end of the file is at " + std::to_string(position) + ", not " + std::to_string(expected));
  }

  // Carries an operation out; returns how many bytes it had, or -1.
  int64_t move(bool writes, Form form, Way way, int64_t first, int64_t count, Memory &memory) {
    covered.insert(std::string(writes ? "write " : "read ") + form_names[(int)form] + " " + way_names[(int)way] + (is_external_ ? " external32" : " native"));
    void *buffer = memory.bytes.data();
    int n = (int)memory.count, code;
    MPI_Datatype type = memory.type;
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    if (form == Form::INDIVIDUAL) good("MPI_File_seek", MPI_File_seek(file_, first, MPI_SEEK_SET));
    if (form == Form::SHARED) {
      if (way == Way::SPLIT) {
        code = MPI_File_write_ordered_begin(file_, buffer, n, type);
        if (code == MPI_SUCCESS) code = MPI_File_write_ordered_end(file_, buffer, &status);
      } else {
        code = MPI_File_write_ordered(file_, buffer, n, type, &status);
      }
    } else if (form == Form::AT) {
      switch (way) {
        case Way::BLOCKING: code = writes ? MPI_File_write_at(file_, first, buffer, n, type, &status) : MPI_File_read_at(file_, first, buffer, n, type, &status); break;
        case Way::COLLECTIVE: code = writes ? MPI_File_write_at_all(file_, first, buffer, n, type, &status) : MPI_File_read_at_all(file_, first, buffer, n, type, &status); break;
        case Way::NONBLOCKING: code = writes ? MPI_File_iwrite_at(file_, first, buffer, n, type, &request) : MPI_File_iread_at(file_, first, buffer, n, type, &request); break;
        case Way::NONBLOCKING_COLLECTIVE: code = writes ? MPI_File_iwrite_at_all(file_, first, buffer, n, type, &request) : MPI_File_iread_at_all(file_, first, buffer, n, type, &request); break;
        default:
          code = writes ? MPI_File_write_at_all_begin(file_, first, buffer, n, type) : MPI_File_read_at_all_begin(file_, first, buffer, n, type);
          if (code == MPI_SUCCESS) code = writes ? MPI_File_write_at_all_end(file_, buffer, &status) : MPI_File_read_at_all_end(file_, buffer, &status);
      }
    } else {
      switch (way) {
        case Way::BLOCKING: code = writes ? MPI_File_write(file_, buffer, n, type, &status) : MPI_File_read(file_, buffer, n, type, &status); break;
        case Way::COLLECTIVE: code = writes ? MPI_File_write_all(file_, buffer, n, type, &status) : MPI_File_read_all(file_, buffer, n, type, &status); break;
        case Way::NONBLOCKING: code = writes ? MPI_File_iwrite(file_, buffer, n, type, &request) : MPI_File_iread(file_, buffer, n, type, &request); break;
        case Way::NONBLOCKING_COLLECTIVE: code = writes ? MPI_File_iwrite_all(file_, buffer, n, type, &request) : MPI_File_iread_all(file_, buffer, n, type, &request); break;
        default:
          code = writes ? MPI_File_write_all_begin(file_, buffer, n, type) : MPI_File_read_all_begin(file_, buffer, n, type);
          if (code == MPI_SUCCESS) code = writes ? MPI_File_write_all_end(file_, buffer, &status) : MPI_File_read_all_end(file_, buffer, &status);
      }
    }
    if (!good(writes ? "a write" : "a read", code)) return -1;
    if (request != MPI_REQUEST_NULL && !good("MPI_Wait", MPI_Wait(&request, &status))) return -1;
    int bytes;
    MPI_Get_elements(&status, MPI_BYTE, &bytes);
    if (writes && bytes != count * unit_) fail(number_, "a write returns " + std::to_string(bytes) + " bytes, not " + std::to_string(count * unit_));
    return bytes;
  }
};

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  int first = argc > 2 ? atoi(argv[2]) : 0, cases = argc > 3 ? atoi(argv[3]) : 100;
  bool is_quiet = false, covers = false;
  for (int i = 4; i < argc; i++) {
    std::string word = argv[i];
    tame = tame || word == "tame", is_quiet = is_quiet || word == "quiet", covers = covers || word == "cover";
  }
  for (int number = first; number < first + cases; number++) {
    if (world_rank == 0 && !is_quiet) printf("case %d\n", number), fflush(stdout);
    Case(number).run();
  }
  if (world_rank == 0 && covers)
    for (const std::string &kind : covered) printf("cover %s\n", kind.c_str());
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}
