/* The ten slowest chunks of a measurement: cc read_run.c $(pkg-config --cflags --libs roast) && ./a.out RUN */
#include <inttypes.h>
#include <roast/store.h>
#include <stdio.h>

enum { SHOWN = 10 };

int main(int argc, char **argv) {
    roast_error error;
    roast_run *run;
    if (argc != 2 || roast_store_load(argv[1], &run, &error) != ROAST_OK) {
        fprintf(stderr, "%s\n", argc != 2 ? "usage: read_run RUN" : error.message);
        return 1;
    }
    roast_chunk slowest[SHOWN + 1], chunk;
    int n = 0;
    roast_chunk_cursor cursor;
    roast_chunk_cursor_init(&cursor, roast_run_chunks_view(run));
    while (roast_chunk_cursor_next(&cursor, &chunk)) {
        if ((chunk.have & ROAST_CHUNK_HAS(duration_ns)) == 0)
            continue; /* not measured is not zero */
        int at = n < SHOWN ? n++ : SHOWN;
        for (; at > 0 && slowest[at - 1].duration_ns < chunk.duration_ns; at--)
            slowest[at] = slowest[at - 1];
        slowest[at] = chunk;
    }
    for (int i = 0; i < n; i++) {
        chunk = slowest[i];
        int len = chunk.file.data != NULL ? (int)chunk.file.len : 1;
        const char *file = chunk.file.data != NULL ? chunk.file.data : "-";
        printf("%9.3f s  %.*s", (double)chunk.duration_ns / 1e9, len, file);
        if ((chunk.have & ROAST_CHUNK_HAS(entry_start)) != 0)
            printf(" from event %" PRId64, chunk.entry_start);
        printf("\n");
    }
    roast_run_free(run);
    return 0;
}
