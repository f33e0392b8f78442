/* The steps of a save, which a live measurement takes as well. */
#ifndef ROAST_STORE_SAVE_H
#define ROAST_STORE_SAVE_H

#include "roast/store.h"
#include "store/place.h"
#include "store/writer.h"

/* Whether what the caller gives can be saved. */
roast_status roast_save_check(const roast_store_options *options, roast_error *err);
/* The blobs, and what is known of the small files. */
roast_status roast_save_extras(roast_writer *writer, const roast_store_options *options,
                               roast_error *err);
/* A run.sqlite with all of it; without a run only the extras. */
roast_status roast_save_database(const roast_place *place, const roast_temporary *temporary,
                                 const roast_run *run, const roast_store_options *options,
                                 roast_error *err);
roast_status roast_save_files(const roast_temporary *temporary, const roast_store_options *options,
                              roast_error *err);

#endif
