/* What the two forms of "roast explain" share. */
#ifndef ROAST_CLI_EXPLAIN_H
#define ROAST_CLI_EXPLAIN_H

#include "roast/metrics.h"
#include "roast/sink.h"

/* The scopes in the order in which a reader meets them. */
typedef struct explain_scope {
    roast_metric_scope scope;
    bool inside_chunk; /* of the tables: those of a chunk */
    const char *title;
    const char *path; /* where in Python a value stands */
} explain_scope;
/* NULL behind the last one. */
const explain_scope *explain_scope_at(size_t index);
bool explain_is_in(const roast_metric_info *info, const explain_scope *scope);
/* The name of a row's group or table, as people write it. */
const char *explain_group_name(const roast_metric_info *info);

bool explain_same_group(const roast_metric_info *a, const roast_metric_info *b);
/* Whether this row of the catalogue is the first of its group. */
bool explain_group_starts(uint32_t index);

void explain_put_markdown(roast_sink *out);

#endif
