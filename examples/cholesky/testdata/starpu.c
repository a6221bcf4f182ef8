// The same factorisation by StarPU-MPI: tiles of doubles, the loops of main.go, owners in two
// dimensions, priorities. Arguments: n, block. Prints the seconds.
#include <math.h>
#include <mpi.h>
#include <starpu.h>
#include <starpu_mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int b;
#define PTR(k) ((double *)STARPU_VECTOR_GET_PTR(buffers[k]))

static void potrf(void *buffers[], void *arg) {
	double *a = PTR(0);
	(void)arg;
	for (int j = 0; j < b; j++) {
		for (int k = 0; k < j; k++)
			for (int i = j; i < b; i++) a[i * b + j] -= a[i * b + k] * a[j * b + k];
		double d = sqrt(a[j * b + j]);
		for (int i = j; i < b; i++) a[i * b + j] /= d;
	}
}

static void trsm(void *buffers[], void *arg) {
	double *d = PTR(0), *x = PTR(1);
	(void)arg;
	for (int i = 0; i < b; i++)
		for (int j = 0; j < b; j++) {
			double v = x[i * b + j];
			for (int k = 0; k < j; k++) v -= x[i * b + k] * d[j * b + k];
			x[i * b + j] = v / d[j * b + j];
		}
}

static void gemm(void *buffers[], void *arg) {
	double *x = PTR(0), *y = PTR(1), *z = PTR(2);
	(void)arg;
	for (int i = 0; i < b; i++)
		for (int j = 0; j < b; j++) {
			double v = z[i * b + j];
			for (int k = 0; k < b; k++) v -= x[i * b + k] * y[j * b + k];
			z[i * b + j] = v;
		}
}

static struct starpu_codelet potrfs = {.cpu_funcs = {potrf}, .nbuffers = 1, .modes = {STARPU_RW}},
	trsms = {.cpu_funcs = {trsm}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}},
	gemms = {.cpu_funcs = {gemm}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}};

int main(int argc, char **argv) {
	int n = atoi(argv[1]), rank, ranks, given, p = 1;
	b = atoi(argv[2]);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &given);
	if (starpu_init(NULL) != 0) return 77;
	starpu_mpi_init(&argc, &argv, 0);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int d = 2; d * d <= ranks; d++) if (ranks % d == 0) p = d;
	int q = ranks / p, nt = n / b;
	starpu_data_handle_t *h = calloc(nt * nt, sizeof *h);
	for (int i = 0; i < nt; i++)
		for (int j = 0; j <= i; j++) {
			int owner = i % p * q + j % q;
			double *a = NULL;
			if (owner == rank) {
				starpu_malloc((void **)&a, sizeof *a * b * b);
				for (int r = 0; r < b; r++)
					for (int c = 0; c < b; c++) a[r * b + c] = 1.0 / (1 + abs(i * b + r - j * b - c)) + (i == j && r == c ? n : 0);
			}
			starpu_vector_data_register(&h[i * nt + j], a ? STARPU_MAIN_RAM : -1, (uintptr_t)a, b * b, sizeof *a);
			starpu_mpi_data_register(h[i * nt + j], i * nt + j, owner);
		}
	starpu_mpi_barrier(MPI_COMM_WORLD);
	double began = MPI_Wtime();
	for (int k = 0; k < nt; k++) {
		starpu_mpi_task_insert(MPI_COMM_WORLD, &potrfs, STARPU_PRIORITY, 3 * (nt - k), STARPU_RW, h[k * nt + k], 0);
		for (int i = k + 1; i < nt; i++)
			starpu_mpi_task_insert(MPI_COMM_WORLD, &trsms, STARPU_PRIORITY, 3 * (nt - k) - 1, STARPU_R, h[k * nt + k], STARPU_RW, h[i * nt + k], 0);
		for (int i = k + 1; i < nt; i++)
			for (int j = k + 1; j <= i; j++)
				starpu_mpi_task_insert(MPI_COMM_WORLD, &gemms, STARPU_PRIORITY, 3 * (nt - j) - 2, STARPU_R, h[i * nt + k], STARPU_R, h[j * nt + k], STARPU_RW, h[i * nt + j], 0);
	}
	starpu_task_wait_for_all();
	starpu_mpi_barrier(MPI_COMM_WORLD);
	if (rank == 0) printf("seconds %.6f\n", MPI_Wtime() - began);
	for (int k = 0; k < nt * nt; k++) if (h[k]) starpu_data_unregister(h[k]);
	starpu_mpi_shutdown();
	starpu_shutdown();
	MPI_Finalize();
	return 0;
}
