"""Two ranks, NumPy arrays: half of a round trip, and allreduce. Reports as the kernels in C do."""
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, other = world.rank, 1 - world.rank
SAMPLES, SECONDS = 5, 0.01


def trip(values, results):
    if rank == 0:
        world.Send(values, other)
        world.Recv(results, other)
    else:
        world.Recv(results, other)
        world.Send(values, other)


def allreduce(values, results):
    world.Allreduce(values, results)


def measure(name, operation, size, per_repetition):
    values, results = numpy.ones(size // 8), numpy.zeros(size // 8)
    repetitions, done = 1, 0
    while done <= SAMPLES:
        repetitions = world.bcast(repetitions)
        world.Barrier()
        start = MPI.Wtime()
        for _ in range(repetitions):
            operation(values, results)
        elapsed = MPI.Wtime() - start
        enough = world.bcast(elapsed > SECONDS / 2)
        if not enough:
            repetitions = repetitions * 10 if elapsed < SECONDS / 20 else int(repetitions * SECONDS / elapsed) + 1
            continue
        if rank == 0 and done:
            print(f"sample {name} {size} {elapsed * 1e9 / repetitions / per_repetition:.3f}", flush=True)
        done += 1


for exponent in (3, 10, 13, 16, 20, 23):
    measure("numpy-trip", trip, 1 << exponent, 2)
    measure("numpy-allreduce", allreduce, 1 << exponent, 1)
