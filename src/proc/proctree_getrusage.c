/* The tree where there is no /proc that we know: this process alone. */
#include "proc/proctree.h"

#include <sys/resource.h>
#include <unistd.h>

#include "proc/probe.h"

roast_status roast_proctree_attach(roast_proctree *tree, roast_error *err) {
    if (tree->root != NULL || (tree->pid != 0 && tree->pid != getpid()))
        return roast_error_set(err, ROAST_EUNSUPPORTED, "roast_proctree_new", -1,
                               "built with getrusage: only this process");
    tree->pid = getpid();
    return ROAST_OK;
}

void roast_proctree_detach(roast_proctree *tree) {
    (void)tree;
}

roast_status roast_proctree_list(roast_proctree *tree, roast_error *err) {
    tree->spare.count = 0;
    if (!roast_listing_grow(&tree->spare))
        return roast_error_set(err, ROAST_ENOMEM, "roast_proctree_look", -1,
                               "no memory for the processes");
    tree->spare.at[tree->spare.count++] = (roast_listed){
        .pid = tree->pid, .parent = getppid(), .member = true, .fresh = tree->listing.count == 0};
    return ROAST_OK;
}

bool roast_proctree_read(roast_proctree *tree, roast_tree_process *out) {
    (void)tree;
    roast_rusage_fill(RUSAGE_SELF, ROAST_READ_USAGE, &out->reading);
    const uint32_t both = ROAST_HAVE(cpu_user_ns) | ROAST_HAVE(cpu_system_ns);
    out->have_cpu = (out->reading.have & both) == both;
    out->cpu_ns = out->reading.cpu_user_ns + out->reading.cpu_system_ns;
    return true;
}

roast_utc roast_proctree_started(const roast_proctree *tree, uint64_t start_ticks) {
    (void)tree;
    (void)start_ticks;
    return (roast_utc){0};
}
