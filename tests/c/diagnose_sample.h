/* Runs made chunk by chunk on threads that take the next one when they are free: healthy, but for what a test
 * changes. */
#ifndef ROAST_TESTS_DIAGNOSE_SAMPLE_H
#define ROAST_TESTS_DIAGNOSE_SAMPLE_H

#include "budget_sample.h"

#include "roast/diagnose.h"

enum { MOST_READS = 8, MOST_SECTIONS = 4, MOST_THREADS = 64 };

/* One chunk as it is to be; NaN and negative numbers: not measured. */
typedef struct piece {
    unsigned index, worker; /* given */
    int64_t thread;         /* given, of a pool of threads: its chunks name no worker */
    double start;           /* given: of its task, s */
    double before, duration, cpu, queue, after;
    double events;
    unsigned file, dataset;
    const char *door; /* of the file; NULL: root://site */
    double others;    /* s, CPU time of threads without a chunk; 0: not known */
    double switches;
    double rss_before, rss_peak;
    double bytes_read, metadata_bytes, accessed_bytes; /* without the reads below */
    unsigned n_reads;                                  /* all alike */
    roast_read read;
    double read_cpu; /* s, of all reads; 0: not known */
    unsigned n_sections;
    const char *sections[MOST_SECTIONS];
    double section_times[MOST_SECTIONS];
    bool fails;
    bool hides_before; /* the time before process() passes, and the record does not tell it */
} piece;

typedef struct scene {
    unsigned workers, threads; /* threads of each */
    unsigned chunks;
    unsigned workers_per_host;
    double after;       /* s: from the last chunk to the end of the run */
    double ramp_up;     /* s: until all workers but the first get a task */
    double lead;        /* s: until any worker gets a task */
    double handling;    /* s: from the sending of a task to its start */
    double limit;       /* bytes, memory of a worker */
    double peak_memory; /* of worker 0 in the samples */
    double spilled;     /* bytes */
    bool no_attempts;
    bool pool; /* threads of this process, on which nobody tells when a task begins */
    void (*change)(piece *of); /* NULL: healthy */
} scene;

/* Some per cent more or less, the same in every run. */
static inline double noise(unsigned index, double amount) {
    uint32_t x = index * 2654435761u + 12345u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return 1 + amount * ((double)(x & 0xffff) / 32768.0 - 1);
}

static inline piece healthy_piece(unsigned index, unsigned worker, double start) {
    double even = noise(index, 0.05);
    return (piece){
        .index = index,
        .worker = worker,
        .start = start,
        .before = 0.05 * even,
        .duration = 2 * even,
        .cpu = 1.9 * even,
        .queue = 0.02,
        .after = 0.005,
        .events = 100000,
        .file = index / 2,
        .dataset = index / 2 % 2,
        .switches = 20,
        .rss_before = 500e6,
        .rss_peak = 600e6,
        .metadata_bytes = 100e3,
        .accessed_bytes = 6e6,
        .n_reads = 4,
        .read = {.time_ns = 30000000, .bytes = 750000, .uncompressed_bytes = 1500000, .count = 1}};
}

static inline void put_number(roast_chunk *chunk, uint64_t bit, int64_t *field, double value) {
    if (isnan(value) || value < 0)
        return;
    *field = (int64_t)llround(value);
    chunk->have |= bit;
}
#define PUT_NUMBER(chunk, field, value)                                                            \
    put_number(chunk, ROAST_CHUNK_HAS(field), &(chunk)->field, value)

