// Each team counts in its own memory and then adds what it has found. A slice is two arguments: the
// memory of its buffer, and where in that it begins, in bytes. The team memory of shmem comes last.
kernel void CountOpenCL(long n, global const uchar *data, long data_at, global uint *counts, long counts_at,
	local volatile uint *found)
{
	data += data_at;
	counts = (global uint *)((global char *)counts + counts_at);
	for (size_t b = get_local_id(0); b < 256; b += get_local_size(0))
		found[b] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (long i = get_global_id(0); i < n; i += get_global_size(0))
		atomic_inc(&found[data[i]]);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (size_t b = get_local_id(0); b < 256; b += get_local_size(0)) {
		if (found[b] > 0)
			atomic_add(&counts[b], found[b]);
	}
}
