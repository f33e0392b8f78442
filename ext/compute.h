/* The formulas for Python: inputs in, dicts out. */
#ifndef ROAST_EXT_COMPUTE_H
#define ROAST_EXT_COMPUTE_H

#include "convert_run.h"
#include "state.h"
#include "roast/chunklog.h"
#include "roast/metrics.h"

/* ---- metrics_dict.c ---- */

/* What belongs together: the values that one of the functions below answers with. */
typedef enum metric_family {
    FAMILY_NONE = 0,
    FAMILY_WORKFLOW = 1 << 0,
    FAMILY_WORKERS = 1 << 1,
    FAMILY_FINE = 1 << 2,
    FAMILY_CHUNKS = 1 << 3,
    FAMILY_FILES = 1 << 4,
    FAMILY_EFFICIENCY = 1 << 5,
    FAMILY_ALL = (1 << 6) - 1
} metric_family;
/* The family of a row of the catalogue; FAMILY_NONE for what is not one number a run. */
metric_family ext_metric_family(const roast_metric_info *row);

/* {name: number or None} with every name of every number of the families. NULL with an exception set. */
PyObject *ext_scalar_dict(const roast_metrics *metrics, unsigned families);
/* Each: a table of the metrics. NULL with an exception set. */
PyObject *ext_dataset_table(const roast_metrics *metrics);
PyObject *ext_section_table(const roast_metrics *metrics);
PyObject *ext_worker_table(const roast_metrics *metrics);
/* Adds branch_read_metrics, compression_ratios and bytes_read_percent_per_file, and unless log is NULL
 * file_metadata and file_read_metrics. 0 or -1. */
int ext_put_file_tables(PyObject *dict, const roast_metrics *metrics, const roast_chunklog *log);
/* {(file, entry_start, entry_stop): (t_start, t_end, bytes_read)}. NULL with an exception set. */
PyObject *ext_chunk_info_dict(ext_state *state, const roast_chunklog *log);

/* ---- compute.c ---- */

/* What is wanted of the tables that grow with the run: a dict a file and a worker, an item a chunk. */
typedef struct wanted_tables {
    bool chunk_info, files_and_workers;
    bool budget; /* takes as long to make as all the others */
} wanted_tables;

/* All metrics and tables of a run that is ready and does not change any more. NULL with an exception set. */
PyObject *ext_all_metrics_of(run_input *input, wanted_tables wanted);

/* Functions of the module. */
PyObject *ext_workflow_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_worker_metrics(PyObject *module, PyObject *tracking);
PyObject *ext_fine_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_chunk_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_file_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_efficiency_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_all_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_chunk_info(PyObject *module, PyObject *chunks);

#endif
