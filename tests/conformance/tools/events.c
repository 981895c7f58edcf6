// Events: types say what they tell; callbacks are told at the level of safety that is needed, what happened and when, for the object
// they are bound to; what is dropped is counted.
// weft-test: faults=yes
#include "check.h"
#include <stddef.h>

enum { MOST = 64, MANY = 1500 };

typedef struct {
  int called, wrong, safety, last[2], dropped, dropped_before, source;
  MPI_Count bytes, before;
  MPI_T_event_registration registration;
} seen;

static MPI_T_event_instance past;

static int index_of(const char *name) {
  int index = -1;
  CHECK_OK(MPI_T_event_get_index(name, &index));
  return index;
}

static void types(void) {
  int number = 0, index, sources = 0, wanted[] = {3, 3, 1, 1, 1};
  const char *names[] = {"message_matched", "message_unexpected", "collective_begun", "collective_ended", "rank_parked"};
  CHECK_OK(MPI_T_event_get_num(&number));
  CHECK(number >= 5);
  for (int i = 0; i < 5; i++) {
    MPI_Datatype types[4] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Aint places[4] = {-1, -1, -1, -1};
    char name[100], desc[2000];
    int length = 100, room = 2000, verbosity = -1, elements = 4, bind = -1, count = -1, none = 0, keys = -1;
    MPI_T_enum words = MPI_T_ENUM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    CHECK_OK(MPI_T_event_get_info(index_of(names[i]), name, &length, &verbosity, types, places, &elements, &words, &info, desc, &room, &bind));
    CHECK(!strcmp(name, names[i]) && length == (int)strlen(name) + 1 && room == (int)strlen(desc) + 1 && room > 1);
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
    CHECK_EQUAL(elements, wanted[i]);
    CHECK_EQUAL(bind, i == 4 ? MPI_T_BIND_NO_OBJECT : MPI_T_BIND_MPI_COMM);
    CHECK(types[elements] == MPI_DATATYPE_NULL && places[elements] == -1 && places[0] == 0);
    for (int e = 0; e < elements; e++) CHECK(types[e] == MPI_INT || types[e] == MPI_COUNT);
    CHECK_OK(MPI_Info_get_nkeys(info, &keys));
    CHECK_EQUAL(keys, 0);
    MPI_Info_free(&info);
    CHECK_OK(MPI_T_enum_get_info(words, &count, NULL, NULL));
    CHECK_EQUAL(count, elements);
    CHECK_OK(MPI_T_event_get_info(index_of(names[i]), NULL, NULL, NULL, types, places, &none, NULL, NULL, NULL, NULL, NULL));
    CHECK_EQUAL(none, elements);
    CHECK_OK(MPI_T_event_get_info(index_of(names[i]), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  }
  int one = 1, place = -5;
  MPI_Aint places[2] = {-1, -1};
  CHECK_OK(MPI_T_event_get_info(index_of(names[0]), NULL, NULL, NULL, NULL, places, &one, NULL, NULL, NULL, NULL, NULL));
  CHECK(one == 3 && places[0] == 0 && places[1] == -1);
  CHECK_CLASS(MPI_T_event_get_info(index_of(names[0]), NULL, NULL, NULL, NULL, NULL, &place, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_event_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_event_get_index("no such event", &index), MPI_T_ERR_INVALID_NAME);
  CHECK_CLASS(MPI_T_event_get_num(NULL), MPI_T_ERR_INVALID);
  CHECK_OK(MPI_T_source_get_num(&sources));
  CHECK(sources > 0);
  for (int i = 0; i < sources; i++) {
    char name[100], desc[300];
    int length = 100, room = 300, keys = -1;
    MPI_T_source_order order = 0;
    MPI_Count ticks = 0, most = 0, first = -1, second = -1;
    MPI_Info info = MPI_INFO_NULL;
    CHECK_OK(MPI_T_source_get_info(i, name, &length, desc, &room, &order, &ticks, &most, &info));
    CHECK(length > 1 && room > 1 && ticks > 0 && most > 0 && (order == MPI_T_SOURCE_ORDERED || order == MPI_T_SOURCE_UNORDERED));
    CHECK_OK(MPI_Info_get_nkeys(info, &keys));
    CHECK_EQUAL(keys, 0);
    MPI_Info_free(&info);
    CHECK_OK(MPI_T_source_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_OK(MPI_T_source_get_timestamp(i, &first));
    CHECK_OK(MPI_T_source_get_timestamp(i, &second));
    CHECK(first >= 0 && second >= first);
  }
  MPI_Count now;
  CHECK_CLASS(MPI_T_source_get_info(sources, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_source_get_timestamp(-1, &now), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_source_get_timestamp(0, NULL), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_source_get_num(NULL), MPI_T_ERR_INVALID);
}

static void on_message(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
  seen *s = data;
  struct { int source, tag; MPI_Count bytes; } whole = {-1, -1, -1};
  int source = -1, tag = -1, rank = -1, flag;
  MPI_Count bytes = -1, time = -1, now = -1;
  s->called++;
  s->safety = safety;
  s->wrong += MPI_T_event_read(instance, 0, &source) || MPI_T_event_read(instance, 1, &tag) || MPI_T_event_read(instance, 2, &bytes);
  s->wrong += MPI_T_event_copy(instance, &whole) || whole.source != source || whole.tag != tag || whole.bytes != bytes;
  s->wrong += MPI_T_event_get_source(instance, &s->source) || MPI_T_event_get_timestamp(instance, &time);
  s->wrong += MPI_T_source_get_timestamp(s->source, &now) || time < s->before || time > now || registration != s->registration;
  s->wrong += MPI_T_event_read(instance, 3, &source) != MPI_T_ERR_INVALID_INDEX || MPI_T_event_read(instance, -1, &source) != MPI_T_ERR_INVALID_INDEX;
  s->wrong += MPI_T_event_read(instance, 0, NULL) != MPI_T_ERR_INVALID || MPI_T_event_copy(instance, NULL) != MPI_T_ERR_INVALID;
  s->before = time;
  s->last[0] = source;
  s->last[1] = tag;
  s->bytes += bytes;
  past = instance;
  if (safety == MPI_T_CB_REQUIRE_NONE) {
    // Nothing is forbidden here.
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    s->wrong += rank != check_rank;
    MPI_Iprobe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}

static void listen_to(seen *s, const char *event, MPI_Comm comm, int safety, MPI_T_event_cb_function function) {
  memset(s, 0, sizeof *s);
  CHECK_OK(MPI_T_event_handle_alloc(index_of(event), &comm, MPI_INFO_NULL, &s->registration));
  CHECK_OK(MPI_T_event_register_callback(s->registration, safety, MPI_INFO_NULL, s, function));
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
  int *freed = data;
  (void)registration;
  *freed += safety == MPI_T_CB_REQUIRE_NONE ? 1 : 100;
}

static void stop(seen *s) {
  int freed = 0;
  MPI_T_event_registration gone = s->registration;
  CHECK_OK(MPI_T_event_handle_free(s->registration, &freed, on_free));
  CHECK_EQUAL(freed, 1);
  CHECK_CLASS(MPI_T_event_handle_free(gone, &freed, on_free), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_event_register_callback(gone, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, s, on_message), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_event_set_dropped_handler(gone, NULL), MPI_T_ERR_INVALID_HANDLE);
}

static void messages(MPI_Comm mine, int rank, int size) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size, word, data[8] = {0}, came[8];
  static seen met, elsewhere, early;
  listen_to(&met, "message_matched", mine, MPI_T_CB_REQUIRE_NONE, on_message);
  listen_to(&elsewhere, "message_matched", MPI_COMM_WORLD, MPI_T_CB_REQUIRE_NONE, on_message);
  listen_to(&early, "message_unexpected", mine, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, on_message);
  MPI_Barrier(mine);
  for (int i = 1; i <= 8; i++) MPI_Sendrecv(data, i, MPI_INT, to, i, came, i, MPI_INT, from, i, mine, MPI_STATUS_IGNORE);
  CHECK_EQUAL(met.called, 8);
  CHECK(met.last[0] == from && met.last[1] == 8);
  CHECK_EQUAL(met.bytes, 4 * 36);
  CHECK_EQUAL(met.safety, MPI_T_CB_REQUIRE_NONE);
  CHECK_EQUAL(elsewhere.called, 0);
  // A message to oneself for which no receive is posted; a synchronous one lies in no ring.
  MPI_Request request;
  int before = early.called;
  MPI_Issend(data, 3, MPI_INT, rank, 99, mine, &request);
  CHECK(early.called > before);
  CHECK(early.last[0] == rank && early.last[1] == 99);
  CHECK_EQUAL(early.safety, MPI_T_CB_REQUIRE_NONE);
  // An instance is there during the callback only.
  CHECK_CLASS(MPI_T_event_read(past, 0, &word), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_event_get_source(past, &word), MPI_T_ERR_INVALID_HANDLE);
  MPI_Recv(came, 3, MPI_INT, rank, 99, mine, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  // A callback of a lower level is called instead; without any, none is.
  static seen low;
  low.registration = early.registration;
  CHECK_OK(MPI_T_event_register_callback(early.registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &low, on_message));
  before = early.called;
  MPI_Issend(data, 3, MPI_INT, rank, 98, mine, &request);
  MPI_Recv(came, 3, MPI_INT, rank, 98, mine, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(low.called > 0 && early.called == before && low.wrong == 0);
  CHECK_OK(MPI_T_event_register_callback(early.registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, NULL));
  CHECK_OK(MPI_T_event_register_callback(early.registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, NULL, NULL));
  before = low.called + early.called;
  MPI_Issend(data, 3, MPI_INT, rank, 97, mine, &request);
  MPI_Recv(came, 3, MPI_INT, rank, 97, mine, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_EQUAL(low.called + early.called, before);
  CHECK_EQUAL(met.wrong + early.wrong, 0);
  stop(&met);
  stop(&elsewhere);
  stop(&early);
}

static int open_operation[MOST], open_count;

static void on_begin(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
  seen *s = data;
  (void)registration, (void)safety;
  s->called++;
  s->wrong += MPI_T_event_read(instance, 0, &s->last[0]) != MPI_SUCCESS;
  open_operation[open_count++ % MOST] = s->last[0];
}

static void on_end(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
  seen *s = data;
  (void)registration, (void)safety;
  s->called++;
  s->wrong += MPI_T_event_read(instance, 0, &s->last[0]) != MPI_SUCCESS || s->last[0] != open_operation[(s->called - 1) % MOST];
}

static void collectives(MPI_Comm mine) {
  static seen begun, ended;
  int one = 1, sum;
  MPI_Request request;
  listen_to(&begun, "collective_begun", mine, MPI_T_CB_REQUIRE_MPI_RESTRICTED, on_begin);
  listen_to(&ended, "collective_ended", mine, MPI_T_CB_REQUIRE_MPI_RESTRICTED, on_end);
  MPI_Barrier(mine);
  CHECK(begun.called == 1 && ended.called == 1);
  int barrier = begun.last[0];
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, mine);
  CHECK(begun.last[0] != barrier);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQUAL(begun.called, 2);
  MPI_Ibarrier(mine, &request);
  CHECK(begun.called == 3 && begun.last[0] == barrier);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_EQUAL(ended.called, 3);
  CHECK_EQUAL(begun.wrong + ended.wrong, 0);
  stop(&begun);
  stop(&ended);
}

static void on_drop(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *data) {
  seen *s = data;
  s->wrong += registration != s->registration || safety != MPI_T_CB_REQUIRE_NONE || source < 0;
  s->dropped += (int)count;
  s->dropped_before = s->called;
}

static void dropped(MPI_Comm mine, int rank) {
  static seen early;
  static MPI_Request request[MANY];
  static int data[MANY];
  listen_to(&early, "message_unexpected", mine, MPI_T_CB_REQUIRE_NONE, on_message);
  CHECK_OK(MPI_T_event_set_dropped_handler(early.registration, on_drop));
  for (int i = 0; i < MANY; i++) MPI_Send_init(&data[i], 1, MPI_INT, rank, i, mine, &request[i]);
  // More happens in one call than is kept until its end.
  MPI_Startall(MANY, request);
  CHECK(early.called > 0 && early.dropped > 0 && early.dropped_before == early.called);
  CHECK_EQUAL(early.called + early.dropped, MANY);
  int came;
  for (int i = 0; i < MANY; i++) MPI_Recv(&came, 1, MPI_INT, rank, i, mine, MPI_STATUS_IGNORE);
  MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
  // Without a handler nothing is told of what was dropped, not even later.
  CHECK_OK(MPI_T_event_set_dropped_handler(early.registration, NULL));
  early.called = early.dropped = 0;
  MPI_Startall(MANY, request);
  CHECK_OK(MPI_T_event_set_dropped_handler(early.registration, on_drop));
  for (int i = 0; i < MANY; i++) MPI_Recv(&came, 1, MPI_INT, rank, i, mine, MPI_STATUS_IGNORE);
  MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
  CHECK(early.called < MANY && early.dropped == 0);
  for (int i = 0; i < MANY; i++) MPI_Request_free(&request[i]);
  CHECK_EQUAL(early.wrong, 0);
  stop(&early);
}

static int ended_inside;

static void end_itself(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
  seen *s = data;
  (void)instance, (void)safety;
  s->called++;
  s->wrong += MPI_T_event_handle_free(registration, &ended_inside, on_free) != MPI_SUCCESS || ended_inside != 0;
}

static void itself(MPI_Comm mine) {
  static seen begun;
  listen_to(&begun, "collective_begun", mine, MPI_T_CB_REQUIRE_NONE, end_itself);
  MPI_Barrier(mine);
  MPI_Barrier(mine);
  CHECK(begun.called == 1 && begun.wrong == 0);
  CHECK_EQUAL(ended_inside, 1);
}

static int in_function;

static void add(void *in, void *out, int *count, MPI_Datatype *type) {
  int size;
  in_function = 1;
  // A call in a call: its end is not the time to tell anything.
  MPI_Type_size(*type, &size);
  in_function = 0;
  for (int i = 0; i < *count; i++) ((int *)out)[i] += ((int *)in)[i];
}

static void on_begin_outside(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
  seen *s = data;
  (void)instance, (void)registration, (void)safety;
  s->called++;
  s->wrong += in_function;
}

static void inside(MPI_Comm mine, int size) {
  static seen begun;
  int one = 1, sum = 0;
  MPI_Op op;
  listen_to(&begun, "collective_begun", mine, MPI_T_CB_REQUIRE_NONE, on_begin_outside);
  MPI_Op_create(add, 1, &op);
  for (int i = 1; i <= 4; i++) {
    MPI_Allreduce(&one, &sum, 1, MPI_INT, op, mine);
    CHECK_EQUAL(sum, size);
    CHECK_EQUAL(begun.called, i);
  }
  CHECK_EQUAL(begun.wrong, 0);
  MPI_Op_free(&op);
  stop(&begun);
}

static void arguments(MPI_Comm mine) {
  static seen s;
  MPI_T_event_registration registration;
  MPI_Info info, used = MPI_INFO_NULL;
  MPI_Comm null = MPI_COMM_NULL;
  int keys = -1, index = index_of("message_matched");
  CHECK_CLASS(MPI_T_event_handle_alloc(-1, &mine, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_event_handle_alloc(index, &null, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_event_handle_alloc(index, &mine, MPI_INFO_NULL, NULL), MPI_T_ERR_INVALID);
  listen_to(&s, "message_matched", mine, MPI_T_CB_REQUIRE_NONE, on_message);
  MPI_Info_create(&info);
  MPI_Info_set(info, "unknown", "hint");
  CHECK_OK(MPI_T_event_handle_set_info(s.registration, info));
  CHECK_OK(MPI_T_event_handle_get_info(s.registration, &used));
  CHECK_OK(MPI_Info_get_nkeys(used, &keys));
  CHECK_EQUAL(keys, 0);
  MPI_Info_free(&used);
  CHECK_OK(MPI_T_event_callback_set_info(s.registration, MPI_T_CB_REQUIRE_NONE, info));
  CHECK_OK(MPI_T_event_callback_get_info(s.registration, MPI_T_CB_REQUIRE_NONE, &used));
  CHECK_OK(MPI_Info_get_nkeys(used, &keys));
  CHECK_EQUAL(keys, 0);
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  CHECK_CLASS(MPI_T_event_register_callback(s.registration, 1, MPI_INFO_NULL, &s, on_message), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_event_callback_set_info(s.registration, 2, MPI_INFO_NULL), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_event_callback_get_info(s.registration, 2, &used), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_event_handle_get_info(s.registration, NULL), MPI_T_ERR_INVALID);
  stop(&s);
}

static void on_park(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
  seen *s = data;
  MPI_Count time = -1;
  (void)registration;
  s->called++;
  s->safety = safety;
  s->wrong += MPI_T_event_read(instance, 0, &time) || time < 0;
}

int main(int argc, char **argv) {
  int provided, rank, size, number;
  static seen parked;
  MPI_Comm mine;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  CHECK_CLASS(MPI_T_event_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  CHECK_CLASS(MPI_T_source_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  types();
  messages(mine, rank, size);
  collectives(mine);
  dropped(mine, rank);
  itself(mine);
  inside(mine, size);
  arguments(mine);
  // What is left ends with the interface, and what is told after MPI_Finalize says that MPI is over.
  listen_to(&parked, "rank_parked", MPI_COMM_NULL, MPI_T_CB_REQUIRE_MPI_RESTRICTED, on_park);
  MPI_Comm_free(&mine);
  int all = check_end();
  CHECK_EQUAL(parked.wrong, 0);
  CHECK_OK(MPI_T_finalize());
  return all || check_failures;
}
