// The graphs of package taskbench as tasks of OpenMP, or of StarPU with -DSTARPU: what another runtime needs for the same
// tasks, found from the same accesses. StarPU has one worker less than threads where there are several: as in OpenMP, the
// thread that submits is one of them. The graph comes on standard input as 32-bit numbers:
//
//   threads, repetitions, grain, tasks, cells,
//   then for each task: number of reads, whether it writes, whether it also reads what it writes,
//   READS times cell and version, and the cell and version that it writes.
//
// It prints the median time of a task in nanoseconds, from the first submission to the end of the last task. A task that ran out
// of order ends the program with status 1.
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef STARPU
#include <starpu.h>
#endif

enum { READS = 5 };

typedef struct { int32_t cell, version; } stamp;
typedef struct { int32_t count, writer, own; stamp reads[READS], writes; } node;
typedef struct { int64_t version; char pad[56]; } cell;

static int32_t threads, repetitions, grain, tasks, cells;
static node *nodes;
static cell *c;
static int32_t *once;
static int strayed;
static volatile uint64_t sink;

static void kernel(void) {
    uint64_t x = (uint64_t)grain;
    for (int32_t i = 0; i < grain; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    if (grain > 0 && x == 0) sink = x;
}

static int look(const node *n) {
    int bad = c[n->writes.cell].version != n->writes.version;
    for (int i = 0; i < n->count; i++) bad += c[n->reads[i].cell].version != n->reads[i].version;
    return bad;
}

static void run(const node *n) {
    if (!n->writer) {
        kernel();
        once[n - nodes]++;
        return;
    }
    int bad = look(n);
    kernel();
    bad += look(n);
    c[n->writes.cell].version++;
    if (bad) __atomic_fetch_add(&strayed, bad, __ATOMIC_RELAXED);
}

#ifdef STARPU

static starpu_data_handle_t *handles;

static void codelet_run(void *buffers[], void *arg) {
    (void)buffers;
    run(arg);
}

static struct starpu_codelet codelet = {.cpu_funcs = {codelet_run}, .nbuffers = STARPU_VARIABLE_NBUFFERS};

static void start(void) {
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = threads > 1 ? threads - 1 : 1;
    conf.ncuda = conf.nopencl = 0;
    if (starpu_init(&conf)) {
        fprintf(stderr, "StarPU does not start\n");
        exit(2);
    }
    handles = calloc(cells, sizeof *handles);
    for (int32_t i = 0; i < cells; i++) starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&c[i], sizeof c[i]);
}

static void stop(void) {
    for (int32_t i = 0; i < cells; i++) starpu_data_unregister(handles[i]);
    starpu_shutdown();
}

static void submit(void) {
    for (int32_t t = 0; t < tasks; t++) {
        node *n = &nodes[t];
        struct starpu_task *s = starpu_task_create();
        s->cl = &codelet;
        s->cl_arg = n;
        if (n->writer) {
            for (int i = 0; i < n->count; i++) {
                s->handles[i] = handles[n->reads[i].cell];
                s->modes[i] = STARPU_R;
            }
            s->handles[n->count] = handles[n->writes.cell];
            s->modes[n->count] = n->own ? STARPU_RW : STARPU_W;
            s->nbuffers = n->count + 1;
        }
        if (starpu_task_submit(s)) {
            fprintf(stderr, "task %d was refused\n", t);
            exit(2);
        }
    }
    starpu_task_wait_for_all();
}

static double now(void);

static double timed(void) {
    double began = now();
    submit();
    return now() - began;
}

#else

static void start(void) {}
static void stop(void) {}

#define IN(i) c[n->reads[i].cell]
#define OUT c[n->writes.cell]
#define TASKS(mode)                                                                                     \
    switch (n->count) {                                                                                 \
    case 0: PRAGMA(omp task firstprivate(n) depend(mode : OUT)) run(n); break;                           \
    case 1: PRAGMA(omp task firstprivate(n) depend(in : IN(0)) depend(mode : OUT)) run(n); break;        \
    case 2: PRAGMA(omp task firstprivate(n) depend(in : IN(0), IN(1)) depend(mode : OUT)) run(n); break; \
    case 3: PRAGMA(omp task firstprivate(n) depend(in : IN(0), IN(1), IN(2)) depend(mode : OUT)) run(n); break; \
    case 4: PRAGMA(omp task firstprivate(n) depend(in : IN(0), IN(1), IN(2), IN(3)) depend(mode : OUT)) run(n); break; \
    default: PRAGMA(omp task firstprivate(n) depend(in : IN(0), IN(1), IN(2), IN(3), IN(4)) depend(mode : OUT)) run(n); break; \
    }
#define PRAGMA(x) PRAGMA_TEXT(x)
#define PRAGMA_TEXT(x) _Pragma(#x)

static void submit(void) {
    for (int32_t t = 0; t < tasks; t++) {
        const node *n = &nodes[t];
        if (!n->writer) {
#pragma omp task firstprivate(n)
            run(n);
        } else if (n->own) {
            TASKS(inout)
        } else {
            TASKS(out)
        }
    }
#pragma omp taskwait
}

static double now(void);

static double timed(void) {
    double began = 0, ended = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
#pragma omp single
        {
            began = now();
            submit();
            ended = now();
        }
    }
    return ended - began;
}

#endif

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int32_t number(void) {
    int32_t x;
    if (fread(&x, sizeof x, 1, stdin) != 1) {
        fprintf(stderr, "the graph ends early\n");
        exit(2);
    }
    return x;
}

static stamp next_stamp(void) {
    stamp s;
    s.cell = number();
    s.version = number();
    return s;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    threads = number();
    repetitions = number();
    grain = number();
    tasks = number();
    cells = number();
    nodes = calloc(tasks, sizeof *nodes);
    once = calloc(tasks, sizeof *once);
    c = aligned_alloc(64, sizeof *c * (cells + 1));
    double *times = calloc(repetitions + 1, sizeof *times);
    for (int32_t t = 0; t < tasks; t++) {
        node *n = &nodes[t];
        n->count = number();
        n->writer = number();
        n->own = number();
        for (int i = 0; i < READS; i++) n->reads[i] = next_stamp();
        n->writes = next_stamp();
    }
    start();
    for (int32_t k = 0; k <= repetitions; k++) { // the first one warms up
        for (int32_t i = 0; i < cells; i++) c[i].version = 0;
        times[k] = timed();
    }
    stop();
    for (int32_t t = 0; t < tasks; t++) strayed += !nodes[t].writer && once[t] != repetitions + 1;
    if (strayed) {
        fprintf(stderr, "%d accesses out of order\n", strayed);
        return 1;
    }
    qsort(times + 1, repetitions, sizeof *times, ascending);
    printf("%.1f\n", times[1 + repetitions / 2] / tasks);
    return 0;
}
