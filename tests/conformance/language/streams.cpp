// The standard streams' formats are a rank's own, and what a rank writes through a buffer of its own comes out whole.
// weft-test: auto=processes
#include "check.h"
#include <iomanip>
#include <iostream>
#include <locale>

struct Grouped : std::numpunct<char> {
  char separator;
  explicit Grouped(char c) : separator(c) {}
  char do_thousands_sep() const override { return separator; }
  std::string do_grouping() const override { return "\3"; }
};

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char mine = (char)('a' + rank % 26);
  std::cerr << std::setfill(mine) << std::setprecision(3 + rank % 10);
  if (rank % 2) std::cerr << std::hex;
  std::locale::global(std::locale(std::locale::classic(), new Grouped(mine)));
  for (int round = 0; round < 20; round++) {
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(std::cerr.fill() == mine);
    CHECK_EQUAL(std::cerr.precision(), 3 + rank % 10);
    CHECK(!!(std::cerr.flags() & std::ios::hex) == rank % 2);
    CHECK(std::use_facet<std::numpunct<char>>(std::locale()).thousands_sep() == mine);
  }
  return check_end();
}
