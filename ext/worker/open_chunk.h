/* The chunk that a thread is processing right now.
 *
 * It is kept per thread, so two threads that share one processor never mix. A thread has one chunk at most: process()
 * inside process() is a part of it. All functions need the GIL. */
#ifndef ROAST_EXT_OPEN_CHUNK_H
#define ROAST_EXT_OPEN_CHUNK_H

#include "state.h"
#include "roast/chunklog.h"
#include "roast/proc.h"
#include "roast/sampler.h"

/* Uses of a section that are kept one by one; further ones of the same name and place are added up. */
enum { EXT_SECTIONS_KEPT = 256 };

typedef struct open_section {
    PyObject *name; /* a str, owned */
    roast_section_kind kind;
    int32_t parent;     /* the enclosing section, -1: none */
    int32_t open_uses;  /* 0: closed */
    int64_t count;      /* uses */
    int64_t start_ns;   /* of the first use, since the chunk's start */
    int64_t last_start; /* of the latest use */
    int64_t value, before;
} open_section;

typedef struct open_chunk {
    struct open_chunk *next; /* of all threads */
    uint64_t serial;     /* different for each chunk: a late tracker sees that its chunk is gone */
    PyObject *processor; /* only compared, like events */
    PyObject *events;    /* NULL: none were given */
    roast_mono start;
    roast_utc start_utc;
    roast_reading before;
    roast_helpers helpers;
    roast_watch *watch;
    open_section *sections;
    size_t n_sections, capacity;
    PyObject *places; /* dict: (name, kind, parent) to the section; NULL until there are many */
    int32_t top;      /* the innermost open section, -1: none */
    int64_t dropped_sections; /* too many, or entered by another thread */
    PyObject *mapping;        /* the dict of CurrentChunk; NULL until it is read */
} open_chunk;

/* Begins the chunk of the calling thread, which has none. NULL if memory is short (a fault is counted). */
open_chunk *open_chunk_begin(PyObject *processor, PyObject *events);
/* Takes the readings and the clock: from here on it is the user's time. */
void open_chunk_start(open_chunk *chunk);
/* Takes the clock and the readings at the end into `out`, closes all sections, and takes the chunk from its thread. */
void open_chunk_measure(open_chunk *chunk, roast_chunk *out);
/* Takes it from its thread, if that still has it, and frees it. */
void open_chunk_end(open_chunk *chunk);

/* The chunk of the calling thread; NULL: none. */
open_chunk *open_chunk_here(void);
/* Counts a section of a thread without a chunk as dropped, in the chunk that another thread has open for that processor
 * or those events, or in any if it is None. */
void open_chunk_miss(PyObject *processor);
/* The chunk, if this thread still has it open. */
open_chunk *open_chunk_if_alive(open_chunk *chunk, uint64_t serial);

/* Opens a section and returns its index; -1 if it is not kept. `now` is since the chunk's start. */
int32_t open_chunk_enter(open_chunk *chunk, PyObject *name, roast_section_kind kind, int64_t now,
                         int64_t before);
/* Closes one use of it. */
void open_chunk_exit(open_chunk *chunk, int32_t index, int64_t value);

/* The dict with "timing", "memory" and "bytes" of what was recorded so far; borrowed. NULL with an
 * exception set. From then on the sections are added to it as they close. */
PyObject *open_chunk_mapping(ext_state *state, open_chunk *chunk);
/* A mapping inside of a mapping, made if it is missing: a new reference; NULL with an exception set. */
PyObject *ext_part_of(PyObject *mapping, PyObject *part);
/* Adds to one of the three dicts in `mapping` (any mapping), making it if it is missing. 0 or -1. */
int ext_add_to_mapping(PyObject *mapping, PyObject *part, PyObject *name, double value);
/* A section's value in the unit of its dict: s, MB or bytes. */
double open_section_public_value(roast_section_kind kind, int64_t value);
PyObject *open_section_part(const ext_state *state, roast_section_kind kind);

/* configure(): how often memory is sampled. */
PyObject *ext_configure(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_sampler_stats(PyObject *module, PyObject *unused);

#endif
