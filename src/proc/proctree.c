#include "proc/proctree.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/bisect.h"
#include "base/buffer.h"

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
    roast_free(tree->listing.at);
    roast_free(tree->spare.at);
    roast_free(tree->now.at);
    roast_free(tree->before.at);
    roast_free(tree->ended.at);
    roast_free(tree);
}

/* ---- memory ---- */

bool roast_listing_grow(roast_listing *listing) {
    void *at = listing->at;
    bool done = roast_array_reserve(&at, &listing->capacity, sizeof *listing->at,
                                    listing->count + 1) == ROAST_OK;
    listing->at = at;
    return done;
}

static bool reserve(roast_processes *processes, size_t need) {
    void *at = processes->at;
    bool done =
        roast_array_reserve(&at, &processes->capacity, sizeof *processes->at, need) == ROAST_OK;
    processes->at = at;
    return done;
}

/* ---- members ---- */

static roast_listed *find_listed(const roast_listing *listing, int64_t pid) {
    size_t at;
    ROAST_BISECT(at, listing->count, listing->at[at].pid < pid);
    return at < listing->count && listing->at[at].pid == pid ? &listing->at[at] : NULL;
}

/* The parent of a new process; NULL: it has none, or another process has got its number. A child does not start before
 * its parent. */
static roast_listed *parent_of(const roast_listing *listing, const roast_listed *listed) {
    roast_listed *parent = find_listed(listing, listed->parent);
    return parent != NULL && parent != listed && parent->start_ticks <= listed->start_ticks ? parent
                                                                                            : NULL;
}

/* New processes are members if their parents are, which may be new as well and come later in the list. Each process is
 * settled once, with all new ones above it. */
static void join_members(roast_listing *listing, int64_t root) {
    for (size_t i = 0; i < listing->count; i++) {
        roast_listed *known = &listing->at[i];
        size_t steps = 0; /* two processes that are each other's parents must not keep us here */
        while (known != NULL && known->fresh && !known->settled && known->pid != root &&
               steps++ <= listing->count)
            known = parent_of(listing, known);
        bool member = known != NULL && (known->member || known->pid == root);
        for (roast_listed *listed = &listing->at[i];
             listed != NULL && listed->fresh && !listed->settled;
             listed = listed->pid != root ? parent_of(listing, listed) : NULL) {
            listed->member = member;
            listed->settled = true;
        }
    }
}

/* ---- their figures ---- */

static double per_second(uint64_t before, uint64_t now, double seconds) {
    return now >= before ? (double)(now - before) / seconds : NAN;
}

static void fill_rates(roast_tree_process *now, const roast_tree_process *before) {
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
static bool see(roast_proctree *tree, const roast_listed *listed, const roast_tree_process *before,
                const roast_mono *when, roast_tree_process *out) {
    *out = (roast_tree_process){
        .pid = listed->pid, .parent = listed->parent, .start_ticks = listed->start_ticks};
    out->started =
        before != NULL ? before->started : roast_proctree_started(tree, listed->start_ticks);
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
    for (size_t i = 0; i < tree->listing.count; i++) {
        const roast_listed *listed = &tree->listing.at[i];
        if (!listed->member)
            continue;
        while (at < before->count && before->at[at].pid < listed->pid)
            tree->ended.at[tree->ended.count++] = before->at[at++];
        bool known = at < before->count && before->at[at].pid == listed->pid &&
                     before->at[at].start_ticks == listed->start_ticks;
        bool there =
            see(tree, listed, known ? &before->at[at] : NULL, when, &tree->now.at[tree->now.count]);
        tree->now.count += there;
        if (known && there)
            at++;
    }
    while (at < before->count)
        tree->ended.at[tree->ended.count++] = before->at[at++];
}

static size_t count_members(const roast_listing *listing) {
    size_t count = 0;
    for (size_t i = 0; i < listing->count; i++)
        count += listing->at[i].member;
    return count;
}

roast_status roast_proctree_look(roast_proctree *tree, const roast_mono *when, roast_error *err) {
    ROAST_TRY(roast_proctree_list(tree, err));
    join_members(&tree->spare, tree->pid);
    if (!reserve(&tree->before, count_members(&tree->spare)) ||
        !reserve(&tree->ended, tree->now.count))
        return roast_error_set(err, ROAST_ENOMEM, "roast_proctree_look", -1,
                               "no memory for the processes");
    roast_listing listing = tree->listing;
    tree->listing = tree->spare;
    tree->spare = listing;
    roast_processes before = tree->now;
    tree->now = tree->before;
    tree->before = before;
    tree->now.count = tree->ended.count = 0;
    see_members(tree, when);
    return ROAST_OK;
}
