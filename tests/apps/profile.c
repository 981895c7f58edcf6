// A tool that comes between a program and MPI, by link or LD_PRELOAD: it counts calls, time and bytes of the procedures that HPCC
// calls, and the first rank writes a report when MPI ends. Beside its own counts it has the library's, by the tool information
// interface, of what concerns MPI_COMM_WORLD: both must be the same.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCEDURES(ONE)                                                                                                  \
  ONE(Send) ONE(Ssend) ONE(Isend) ONE(Issend) ONE(Sendrecv) ONE(Recv) ONE(Irecv) ONE(Wait) ONE(Waitall) ONE(Barrier) ONE(Bcast) \
  ONE(Reduce) ONE(Allreduce) ONE(Gather) ONE(Alltoall)

enum {
#define ONE(name) name,
  PROCEDURES(ONE)
#undef ONE
  COUNT
};
static const char *const names[] = {
#define ONE(name) #name,
  PROCEDURES(ONE)
#undef ONE
};

typedef struct {
  double calls, time, bytes;
} entry;

static entry entries[COUNT];
// On MPI_COMM_WORLD: messages sent, their bytes, collective operations; as counted here.
static unsigned long long own[3];
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[3];

static void begin(void) {
  static const char *const variables[] = {"sent_messages", "sent_bytes", "collectives"};
  static const int classes[] = {MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_AGGREGATE, MPI_T_PVAR_CLASS_COUNTER};
  MPI_Comm world = MPI_COMM_WORLD;
  int provided, index, count;
  if (PMPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) || PMPI_T_pvar_session_create(&session)) abort();
  for (int i = 0; i < 3; i++) {
    if (PMPI_T_pvar_get_index(variables[i], classes[i], &index)) abort();
    if (PMPI_T_pvar_handle_alloc(session, index, &world, &handles[i], &count)) abort();
    if (PMPI_T_pvar_start(session, handles[i])) abort();
  }
}

int MPI_Init(int *argc, char ***argv) {
  int code = PMPI_Init(argc, argv);
  begin();
  return code;
}

static int note(int which, double since, double bytes, int code) {
  entries[which].calls++;
  entries[which].time += PMPI_Wtime() - since;
  entries[which].bytes += bytes;
  return code;
}

static double size_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return (double)count * size;
}

static double sent(int count, MPI_Datatype type, int target, MPI_Comm comm) {
  double bytes = size_of(count, type);
  if (comm == MPI_COMM_WORLD && target != MPI_PROC_NULL) own[0]++, own[1] += (unsigned long long)bytes;
  return bytes;
}

static void met(MPI_Comm comm) { own[2] += comm == MPI_COMM_WORLD; }

#define NOTED(which, bytes, call)  \
  do {                             \
    double since = PMPI_Wtime();   \
    return note(which, since, bytes, call); \
  } while (0)
#define TOGETHER(which, call) \
  do {                        \
    met(comm);                \
    NOTED(which, 0, call);    \
  } while (0)

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm) { NOTED(Send, sent(n, t, to, comm), PMPI_Send(b, n, t, to, tag, comm)); }
int MPI_Ssend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm) { NOTED(Ssend, sent(n, t, to, comm), PMPI_Ssend(b, n, t, to, tag, comm)); }
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm, MPI_Request *r) { NOTED(Isend, sent(n, t, to, comm), PMPI_Isend(b, n, t, to, tag, comm, r)); }
int MPI_Issend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm, MPI_Request *r) { NOTED(Issend, sent(n, t, to, comm), PMPI_Issend(b, n, t, to, tag, comm, r)); }
int MPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *b2, int n2, MPI_Datatype t2, int from, int tag2, MPI_Comm comm, MPI_Status *s) {
  NOTED(Sendrecv, sent(n, t, to, comm), PMPI_Sendrecv(b, n, t, to, tag, b2, n2, t2, from, tag2, comm, s));
}
int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Status *s) { NOTED(Recv, 0, PMPI_Recv(b, n, t, from, tag, comm, s)); }
int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Request *r) { NOTED(Irecv, 0, PMPI_Irecv(b, n, t, from, tag, comm, r)); }
int MPI_Wait(MPI_Request *r, MPI_Status *s) { NOTED(Wait, 0, PMPI_Wait(r, s)); }
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) { NOTED(Waitall, 0, PMPI_Waitall(n, r, s)); }
int MPI_Barrier(MPI_Comm comm) { TOGETHER(Barrier, PMPI_Barrier(comm)); }
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm comm) { TOGETHER(Bcast, PMPI_Bcast(b, n, t, root, comm)); }
int MPI_Reduce(const void *b, void *c, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm) { TOGETHER(Reduce, PMPI_Reduce(b, c, n, t, op, root, comm)); }
int MPI_Allreduce(const void *b, void *c, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm) { TOGETHER(Allreduce, PMPI_Allreduce(b, c, n, t, op, comm)); }
int MPI_Gather(const void *b, int n, MPI_Datatype t, void *c, int m, MPI_Datatype u, int root, MPI_Comm comm) { TOGETHER(Gather, PMPI_Gather(b, n, t, c, m, u, root, comm)); }
int MPI_Alltoall(const void *b, int n, MPI_Datatype t, void *c, int m, MPI_Datatype u, MPI_Comm comm) { TOGETHER(Alltoall, PMPI_Alltoall(b, n, t, c, m, u, comm)); }

static void report(int size, int differ) {
  const char *name = getenv("PROFILE_REPORT");
  FILE *file = fopen(name ? name : "profile.txt", "a");
  entry all[COUNT];
  unsigned long long sums[3];
  PMPI_Reduce(entries, all, 3 * COUNT, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  PMPI_Reduce(own, sums, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (!file) abort();
  fprintf(file, "profile of %d ranks, %d of which the library has counted otherwise\n", size, differ);
  fprintf(file, "on MPI_COMM_WORLD: %llu messages, %llu bytes, %llu collective operations\n", sums[0], sums[1], sums[2]);
  for (int i = 0; i < COUNT; i++)
    if (all[i].calls) fprintf(file, "%-16s %12.0f calls %12.6f s %14.0f bytes\n", names[i], all[i].calls, all[i].time, all[i].bytes);
  if (fclose(file)) abort();
}

int MPI_Finalize(void) {
  int rank, size, differs = 0, differ = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 3; i++) {
    unsigned long long value = 0;
    if (PMPI_T_pvar_read(session, handles[i], &value)) abort();
    if (value != own[i]) {
      fprintf(stderr, "profile: rank %d: variable %d is %llu, the tool has counted %llu\n", rank, i, value, own[i]);
      differs = 1;
    }
  }
  PMPI_T_pvar_session_free(&session);
  PMPI_T_finalize();
  PMPI_Reduce(&differs, &differ, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    report(size, differ);
  } else {
    PMPI_Reduce(entries, NULL, 3 * COUNT, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Reduce(own, NULL, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  }
  return PMPI_Finalize();
}
