/* The keys of a chunk mapping, once: how each is made from the record, and how a record is made from it.
 *
 *   REAL(key, field, per)    a number of the record, so many to the unit of the key
 *   INT(key, field)          a whole number of the record
 *   TEXT(key, member)        a string of the record
 *   OTHER(key, function)     made by a function of record_values.c */
#ifndef ROAST_EXT_RECORD_KEYS_H
#define ROAST_EXT_RECORD_KEYS_H

#define EXT_RECORD_KEYS(REAL, INT, TEXT, OTHER)                                                    \
    REAL(t_start, start_us, 1e6)                                                                   \
    OTHER(t_end, end_time)                                                                         \
    REAL(duration, duration_ns, 1e9)                                                               \
    OTHER(timestamp, end_time)                                                                     \
    INT(num_events, num_events)                                                                    \
    TEXT(dataset, dataset)                                                                         \
    TEXT(file, file)                                                                               \
    TEXT(uuid, uuid)                                                                               \
    INT(entry_start, entry_start)                                                                  \
    INT(entry_stop, entry_stop)                                                                    \
    REAL(mem_before_mb, rss_before, 1e6)                                                           \
    REAL(mem_after_mb, rss_after, 1e6)                                                             \
    OTHER(mem_delta_mb, memory_delta_mb)                                                           \
    INT(bytes_read, bytes_read)                                                                    \
    OTHER(accessed_branches, accessed_branches)                                                    \
    OTHER(num_branches_accessed, branch_count)                                                     \
    INT(accessed_bytes, accessed_bytes)                                                            \
    INT(accessed_uncompressed_bytes, accessed_uncompressed_bytes)                                  \
    OTHER(branches_read_percent, branches_read_percent)                                            \
    OTHER(bytes_read_percent, bytes_read_percent)                                                  \
    OTHER(timing, timing)                                                                          \
    OTHER(memory, memory)                                                                          \
    OTHER(bytes, bytes)                                                                            \
    OTHER(sections, sections)                                                                      \
    OTHER(memory_sections, memory_sections)                                                        \
    OTHER(custom_metrics, custom_metrics)                                                          \
    OTHER(chunk_id, chunk_id)                                                                      \
    REAL(memory_start_gb, rss_before, 1e9)                                                         \
    REAL(memory_end_gb, rss_after, 1e9)                                                            \
    OTHER(memory_delta_gb, memory_delta_gb)                                                        \
    TEXT(filename, file)                                                                           \
    INT(event_count, num_events)                                                                   \
    REAL(processing_time, duration_ns, 1e9)                                                        \
    REAL(cpu_user_s, cpu_user_ns, 1e9)                                                             \
    REAL(cpu_system_s, cpu_system_ns, 1e9)                                                         \
    REAL(mem_peak_mb, rss_peak, 1e6)                                                               \
    REAL(runqueue_wait_s, runqueue_wait_ns, 1e9)                                                   \
    REAL(io_wait_s, io_wait_ns, 1e9)                                                               \
    INT(minor_faults, minor_faults)                                                                \
    INT(major_faults, major_faults)                                                                \
    TEXT(worker, worker)                                                                           \
    INT(thread, thread)                                                                            \
    OTHER(task_key, task_key)                                                                      \
    REAL(before_process_s, before_process_ns, 1e9)                                                 \
    INT(read_requests, read_requests)                                                              \
    INT(metadata_bytes, metadata_bytes)                                                            \
    OTHER(reads, reads)                                                                            \
    OTHER(file_metadata, file_metadata)                                                            \
    OTHER(error, error)                                                                            \
    TEXT(treename, treename)                                                                       \
    TEXT(host, host)                                                                               \
    OTHER(pid, pid)                                                                                \
    INT(voluntary_switches, voluntary_switches)                                                    \
    INT(involuntary_switches, involuntary_switches)                                                \
    INT(os_read_bytes, os_read_bytes)                                                              \
    INT(os_read_calls, os_read_calls)                                                              \
    INT(os_write_bytes, os_write_bytes)                                                            \
    INT(os_write_calls, os_write_calls)                                                            \
    INT(storage_read_bytes, storage_read_bytes)                                                    \
    INT(storage_write_bytes, storage_write_bytes)                                                  \
    INT(dropped_sections, dropped_sections)                                                        \
    INT(faults, faults)

#endif
