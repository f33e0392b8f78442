/* The small files and blobs of a measurement, made from its run: what roast_store_save keeps beside it.
 *
 *   metrics.json        every metric, for people and small programs
 *   metadata.json       when, how long, which format, where the run comes from
 *   start_end_time.txt  "start,end", seconds since 1970
 *   config.json         the user's own, where there is one
 *   blob "metrics"      the metrics once more, packed: a summary needs nothing else ...
 *   blob "findings"     ... but these, and the budget: packed as well */
#ifndef ROAST_MEASUREMENT_H
#define ROAST_MEASUREMENT_H

#include "roast/metrics.h"
#include "roast/run.h"
#include "roast/store.h"

/* What metadata.json says of the format. */
#define ROAST_MEASUREMENT_FORMAT "roastcoffea_measurement_v2"
/* The name of the blob with the packed metrics. */
#define ROAST_METRICS_BLOB "metrics"
/* And of that with the packed findings. */
#define ROAST_FINDINGS_BLOB "findings"

typedef struct roast_measurement roast_measurement;

/* Computes the metrics of the run and writes all of the above. `config` is JSON, or absent; `saved` is
 * the moment that metadata.json names. Nothing of the run is borrowed. */
roast_status roast_measurement_new(const roast_run *run, roast_str config, roast_utc saved,
                                   roast_measurement **out, roast_error *err);
void roast_measurement_free(roast_measurement *measurement);
/* Sets the files and blobs of `options`, borrowed from the measurement. */
void roast_measurement_fill(const roast_measurement *measurement, roast_store_options *options);
/* Borrowed. */
const roast_metrics *roast_measurement_metrics(const roast_measurement *measurement);

#endif
