// A plugin whose data of a thread has a destructor.
#include <cstdio>

struct Number {
    int value = 4;
    ~Number() { std::puts("destroyed"); }
};
static thread_local Number number;

extern "C" int add(int n) { return number.value += n; }
