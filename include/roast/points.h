/* Readings of workers that come in any order, made into a worker series: for tracking data that somebody else
 * wrote. */
#ifndef ROAST_POINTS_H
#define ROAST_POINTS_H

#include "roast/series.h"

typedef struct roast_points roast_points;

roast_status roast_points_new(roast_points **out, roast_error *err);
void roast_points_free(roast_points *points);

/* The number of a worker; see roast_series_worker. */
roast_status roast_points_worker(roast_points *points, roast_str name, uint32_t *worker,
                                 roast_error *err);
/* What a worker's column read at a moment; NaN: it was looked at, but there was nothing. Of several readings of
 * one worker, column and moment the last one added stays. ROAST_EINVAL for a worker or column that is not there.
 */
roast_status roast_points_add(roast_points *points, uint32_t worker, roast_series_column column,
                              roast_utc when, double value, roast_error *err);
/* How many workers there were at a moment. */
roast_status roast_points_add_count(roast_points *points, roast_utc when, uint32_t workers,
                                    roast_error *err);

/* Makes the series and empties the points; on failure they can only be freed. Where readings were taken at other
 * moments than the workers were counted, *counts is a series of the counted moments alone (empty if there are none),
 * and in *series the count is the last one known; otherwise it is NULL. */
roast_status roast_points_build(roast_points *points, roast_series **series, roast_series **counts,
                                roast_error *err);

#endif