static inline void append_piece(roast_run *run, const piece *p, double start,
                                unsigned workers_per_host) {
    static const char *const branches[MOST_READS] = {"Jet_pt",  "Jet_eta", "Jet_phi",  "Jet_mass",
                                                     "Muon_pt", "nJet",    "Muon_eta", "nMuon"};
    char key[32], worker[32], host[32], file[96], dataset[32];
    roast_error err;
    snprintf(key, sizeof key, "P-%u", p->index);
    snprintf(worker, sizeof worker, "tcp://w%u", p->worker);
    snprintf(host, sizeof host, "node%u", p->worker / workers_per_host);
    snprintf(file, sizeof file, "%s//file_%u.root", p->door != NULL ? p->door : "root://site",
             p->file);
    snprintf(dataset, sizeof dataset, "dataset_%u", p->dataset);
    roast_read reads[MOST_READS];
    roast_str accessed[MOST_READS];
    roast_section sections[MOST_SECTIONS];
    double read_bytes = 0;
    for (unsigned i = 0; i < p->n_reads; i++) {
        reads[i] = p->read;
        reads[i].branch = accessed[i] = roast_str_of(branches[i]);
        read_bytes += p->read.bytes > 0 ? (double)p->read.bytes : 0;
    }
    for (unsigned i = 0; i < p->n_sections; i++)
        sections[i] = (roast_section){.name = roast_str_of(p->sections[i]),
                                      .kind = ROAST_SECTION_TIME,
                                      .parent = -1,
                                      .count = 1,
                                      .value = (int64_t)(p->section_times[i] * 1e9)};
    roast_chunk chunk = {.token = 7,
                         .seq = p->index,
                         .pid = 100 + (int64_t)p->worker,
                         .task_key = roast_str_of(key),
                         .worker = roast_str_of(worker),
                         .host = roast_str_of(host),
                         .dataset = roast_str_of(dataset),
                         .file = roast_str_of(file),
                         .has_branches = p->n_reads > 0,
                         .branches = accessed,
                         .n_branches = p->n_reads,
                         .has_reads = p->n_reads > 0,
                         .reads = reads,
                         .n_reads = p->n_reads,
                         .sections = sections,
                         .n_sections = p->n_sections};
    if (p->fails)
        chunk.error_type = roast_str_of("ValueError");
    if (p->thread > 0) {
        chunk.worker = chunk.task_key = (roast_str){NULL, 0};
        PUT_NUMBER(&chunk, thread, (double)p->thread);
    }
    chunk.start_us = us(start + (p->before > 0 ? p->before : 0));
    chunk.have |= ROAST_CHUNK_HAS(start_us);
    PUT_NS(&chunk, duration_ns, p->duration);
    PUT_NS(&chunk, before_process_ns, p->hides_before || p->thread > 0 ? (double)NAN : p->before);
    PUT_NS(&chunk, cpu_user_ns, p->cpu);
    PUT_NS(&chunk, cpu_system_ns, p->cpu * 0);
    PUT_NS(&chunk, read_cpu_ns, p->read_cpu > 0 ? p->read_cpu : (double)NAN);
    PUT_NS(&chunk, cpu_process_ns, p->others > 0 ? p->cpu + p->others : (double)NAN);
    PUT_NS(&chunk, runqueue_wait_ns, p->queue);
    PUT_NUMBER(&chunk, num_events, p->events);
    PUT_NUMBER(&chunk, entry_start, (double)p->index * 100000);
    PUT_NUMBER(&chunk, entry_stop, (double)p->index * 100000 + p->events);
    PUT_NUMBER(&chunk, voluntary_switches, p->switches);
    PUT_NUMBER(&chunk, rss_before, p->rss_before);
    PUT_NUMBER(&chunk, rss_after, p->rss_before);
    PUT_NUMBER(&chunk, rss_peak, p->rss_peak);
    PUT_NUMBER(&chunk, metadata_bytes, p->metadata_bytes);
    PUT_NUMBER(&chunk, bytes_read, p->bytes_read + p->metadata_bytes + read_bytes);
    PUT_NUMBER(&chunk, accessed_bytes, p->accessed_bytes);
    assert_ok(roast_chunklog_append(roast_run_chunks(run), &chunk, &err), err);
}

static inline void append_try(roast_attempts *attempts, const piece *p, double ready, double sent,
                              double start) {
    char key[32], worker[32];
    roast_error err;
    snprintf(key, sizeof key, "P-%u", p->index);
    snprintf(worker, sizeof worker, "tcp://w%u", p->worker);
    double stop = start + (p->before > 0 ? p->before : 0) + p->duration + p->after;
    roast_attempt attempt = try_of("P", key, attempts_worker(attempts, worker),
                                   (try_times){ready, sent, start, stop, stop});
    attempt.outcome = p->fails ? ROAST_OUTCOME_raised : ROAST_OUTCOME_done;
    attempt.nbytes = 5000;
    assert_ok(roast_attempts_append(attempts, &attempt, &err), err);
}

/* One look at all workers. */
static inline void look(roast_run *run, const scene *s, double seconds) {
    roast_error err;
    roast_series *series = roast_run_series(run);
    roast_utc when = {T0 * 1000000000 + (int64_t)(seconds * 1e9)};
    assert_ok(roast_series_tick(series, when, s->workers, &err), err);
    for (uint32_t worker = 0; worker < s->workers; worker++) {
        double value[ROAST_COLUMNS];
        for (int i = 0; i < ROAST_COLUMNS; i++)
            value[i] = NAN;
        value[ROAST_COLUMN_cores] = s->threads;
        value[ROAST_COLUMN_memory] = worker == 0 && s->peak_memory > 0 ? s->peak_memory : 600e6;
        value[ROAST_COLUMN_memory_limit] = s->limit > 0 ? s->limit : 4e9;
        value[ROAST_COLUMN_spilled_bytes] = worker == 0 ? s->spilled : 0;
        value[ROAST_COLUMN_last_seen] = (double)T0 + seconds - 0.3;
        assert_ok(roast_series_append(series, worker, value, &err), err);
    }
}

