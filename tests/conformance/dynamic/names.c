// Names for ports: published once, found by others, taken back.
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size, id = (int)getpid();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
  char service[64], port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "untouched";
  snprintf(service, sizeof service, "weft conformance: names %d", id);
  CHECK_CLASS(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
  CHECK(strcmp(found, "untouched") == 0);
  CHECK_CLASS(MPI_Unpublish_name(service, MPI_INFO_NULL, "a port"), MPI_ERR_SERVICE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
    CHECK_OK(MPI_Publish_name(service, MPI_INFO_NULL, port));
  }
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, size - 1, MPI_COMM_WORLD);
  CHECK_OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
  CHECK(strcmp(found, port) == 0);
  CHECK_CLASS(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
  CHECK_CLASS(MPI_Lookup_name("", MPI_INFO_NULL, found), MPI_ERR_ARG);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    CHECK_OK(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
    CHECK_OK(MPI_Close_port(port));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_CLASS(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
  return check_end();
}
