/* Threads that keep to their level: a lock keeps calls apart, and callbacks call MPI inside of calls.
 *
 * check: ranks=1,2,3
 */
#include <mpi.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *out, int *flag)
{
    int size;
    (void)key, (void)extra, (void)value, (void)out;
    *flag = 0;
    return MPI_Comm_size(comm, &size);
}

static void *work(void *keyval)
{
    MPI_Comm other;
    for (int round = 0; round < 200; round++) {
        pthread_mutex_lock(&lock);
        MPI_Comm_dup(MPI_COMM_SELF, &other);
        MPI_Comm_free(&other);
        pthread_mutex_unlock(&lock);
    }
    return keyval;
}

int main(int argc, char **argv)
{
    int level, keyval;
    pthread_t threads[3];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    work(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    MPI_Comm_free_keyval(&keyval);
    MPI_Finalize();
    return 0;
}
