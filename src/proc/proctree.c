#include "proc/proctree.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static const char where[] = "roast_proctree_new";

/* ---- life ---- */

roast_status roast_proctree_new(const char *root, int64_t pid, roast_proctree **out,
                                roast_error *err) {
    if (pid < 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1, "%lld is no process", (long long)pid);
    if (root != NULL && strcmp(root, "/proc") == 0)
        root = NULL;
    if (root != NULL && pid == 0)
        return roast_error_set(err, ROAST_EINVAL, where, -1,
                               "this process is not one of those under %s", root);
    size_t root_size = root != NULL ? strlen(root) + 1 : 0;
    if (root_size > PATH_MAX)
        return roast_error_set(err, ROAST_ELIMIT, where, -1,
                               "the path of the root is longer than %d bytes", PATH_MAX);
    roast_proctree *tree = roast_alloc_zero(sizeof *tree + root_size);
    if (tree == NULL)
        return roast_error_set(err, ROAST_ENOMEM, where, -1, "no memory for a process tree");
    tree->directory = -1;
    tree->pid = pid;
    if (root != NULL)
        tree->root = memcpy(tree + 1, root, root_size);
    roast_status status = roast_proctree_attach(tree, err);
    if (status != ROAST_OK) {
        roast_proctree_free(tree);
        return status;
    }
    *out = tree;
    return ROAST_OK;
}

void roast_proctree_free(roast_proctree *tree) {
    if (tree == NULL)
        return;
    roast_proctree_detach(tree);
    roast_free(tree->rows.at);
    roast_free(tree->spare.at);
    roast_free(tree->now.at);
    roast_free(tree->before.at);
    roast_free(tree->ended.at);
    roast_free(tree);
}

/* ---- room ---- */

/* A block for at least `need` items; NULL if memory is short. */
static void *grown(void *block, size_t *room, size_t need, size_t size) {
    size_t wanted = *room < 32 ? 64 : *room * 2;
    if (wanted < need)
        wanted = need;
    void *bigger = wanted <= SIZE_MAX / 2 / size ? roast_realloc(block, wanted * size) : NULL;
    if (bigger != NULL)
        *room = wanted;
    return bigger;
}

bool roast_proctree_rows_grow(roast_proctree_rows *rows) {
    if (rows->count < rows->room)
        return true;
    void *bigger = grown(rows->at, &rows->room, rows->count + 1, sizeof *rows->at);
    if (bigger != NULL)
        rows->at = bigger;
    return bigger != NULL;
}

static bool reserve(roast_processes *processes, size_t need) {
    if (need <= processes->room)
        return true;
    void *bigger = grown(processes->at, &processes->room, need, sizeof *processes->at);
    if (bigger != NULL)
        processes->at = bigger;
    return bigger != NULL;
}

/* ---- who belongs to it ---- */

static const roast_proctree_row *find_row(const roast_proctree_rows *rows, int64_t pid) {
    size_t low = 0, high = rows->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->at[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rows->count && rows->at[low].pid == pid ? &rows->at[low] : NULL;
}

/* A number may have been given out again: a child does not start before its parent. */
static bool is_child_of_member(const roast_proctree_rows *rows, const roast_proctree_row *row) {
    const roast_proctree_row *parent = find_row(rows, row->parent);
    return parent != NULL && parent->member && parent->start_ticks <= row->start_ticks;
}

/* New processes are members if their parents are, which may be new as well and stand behind them. */
static void join_members(roast_proctree_rows *rows, int64_t root) {
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < rows->count; i++) {
            roast_proctree_row *row = &rows->at[i];
            if (!row->fresh || row->member)
                continue;
            row->member = row->pid == root || is_child_of_member(rows, row);
            again = again || row->member;
        }
    }
}

/* ---- what they did ---- */

static double per_second(uint64_t before, uint64_t now, double seconds) {
    return now >= before ? (double)(now - before) / seconds : NAN;
}

static void fill_rates(roast_process *now, const roast_process *before) {
    now->cpu_percent = now->read_bps = now->write_bps = NAN;
    double seconds = before != NULL ? (double)roast_mono_since(before->when, now->when) / 1e9 : 0;
    if (!(seconds > 0))
        return;
    uint32_t have = now->reading.have & before->reading.have;
    if (now->have_cpu && before->have_cpu)
        now->cpu_percent = per_second(before->cpu_ns, now->cpu_ns, seconds) / 1e7;
    if (have & ROAST_HAVE(read_bytes))
        now->read_bps = per_second(before->reading.read_bytes, now->reading.read_bytes, seconds);
    if (have & ROAST_HAVE(write_bytes))
        now->write_bps = per_second(before->reading.write_bytes, now->reading.write_bytes, seconds);
}

/* False: it has ended. */
static bool see(roast_proctree *tree, const roast_proctree_row *row, const roast_process *before,
                const roast_mono *when, roast_process *out) {
    *out = (roast_process){.pid = row->pid, .parent = row->parent, .start_ticks = row->start_ticks};
    out->started =
        before != NULL ? before->started : roast_proctree_started(tree, row->start_ticks);
    if (!roast_proctree_read(tree, out))
        return false;
    out->when = when != NULL ? *when : roast_mono_now();
    fill_rates(out, before);
    return true;
}

/* Walks the members and the processes of the look before side by side: both are sorted by pid. */
static void see_members(roast_proctree *tree, const roast_mono *when) {
    const roast_processes *before = &tree->before;
    size_t at = 0;
    for (size_t i = 0; i < tree->rows.count; i++) {
        const roast_proctree_row *row = &tree->rows.at[i];
        if (!row->member)
            continue;
        while (at < before->count && before->at[at].pid < row->pid)
            tree->ended.at[tree->ended.count++] = before->at[at++];
        bool known = at < before->count && before->at[at].pid == row->pid &&
                     before->at[at].start_ticks == row->start_ticks;
        bool there =
            see(tree, row, known ? &before->at[at] : NULL, when, &tree->now.at[tree->now.count]);
        tree->now.count += there;
        if (known && there)
            at++;
    }
    while (at < before->count)
        tree->ended.at[tree->ended.count++] = before->at[at++];
}

static size_t count_members(const roast_proctree_rows *rows) {
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        count += rows->at[i].member;
    return count;
}

roast_status roast_proctree_look(roast_proctree *tree, const roast_mono *when, roast_error *err) {
    ROAST_TRY(roast_proctree_list(tree, err));
    join_members(&tree->spare, tree->pid);
    if (!reserve(&tree->before, count_members(&tree->spare)) ||
        !reserve(&tree->ended, tree->now.count))
        return roast_error_set(err, ROAST_ENOMEM, "roast_proctree_look", -1,
                               "no memory for the processes");
    roast_proctree_rows rows = tree->rows;
    tree->rows = tree->spare;
    tree->spare = rows;
    roast_processes before = tree->now;
    tree->now = tree->before;
    tree->before = before;
    tree->now.count = tree->ended.count = 0;
    see_members(tree, when);
    return ROAST_OK;
}

/* ---- looking at it ---- */

size_t roast_proctree_count(const roast_proctree *tree) {
    return tree->now.count;
}

const roast_process *roast_proctree_at(const roast_proctree *tree, size_t index) {
    return index < tree->now.count ? &tree->now.at[index] : NULL;
}

size_t roast_proctree_ended_count(const roast_proctree *tree) {
    return tree->ended.count;
}

const roast_process *roast_proctree_ended_at(const roast_proctree *tree, size_t index) {
    return index < tree->ended.count ? &tree->ended.at[index] : NULL;
}
