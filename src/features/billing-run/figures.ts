import { dateIn, instantOf } from '../../kernel/zone.ts'
import type { Database } from '../../platform/database/database.ts'
import type { RealClock } from '../../kernel/context.ts'
import type { Figure } from '../../platform/metrics.ts'
import { listScheduleZones } from '../accounts/queries.ts'
import { dueTables, type OrderOfDay } from './due-kind.ts'
import { listFigures } from './figures-queries.ts'

/** Asks the database how much waits to be billed, scheduled and sent, and how far running work is. */
export async function readFigures(
  { unscoped }: Pick<Database, 'unscoped'>,
  realClock: RealClock,
  order: OrderOfDay,
): Promise<Figure[]> {
  const nowMs = realClock()
  const zones = (await listScheduleZones(unscoped)).map(({ timeZone }) => timeZone)
  const days = zones.map((zone) => dateIn(nowMs, zone))
  return listFigures(unscoped, zones, days, instantOf(nowMs), dueTables(order))
}
