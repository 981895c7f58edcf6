/* A library with state: PREFIX_add. With NEEDS, a call to something another object must define. */
#define JOIN(a, b) a##b
#define NAME(prefix, name) JOIN(prefix, name)

static int total;
int NAME(PREFIX, _state);

int NAME(PREFIX, _add)(int n)
{
    NAME(PREFIX, _state) += n;
    return total += n;
}

int which(int n) { return 2 + 0 * n; }

#ifdef NEEDS
int NEEDS(int n);
int NAME(PREFIX, _needs)(int n) { return NEEDS(n); }
#endif

#ifdef THREAD
__thread int NAME(PREFIX, _local) __attribute__((tls_model(THREAD))) = 5;
int NAME(PREFIX, _thread)(int n) { return NAME(PREFIX, _local) += n; }
#endif
