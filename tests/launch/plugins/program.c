/* Opens plugins, and expects of them what a process may expect. The folder of the plugins is the argument. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, failures;
static const char *folder;
static char notes[4096];

int near_add(int n);
extern int near_state;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("rank %d: line %d: %s\n", rank, __LINE__, #condition);                                              \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

void program_note(const char *what)
{
    strcat(notes, what);
    strcat(notes, " ");
}

int program_rank(void) { return rank; }
int common(void) { return 1; }
int which(int n) { return 1 + 0 * n; }

static const char *path(const char *name)
{
    static char text[4][4096];
    static int next;
    char *place = text[next++ % 4];
    snprintf(place, sizeof text[0], "%s/%s", folder, name);
    return place;
}

/* Calls a function of an object with a number. */
static int call(void *object, const char *name, int n)
{
    int (*function)(int) = object ? (int (*)(int))dlsym(object, name) : NULL;
    if (!function) {
        const char *error = dlerror();
        printf("rank %d: %s: %s\n", rank, name, error ? error : "no object");
        failures++;
        return -1;
    }
    return function(n);
}

/* Tells whether the last error says this. */
static int said(const char *text)
{
    const char *error = dlerror();
    int same = error && strstr(error, text);
    if (!same)
        printf("rank %d: expected \"%s\", the error is \"%s\"\n", rank, text, error ? error : "none");
    return same;
}

static void *must(const char *name, int flags)
{
    void *object = dlopen(name, flags);
    if (!object) {
        printf("rank %d: %s\n", rank, dlerror());
        failures++;
    }
    return object;
}

static void test_state(void)
{
    void *counter = must(path("counter.so"), RTLD_NOW);
    CHECK(call(counter, "counter_add", rank + 1) == rank + 1);
    CHECK(call(counter, "counter_dep", rank + 10) == rank + 10);
    CHECK(call(counter, "counter_inner", rank + 20) == rank + 20);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(call(counter, "counter_add", 0) == rank + 1);
    CHECK(call(counter, "counter_dep", 0) == rank + 10);
    CHECK(call(counter, "counter_inner", 0) == rank + 20);
    CHECK(call(counter, "counter_program", 0) == rank);
    CHECK(call(counter, "counter_mpi", 0) == rank);
    CHECK(call(counter, "counter_thread", 0));
    CHECK(call(counter, "counter_arguments", 0) == 2);
    int **option = (int **)dlsym(counter, "counter_option");
    CHECK(((int *(*)(void))option)() == &optind);
    CHECK(call(counter, "counter_exit", 0));
    CHECK(((int (*)(FILE *))dlsym(counter, "counter_stream"))(stdout));
    CHECK(((int (*)(int (*)(const char *)))dlsym(counter, "counter_puts"))(puts));
    CHECK(call(counter, "counter_common", 0) == 1);
    CHECK(call(counter, "counter_default", 0));
    CHECK(((void *(*)(void))dlsym(counter, "counter_next"))() != NULL);
    /* A library the program is linked with is the same for the plugin. */
    near_add(rank);
    CHECK(call(counter, "counter_near", 5) == rank + 5 && near_add(0) == rank + 5 && near_state == rank + 5);
    CHECK(strcmp(notes, "begin ") == 0);
}

