// What one-sided procedures refuse, and with which class; nothing outside of a window is touched.
// weft-test: faults=yes
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size, value = 7, got = 5, flag;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *memory;
  MPI_Win win, dynamic;
  MPI_Request request;
  MPI_Group world;
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  memset(memory, 0, 8 * sizeof(int));

  // Outside of every epoch.
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Get(&got, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Fetch_and_op(&value, &got, MPI_INT, rank, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Compare_and_swap(&value, &value, &got, MPI_INT, rank, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Rput(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_unlock(rank, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_flush(rank, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_flush_local(rank, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);

  // Assertions and kinds of locks that mean nothing there.
  CHECK_CLASS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
  CHECK_CLASS(MPI_Win_post(world, MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT);
  CHECK_CLASS(MPI_Win_start(world, 1 << 20, win), MPI_ERR_ASSERT);
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
  CHECK_CLASS(MPI_Win_lock_all(MPI_MODE_NOSTORE, win), MPI_ERR_ASSERT);
  CHECK_CLASS(MPI_Win_lock(0, rank, 0, win), MPI_ERR_LOCKTYPE);
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);

  // Another epoch in one, and ends that do not belong to it.
  CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_start(world, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
  if (size > 1) CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);

  // Outside of the memory, before it and behind it.
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, rank, -1, 1, MPI_INT, win), MPI_ERR_DISP);
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, rank, 8, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(MPI_Get(&got, 1, MPI_INT, rank, INTPTR_MAX / 2, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, rank, 8, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(MPI_Fetch_and_op(&value, &got, MPI_LONG, rank, 7, MPI_SUM, win), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(MPI_Compare_and_swap(&value, &value, &got, MPI_INT, rank, 8, win), MPI_ERR_RMA_RANGE);
  MPI_Datatype spread, before;
  CHECK_OK(MPI_Type_vector(2, 1, 5, MPI_INT, &spread));
  CHECK_OK(MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){-4}, MPI_INT, &before));
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, before, win), MPI_ERR_TYPE);
  CHECK_OK(MPI_Type_commit(&spread));
  CHECK_OK(MPI_Type_commit(&before));
  int two[2] = {1, 2};
  CHECK_OK(MPI_Put(two, 2, MPI_INT, rank, 2, 1, spread, win));
  CHECK_CLASS(MPI_Put(two, 2, MPI_INT, rank, 3, 1, spread, win), MPI_ERR_RMA_RANGE);
  CHECK_OK(MPI_Put(two, 1, MPI_INT, rank, 1, 1, before, win));
  CHECK_CLASS(MPI_Put(two, 1, MPI_INT, rank, 0, 1, before, win), MPI_ERR_RMA_RANGE);
  CHECK_EQUAL(memory[0], 1);
  CHECK_EQUAL(memory[2], 1);
  CHECK_EQUAL(memory[7], 2);

  // Sides that do not fit, and what is not defined.
  CHECK_CLASS(MPI_Put(two, 2, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Accumulate(two, 1, MPI_INT, rank, 0, 1, MPI_FLOAT, MPI_SUM, win), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Accumulate(two, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP);
  CHECK_CLASS(MPI_Accumulate(two, 1, MPI_FLOAT, rank, 0, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP);
  CHECK_CLASS(MPI_Fetch_and_op(two, two, spread, rank, 0, MPI_REPLACE, win), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Compare_and_swap(two, two, two, MPI_FLOAT, rank, 0, win), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Put(two, -1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Put(two, 1, MPI_INT, rank, 0, -1, MPI_INT, win), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Put(two, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Put(NULL, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_BUFFER);
  CHECK_OK(MPI_Win_unlock(rank, win));
  CHECK_EQUAL(got, 5);

  // Between fences there are no requests; after the last one there is nothing.
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win));
  CHECK_CLASS(MPI_Rput(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);

  // Ranks that are not in the group, and in the window.
  MPI_Comm half;
  MPI_Win of_half;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, half, &of_half));
  CHECK_OK(MPI_Win_set_errhandler(of_half, MPI_ERRORS_RETURN));
  if (size > 1) CHECK_CLASS(MPI_Win_start(world, 0, of_half), MPI_ERR_GROUP);
  CHECK_OK(MPI_Win_free(&of_half));
  CHECK_OK(MPI_Comm_free(&half));
  MPI_Group self;
  CHECK_OK(MPI_Group_incl(world, 1, &rank, &self));
  CHECK_OK(MPI_Win_post(self, 0, win));
  CHECK_CLASS(MPI_Win_post(self, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
  CHECK_OK(MPI_Win_start(self, 0, win));
  if (size > 1) CHECK_CLASS(MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
  CHECK_OK(MPI_Win_test(win, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_Win_complete(win));
  CHECK_OK(MPI_Win_wait(win));

  // Memory that nobody has attached.
  int block[4] = {0};
  MPI_Aint at;
  CHECK_OK(MPI_Get_address(block, &at));
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
  CHECK_OK(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, dynamic));
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, rank, at, 1, MPI_INT, dynamic), MPI_ERR_RMA_RANGE);
  CHECK_OK(MPI_Win_attach(dynamic, block, 2 * sizeof(int)));
  CHECK_OK(MPI_Win_attach(dynamic, block + 2, sizeof(int)));
  CHECK_CLASS(MPI_Put(two, 2, MPI_INT, rank, at + 2 * sizeof(int), 2, MPI_INT, dynamic), MPI_ERR_RMA_RANGE);
  CHECK_OK(MPI_Put(two, 2, MPI_INT, rank, at + sizeof(int), 2, MPI_INT, dynamic));
  CHECK_OK(MPI_Win_unlock(rank, dynamic));
  CHECK_EQUAL(block[1], 1);
  CHECK_EQUAL(block[2], 2);
  CHECK_OK(MPI_Win_detach(dynamic, block));
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, dynamic));
  CHECK_CLASS(MPI_Get(&got, 1, MPI_INT, rank, at, 1, MPI_INT, dynamic), MPI_ERR_RMA_RANGE);
  CHECK_OK(MPI_Win_unlock(rank, dynamic));
  CHECK_OK(MPI_Win_free(&dynamic));

  CHECK_OK(MPI_Type_free(&spread));
  CHECK_OK(MPI_Type_free(&before));
  CHECK_OK(MPI_Group_free(&self));
  CHECK_OK(MPI_Group_free(&world));
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
