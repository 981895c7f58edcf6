"""Adds the ranks' numbers and passes a word around, by calling the C library: what mpi4py does, without building it."""
import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libmpi_abi.so.1")
WORLD, INT, SUM, CHAR = (ctypes.c_void_p(value) for value in (0x101, 0x209, 0x21, 0x243))


def call(name, *arguments):
    code = getattr(mpi, "MPI_" + name)(*arguments)
    assert code == 0, f"MPI_{name} returned {code}"


call("Init", None, None)
rank, size = ctypes.c_int(), ctypes.c_int()
call("Comm_rank", WORLD, ctypes.byref(rank))
call("Comm_size", WORLD, ctypes.byref(size))
mine, total = ctypes.c_int(rank.value + 1), ctypes.c_int()
call("Allreduce", ctypes.byref(mine), ctypes.byref(total), 1, INT, SUM, WORLD)
assert total.value == size.value * (size.value + 1) // 2, total.value
following, before = (rank.value + 1) % size.value, (rank.value - 1) % size.value
sent, received = ctypes.create_string_buffer(b"from %d" % rank.value, 32), ctypes.create_string_buffer(32)
call("Sendrecv", sent, 32, CHAR, following, 7, received, 32, CHAR, before, 7, WORLD, None)
assert received.value == b"from %d" % before, received.value
call("Finalize")
# One write, so that lines of ranks do not mix.
sys.stdout.write(f"rank {rank.value} of {size.value}: sum {total.value}\n")