static void test_handles(void)
{
    void *first = must(path("counter.so"), RTLD_NOW), *again = must(path("./counter.so"), RTLD_LAZY | RTLD_NOLOAD);
    CHECK(first == again);
    CHECK(dlclose(first) == 0 && dlclose(again) == 0);
    CHECK(call(again, "counter_add", 0) == rank + 1);
    /* The last use but one: of test_state. */
    CHECK(dlclose(again) == 0);
    CHECK(strcmp(notes, "begin end handler ") == 0);
    CHECK(dlopen(path("counter.so"), RTLD_LAZY | RTLD_NOLOAD) == NULL && dlerror() == NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    first = must(path("counter.so"), RTLD_NOW);
    CHECK(call(first, "counter_add", 0) == 0 && call(first, "counter_dep", 0) == 0);
    CHECK(strcmp(notes, "begin end handler begin ") == 0);
    CHECK(dlclose(first) == 0);
    strcpy(notes, "");
    for (int i = 0; i < 30; i++) {
        void *one = must(path("counter.so"), i % 2 ? RTLD_NOW : RTLD_LAZY);
        CHECK(call(one, "counter_add", 7) == 7);
        CHECK(dlclose(one) == 0);
    }
    void *kept = must(path("kept.so"), RTLD_NOW | RTLD_NODELETE);
    CHECK(call(kept, "kept_add", rank + 2) == rank + 2);
    CHECK(dlclose(kept) == 0);
    kept = must(path("kept.so"), RTLD_NOW);
    CHECK(call(kept, "kept_add", 0) == rank + 2);
}

static void test_search(void)
{
    void *near = must("libnear.so", RTLD_NOW);
    CHECK(dlsym(near, "near_state") == &near_state);
    CHECK(dlclose(near) == 0);
    CHECK(call(near, "near_add", 0) == near_state);
    void *self = must(NULL, RTLD_NOW);
    CHECK(dlsym(self, "program_rank") == (void *)program_rank && dlsym(self, "near_state") == &near_state);
    CHECK(dlsym(RTLD_DEFAULT, "which") == (void *)which);
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "which");
    CHECK(next && next(0) == 2);
    int (*own)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))dlsym(RTLD_NEXT, "MPI_Comm_rank"), mine = -1;
    CHECK(own && own(MPI_COMM_WORLD, &mine) == MPI_SUCCESS && mine == rank);
    CHECK(dlsym(RTLD_DEFAULT, "optind") == &optind && dlsym(self, "exit") == (void *)exit);
    CHECK(dlsym(RTLD_NEXT, "exit") == (void *)exit && dlsym(RTLD_DEFAULT, "dlsym") == (void *)dlsym);
    void *libm = must("libm.so.6", RTLD_NOW);
    double (*cosine)(double) = (double (*)(double))dlsym(libm, "cos");
    CHECK(cosine && cosine(0) == 1);
    CHECK(dlclose(libm) == 0);
    void *deep = must(path("deep.so"), RTLD_NOW | RTLD_DEEPBIND);
    CHECK(call(deep, "deep_needs", 0) == 2);
    void *flat = must(path("flat.so"), RTLD_NOW);
    CHECK(call(flat, "flat_needs", 0) == 1);
}

static void test_global(void)
{
    CHECK(dlopen(path("user.so"), RTLD_NOW) == NULL && said("user.so: undefined symbol: giver_add"));
    void *late = must(path("late.so"), RTLD_LAZY), *giver = must(path("giver.so"), RTLD_NOW);
    CHECK(dlopen(path("user.so"), RTLD_NOW) == NULL && said("undefined symbol: giver_add"));
    CHECK(dlsym(RTLD_DEFAULT, "giver_add") == NULL && said("undefined symbol: giver_add"));
    CHECK(must(path("giver.so"), RTLD_NOW | RTLD_GLOBAL) == giver);
    CHECK(dlsym(RTLD_DEFAULT, "giver_add") == dlsym(giver, "giver_add") && dlsym(giver, "giver_add"));
    void *user = must(path("user.so"), RTLD_NOW);
    CHECK(call(user, "user_needs", rank + 3) == rank + 3);
    CHECK(call(late, "late_needs", 1) == rank + 4);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(call(giver, "giver_add", 0) == rank + 4);
    CHECK(dlclose(giver) == 0 && dlclose(giver) == 0);
    /* What uses it keeps it. */
    CHECK(call(user, "user_needs", 1) == rank + 5);
    CHECK(dlclose(user) == 0 && dlclose(late) == 0);
}

