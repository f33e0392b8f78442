/* One run: everything that was measured. A live collection and a loaded measurement are the same
 * type, and every metric, table and export is computed from it alone. */
#ifndef ROAST_RUN_H
#define ROAST_RUN_H

#include "roast/attempts.h"
#include "roast/base.h"
#include "roast/chunklog.h"
#include "roast/ending.h"
#include "roast/series.h"

typedef struct roast_run roast_run;

roast_status roast_run_new(roast_run **out, roast_error *err);
/* A run with copies of the small parts of `from` and views of its large parts. `from` outlives it and does not
 * change meanwhile. */
roast_status roast_run_new_view(const roast_run *from, roast_run **out, roast_error *err);
void roast_run_free(roast_run *run);

/* Seconds since 1970 (or on any clock of the caller; only the difference enters a rate). */
typedef struct roast_run_clock {
    bool have;
    double start, end;
} roast_run_clock;
void roast_run_set_clock(roast_run *run, double start, double end);
roast_run_clock roast_run_get_clock(const roast_run *run);

/* Coffea's own report, or the totals that the user gave instead. */
typedef struct roast_report {
    bool have_entries, have_bytesread, have_processtime, have_chunks;
    int64_t entries;
    int64_t bytesread;
    double processtime; /* s */
    int64_t chunks;
} roast_report;
void roast_run_set_report(roast_run *run, const roast_report *report);
roast_report roast_run_get_report(const roast_run *run);
/* The report's list of columns, "Jet_pt-data". */
roast_status roast_run_add_column(roast_run *run, roast_str column, roast_error *err);
uint32_t roast_run_column_count(const roast_run *run);
roast_str roast_run_column(const roast_run *run, uint32_t index);

/* Free text about the run: package versions, host, executor, ... A key set again is replaced. */
roast_status roast_run_set_meta(roast_run *run, roast_str key, roast_str value, roast_error *err);
uint32_t roast_run_meta_count(const roast_run *run);
void roast_run_meta_at(const roast_run *run, uint32_t index, roast_str *key, roast_str *value);
/* Absent string if there is none. */
roast_str roast_run_meta(const roast_run *run, roast_str key);

/* The text of a run that was made afterwards from the log of its engine: the name of that log. Such a run has tasks, but
 * neither chunks nor a report. A task that was tried again may be there under two names. */
#define ROAST_META_FROM_LOG "from_log"
/* The text of a run that goes on, with the tries that have failed so far; a run that has ended has all its attempts
 * instead. Its first line is their number. A line for each of the last ones follows, oldest first: the exception, a tab,
 * task and worker. */
#define ROAST_META_FAILED_TRIES "failed_tries"
/* The text of a run that goes on, with the path of the log that TaskVine's manager writes meanwhile. */
#define ROAST_META_TASKVINE_LOG "taskvine_log"

/* Sets host, kernel, architecture, cores, memory_bytes and, if a cgroup limits them, cgroup_memory_bytes and
 * cgroup_cpu_cores to those of this machine; unknown ones are left out. */
roast_status roast_run_describe_host(roast_run *run, roast_error *err);

/* What could not be measured and why, in words; equal notes are added once. */
roast_status roast_run_add_note(roast_run *run, roast_str note, roast_error *err);
/* Adds a note for each custom value that the run's chunks left out, with the reason; beyond twenty, only their
 * number. And one with the number of sections that were not kept. */
roast_status roast_run_note_left_out(roast_run *run, roast_error *err);
uint32_t roast_run_note_count(const roast_run *run);
roast_str roast_run_note(const roast_run *run, uint32_t index);

/* Chunks that a checkpoint replayed with the numbers of another run: they count in no metric. */
void roast_run_set_replayed(roast_run *run, uint64_t chunks);
uint64_t roast_run_replayed(const roast_run *run);

/* What the client waited for, as it saw it. One row each: name. The order is the wire order: append only. */
#define ROAST_PHASES(X)                                                                            \
    X(preprocessing) /* reading the lengths of the files */                                        \
    X(execution)     /* a call of an executor with the pieces of work */
