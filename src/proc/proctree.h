/* The tree behind roast/proctree.h, and what a backend has to provide. */
#ifndef ROAST_PROC_PROCTREE_H
#define ROAST_PROC_PROCTREE_H

#include "roast/proctree.h"

/* What is remembered of any process of the machine. */
typedef struct roast_proctree_row {
    int64_t pid, parent;
    uint64_t inode; /* of its directory; 0: not to be relied on */
    uint64_t start_ticks;
    bool member; /* of the tree */
    bool fresh;  /* this listing is the first with it */
} roast_proctree_row;

typedef struct roast_proctree_rows {
    roast_proctree_row *at; /* by pid */
    size_t count, room;
} roast_proctree_rows;

typedef struct roast_processes {
    roast_process *at; /* by pid */
    size_t count, room;
} roast_processes;

/* Files of a process that stay open from look to look: to open and close them takes four times as long
 * as to read them. */
typedef struct roast_proctree_files {
    int64_t pid; /* 0: the place is free */
    uint64_t start_ticks;
    int statm, io; /* -1: not open */
    bool used;     /* in the last look */
} roast_proctree_files;

/* More processes than these are read all the same: nobody's limit of descriptors is to be met. */
enum { ROAST_PROCTREE_HELD = 64 };

struct roast_proctree {
    const char *root; /* NULL: the running system's */
    int64_t pid;
    int directory; /* the root's; the backend's */
    bool clocks;   /* the kernel's CPU clocks can be asked by pid */
    roast_proctree_rows rows;
    roast_proctree_rows spare; /* the listing before, its memory to be used again */
    roast_processes now, before, ended;
    roast_proctree_files held[ROAST_PROCTREE_HELD];
};

/* Room for one more; false if memory is short. */
bool roast_proctree_rows_grow(roast_proctree_rows *rows);

/* The backend. attach resolves pid 0 and checks that the process is there. */
roast_status roast_proctree_attach(roast_proctree *tree, roast_error *err);
void roast_proctree_detach(roast_proctree *tree);
/* Fills tree->spare with what there is now; tree->rows is what was there before. */
roast_status roast_proctree_list(roast_proctree *tree, roast_error *err);
/* Fills reading, cpu_ns and have_cpu of out->pid. False: it has ended. */
bool roast_proctree_read(roast_proctree *tree, roast_process *out);
/* 0 ns: not known. */
roast_utc roast_proctree_started(const roast_proctree *tree, uint64_t start_ticks);

#endif
