// Every one-sided operation between fences: values at both sides, plain and derived datatypes, large counts, MPI_PROC_NULL.
#include "check.h"
#include <stdint.h>

enum { N = 24 };

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int memory[N], mine[N], got[N];
  MPI_Win win;
  CHECK_OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  for (int i = 0; i < N; i++) memory[i] = -1, mine[i] = 100 * rank + i, got[i] = -2;

  CHECK_OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
  CHECK_OK(MPI_Put(mine, 4, MPI_INT, right, 2, 4, MPI_INT, win));
  CHECK_OK(MPI_Put_c(mine + 4, 1, MPI_INT, right, 8, 1, MPI_INT, win));
  CHECK_OK(MPI_Put(mine, 4, MPI_INT, MPI_PROC_NULL, 2, 4, MPI_INT, win));
  CHECK_OK(MPI_Put(NULL, 0, MPI_INT, right, N, 0, MPI_INT, win));
  CHECK_OK(MPI_Win_fence(MPI_MODE_NOPUT | MPI_MODE_NOSTORE, win));
  for (int i = 0; i < 4; i++) CHECK_EQUAL(memory[2 + i], 100 * left + i);
  CHECK_EQUAL(memory[1], -1);
  CHECK_EQUAL(memory[6], -1);
  CHECK_EQUAL(memory[8], 100 * left + 4);

  CHECK_OK(MPI_Get(got, 4, MPI_INT, right, 2, 4, MPI_INT, win));
  CHECK_OK(MPI_Get_c(got + 4, 1, MPI_INT, right, 8, 1, MPI_INT, win));
  CHECK_OK(MPI_Get(got + 5, 1, MPI_INT, MPI_PROC_NULL, 8, 1, MPI_INT, win));
  CHECK_OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 5; i++) CHECK_EQUAL(got[i], mine[i]);
  CHECK_EQUAL(got[5], -2);

  // Different layouts of the same data: every other element here, a column of triples there.
  MPI_Datatype every_other, triples;
  CHECK_OK(MPI_Type_vector(6, 1, 2, MPI_INT, &every_other));
  CHECK_OK(MPI_Type_create_indexed_block(2, 3, (int[]){9, 15}, MPI_INT, &triples));
  CHECK_OK(MPI_Type_commit(&every_other));
  CHECK_OK(MPI_Type_commit(&triples));
  CHECK_OK(MPI_Put(mine, 1, every_other, right, 0, 1, triples, win));
  CHECK_OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 3; i++) CHECK_EQUAL(memory[9 + i], 100 * left + 2 * i);
  for (int i = 0; i < 3; i++) CHECK_EQUAL(memory[15 + i], 100 * left + 6 + 2 * i);
  CHECK_OK(MPI_Get(got, 6, MPI_INT, right, 0, 1, triples, win));
  CHECK_OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 6; i++) CHECK_EQUAL(got[i], mine[2 * i]);

  // All ranks add to all of rank 0's elements at once.
  for (int i = 0; i < N; i++) memory[i] = i;
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Accumulate(mine, N, MPI_INT, 0, 0, N, MPI_INT, MPI_SUM, win));
  CHECK_OK(MPI_Accumulate_c(mine, 1, triples, 0, 0, 1, triples, MPI_SUM, win));
  CHECK_OK(MPI_Win_fence(0, win));
  int sum = 100 * size * (size - 1) / 2;
  if (rank == 0)
    for (int i = 0; i < N; i++) {
      int twice = (i >= 9 && i < 12) || (i >= 15 && i < 18);
      CHECK_EQUAL(memory[i], i + (1 + twice) * (sum + size * i));
    }
  CHECK_OK(MPI_Win_fence(0, win));

  // What was there before comes back; with MPI_NO_OP nothing is looked at on this side.
  for (int i = 0; i < N; i++) memory[i] = 1000 * rank + i;
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Get_accumulate(mine, 6, MPI_INT, got, 1, every_other, right, 0, 6, MPI_INT, MPI_REPLACE, win));
  CHECK_OK(MPI_Get_accumulate_c(NULL, 0, MPI_DATATYPE_NULL, got + 12, 2, MPI_INT, right, 10, 2, MPI_INT, MPI_NO_OP, win));
  CHECK_OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 6; i++) CHECK_EQUAL(got[2 * i], 1000 * right + i);
  for (int i = 0; i < 2; i++) CHECK_EQUAL(got[12 + i], 1000 * right + 10 + i);
  for (int i = 0; i < 6; i++) CHECK_EQUAL(memory[i], 100 * left + i);
  CHECK_EQUAL(memory[10], 1000 * rank + 10);
  CHECK_OK(MPI_Win_fence(0, win));

  // Tickets: each rank draws as many as it likes, and all are different.
  memory[0] = memory[1] = 0;
  CHECK_OK(MPI_Win_fence(0, win));
  int one = 1, ticket[50], draws = 50;
  for (int i = 0; i < draws; i++) CHECK_OK(MPI_Fetch_and_op(&one, &ticket[i], MPI_INT, 0, 0, MPI_SUM, win));
  CHECK_OK(MPI_Accumulate(ticket, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, MPI_SUM, win));
  CHECK_OK(MPI_Get_accumulate(&one, 1, MPI_INT, got, 4, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win));
  CHECK_OK(MPI_Accumulate(ticket, draws, MPI_INT, MPI_PROC_NULL, 0, draws, MPI_INT, MPI_SUM, win));
  int total = 0, now = -1;
  CHECK_OK(MPI_Win_fence(0, win));
  for (int i = 1; i < draws; i++) CHECK(ticket[i] > ticket[i - 1]);
  for (int i = 0; i < draws; i++) total += ticket[i];
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQUAL(total, (size * draws) * (size * draws - 1) / 2);
  CHECK_OK(MPI_Fetch_and_op(NULL, &now, MPI_INT, 0, 0, MPI_NO_OP, win));

  // One of all ranks finds what it expects.
  int swapped = -1, expected = 0, value = rank + 1;
  CHECK_OK(MPI_Compare_and_swap(&value, &expected, &swapped, MPI_INT, 0, 1, win));
  CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  CHECK_EQUAL(now, size * draws);
  int winners = swapped == 0, sum_of_winners = winners ? value : 0;
  MPI_Allreduce(MPI_IN_PLACE, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &sum_of_winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQUAL(winners, 1);
  if (rank == 0) CHECK_EQUAL(memory[1], sum_of_winners);

  CHECK_OK(MPI_Type_free(&every_other));
  CHECK_OK(MPI_Type_free(&triples));
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
