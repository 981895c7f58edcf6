// Collectives between the two groups of an intercommunicator, of different sizes: what one group contributes the other
// receives; with a root, one rank of one group and all of the other.
#include "values.h"

static int size, peers, rank, side;
static MPI_Comm inter;
static MPI_Datatype affine;
static MPI_Op compose_op;

// What rank r of a side contributes as element i, to the other side's rank `to`.
static int letter(int of_side, int r, int to, int i, int turn) { return value(of_side * 500 + r * 29 + to, i, turn); }

static Affine affine_letter(int of_side, int r, int i, int turn) { return affine_value(of_side * 500 + r, i, turn); }

static Affine together(int of_side, int n, int i, int turn) {
  Affine all = affine_letter(of_side, 0, i, turn);
  for (int r = 1; r < n; r++) all = affine_compose(all, affine_letter(of_side, r, i, turn));
  return all;
}

static void compose(void *in, void *inout, int *length, MPI_Datatype *datatype) {
  Affine *a = in, *b = inout;
  (void)datatype;
  for (int i = 0; i < *length; i++) b[i] = affine_compose(a[i], b[i]);
}

// The root argument of the calling rank when rank r of a side is the root.
static int root_argument(int root_side, int r) {
  if (side != root_side) return r;
  return r == rank ? MPI_ROOT : MPI_PROC_NULL;
}

// Runs the rooted operations with rank r of a side as root.
static void rooted(int root_side, int r, int count, int turn) {
  int root = root_argument(root_side, r), is_root = root == MPI_ROOT, is_peer = side != root_side, wrong = 0;
  // A rank of the root's group that is not the root passes anything.
  MPI_Datatype type = is_root || is_peer ? MPI_INT : MPI_DATATYPE_NULL;
  int n = is_root || is_peer ? count : -1;
  int *one = value_new(count), *many = value_new(peers * (count + 1));
  for (int i = 0; i < count; i++) one[i] = is_root ? letter(side, rank, 0, i, turn) : -1;
  CHECK_OK(MPI_Bcast(one, n, type, root, inter));
  for (int i = 0; is_peer && i < count; i++) wrong += one[i] != letter(root_side, r, 0, i, turn);
  CHECK_EQUAL(wrong, 0);

  for (int i = 0; i < count; i++) one[i] = letter(side, rank, 0, i, turn);
  CHECK_OK(MPI_Gather(one, n, type, is_root ? many : NULL, n, type, root, inter));
  for (int p = 0; is_root && p < peers; p++)
    for (int i = 0; i < count; i++) wrong += many[p * count + i] != letter(!side, p, 0, i, turn);
  CHECK_EQUAL(wrong, 0);

  int *lengths = value_new(peers), *places = value_new(peers);
  for (int p = 0; p < peers; p++) lengths[p] = p % 2 ? count : 0, places[p] = (peers - 1 - p) * count;
  int mine = rank % 2 ? count : 0;
  for (int i = 0; i < peers * count; i++) many[i] = -1;
  CHECK_OK(MPI_Gatherv(one, is_peer ? mine : 0, is_peer ? MPI_INT : type, many, lengths, places, type, root, inter));
  for (int p = 0; is_root && p < peers; p++)
    for (int i = 0; i < count; i++) wrong += many[places[p] + i] != (p % 2 ? letter(!side, p, 0, i, turn) : -1);
  CHECK_EQUAL(wrong, 0);

  for (int p = 0; p < peers; p++)
    for (int i = 0; i < count; i++) many[p * count + i] = letter(side, rank, p, i, turn);
  for (int i = 0; i < count; i++) one[i] = -1;
  CHECK_OK(MPI_Scatter(many, n, type, one, n, type, root, inter));
  for (int i = 0; is_peer && i < count; i++) wrong += one[i] != letter(root_side, r, rank, i, turn);
  CHECK_EQUAL(wrong, 0);
  for (int p = 0; p < peers; p++)
    for (int i = 0; i < count; i++) many[places[p] + i] = letter(side, rank, p, i, turn);
  for (int i = 0; i < count; i++) one[i] = -1;
  CHECK_OK(MPI_Scatterv(many, lengths, places, type, one, is_peer ? mine : 0, is_peer ? MPI_INT : type, root, inter));
  for (int i = 0; is_peer && i < count; i++) wrong += one[i] != (rank % 2 ? letter(root_side, r, rank, i, turn) : -1);
  CHECK_EQUAL(wrong, 0);

  Affine *x = calloc(count + 1, sizeof *x), *y = calloc(count + 1, sizeof *y);
  for (int i = 0; i < count; i++) x[i] = affine_letter(side, rank, i, turn);
  CHECK_OK(MPI_Reduce(is_peer ? x : NULL, is_root ? y : NULL, n, is_root || is_peer ? affine : type,
                      is_root || is_peer ? compose_op : MPI_OP_NULL, root, inter));
  for (int i = 0; is_root && i < count; i++) {
    Affine right = together(!side, peers, i, turn);
    wrong += memcmp(&y[i], &right, sizeof right) != 0;
  }
  CHECK_EQUAL(wrong, 0);
  free(x);
  free(y);
  free(lengths);
  free(places);
  free(one);
  free(many);
}

