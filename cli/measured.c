#include "measured.h"

#include "roast/legacy.h"
#include "roast/measurement.h"

static roast_status open_store(measured *it, const char *path, unsigned needs, roast_error *err) {
    static const char *const states[] = {
        [ROAST_STORE_FINISHED] = NULL,
        [ROAST_STORE_LIVE] = "live: this run is still being measured",
        [ROAST_STORE_UNFINISHED] = "unfinished: its writer ended before the run did",
    };
    ROAST_TRY(roast_store_open(path, &it->store, err));
    it->state = states[roast_store_get_state(it->store)];
    it->about = roast_store_head(it->store);
    if ((needs & NEED_METRICS) != 0)
        ROAST_TRY(roast_measurement_saved_metrics(it->store, false, &it->metrics, err));
    if ((needs & NEED_FINDINGS) != 0)
        ROAST_TRY(roast_measurement_saved_findings(it->store, &it->findings, err));
    if ((needs & NEED_RUN) != 0 || ((needs & NEED_METRICS) != 0 && it->metrics == NULL) ||
        ((needs & NEED_FINDINGS) != 0 && it->findings == NULL))
        return roast_store_take_run(it->store, &it->run, err);
    return ROAST_OK;
}

static roast_status open_all(measured *it, const char *path, unsigned needs, roast_error *err) {
    if (roast_store_is_measurement(path) == ROAST_STORE_LEGACY)
        ROAST_TRY(roast_legacy_load(path, &it->run, err));
    else
        ROAST_TRY(open_store(it, path, needs, err));
    if (it->run != NULL)
        it->about = it->run;
    bool diagnose = (needs & NEED_FINDINGS) != 0 && it->findings == NULL;
    if ((diagnose || (needs & NEED_METRICS) != 0) && it->metrics == NULL)
        ROAST_TRY(roast_metrics_compute(it->run, &it->metrics, err));
    return diagnose ? roast_diagnose_run(it->run, it->metrics, &it->findings, err) : ROAST_OK;
}

roast_status measured_open(measured *it, const char *path, unsigned needs, roast_error *err) {
    *it = (measured){0};
    roast_status status = open_all(it, path, needs, err);
    if (status != ROAST_OK)
        measured_close(it);
    return status;
}

void measured_close(measured *it) {
    roast_metrics_free(it->metrics);
    roast_findings_free(it->findings);
    roast_run_free(it->run);
    roast_store_close(it->store);
    *it = (measured){0};
}
