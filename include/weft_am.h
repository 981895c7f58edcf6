/* Active messages between the ranks of a communicator: a message makes a function run at its target.
   The book's page "Active messages" explains them (docs/book/src/active-messages.md).
   SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef WEFT_AM_H
#define WEFT_AM_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* What a rank has joined with others for active messages. 0 is none. */
typedef int Weft_am_context;
#define WEFT_AM_CONTEXT_NULL 0

/* A counter: it lies in the program's memory, and is set with Weft_am_setcntr before use, or is 0. */
typedef int64_t Weft_am_counter;

/* Memory of a rank, as other ranks name it. 0 is none. */
typedef uint64_t Weft_am_address;

/* Runs at the target when a message's data is where the header handler has said, with the argument that that has given. */
typedef void Weft_am_completion_handler(Weft_am_context context, void *argument);

/* Runs at the target when a message has come: returns where its `length` bytes of data go, or a null pointer if nowhere, and says in
   *completion and *argument, which are null pointers before, what runs then. The header is valid during the call. */
typedef void *Weft_am_header_handler(Weft_am_context context, int origin, const void *header, size_t header_length,
                                     size_t length, Weft_am_completion_handler **completion, void **argument);

/* Operations of Weft_am_rmw */
#define WEFT_AM_FETCH_AND_ADD 1
#define WEFT_AM_FETCH_AND_OR 2
#define WEFT_AM_SWAP 3
#define WEFT_AM_COMPARE_AND_SWAP 4

/* What Weft_am_qenv tells; Weft_am_senv sets WEFT_AM_INTERRUPTS. */
#define WEFT_AM_RANK 1
#define WEFT_AM_SIZE 2
#define WEFT_AM_MOST_HEADER 3
#define WEFT_AM_MOST_HANDLERS 4
#define WEFT_AM_INTERRUPTS 5
#define WEFT_AM_SHORT 6

/* Beginning and end: all ranks of the communicator together. */
int Weft_am_init(MPI_Comm comm, Weft_am_context *context);
int Weft_am_term(Weft_am_context *context);
int Weft_am_register_handler(Weft_am_context context, int handler, Weft_am_header_handler *function);

/* Messages and operations. Each counter may be none. The target counter, named by its address there, is counted when the data is at
   the target, the origin counter when the memory here may be used again, the completion counter when the completion handler has
   returned or, of a put, when the data is at the target. */
int Weft_am_send(Weft_am_context context, int target, int handler, const void *header, size_t header_length,
                 const void *data, size_t length, Weft_am_address target_counter, Weft_am_counter *origin_counter,
                 Weft_am_counter *completion_counter);
int Weft_am_put(Weft_am_context context, int target, size_t length, Weft_am_address target_address,
                const void *origin_address, Weft_am_address target_counter, Weft_am_counter *origin_counter,
                Weft_am_counter *completion_counter);
int Weft_am_get(Weft_am_context context, int target, size_t length, Weft_am_address target_address,
                void *origin_address, Weft_am_address target_counter, Weft_am_counter *origin_counter);
int Weft_am_rmw(Weft_am_context context, int operation, int target, Weft_am_address target_address,
                const int64_t *input, int64_t *previous, Weft_am_counter *origin_counter);

/* Counters */
int Weft_am_setcntr(Weft_am_context context, Weft_am_counter *counter, int64_t value);
int Weft_am_getcntr(Weft_am_context context, Weft_am_counter *counter, int64_t *value);
int Weft_am_waitcntr(Weft_am_context context, Weft_am_counter *counter, int64_t value, int64_t *current);

/* Waiting for everything, and progress */
int Weft_am_fence(Weft_am_context context);
int Weft_am_gfence(Weft_am_context context);
int Weft_am_probe(Weft_am_context context);

/* Addresses */
Weft_am_address Weft_am_address_of(const void *memory);
int Weft_am_address_init(Weft_am_context context, const void *mine, Weft_am_address *all);

/* The environment */
int Weft_am_senv(Weft_am_context context, int query, int value);
int Weft_am_qenv(Weft_am_context context, int query, int *value);

#if defined(__cplusplus)
}
#endif

#endif
