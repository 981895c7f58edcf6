// The rounding mode and the values in vector registers are a rank's own, and alignment of the stack is kept.
#include "check.h"
#include <fenv.h>
#include <math.h>
#include <stdint.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  int mode = modes[check_rank % 4];
  fesetround(mode);
  _Alignas(64) volatile double aligned[8];
  CHECK((uintptr_t)aligned % 64 == 0);
  volatile double one = 1, three = 3;
  double before = one / three, keep[8];
  for (int i = 0; i < 8; i++) keep[i] = sqrt(2.0 + i + check_rank);
  for (int round = 0; round < 50; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQUAL(fegetround(), mode);
    CHECK(one / three == before);
    for (int i = 0; i < 8; i++) CHECK(keep[i] == sqrt(2.0 + i + check_rank));
  }
  fesetround(FE_TONEAREST);
  return check_end();
}