typedef enum roast_phase_kind {
#define X(name) ROAST_PHASE_##name,
    ROAST_PHASES(X)
#undef X
        ROAST_PHASE_COUNT
} roast_phase_kind;
/* "preprocessing"; "unknown" for any other number. */
const char *roast_phase_name(roast_phase_kind kind);
/* Seconds on the clock of the run. */
typedef struct roast_phase {
    roast_phase_kind kind;
    double start, end;
} roast_phase;
/* Phases may overlap. None at all: nobody watched the client. ROAST_EINVAL: an unknown kind, or an end that is not a
 * number from the start on. */
roast_status roast_run_add_phase(roast_run *run, const roast_phase *phase, roast_error *err);
uint32_t roast_run_phase_count(const roast_run *run);
/* kind is ROAST_PHASE_COUNT beyond the end. */
roast_phase roast_run_phase(const roast_run *run, uint32_t index);

/* The prefix of the processing tasks; absent: all tasks count as processing. */
roast_status roast_run_set_processor(roast_run *run, roast_str name, roast_error *err);
roast_str roast_run_processor(const roast_run *run);

/* The two parts that every run has. The run owns them, the caller fills them; NULL after roast_run_give_chunks or
 * _series. */
roast_chunklog *roast_run_chunks(roast_run *run);
roast_series *roast_run_series(roast_run *run);
const roast_chunklog *roast_run_chunks_view(const roast_run *run);
const roast_series *roast_run_series_view(const roast_run *run);

/* Four parts that many runs do not have: the view is NULL then. Worker counts: numbers of workers at other
 * moments than the samples of the series. */
const roast_series *roast_run_counts_view(const roast_run *run);
/* Sections that the user recorded outside of the chunks, each in a record of its own. */
const roast_chunklog *roast_run_sections_view(const roast_run *run);
/* Attempts, if a scheduler recorded them. */
roast_attempts *roast_run_attempts(roast_run *run);
const roast_attempts *roast_run_attempts_view(const roast_run *run);
/* How the run ended, if somebody saw it end. */
const roast_ending *roast_run_ending_view(const roast_run *run);

/* Replaces a whole part; the run owns it from then on. NULL is ignored for the first two, and removes the others. */
void roast_run_take_chunks(roast_run *run, roast_chunklog *log);
void roast_run_take_series(roast_run *run, roast_series *series);
void roast_run_take_counts(roast_run *run, roast_series *counts);
void roast_run_take_sections(roast_run *run, roast_chunklog *sections);
void roast_run_take_attempts(roast_run *run, roast_attempts *attempts);
void roast_run_take_ending(roast_run *run, roast_ending *ending);
/* Sets the view to a part that stays the caller's and outlives the run. NULL, or taking a part, ends it. */
void roast_run_lend_chunks(roast_run *run, const roast_chunklog *log);
void roast_run_lend_series(roast_run *run, const roast_series *series);
void roast_run_lend_attempts(roast_run *run, const roast_attempts *attempts);
/* The run's own part becomes the caller's; the views still show it. NULL the second time. */
roast_chunklog *roast_run_give_chunks(roast_run *run);
roast_series *roast_run_give_series(roast_run *run);

/* A figure of a span, summed by the scheduler: ("execute", prefix, "thread-cpu", "seconds"). */
typedef struct roast_span_value {
    roast_str context;  /* "execute", "gather-dep", "get-data", ... */
    roast_str prefix;   /* task prefix; absent outside "execute" */
    roast_str activity; /* "thread-cpu" */
    roast_str unit;     /* "seconds", "bytes", "count" */
    double value;
} roast_span_value;
/* A figure with the same four names is added to. */
roast_status roast_run_add_span(roast_run *run, const roast_span_value *value, roast_error *err);
uint32_t roast_run_span_count(const roast_run *run);
roast_span_value roast_run_span(const roast_run *run, uint32_t index);

#endif
