import type { NewExport } from './queries.ts'

export type WantedExport = Pick<NewExport, 'format' | 'from' | 'to' | 'currency' | 'isLock'>
