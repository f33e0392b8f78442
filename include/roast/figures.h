/* Figures of tasks: measurements of the engine, by kind of task and by activity. */
#ifndef ROAST_FIGURES_H
#define ROAST_FIGURES_H

#include "roast/attempts.h"
#include "roast/run.h"

typedef enum roast_activity {
    ROAST_ACTIVITY_cpu,    /* s of CPU time */
    ROAST_ACTIVITY_noncpu, /* s in which a task ran and used no CPU */
    ROAST_ACTIVITY_memory_read_bytes,
    ROAST_ACTIVITY_disk_read_bytes,
    ROAST_ACTIVITY_disk_write_bytes,
    ROAST_ACTIVITY_disk, /* s: data that a worker moved to disk and back */
    ROAST_ACTIVITY_compress,
    ROAST_ACTIVITY_decompress,
    ROAST_ACTIVITY_serialize,
    ROAST_ACTIVITY_deserialize,
    ROAST_ACTIVITY_worker_cpu, /* s of CPU time of all processes of workers */
    /* On all machines that had workers. */
    ROAST_ACTIVITY_machine_busy, /* s of CPU time of any process */
    ROAST_ACTIVITY_machine_own,  /* s of it, of the processes of this run */
    ROAST_ACTIVITY_machine_all,  /* s of all cores, busy or not */
    ROAST_ACTIVITY_machine_cores,
    ROAST_ACTIVITY_preprocess, /* s that Coffea took to read the lengths of the files */
    ROAST_ACTIVITY_preprocess_files,
    ROAST_ACTIVITY_preprocess_bytes,
    ROAST_ACTIVITY_preprocess_requests,
    ROAST_ACTIVITY_task_memory,      /* bytes that one task may take */
    ROAST_ACTIVITY_task_memory_used, /* bytes: the peak of the task that took most */
    /* Files that an engine moved: from its manager to workers, among workers, and back to the manager. */
    ROAST_ACTIVITY_transfer_manager, /* s, summed over transfers that may overlap */
    ROAST_ACTIVITY_transfer_manager_bytes,
    ROAST_ACTIVITY_transfer_manager_files,
    ROAST_ACTIVITY_transfer_peer,
    ROAST_ACTIVITY_transfer_peer_bytes,
    ROAST_ACTIVITY_transfer_peer_files,
    ROAST_ACTIVITY_transfer_output,
    ROAST_ACTIVITY_transfer_output_bytes,
    ROAST_ACTIVITY_transfer_output_files,
    ROAST_ACTIVITY_COUNT /* any other */
} roast_activity;

typedef struct roast_figure {
    roast_attempt_kind kind; /* ROAST_KIND_COUNT: it is not the time of a task */
    roast_activity activity;
    double value;
    roast_str
        prefix; /* the engine's name for such tasks, borrowed from the run; absent: not told */
} roast_figure;

/* The text of a run (roast_run_meta) with the engine's name for the tasks that merge outputs. */
#define ROAST_META_REDUCER "reducer"

/* The figures of a run, from its spans. A run without a processor's name has processing tasks only. */
uint32_t roast_run_figure_count(const roast_run *run);
roast_figure roast_run_figure(const roast_run *run, uint32_t index);

#endif