/* Threads take chunks as they become free, the first ones first; the run ends `after` the last one. */
static inline roast_run *play(const scene *s) {
    double free_at[MOST_THREADS] = {0}, last = 0;
    unsigned threads = s->workers * s->threads;
    char name[32];
    assert_true(threads <= MOST_THREADS);
    roast_run *run = run_of(1);
    for (unsigned thread = 0; thread < threads; thread++)
        free_at[thread] = s->lead + (thread % s->workers > 0 ? s->ramp_up : 0);
    for (unsigned worker = 0; worker < s->workers; worker++) {
        snprintf(name, sizeof name, s->pool ? "node%u:100" : "tcp://w%u", worker);
        join(run, name, -1, (int32_t)s->threads);
    }
    roast_attempts *attempts = s->no_attempts || s->pool ? NULL : watch(run);
    for (unsigned i = 0; i < s->chunks; i++) {
        unsigned next = 0;
        for (unsigned thread = 1; thread < threads; thread++)
            if (free_at[thread] < free_at[next])
                next = thread;
        piece p = healthy_piece(i, next % s->workers, free_at[next]);
        p.thread = s->pool ? 100 + (int64_t)next : 0;
        if (s->change != NULL)
            s->change(&p);
        double sent = free_at[next];
        free_at[next] += s->handling;
        append_piece(run, &p, free_at[next], s->workers_per_host > 0 ? s->workers_per_host : 1);
        if (attempts != NULL)
            append_try(attempts, &p, s->lead, sent, free_at[next]);
        free_at[next] += (p.before > 0 ? p.before : 0) + p.duration + p.after;
        last = free_at[next] > last ? free_at[next] : last;
    }
    double end = last + (s->after > 0 ? s->after : 0.05);
    for (double at = 0; at < end; at += end / 50)
        look(run, s, at);
    roast_run_set_clock(run, (double)T0, (double)T0 + end);
    return run;
}

static inline roast_findings *diagnose(const roast_run *run) {
    roast_error err;
    roast_findings *findings = NULL;
    roast_metrics *metrics;
    assert_ok(roast_metrics_compute(run, &metrics, &err), err);
    assert_ok(roast_diagnose_run(run, metrics, &findings, &err), err);
    roast_metrics_free(metrics);
    return findings;
}

static inline const roast_finding *find_kind(const roast_findings *findings,
                                             roast_finding_kind kind) {
    for (uint32_t i = 0; i < roast_findings_count(findings); i++)
        if (roast_findings_at(findings, i)->kind == kind)
            return roast_findings_at(findings, i);
    return NULL;
}

static inline void show(const roast_findings *findings) {
    for (uint32_t i = 0; i < roast_findings_count(findings); i++) {
        const roast_finding *f = roast_findings_at(findings, i);
        print_message("%s %s %.3f s %.1f: %.*s | %.*s | %.*s\n", roast_severity_name(f->severity),
                      roast_finding_kind_name(f->kind), f->saving_core_seconds, f->confidence,
                      (int)f->title.len, f->title.data, (int)f->evidence.len, f->evidence.data,
                      (int)f->advice.len, f->advice.data);
    }
}

static inline bool mentions(roast_str text, const char *words) {
    size_t len = strlen(words);
    for (size_t at = 0; at + len <= text.len; at++)
        if (memcmp(text.data + at, words, len) == 0)
            return true;
    return false;
}

/* The run's first finding is of this kind and more than a note, and says `words` somewhere. Frees the run. */
static inline void expect_first(roast_run *run, roast_finding_kind kind, const char *words) {
    roast_findings *findings = diagnose(run);
    const roast_finding *first = roast_findings_at(findings, 0);
    if (first == NULL || first->kind != kind || first->severity == ROAST_SEVERITY_note) {
        show(findings);
        fail_msg("the first finding is not %s", roast_finding_kind_name(kind));
    }
    if (!mentions(first->title, words) && !mentions(first->evidence, words) &&
        !mentions(first->advice, words)) {
        show(findings);
        fail_msg("\"%s\" is not said", words);
    }
    assert_true(first->saving_core_seconds >= 0);
    roast_findings_free(findings);
    roast_run_free(run);
}

/* There is one of this kind, whatever its weight. Frees the run. */
static inline void expect_some(roast_run *run, roast_finding_kind kind, roast_severity severity,
                               const char *words) {
    roast_findings *findings = diagnose(run);
    const roast_finding *found = find_kind(findings, kind);
    if (found == NULL || found->severity != severity ||
        (!mentions(found->title, words) && !mentions(found->evidence, words) &&
         !mentions(found->advice, words))) {
        show(findings);
        fail_msg("there is no %s %s that says \"%s\"", roast_severity_name(severity),
                 roast_finding_kind_name(kind), words);
    }
    roast_findings_free(findings);
    roast_run_free(run);
}

/* None of this kind. Frees the run. */
static inline void expect_none(roast_run *run, roast_finding_kind kind) {
    roast_findings *findings = diagnose(run);
    if (find_kind(findings, kind) != NULL) {
        show(findings);
        fail_msg("%s is not to be found here", roast_finding_kind_name(kind));
    }
    roast_findings_free(findings);
    roast_run_free(run);
}

#endif
