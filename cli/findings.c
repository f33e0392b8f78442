#include "findings.h"

#include "roast/measurement.h"

roast_status findings_saved(roast_store *store, roast_findings **out, roast_error *err) {
    roast_str blob;
    *out = NULL;
    if (roast_store_get_state(store) != ROAST_STORE_FINISHED)
        return ROAST_OK;
    roast_status status = roast_store_blob(store, ROAST_FINDINGS_BLOB, &blob, err);
    if (status == ROAST_OK)
        status = roast_findings_decode(blob.data, blob.len, out, err);
    if (status == ROAST_ENOTFOUND || status == ROAST_EVERSION)
        return ROAST_OK;
    if (status == ROAST_OK && !roast_findings_is_current(*out)) {
        roast_findings_free(*out);
        *out = NULL;
    }
    return status;
}
