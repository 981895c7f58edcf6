// A library that has nothing to do with MPI.
int weft_test_other(void) { return 77; }
