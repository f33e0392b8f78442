#include "store/schema.h"

#include <stddef.h>

#include "roast/columns.h"

/* The queries are wrapped by hand. */
/* clang-format off */

/* ---- tables ---- */

#define FIELD(name, packing, near) ", " #name
#define COLUMN(name)               ", " #name
#define CHUNK_ROWS                                                                                 \
    "id INTEGER PRIMARY KEY" ROAST_CHUNK_FIELDS(FIELD) ROAST_STORE_CHUNK_COLUMNS(COLUMN)

#define TABLES(TABLE)                                                                              \
    TABLE(run, "key TEXT PRIMARY KEY, value", " WITHOUT ROWID")                                    \
    TABLE(meta, "id INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL", "")              \
    TABLE(notes, "id INTEGER PRIMARY KEY, note TEXT NOT NULL", "")                                 \
    TABLE(report_columns, "id INTEGER PRIMARY KEY, name TEXT NOT NULL", "")                        \
    TABLE(spans, "id INTEGER PRIMARY KEY, context TEXT, prefix TEXT, activity TEXT, unit TEXT, "   \
                 "value", "")                                                                      \
    TABLE(small_files, "name TEXT PRIMARY KEY, length, checksum", " WITHOUT ROWID")                \
    TABLE(blobs, "id INTEGER PRIMARY KEY, name TEXT NOT NULL, bytes BLOB", "")                     \
    TABLE(texts, "id INTEGER PRIMARY KEY, text TEXT NOT NULL", "")                                 \
    TABLE(processes, "id INTEGER PRIMARY KEY, token, pid, host, worker", "")                       \
    TABLE(file_ids, "id INTEGER PRIMARY KEY, name, uuid, treename, sizes", "")                     \
    TABLE(file_rows, "id INTEGER PRIMARY KEY, file, total_branches, tree_bytes, "                  \
                     "tree_uncompressed_bytes, branch_set, bytes, uncompressed_bytes", "")         \
    TABLE(branch_sets, "id INTEGER PRIMARY KEY, count", "")                                        \
    TABLE(branch_set_items, "branch_set, position, branch, PRIMARY KEY (branch_set, position)",    \
          " WITHOUT ROWID")                                                                        \
    TABLE(layouts, "id INTEGER PRIMARY KEY, count", "")                                            \
    TABLE(layout_items, "layout, position, kind, parent, depth, name, "                            \
                        "PRIMARY KEY (layout, position)", " WITHOUT ROWID")                        \
    TABLE(chunk_rows, CHUNK_ROWS, "")                                                              \
    TABLE(custom_rows, "chunk, position, scope, kind, key, value, PRIMARY KEY (chunk, position)",  \
          " WITHOUT ROWID")                                                                        \
    TABLE(workers, "id INTEGER PRIMARY KEY, name TEXT NOT NULL, host TEXT", "")                    \
    TABLE(ticks, "id INTEGER PRIMARY KEY, time_ns, workers", "")                                   \
    TABLE(event_rows, "id INTEGER PRIMARY KEY, worker, kind, time_ns, threads", "")                \
    TABLE(series, "id INTEGER PRIMARY KEY, first_tick, ticks, samples, bytes BLOB", "")            \
    TABLE(parts, "id INTEGER PRIMARY KEY, name TEXT NOT NULL, bytes BLOB", "")                     \
    TABLE(attempt_workers, "id INTEGER PRIMARY KEY, name TEXT NOT NULL", "")                       \
    TABLE(attempt_prefixes, "id INTEGER PRIMARY KEY, prefix TEXT, kind", "")                       \
    TABLE(attempt_rows, "id INTEGER PRIMARY KEY, prefix, outcome, key, key_hash, key_number, "     \
                        "worker, thread, ready_us, sent_us, start_us, stop_us, ended_us, "         \
                        "transfer_us, deserialize_us, disk_us, nbytes, departure, error_type, "    \
                        "error_message", "")                                                       \
    TABLE(departures, "id INTEGER PRIMARY KEY, worker, time_ns, expected, running, lost_results",  \
          "")

/* ---- views: the same with names for people and the units of roast/columns.h ---- */

/* Looked up only where a query asks for it. */
#define TEXT_AT(id) "(SELECT text FROM texts WHERE id = " id ")"
#define FILE_TEXT(column)                                                                          \
    "(SELECT text FROM texts WHERE id = (SELECT " column " FROM file_ids WHERE id = c.file))"
#define PROCESS_TEXT(column)                                                                       \
    "(SELECT text FROM texts WHERE id = (SELECT " column " FROM processes WHERE id = c.process))"
#define FILE_SIZE(column)                                                                          \
    "(SELECT nullif(max(" column ", 0), 0) FROM file_rows WHERE id = "                             \
    "(SELECT sizes FROM file_ids WHERE id = c.file))"
#define BRANCH_COUNT "(SELECT count FROM branch_sets WHERE id = c.branches)"

