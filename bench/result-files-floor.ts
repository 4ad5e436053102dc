import { SaxesParser } from 'saxes'
import { asOwner, settle } from './measure/database.ts'
import type { Service } from './measure/service.ts'

/** Floor of a bank file whose entries are listed: its bytes through the bare XML parser, and its rows written once more by one statement a table. */

const SLICE = 16 * 1024

/** Tables with the rows, indexes and checks that a file leaves, and none of its keys to other tables. */
const TABLES = [
  'create table floor_lines (like result_lines including all)',
  'create table floor_references (like bank_references including all)',
]

const ROWS = [
  'insert into floor_lines select * from result_lines where result_file_id = $1',
  'insert into floor_references select * from bank_references where result_file_id = $1',
]

/** CPU-seconds of the bare parser, and of PostgreSQL for the rows. */
export interface FileFloor {
  parser: number
  rows: number
}

/** Measures the floor of a file that was worked through. */
export async function floorOf(service: Service, text: string, fileId: number): Promise<FileFloor> {
  const parser = parseCpu(text)
  await settle(service.connection)
  const rows = await asOwner(service.connection, async (client) => {
    for (const statement of TABLES) await client.query(statement)
    const before = service.databaseCpu()
    for (const statement of ROWS) await client.query(statement, [fileId])
    const cpu = service.databaseCpu() - before
    // The service looks through its schema for tables that were never analyzed.
    await client.query('drop table floor_lines, floor_references')
    return cpu
  })
  return { parser, rows }
}

function parseCpu(text: string): number {
  const before = process.cpuUsage()
  const parser = new SaxesParser({ xmlns: true, position: false })
  parser.on('error', (error) => {
    throw error
  })
  for (let start = 0; start < text.length; start += SLICE) parser.write(text.slice(start, start + SLICE))
  parser.close()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}
