/* Reading: waiting for data, unpacking it, and what need not have been read. */
#include <math.h>
#include <string.h>

#include "analyse/diagnose/internal.h"

/* ---- waiting ---- */

/* How many of the reads are of branches that nearly every chunk reads. */
static double common_reads(const roast_diagnosis *d) {
    uint32_t count;
    const roast_branch_row *rows =
        roast_row_table_rows(d->metrics, ROAST_ROWS_branch_read_metrics, &count);
    double all = 0, common = 0;
    for (uint32_t i = 0; i < count; i++) {
        double reads = fmax(0, roast_value_number(rows[i].count));
        all += reads;
        if ((double)rows[i].num_chunks >= roast_limit.preload_common * (double)d->facts.with_reads)
            common += reads;
    }
    return all > 0 ? common / all : 0;
}

static roast_status preload(roast_diagnosis *d) {
    const roast_facts *facts = &d->facts;
    double reads = facts->reads / (double)facts->with_reads, common = common_reads(d);
    double bytes = roast_diagnosis_metric(d, "branch_read_bytes") / facts->reads;
    double wait = facts->read_wait / facts->reads;
    double saving = facts->read_wait * common * (1 - 1 / reads);
    if (!(reads >= roast_limit.preload_reads) || !(bytes <= roast_limit.preload_bytes) ||
        !(wait >= roast_limit.preload_wait) || common < roast_limit.preload_common ||
        !roast_diagnosis_matters(d, saving))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_preload, saving, 0.6);
    roast_say(&v.title, "%s small reads per chunk wait one after the other",
              roast_say_count(reads));
    roast_say(&v.evidence,
              "A read of %s waits for %s; %s of the task time was such waiting. "
              "%s of the reads are of branches that nearly every chunk needs.",
              roast_say_bytes(bytes), roast_say_time(wait),
              roast_say_percent(facts->read_wait / facts->cost), roast_say_percent(common));
    roast_say(&v.advice,
              "Preload these branches: {dataset: {\"preload\": [...], \"files\": ...}} in the "
              "fileset reads them at once; up to %s of core time would be saved.",
              roast_say_time(saving));
    return roast_diagnosis_add(d, &v);
}

static bool is_remote(const roast_diagnosis *d) {
    for (uint32_t i = 0; i < roast_groups_count(&d->facts.files) && i < 100; i++) {
        roast_str name = roast_groups_name(&d->facts.files, i);
        for (size_t at = 0; at + 3 <= name.len; at++)
            if (memcmp(name.data + at, "://", 3) == 0)
                return memcmp(name.data, "file", 4) != 0;
    }
    return false;
}

static roast_status io_bound(roast_diagnosis *d) {
    const roast_facts *facts = &d->facts;
    double share = facts->read_wait / facts->cost, rate;
    if (!(share >= roast_limit.wait_share) || !roast_diagnosis_matters(d, facts->read_wait))
        return ROAST_OK;
    bool disk = facts->io_wait > facts->read_wait / 2 ||
                (facts->os_bytes > 0 && facts->storage_bytes > facts->os_bytes / 2);
    bool remote = is_remote(d);
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_io_bound, facts->read_wait, disk || remote ? 0.8 : 0.6);
    roast_say(&v.title, "%s of the task time is waiting for %s", roast_say_percent(share),
              disk     ? "the disk"
              : remote ? "the network"
                       : "data");
    rate = roast_diagnosis_metric(d, "branch_read_bytes") / facts->read;
    roast_say(&v.evidence,
              "Reads inside process() took %s, of which the thread was off the CPU for %s.",
              roast_say_time(facts->read), roast_say_time(facts->read_wait));
    if (facts->read_others > 0)
        roast_say(&v.evidence, " For another %s it waited while other threads computed.",
                  roast_say_time(facts->read_others));
    if (rate > 0)
        roast_say(&v.evidence, " A thread got %s per second.", roast_say_bytes(rate));
    if (disk)
        roast_say(&v.advice, "Put the files on faster storage or spread them over more disks");
    else if (remote)
        roast_say(&v.advice,
                  "Read from a nearer site or through a cache (XCache), and use more threads "
                  "than cores, so that others compute while some wait");
    else
        roast_say(&v.advice,
                  "Move the files nearer, and use more threads than cores, so that others compute "
                  "while some wait");
    roast_say(&v.advice, "; up to %s of core time would be saved.",
              roast_say_time(facts->read_wait));
    return roast_diagnosis_add(d, &v);
}

/* ---- unpacking ---- */

