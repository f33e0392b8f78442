/* Makes a worker series from readings in any order: for tracking data of other programs. */
#ifndef ROAST_POINTS_H
#define ROAST_POINTS_H

#include "roast/series.h"

typedef struct roast_points roast_points;

roast_status roast_points_new(roast_points **out, roast_error *err);
void roast_points_free(roast_points *points);

/* The number of a worker; see roast_series_worker. */
roast_status roast_points_worker(roast_points *points, roast_str name, uint32_t *worker,
                                 roast_error *err);
/* A reading of a worker's column at a moment; NaN: sampled, but not known. Of several readings of one worker, column
 * and moment the last one counts. ROAST_EINVAL for an unknown worker or column.
 */
roast_status roast_points_add(roast_points *points, uint32_t worker, roast_series_column column,
                              roast_utc when, double value, roast_error *err);
/* How many workers there were at a moment. */
roast_status roast_points_add_count(roast_points *points, roast_utc when, uint32_t workers,
                                    roast_error *err);

/* Makes the series and empties the points; on failure they can only be freed. If the workers were counted at other
 * moments than the readings, *counts is a series of the counted moments alone (empty if there are none), and
 * *series has the last known count; otherwise *counts is NULL. */
roast_status roast_points_build(roast_points *points, roast_series **series, roast_series **counts,
                                roast_error *err);

#endif
