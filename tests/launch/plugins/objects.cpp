// A plugin in C++: exceptions that pass between it and the program, a template's state, data of a thread.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

template <class T> struct Count {
    static int value;
};
template <class T> int Count<T>::value = 0;

static struct Last {
    int used = 0;
    ~Last() { std::printf("plugin ends, used %d\n", used); }
} last;

thread_local std::vector<int> numbers;

extern "C" int bump(int n)
{
    last.used++;
    return Count<int>::value += n;
}

extern "C" void thrower(int n) { throw std::runtime_error("thrown " + std::to_string(n)); }

extern "C" int catcher(void (*function)(int), int n)
{
    try {
        function(n);
    } catch (int caught) {
        return caught;
    }
    return -1;
}

extern "C" int remember(int n)
{
    numbers.push_back(n);
    return numbers.size();
}