static roast_status decompression(roast_diagnosis *d) {
    const roast_facts *facts = &d->facts;
    double packed = roast_diagnosis_metric(d, "branch_read_bytes");
    double unpacked = roast_diagnosis_metric(d, "branch_read_uncompressed_bytes");
    double share = facts->read_busy / facts->cost, rate = packed / facts->read_busy;
    double saving = facts->read_busy * (1 - rate / roast_limit.unpack_goal);
    if (!(share >= roast_limit.unpack_share) || !(rate < roast_limit.unpack_rate) ||
        !(unpacked >= roast_limit.unpack_ratio * packed) ||
        !(packed / facts->reads >= roast_limit.unpack_read) || !roast_diagnosis_matters(d, saving))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_decompression_bound, saving, 0.6);
    roast_say(&v.title, "%s of the task time is unpacking", roast_say_percent(share));
    roast_say(&v.evidence, "Reads took %s on the CPU for %s (%s unpacked): %s per second and core.",
              roast_say_time(facts->read_busy), roast_say_bytes(packed), roast_say_bytes(unpacked),
              roast_say_bytes(rate));
    roast_say(&v.advice,
              "Write the files with ZSTD or LZ4, which unpack some %s per second and core; %s of "
              "core time would be saved.",
              roast_say_bytes(roast_limit.unpack_goal), roast_say_time(saving));
    return roast_diagnosis_add(d, &v);
}

/* ---- for nothing ---- */

static roast_status unused(roast_diagnosis *d) {
    const roast_facts *facts = &d->facts;
    double preloaded = 0, needless = 0, before = 0, described;
    for (size_t i = 0; i < facts->count; i++) {
        const roast_fact *fact = &facts->facts[i];
        if (!(fact->preloaded > 0) || isnan(fact->accessed) || fact->file == ROAST_NOBODY)
            continue;
        double part = (double)fact->events / roast_fact_group_at(&facts->files, fact->file)->events;
        double needed = (double)fact->accessed * fmin(1, roast_limit.basket_slack * fmax(part, 0));
        preloaded += (double)fact->preloaded;
        needless += fmax(0, (double)fact->preloaded - needed);
        before += fact->before > 0 ? (double)fact->before : 0;
    }
    described = fmax(0, roast_diagnosis_metric(d, "metadata_bytes_read"));
    double saving = before * needless / (preloaded + described);
    if (!(needless >= roast_limit.unused_share * preloaded) || !roast_diagnosis_matters(d, saving))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_unused_branches, saving, 0.5);
    roast_say(&v.title, "%s of the preloaded data was never used",
              roast_say_percent(needless / preloaded));
    roast_say(&v.evidence,
              "%s of preloaded branches were read, at least %s of them were never used.",
              roast_say_bytes(preloaded), roast_say_bytes(needless));
    roast_say(&v.advice,
              "Remove branches from \"preload\" that process() does not use (accessed_branches of "
              "the chunks lists the used ones); some %s of core time would be saved.",
              roast_say_time(saving));
    return roast_diagnosis_add(d, &v);
}

static roast_status reread(roast_diagnosis *d) {
    const roast_facts *facts = &d->facts;
    double bytes = roast_diagnosis_metric(d, "branch_read_bytes");
    double there = roast_diagnosis_metric(d, "files_accessed_bytes"), times = bytes / there;
    bool baskets = times >= roast_limit.reread_times;
    double saving = facts->reread;
    if (baskets)
        saving = fmax(saving, facts->read * (1 - 1 / times));
    if (!roast_diagnosis_matters(d, saving))
        return ROAST_OK;
    roast_verdict v;
    roast_verdict_init(&v, ROAST_FINDING_reread_branches, saving, 0.7);
    if (baskets && saving > facts->reread) {
        /* Chunks of two baskets read half as much again as there is. */
        double now = roast_diagnosis_metric(d, "chunk_events_mean"), wanted = 2 * times * now;
        wanted =
            fmin(fmin(wanted, roast_diagnosis_longest_file(d)), roast_diagnosis_most_events(d));
        if (wanted >= roast_limit.size_step * now)
            d->remedy[ROAST_FINDING_reread_branches] = roast_round_events(wanted);
        roast_say(&v.title, "The same bytes are read %s times", roast_say_times(times));
        roast_say(&v.evidence,
                  "%s were read from branches that have %s in all files: chunks end inside "
                  "baskets, and every chunk reads the whole basket.",
                  roast_say_bytes(bytes), roast_say_bytes(there));
        roast_say(&v.advice,
                  "Use larger chunks, or chunks that end where baskets end (uproot: "
                  "tree.common_entry_offsets()); up to %s of core time would be "
                  "saved.",
                  roast_say_time(saving));
    } else {
        roast_say(&v.title, "Branches are read again in the same chunk");
        roast_say(&v.evidence, "%s reads were of a branch that the chunk had read before: %s.",
                  roast_say_count(facts->reread_branches), roast_say_time(facts->reread));
        roast_say(&v.advice,
                  "Keep the array in a variable, or read it from `events`, which keeps arrays once "
                  "read; %s of core time would be saved.",
                  roast_say_time(saving));
    }
    return roast_diagnosis_add(d, &v);
}

roast_status roast_rules_reading(roast_diagnosis *d) {
    if (d->facts.with_reads == 0 || !(d->facts.cost > 0))
        return ROAST_OK;
    /* Threads that wait for Python's lock wait inside of reads as well. */
    if (!d->made[ROAST_FINDING_gil_contention]) {
        ROAST_TRY(preload(d));
        if (!d->made[ROAST_FINDING_preload])
            ROAST_TRY(io_bound(d));
    }
    ROAST_TRY(decompression(d));
    ROAST_TRY(unused(d));
    return reread(d);
}
