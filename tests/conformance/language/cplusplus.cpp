// C++ in many ranks: exceptions in flight across MPI calls, destructors run by unwinding that communicate, iostreams,
// thread_local, function statics, template statics, inline variables, RTTI, std::thread.
// weft-test: cflags=-pthread,-std=c++17
#include "check.h"
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

inline int inline_variable = 3;
template <class T> struct counted { static int count; };
template <class T> int counted<T>::count = 4;
thread_local std::string text = "abc";
static std::map<int, std::string> container;
static std::mutex mutex;
static const std::string constant = std::string("built ") + "before main";

struct base { virtual ~base() = default; virtual int id() const { return 1; } };
struct derived : base { int id() const override { return 2; } };

static int &function_static() {
  static int value = [] { return 10; }();
  return value;
}

struct communicates_when_destroyed {
  int *count;
  ~communicates_when_destroyed() {
    int out = ++*count, in = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, check_rank, 1, &in, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (in != out) std::abort();
  }
};

struct failure : std::runtime_error {
  int rank;
  failure(int r) : std::runtime_error("failure of rank " + std::to_string(r)), rank(r) {}
};

static void throw_deep(int depth) {
  if (depth == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    throw failure(check_rank);
  }
  throw_deep(depth - 1);
  CHECK(false);
}

int main(int argc, char **argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  const int rank = check_rank;
  int unwound = 0;
  inline_variable += rank;
  counted<int>::count += rank;
  counted<std::vector<double>>::count -= rank;
  function_static() += rank;
  text += std::to_string(rank);
  for (int i = 0; i < 20; i++) {
    container[i] = std::string(30, static_cast<char>('a' + rank % 26));
    try {
      communicates_when_destroyed guard{&unwound};
      {
        std::lock_guard<std::mutex> lock(mutex);
        container[i] += "!";
      }
      throw_deep(5);
    } catch (const failure &outer) {
      MPI_Barrier(MPI_COMM_WORLD);
      try {
        throw std::out_of_range("inner");
      } catch (const std::exception &inner) {
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(std::string(inner.what()) == "inner");
        CHECK(dynamic_cast<const std::out_of_range *>(&inner) != nullptr);
      }
      CHECK_EQUAL(outer.rank, rank);
      CHECK(outer.what() == "failure of rank " + std::to_string(rank));
    }
    CHECK(std::uncaught_exceptions() == 0);
  }
  CHECK_EQUAL(unwound, 20);
  CHECK_EQUAL(inline_variable, 3 + rank);
  CHECK_EQUAL(counted<int>::count, 4 + rank);
  CHECK_EQUAL(counted<std::vector<double>>::count, 4 - rank);
  CHECK_EQUAL(function_static(), 10 + rank);
  CHECK(text == "abc" + std::to_string(rank));
  CHECK(constant == "built before main");
  CHECK(container.size() == 20 && container[7].size() == 31 && container[7][0] == 'a' + rank % 26);
  const std::unique_ptr<base> object = std::make_unique<derived>();
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(object->id() == 2 && typeid(*object) == typeid(derived));
  std::ostringstream stream;
  stream << "rank " << rank << ' ' << 1.5;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(stream.str() == "rank " + std::to_string(rank) + " 1.5");
  std::cout << std::hex << 255 << std::endl;
  std::size_t length = 0;
  std::thread thread([&] { length = text.size(); });
  thread.join();
  CHECK_EQUAL(length, 3);
  // Exceptions thrown and caught in a thread of the rank, which calls MPI too.
  int caught = 0;
  std::thread thrower([&] {
    try {
      int out = rank, in = -1;
      MPI_Sendrecv(&out, 1, MPI_INT, rank, 2, &in, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      throw in;
    } catch (int value) {
      caught = value == rank;
    }
  });
  thrower.join();
  CHECK_EQUAL(caught, 1);
  return check_end();
}
