/* Runs a fuzz target without a fuzzer: over the files of its corpus, and over each of them damaged
 * in every simple way (cut at every length, every bit flipped). Part of the ordinary tests.
 *
 *   replay_<target> FILE-OR-FOLDER ...
 *   replay_<target> --make FOLDER      writes the seeds again
 *
 * A file whose name does not begin with "bad-" must decode as it is: seeds of old versions stay in
 * the corpus and must stay readable. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { DAMAGED_BYTES = 4096 }; /* of a file, so that a large one does not take for ever */

static unsigned long files, inputs, faults;

/* The input in a block of its own size: a sanitizer then sees each read behind its end. */
static void run(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        faults++;
        return;
    }
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    inputs++;
    free(copy);
}

static void run_damaged(uint8_t *data, size_t size) {
    size_t reach = size < DAMAGED_BYTES ? size : DAMAGED_BYTES;
    for (size_t len = 0; len < reach; len++)
        run(data, len);
    for (size_t bit = 0; bit < reach * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        run(data, size);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static uint8_t *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    uint8_t *data = NULL;
    long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (end >= 0 && fseek(file, 0, SEEK_SET) == 0)
        data = malloc((size_t)end + 1);
    if (data != NULL && fread(data, 1, (size_t)end, file) != (size_t)end) {
        free(data);
        data = NULL;
    }
    *size = end < 0 ? 0 : (size_t)end;
    fclose(file);
    return data;
}

static void replay_file(const char *path) {
    size_t size;
    uint8_t *data = read_whole(path, &size);
    if (data == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        faults++;
        return;
    }
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    unsigned long before = fuzz_accepted;
    run(data, size);
    if (fuzz_accepted == before && strncmp(name, "bad-", 4) != 0) {
        fprintf(stderr, "%s: does not decode\n", path);
        faults++;
    }
    run_damaged(data, size);
    files++;
    free(data);
}

static void replay_folder(const char *folder) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            replay_file(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--make") == 0)
        return fuzz_make_corpus(argv[2]) ? EXIT_SUCCESS : EXIT_FAILURE;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode))
            replay_folder(argv[i]);
        else
            replay_file(argv[i]);
    }
    printf("%lu files, %lu inputs, %lu decoded as given, %lu faults\n", files, inputs,
           fuzz_accepted, faults);
    if (files == 0)
        fprintf(stderr, "no file to replay\n");
    return files > 0 && faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