static void gathered(int count, int turn) {
  // The sides contribute different amounts; the left one nothing in some turns.
  int sent = side ? count : count / 2 * (turn % 2), received = side ? count / 2 * (turn % 2) : count, wrong = 0;
  int *send = value_new(sent), *all = value_new(peers * (received + 1));
  for (int i = 0; i < sent; i++) send[i] = letter(side, rank, 0, i, turn);
  CHECK_OK(MPI_Allgather(send, sent, MPI_INT, all, received, MPI_INT, inter));
  for (int p = 0; p < peers; p++)
    for (int i = 0; i < received; i++) wrong += all[p * received + i] != letter(!side, p, 0, i, turn);
  CHECK_EQUAL(wrong, 0);
  int *lengths = value_new(peers), *places = value_new(peers);
  for (int p = 0; p < peers; p++) lengths[p] = p % 2 ? received : 0, places[p] = (peers - 1 - p) * (received + 1);
  for (int i = 0; i < peers * (received + 1); i++) all[i] = -1;
  CHECK_OK(MPI_Allgatherv(send, rank % 2 ? sent : 0, MPI_INT, all, lengths, places, MPI_INT, inter));
  for (int p = 0; p < peers; p++)
    for (int i = 0; i <= received; i++)
      wrong += all[places[p] + i] != (p % 2 && i < received ? letter(!side, p, 0, i, turn) : -1);
  CHECK_EQUAL(wrong, 0);
  free(lengths);
  free(places);
  free(send);
  free(all);
}

static void exchanged(int count, int turn) {
  int *send = value_new(peers * count), *receive = value_new(peers * count), wrong = 0;
  int *lengths = value_new(peers), *places = value_new(peers), *offsets = value_new(peers);
  MPI_Datatype *types = malloc(peers * sizeof *types);
  for (int p = 0; p < peers; p++) {
    lengths[p] = count, places[p] = (peers - 1 - p) * count, offsets[p] = places[p] * (int)sizeof(int);
    types[p] = MPI_INT;
    for (int i = 0; i < count; i++) send[p * count + i] = letter(side, rank, p, i, turn);
  }
  CHECK_OK(MPI_Alltoall(send, count, MPI_INT, receive, count, MPI_INT, inter));
  for (int p = 0; p < peers; p++)
    for (int i = 0; i < count; i++) wrong += receive[p * count + i] != letter(!side, p, rank, i, turn);
  CHECK_EQUAL(wrong, 0);
  for (int way = 0; way < 2; way++) {
    for (int p = 0; p < peers; p++)
      for (int i = 0; i < count; i++) send[places[p] + i] = letter(side, rank, p, i, turn), receive[p * count + i] = -1;
    if (way)
      CHECK_OK(MPI_Alltoallv(send, lengths, places, MPI_INT, receive, lengths, places, MPI_INT, inter));
    else
      CHECK_OK(MPI_Alltoallw(send, lengths, offsets, types, receive, lengths, offsets, types, inter));
    for (int p = 0; p < peers; p++)
      for (int i = 0; i < count; i++) wrong += receive[places[p] + i] != letter(!side, p, rank, i, turn);
    CHECK_EQUAL(wrong, 0);
  }
  free(types);
  free(lengths);
  free(places);
  free(offsets);
  free(send);
  free(receive);
}

static void reduced(int count, int turn) {
  // Each side's results are scattered over the other side: as many elements as both sizes divide.
  int whole = count * size * peers, each = count * peers, wrong = 0;
  Affine *send = calloc(whole + 1, sizeof *send), *receive = calloc(whole + 1, sizeof *receive);
  for (int i = 0; i < whole; i++) send[i] = affine_letter(side, rank, i, turn);
  CHECK_OK(MPI_Allreduce(send, receive, count, affine, compose_op, inter));
  for (int i = 0; i < count; i++) {
    Affine right = together(!side, peers, i, turn);
    wrong += memcmp(&receive[i], &right, sizeof right) != 0;
  }
  CHECK_EQUAL(wrong, 0);
  CHECK_OK(MPI_Reduce_scatter_block(send, receive, each, affine, compose_op, inter));
  for (int i = 0; i < each; i++) {
    Affine right = together(!side, peers, rank * each + i, turn);
    wrong += memcmp(&receive[i], &right, sizeof right) != 0;
  }
  CHECK_EQUAL(wrong, 0);
  // Rank 0 receives all.
  int *counts = calloc(size, sizeof *counts);
  counts[0] = whole;
  memset(receive, 0, whole * sizeof *receive);
  CHECK_OK(MPI_Reduce_scatter(send, receive, counts, affine, compose_op, inter));
  for (int i = 0; rank == 0 && i < whole; i++) {
    Affine right = together(!side, peers, i, turn);
    wrong += memcmp(&receive[i], &right, sizeof right) != 0;
  }
  CHECK_EQUAL(wrong, 0);
  free(counts);
  free(send);
  free(receive);
}

static void refused(void) {
  int x = 1, y = 0;
  CHECK_CLASS(MPI_Scan(&x, &y, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Exscan(&x, &y, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Allreduce(MPI_IN_PLACE, &y, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, peers, inter), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD), MPI_ERR_ROOT);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int world;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (world == 1) return check_end();
  // The first third, one rank at least, and the others in reverse order.
  int third = (world + 2) / 3;
  MPI_Comm local;
  side = check_rank >= third;
  MPI_Comm_split(MPI_COMM_WORLD, side, side ? -check_rank : check_rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : world - 1, 5, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &peers);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &affine);
  MPI_Type_commit(&affine);
  MPI_Op_create(compose, 0, &compose_op);
  for (int turn = 0; turn < VALUE_COUNTS; turn++) {
    int count = value_counts[turn];
    CHECK_OK(MPI_Barrier(inter));
    for (int s = 0; s < 2; s++) {
      int ranks = s == side ? size : peers;
      for (int r = turn % 2; r < ranks; r += 1 + turn / 2) rooted(s, r, count, turn);
    }
    gathered(count, turn);
    exchanged(count > 1500 ? 1500 : count, turn);
    reduced(count > 300 ? 300 / world + 1 : count > 7 ? 7 : count, turn);
  }
  refused();
  MPI_Op_free(&compose_op);
  MPI_Type_free(&affine);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
  return check_end();
}
