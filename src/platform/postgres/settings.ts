/** Server settings by their PostgreSQL names; they win over ours. */
export type ServerSettings = Readonly<Record<string, string | number>>

/**
 * For tests that are not about durability: several times faster, and worthless after a power cut.
 * Never the default: an acknowledged write must survive anything.
 */
export const NOT_DURABLE: ServerSettings = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }

/** Sized for a small machine (2 cores, 1-2 GB) that runs the service beside the database. */
export const DEFAULTS: ServerSettings = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  max_connections: 87,
  shared_buffers: '128MB',
  effective_cache_size: '1GB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  // A larger log makes bulk runs cheaper, but after a kill of the server itself all of it may have to be replayed.
  max_wal_size: '2GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '15min',
  wal_level: 'replica',
  max_wal_senders: 4,
  // No compression of the log: this build has no lz4, and pglz costs more than the disk it saves.
  wal_compression: 'off',
  random_page_cost: 1.1,
  jit: 'off',
  // Parallel plans share memory through /dev/shm, of which a container has 64 MB; with two cores they win little.
  max_parallel_workers_per_gather: 0,
  max_parallel_maintenance_workers: 0,
  timezone: 'UTC',
  log_timezone: 'UTC',
  // The SQLSTATE, by which lines that an operator has to see differ from those that any refusal leaves.
  log_line_prefix: '%e ',
  // Statements and details hold customers' data; neither belongs in a log.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_min_messages: 'warning',
}

/** Returns the `-c name=value` arguments of the server. `folder` is where data and socket are, as the server shall name it. */
export function serverArguments(folder: string, settings: ServerSettings = {}): string[] {
  const fixed = { listen_addresses: '', port: 5432, unix_socket_directories: folder, unix_socket_permissions: '0700' }
  const all = { ...DEFAULTS, ...settings, ...fixed }
  return ['-D', folder, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}
