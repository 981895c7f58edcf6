// What the library knows of Fortran's types, and what a program may tell it.
#include "check.h"
#include <stdint.h>

static int number(MPI_Info info, const char *key) {
  char value[32];
  int length = sizeof value, flag = 0;
  CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
  CHECK(flag);
  return flag ? atoi(value) : -1;
}

int main(int argc, char **argv) {
  static const struct {
    const char *key;
    MPI_Datatype type;
    int size;
  } optional[] = {
      {"mpi_logical1_supported", MPI_LOGICAL1, 1},     {"mpi_logical2_supported", MPI_LOGICAL2, 2},
      {"mpi_logical4_supported", MPI_LOGICAL4, 4},     {"mpi_logical8_supported", MPI_LOGICAL8, 8},
      {"mpi_logical16_supported", MPI_LOGICAL16, 16},  {"mpi_integer1_supported", MPI_INTEGER1, 1},
      {"mpi_integer2_supported", MPI_INTEGER2, 2},     {"mpi_integer4_supported", MPI_INTEGER4, 4},
      {"mpi_integer8_supported", MPI_INTEGER8, 8},     {"mpi_integer16_supported", MPI_INTEGER16, 16},
      {"mpi_real2_supported", MPI_REAL2, 2},           {"mpi_real4_supported", MPI_REAL4, 4},
      {"mpi_real8_supported", MPI_REAL8, 8},           {"mpi_real16_supported", MPI_REAL16, 16},
      {"mpi_complex4_supported", MPI_COMPLEX4, 4},     {"mpi_complex8_supported", MPI_COMPLEX8, 8},
      {"mpi_complex16_supported", MPI_COMPLEX16, 16},  {"mpi_complex32_supported", MPI_COMPLEX32, 32},
      {"mpi_double_complex_supported", MPI_DOUBLE_COMPLEX, 16},
  };
  check_init(&argc, &argv);
  MPI_Info info = MPI_INFO_NULL;
  int size;
  CHECK_OK(MPI_Abi_get_fortran_info(&info));
  if (info != MPI_INFO_NULL) {
    CHECK_OK(MPI_Type_size(MPI_LOGICAL, &size));
    CHECK_EQUAL(number(info, "mpi_logical_size"), size);
    CHECK_OK(MPI_Type_size(MPI_INTEGER, &size));
    CHECK_EQUAL(number(info, "mpi_integer_size"), size);
    CHECK_OK(MPI_Type_size(MPI_REAL, &size));
    CHECK_EQUAL(number(info, "mpi_real_size"), size);
    CHECK_OK(MPI_Type_size(MPI_DOUBLE_PRECISION, &size));
    CHECK_EQUAL(number(info, "mpi_double_precision_size"), size);
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
      char value[32] = "";
      int length = sizeof value, flag = 0;
      CHECK_OK(MPI_Info_get_string(info, optional[i].key, &length, value, &flag));
      CHECK(flag && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0));
      CHECK_OK(MPI_Type_size(optional[i].type, &size));
      CHECK_EQUAL(size, strcmp(value, "true") == 0 ? optional[i].size : MPI_UNDEFINED);
    }
    // What is known cannot be changed, only confirmed, and that once.
    MPI_Info wrong;
    CHECK_OK(MPI_Info_dup(info, &wrong));
    CHECK_OK(MPI_Info_set(wrong, "mpi_integer_size", "8"));
    CHECK_CLASS(MPI_Abi_set_fortran_info(wrong), MPI_ERR_ABI);
    CHECK_OK(MPI_Info_free(&wrong));
    MPI_Abi_set_fortran_info(info);
    CHECK_CLASS(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Abi_get_fortran_info(&info));
    CHECK_OK(MPI_Type_size(MPI_INTEGER, &size));
    CHECK_EQUAL(number(info, "mpi_integer_size"), size);
    CHECK_OK(MPI_Info_free(&info));
  }
  int32_t yes = -5, no = -5, known = -1;
  CHECK_OK(MPI_Abi_get_fortran_booleans(4, &yes, &no, &known));
  if (known) {
    CHECK(yes == 1 && no == 0);
    // The logical operations agree.
    int32_t in[2] = {yes, no}, inout[2] = {no, no};
    CHECK_OK(MPI_Reduce_local(in, inout, 2, MPI_LOGICAL, MPI_LOR));
    CHECK(inout[0] == yes && inout[1] == no);
    int8_t small_yes = -5, small_no = -5;
    CHECK_OK(MPI_Abi_get_fortran_booleans(1, &small_yes, &small_no, &known));
    CHECK(known && small_yes == 1 && small_no == 0);
    int64_t large_yes = -5, large_no = -5;
    CHECK_OK(MPI_Abi_get_fortran_booleans(8, &large_yes, &large_no, &known));
    CHECK(known && large_yes == 1 && large_no == 0);
    int32_t other = -1;
    CHECK_CLASS(MPI_Abi_set_fortran_booleans(4, &other, &no), MPI_ERR_ABI);
    MPI_Abi_set_fortran_booleans(4, &yes, &no);
    CHECK_CLASS(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI);
  }
  CHECK_CLASS(MPI_Abi_get_fortran_booleans(3, &yes, &no, &known), MPI_ERR_ARG);
  // A program that nobody spawned has no parent.
  MPI_Comm parent = MPI_COMM_WORLD;
  CHECK_OK(MPI_Comm_get_parent(&parent));
  CHECK(parent == MPI_COMM_NULL);
  return check_end();
}
