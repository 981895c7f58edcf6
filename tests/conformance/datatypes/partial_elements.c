// Elements are counted in messages that end between or within them. The bytes of a structure are sent as MPI_BYTE, which
// no correct program does. weft-test: ranks=1 faults=yes
#include "../check.h"

static void partial(void) {
  // (int, char, double): 13 bytes, three elements.
  MPI_Datatype type, twice;
  CHECK_OK(MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, 4, 8},
                                  (MPI_Datatype[]){MPI_INT, MPI_CHAR, MPI_DOUBLE}, &type));
  CHECK_OK(MPI_Type_contiguous(2, type, &twice));
  MPI_Type_commit(&twice);
  char from[64] = {0}, to[128];
  for (int bytes = 0; bytes <= 39; bytes++) {
    int rest = bytes % 13, whole = bytes / 13, count, elements;
    int expected = rest == 0 ? 3 * whole : rest == 4 ? 3 * whole + 1 : rest == 5 ? 3 * whole + 2 : MPI_UNDEFINED;
    MPI_Count x;
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv(from, bytes, MPI_BYTE, 0, 7, to, 4, twice, 0, 7, MPI_COMM_SELF, &status));
    CHECK_OK(MPI_Get_elements(&status, twice, &elements));
    CHECK_EQUAL(elements, expected);
    CHECK_OK(MPI_Get_elements_c(&status, type, &x));
    CHECK_EQUAL(x, expected);
    CHECK_OK(MPI_Get_count(&status, twice, &count));
    CHECK_EQUAL(count, bytes % 26 ? MPI_UNDEFINED : bytes / 26);
  }
  MPI_Type_free(&type);
  MPI_Type_free(&twice);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  partial();
  return check_end();
}
