/* Puts a run into run.sqlite, and the steps of a save, which a live measurement takes as well. */
#ifndef ROAST_STORE_WRITE_H
#define ROAST_STORE_WRITE_H

#include "roast/store.h"
#include "store/database/db.h"
#include "store/place/place.h"

/* All of a run. `live`: appended; its small parts, if it has any, replace existing ones. */
roast_status roast_write_run(sqlite3 *db, const roast_run *run, bool live, roast_error *err);
/* The blobs of the caller, and lengths and checksums of the small files. */
roast_status roast_write_extras(sqlite3 *db, const roast_store_options *options, roast_error *err);

/* Whether the input of the caller can be saved. */
roast_status roast_save_check(const roast_store_options *options, roast_error *err);
/* run.sqlite and the small files; without a run, run.sqlite has only the blobs, and no end. */
roast_status roast_save_directory(const roast_target *place, const roast_temporary *temporary,
                                  const roast_run *run, const roast_store_options *options,
                                  roast_error *err);

#endif