#define MEMBER_dataset  TEXT_AT("c.dataset")
#define MEMBER_file     FILE_TEXT("name")
#define MEMBER_uuid     FILE_TEXT("uuid")
#define MEMBER_treename FILE_TEXT("treename")
#define MEMBER_host     PROCESS_TEXT("host")
#define MEMBER_worker   PROCESS_TEXT("worker")

#define MADE_end_time              "c.start_us / 1e6 + c.duration_ns / 1e9"
#define MADE_memory_delta_mb       "(c.rss_after - c.rss_before) / 1e6"
#define MADE_memory_delta_gb       "(c.rss_after - c.rss_before) / 1e9"
#define MADE_branch_count          BRANCH_COUNT
#define MADE_branches_read_percent BRANCH_COUNT " * 1.0 / " FILE_SIZE("total_branches") " * 100"
#define MADE_bytes_read_percent    "c.accessed_bytes * 1.0 / " FILE_SIZE("tree_bytes") " * 100"
#define MADE_chunk_id              "c.id"
#define MADE_pid                   "(SELECT nullif(pid, 0) FROM processes WHERE id = c.process)"
#define MADE_task_key TEXT_AT("c.task") " || coalesce('-' || lower(hex(c.task_hash)), '')"
#define MADE_error                                                                                 \
    "c.error_type || CASE WHEN length(c.error_message) > 0 THEN ': ' || c.error_message ELSE '' END"

#define REAL(key, field, per)  ", c." #field " / " #per " AS " #key
#define INT(key, field)        ", c." #field " AS " #key
#define TEXT(key, member)      ", " MEMBER_##member " AS " #key
#define OF(key, function)      ", " MADE_##function " AS " #key
#define NOTHING(key, function) ""
#define CHUNKS                                                                                     \
    "SELECT c.id AS chunk" ROAST_CHUNK_KEYS(REAL, INT, TEXT, OF, OF, OF, NOTHING)                  \
        " FROM chunk_rows c WHERE c.id >= 0"

#define NUMBER(list, n) "json_extract(" list ", '$[' || (" n ") || ']')"
#define SECTION_VALUE   NUMBER("c.sections", "2 * l.position + 1")
#define SECTION_BEFORE  "coalesce(" NUMBER("c.sections_more", "2 * l.position") ", 0)"
#define SECTIONS                                                                                   \
    "SELECT CASE WHEN c.id >= 0 THEN c.id END AS chunk, l.position AS position, "                  \
    TEXT_AT("l.name") " AS name, "                                                                 \
    "CASE l.kind WHEN 0 THEN 'time' WHEN 1 THEN 'memory' ELSE 'bytes' END AS kind, "               \
    "CASE l.kind WHEN 0 THEN " SECTION_VALUE " / 1e9 END AS time_delta, "                          \
    "CASE WHEN c.id >= 0 THEN " NUMBER("c.sections", "2 * l.position") " / 1e9 END AS start, "     \
    "l.depth AS depth, "                                                                           \
    "coalesce(" NUMBER("c.sections_more", "2 * l.position + 1") ", 1) AS count, "                  \
    "l.parent AS parent, "                                                                         \
    "CASE l.kind WHEN 1 THEN " SECTION_BEFORE " / 1e9 END AS memory_start_gb, "                    \
    "CASE l.kind WHEN 1 THEN " SECTION_BEFORE " / 1e9 + " SECTION_VALUE " / 1e9 END "              \
    "AS memory_end_gb, "                                                                           \
    "CASE l.kind WHEN 1 THEN " SECTION_VALUE " / 1e9 END AS memory_delta_gb, "                     \
    "CASE l.kind WHEN 2 THEN " SECTION_VALUE " END AS bytes "                                      \
    "FROM chunk_rows c JOIN layout_items l ON l.layout = c.layout"

#define READS                                                                                      \
    "SELECT c.id AS chunk, " TEXT_AT("s.branch") " AS branch, "                                    \
    NUMBER("c.reads", "4 * s.position") " / 1e9 AS seconds, "                                      \
    NUMBER("c.reads", "4 * s.position + 1") " AS bytes, "                                          \
    NUMBER("c.reads", "4 * s.position + 2") " AS uncompressed_bytes, "                             \
    NUMBER("c.reads", "4 * s.position + 3") " AS count "                                           \
    "FROM chunk_rows c JOIN branch_set_items s ON s.branch_set = c.read_branches "                 \
    "WHERE c.id >= 0"

#define BRANCHES                                                                                   \
    "SELECT c.id AS chunk, " TEXT_AT("s.branch") " AS branch FROM chunk_rows c "                   \
    "JOIN branch_set_items s ON s.branch_set = c.branches WHERE c.id >= 0"

#define CUSTOM_METRICS                                                                             \
    "SELECT chunk, " TEXT_AT("k.key") " AS name, CASE k.scope WHEN 0 THEN 'chunk' "                \
    "WHEN 1 THEN 'timing' WHEN 2 THEN 'memory' ELSE 'bytes' END AS scope, value "                  \
    "FROM custom_rows k WHERE chunk >= 0 AND kind < 6"