static void test_errors(void)
{
    CHECK(!dlopen("libnowhere.so", RTLD_NOW));
    CHECK(said("libnowhere.so: cannot open shared object file: No such file or directory"));
    CHECK(dlerror() == NULL);
    CHECK(!dlopen(path("nowhere.so"), RTLD_NOW));
    CHECK(said("/nowhere.so: cannot open shared object file: No such file or directory"));
    CHECK(!dlopen(path("counter.so"), 0) && said("invalid mode for dlopen(): Invalid argument"));
    CHECK(!dlopen(path("text.so"), RTLD_NOW) && said("text.so: "));
    CHECK(!dlopen(folder, RTLD_NOW) && said("cannot read file data: Is a directory"));
    CHECK(!dlopen(path("orphan.so"), RTLD_NOW));
    CHECK(said("libparent.so: cannot open shared object file: No such file or directory"));
    void *kept = must(path("kept.so"), RTLD_NOW);
    CHECK(!dlsym(kept, "nothing") && said("kept.so: undefined symbol: nothing"));
    CHECK(!dlsym(kept, "program_rank") && said("undefined symbol: program_rank"));
    CHECK(!dlvsym(kept, "nothing", "V1") && said("undefined symbol: nothing, version V1"));
    CHECK(!dlsym(RTLD_NEXT, "nothing") && said("undefined symbol: nothing"));
    CHECK(dlsym(kept, "kept_add") && dlerror() == NULL);
    void *brief = must(path("brief.so"), RTLD_NOW);
    CHECK(dlclose(brief) == 0);
}

struct seen {
    int objects, named, first, own;
};

static int see(struct dl_phdr_info *info, size_t length, void *data)
{
    struct seen *seen = data;
    (void)length;
    seen->first += seen->objects++ == 0 && info->dlpi_name[0] == 0;
    seen->named += strstr(info->dlpi_name, "/kept.so") != NULL;
    seen->own += strstr(info->dlpi_name, "/libnear.so") != NULL;
    return 0;
}

static void test_objects(void)
{
    void *kept = must(path("kept.so"), RTLD_NOW), *state = dlsym(kept, "kept_state");
    struct link_map *map = NULL;
    char origin[4096] = "";
    struct seen seen = {0};
    Dl_info info;
    CHECK(dladdr(state, &info) && strcmp(info.dli_fname, path("kept.so")) == 0);
    CHECK(info.dli_sname && strcmp(info.dli_sname, "kept_state") == 0 && info.dli_saddr == state);
    CHECK(dlinfo(kept, RTLD_DI_LINKMAP, &map) == 0 && map && strcmp(map->l_name, path("kept.so")) == 0);
    CHECK(dlinfo(kept, RTLD_DI_ORIGIN, origin) == 0 && strcmp(origin, folder) == 0);
    CHECK(dl_iterate_phdr(see, &seen) == 0);
    CHECK(seen.first == 1 && seen.named == 1 && seen.own == 1);
}

static void *open_one(void *result)
{
    *(void **)result = dlopen(path("counter.so"), RTLD_NOW);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[4];
    void *handles[4];
    strcpy(notes, "");
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, open_one, &handles[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(handles[0] && handles[0] == handles[1] && handles[0] == handles[2] && handles[0] == handles[3]);
    CHECK(strcmp(notes, "begin ") == 0);
    for (int i = 0; i < 4; i++)
        CHECK(dlclose(handles[i]) == 0);
    CHECK(strcmp(notes, "begin end handler ") == 0);
    /* Data of a thread. */
    void *local = must(path("local.so"), RTLD_NOW);
    CHECK(call(local, "local_thread", rank) == 5 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(call(local, "local_thread", 0) == 5 + rank);
}

__attribute__((destructor)) static void end(void)
{
    printf("%d: %s%s\n", rank, notes, failures ? "failed" : "good");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    folder = argv[1];
    test_state();
    test_handles();
    test_search();
    test_global();
    test_errors();
    test_objects();
    test_threads();
    strcpy(notes, "");
    must(path("counter.so"), RTLD_NOW);
    MPI_Finalize();
    return failures != 0;
}
