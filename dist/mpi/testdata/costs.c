// What the calls of package mpi cost in C: the same loops as program "costs" of programs_test.go.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double best_of(int rounds, int repeat, void (*f)(int, void *), void *arg) {
	double best = 1e30;
	for (int k = 0; k < repeat; k++) {
		MPI_Barrier(MPI_COMM_WORLD);
		double began = MPI_Wtime();
		f(rounds, arg);
		double took = (MPI_Wtime() - began) / rounds;
		if (took < best) best = took;
	}
	return best;
}

static void probes(int n, void *arg) {
	(void)arg;
	for (int i = 0; i < n; i++) {
		int come;
		MPI_Status s;
		MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &come, &s);
	}
}

struct message { char *data; int size, rank; };

static void pings(int n, void *arg) {
	struct message *m = arg;
	MPI_Status s;
	for (int i = 0; i < n; i++) {
		if (m->rank == 0) {
			MPI_Send(m->data, m->size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(m->data, m->size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &s);
		} else {
			MPI_Recv(m->data, m->size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &s);
			MPI_Send(m->data, m->size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
		}
	}
}

int main(int argc, char **argv) {
	struct message m;
	int sizes[] = {8, 65536, 16 << 20}, rounds[] = {5000, 1000, 6}, given;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
	MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
	double probe = best_of(50000, 3, probes, NULL);
	if (m.rank == 0) printf("probe %.0f\n", probe * 1e9);
	for (int i = 0; i < 3 && getenv("GOMPSS_SOAK"); i++) {
		m.size = sizes[i];
		m.data = malloc(m.size);
		memset(m.data, 1, m.size);
		double t = best_of(rounds[i], 5, pings, &m) / 2;
		if (m.rank == 0) printf("%d %.0f\n", m.size, t * 1e9);
		free(m.data);
	}
	MPI_Finalize();
	return 0;
}