#define SOURCE(column) "(SELECT " column " FROM file_ids WHERE id = f.file)"
#define FILES                                                                                      \
    "SELECT f.id AS id, " TEXT_AT(SOURCE("name")) " AS filename, " TEXT_AT(SOURCE("uuid"))         \
    " AS uuid, " TEXT_AT(SOURCE("treename")) " AS treename, f.total_branches AS total_branches, "  \
    "f.tree_bytes AS total_tree_bytes, f.tree_uncompressed_bytes AS total_uncompressed_bytes, "    \
    "f.tree_bytes * 1.0 / nullif(f.tree_uncompressed_bytes, 0) AS compression_ratio "             \
    "FROM file_rows f"

#define FILE_BRANCHES                                                                              \
    "SELECT " TEXT_AT(SOURCE("name")) " AS filename, " TEXT_AT("s.branch") " AS branch, "          \
    NUMBER("f.bytes", "s.position") " AS bytes, "                                                  \
    NUMBER("f.uncompressed_bytes", "s.position") " AS uncompressed_bytes "                         \
    "FROM file_rows f JOIN branch_set_items s ON s.branch_set = f.branch_set"

#define EVENTS                                                                                     \
    "SELECT (SELECT name FROM workers WHERE id = e.worker) AS worker, "                            \
    "CASE e.kind WHEN 0 THEN 'joined' ELSE 'left' END AS event, e.time_ns / 1e9 AS time, "         \
    "nullif(e.threads, 0) AS threads FROM event_rows e"

#define WORKER_COUNTS "SELECT time_ns / 1e9 AS time, workers AS worker_count FROM ticks"

#define ATTEMPTS                                                                                   \
    "SELECT a.id AS attempt, "                                                                     \
    TEXT_AT("a.key") " || coalesce('-' || lower(hex(a.key_hash)), '-' || a.key_number, '') "       \
    "AS key, p.prefix AS prefix, "                                                                 \
    "CASE p.kind WHEN 0 THEN 'processing' WHEN 1 THEN 'reduction' WHEN 2 THEN 'other' "            \
    "ELSE 'foreign' END AS kind, "                                                                 \
    "(SELECT name FROM attempt_workers WHERE id = a.worker) AS worker, "                           \
    "nullif(a.thread, 0) AS thread, a.ready_us / 1e6 AS ready, a.sent_us / 1e6 AS sent, "          \
    "a.start_us / 1e6 AS start, a.stop_us / 1e6 AS stop, a.ended_us / 1e6 AS ended, "              \
    "a.transfer_us / 1e6 AS transfer_s, a.deserialize_us / 1e6 AS deserialize_s, "                 \
    "a.disk_us / 1e6 AS disk_s, a.nbytes AS nbytes, "                                              \
    "CASE a.outcome WHEN 0 THEN 'done' WHEN 1 THEN 'raised' WHEN 2 THEN 'lost' "                   \
    "ELSE 'recomputed' END AS outcome, a.error_type || CASE WHEN length(a.error_message) > 0 "     \
    "THEN ': ' || a.error_message ELSE '' END AS exception "                                       \
    "FROM attempt_rows a LEFT JOIN attempt_prefixes p ON p.id = a.prefix"

#define LOST_WORKERS                                                                               \
    "SELECT (SELECT name FROM attempt_workers WHERE id = d.worker) AS worker, "                    \
    "d.time_ns / 1e9 AS time, d.expected AS expected, d.running AS running, "                      \
    "d.lost_results AS lost_results FROM departures d"

#define VIEWS(VIEW)                                                                                \
    VIEW(chunks, CHUNKS)                                                                           \
    VIEW(sections, SECTIONS)                                                                       \
    VIEW(reads, READS)                                                                             \
    VIEW(branches, BRANCHES)                                                                       \
    VIEW(custom_metrics, CUSTOM_METRICS)                                                           \
    VIEW(files, FILES)                                                                             \
    VIEW(file_branches, FILE_BRANCHES)                                                             \
    VIEW(events, EVENTS)                                                                           \
    VIEW(worker_counts, WORKER_COUNTS)                                                             \
    VIEW(attempts, ATTEMPTS)                                                                       \
    VIEW(lost_workers, LOST_WORKERS)

/* clang-format on */

static const roast_schema_entry schema[] = {
#define TABLE(name, columns, end) {"table", #name, "CREATE TABLE " #name "(" columns ")" end},
#define VIEW(name, query)         {"view", #name, "CREATE VIEW " #name " AS " query},
    TABLES(TABLE) VIEWS(VIEW)
#undef TABLE
#undef VIEW
};

const roast_schema_entry *roast_schema_at(unsigned index) {
    return index < sizeof schema / sizeof *schema ? &schema[index] : NULL;
}
