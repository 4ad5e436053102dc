import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Database } from './database/database.ts'

/** What /metrics tells: about the service, and nothing about an account. */
export interface Metrics {
  measured(operation: string, status: number, seconds: number): void
  /** A billing run has finished. */
  runFinished(invoices: number, failed: number, seconds: number): void
  text(): Promise<string>
}

export function makeMetrics(db: Database): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Counter({
    name: 'perennial_requests_total',
    help: 'Requests answered',
    labelNames: ['operation', 'status'],
    registers,
  })
  const latency = new Histogram({
    name: 'perennial_request_seconds',
    help: 'Time to answer',
    labelNames: ['operation'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  })
  const pool = new Gauge({
    name: 'perennial_database_connections',
    help: 'Database connections by state',
    labelNames: ['state'],
    registers,
  })
  const memory = new Gauge({ name: 'perennial_resident_bytes', help: 'Resident memory of this process', registers })
  const invoiced = new Counter({
    name: 'perennial_run_invoices_total',
    help: 'Invoices made by billing runs of this process',
    registers,
  })
  const failed = new Counter({
    name: 'perennial_run_failures_total',
    help: 'Records that billing runs of this process could not bill',
    registers,
  })
  const runSeconds = new Counter({
    name: 'perennial_run_seconds_total',
    help: 'Time spent in billing runs by this process',
    registers,
  })
  return {
    measured(operation, status, seconds) {
      requests.inc({ operation, status: String(status) })
      latency.observe({ operation }, seconds)
    },
    runFinished(invoices, failures, seconds) {
      invoiced.inc(invoices)
      failed.inc(failures)
      runSeconds.inc(seconds)
    },
    async text() {
      const { total, idle, waiting } = db.poolState()
      pool.set({ state: 'used' }, total - idle)
      pool.set({ state: 'idle' }, idle)
      pool.set({ state: 'waited_for' }, waiting)
      memory.set(process.memoryUsage.rss())
      return registry.metrics()
    },
  }
}
