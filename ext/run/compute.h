/* The formulas for Python: inputs in, dicts out. */
#ifndef ROAST_EXT_COMPUTE_H
#define ROAST_EXT_COMPUTE_H

#include "run/convert_run.h"
#include "state.h"
#include "roast/chunklog.h"
#include "roast/metrics.h"

/* ---- metrics_dict.c ---- */

/* A family: the values that one of the functions below returns. */
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
/* The family of a row of the catalogue; FAMILY_NONE if it is not one number per run. */
metric_family ext_metric_family(const roast_metric_info *row);

/* {name: number or None} with every name of every number of the families. NULL with an exception set. */
PyObject *ext_scalar_dict(const roast_metrics *metrics, unsigned families);
/* Each: a table of the metrics. NULL with an exception set. */
PyObject *ext_row_table(const roast_metrics *metrics, roast_row_table_number number);
/* One of the tables that grow with the run: file_metadata, file_read_metrics, worker_health. Of the latter two, unless
 * `only` is NULL, the rows whose names are in that set. */
PyObject *ext_large_table(run_input *input, const char *name, PyObject *only);
PyObject *ext_section_table(const roast_metrics *metrics);
/* Adds branch_read_metrics, compression_ratios and bytes_read_percent_per_file, and unless log is NULL
 * file_metadata and file_read_metrics. 0 or -1. */
int ext_put_file_tables(PyObject *dict, const roast_metrics *metrics, const roast_chunklog *log);

/* The number that a mapping has under a name, of the type that the catalogue says: a count that came as a real is a
 * count all the same. Not measured where there is none. 0, or -1 with an exception set. */
int ext_number_of(PyObject *from, const char *name, roast_metric_type type, roast_value *out);
/* The same for the first name of a row of the catalogue that the mapping has. */
int ext_scalar_of(PyObject *from, const roast_metric_info *row, roast_value *out);
/* Sets those numbers of the families that the mapping has. 0, or -1 with an exception set. */
int ext_take_scalars(PyObject *from, unsigned families, roast_metrics *metrics);

/* ---- compute.c ---- */

/* All numbers and tables of a run that is ready and does not change any more. The tables that grow with the run,
 * one dict per file and per worker, are included on request. NULL with an exception set. */
PyObject *ext_all_metrics_of(run_input *input, bool files_and_workers);

/* Functions of the module. */
PyObject *ext_workflow_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_worker_metrics(PyObject *module, PyObject *tracking);
PyObject *ext_fine_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_chunk_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_file_metrics(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *ext_efficiency_metrics(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
