/* CPU time of the threads that run no chunk: those of libraries that fetch or unpack data, an engine's event loop.
 *
 * It is what the process used less what the threads that run chunks used, whether these are inside process() or between
 * two chunks. At each begin and end of a chunk the CPU time since the last one is shared by the chunks that were open. */
#include "roast/proc.h"

#include "base/buffer.h"

#include <pthread.h>
#include <time.h>

typedef struct chunk_thread {
    clockid_t clock; /* of the thread's number: it fails when the thread has ended */
    int64_t cpu_ns;  /* when it was last read */
} chunk_thread;

static struct {
    uint64_t process; /* its token: the threads of a forked child's parent are not there */
    chunk_thread *threads;
    size_t capacity, count;
    uint32_t open;    /* chunks */
    int64_t total_ns; /* of the process, when it was last read */
    double share_ns;  /* sum of the shares of one chunk since the first one began */
    bool incomplete;  /* a thread could not be noted: nothing is known */
} crew;

static bool read_cpu(clockid_t clock, int64_t *out) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return false;
    *out = (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    return true;
}

/* A thread that is not known counts with all of its CPU time so far: it was in a task of its own before process(). */
static bool note_thread(clockid_t clock) {
    void *threads = crew.threads;
    for (size_t i = 0; i < crew.count; i++)
        if (crew.threads[i].clock == clock)
            return true;
    if (roast_array_reserve(&threads, &crew.capacity, sizeof *crew.threads, crew.count + 1) !=
        ROAST_OK)
        return false;
    crew.threads = threads;
    crew.threads[crew.count++] = (chunk_thread){.clock = clock};
    return true;
}

/* What the threads of chunks used since they were last read. One that has ended is forgotten; its number may be that
 * of a new thread, whose CPU time begins at 0. */
static int64_t read_threads(clockid_t self, int64_t own_ns) {
    int64_t used = 0;
    for (size_t i = 0; i < crew.count;) {
        chunk_thread *one = &crew.threads[i];
        int64_t now = own_ns;
        if ((one->clock != self || own_ns < 0) && !read_cpu(one->clock, &now)) {
            *one = crew.threads[--crew.count];
            continue;
        }
        used += now >= one->cpu_ns ? now - one->cpu_ns : now;
        one->cpu_ns = now;
        i++;
    }
    return used;
}

static void share(bool begins, int64_t own_ns) {
    clockid_t self;
    int64_t total;
    if (pthread_getcpuclockid(pthread_self(), &self) != 0 || (begins && !note_thread(self)) ||
        !read_cpu(CLOCK_PROCESS_CPUTIME_ID, &total)) {
        crew.incomplete = true;
        return;
    }
    int64_t others = total - crew.total_ns - read_threads(self, own_ns);
    crew.total_ns = total;
    if (crew.open > 0)
        crew.share_ns += (double)others / crew.open;
}

void roast_helpers_begin(roast_helpers *mark, int64_t own_ns) {
    uint64_t process = roast_process_token();
    if (crew.process != process) {
        crew.process = process;
        crew.count = 0;
        crew.open = 0;
        crew.incomplete = false;
    }
    share(true, own_ns);
    crew.open++;
    *mark = (roast_helpers){process, crew.share_ns};
}

bool roast_helpers_end(const roast_helpers *mark, int64_t own_ns, int64_t *ns) {
    if (mark->process == 0 || mark->process != crew.process ||
        crew.process != roast_process_token())
        return false;
    share(false, own_ns);
    crew.open -= crew.open > 0;
    double used = crew.share_ns - mark->share_ns;
    *ns = used > 0 ? (int64_t)used : 0;
    return !crew.incomplete;
}
