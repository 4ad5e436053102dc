import { describe, expect, test } from 'vitest'
import { levelOf, reasonOfEnd } from './supervisor.ts'

describe('lines of the embedded database', () => {
  test.each([
    ['error', '53100 ERROR:  could not extend file "base/1/2": No space left on device'],
    ['error', 'XX001 ERROR:  invalid page in block 3 of relation base/1/2'],
    ['error', '58030 LOG:  could not write to log file: Input/output error'],
    ['error', '53300 FATAL:  sorry, too many clients already'],
    ['error', 'XX000 PANIC:  could not locate a valid checkpoint record'],
    ['error', '00000 LOG:  client backend (PID 17) was terminated by signal 9: Killed'],
    ['error', '25P03 FATAL:  terminating connection due to idle-in-transaction timeout'],
    ['error', 'FATAL:  could not access the server configuration file'],
    ['warn', '01000 WARNING:  archiving write-ahead log file failed too many times'],
  ])('are worth %s: %s', (level, line) => expect(levelOf(line)).toBe(level))

  test.each([
    '57014 ERROR:  canceling statement due to user request',
    '57P01 FATAL:  terminating connection due to administrator command',
    '08006 FATAL:  connection to client lost',
    '25P01 WARNING:  there is no transaction in progress',
    '57P03 FATAL:  the database system is starting up',
    '3D000 FATAL:  database "perennial" does not exist',
    '23505 ERROR:  duplicate key value violates unique constraint "customers_reference_key"',
    '00000 LOG:  checkpoint starting: time',
  ])('are what the service does itself, or what any refusal leaves: %s', (line) => expect(levelOf(line)).toBe('debug'))

  test('name the reason of its end, without the errors of callers', () => {
    const words = [
      '23505 ERROR:  invalid input syntax for type bigint: "somebody"',
      '53100 PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device',
      '57P01 FATAL:  terminating connection due to administrator command',
      '00000 LOG:  startup process (PID 9) was terminated by signal 6: Aborted',
    ].join('\n')
    expect(reasonOfEnd({ code: 1 }, words)).toBe(
      'ended with exit code 1; PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device; LOG:  startup process (PID 9) was terminated by signal 6: Aborted',
    )
    expect(reasonOfEnd({ code: null }, '')).toBe('its guard was killed')
  })

  test('name the signal that killed it, and nothing that was written before', () => {
    const words = [
      '00000 LOG:  listening on Unix socket "./.s.PGSQL.5432"',
      '53300 FATAL:  sorry, too many clients already',
      '00000 LOG:  database system is ready to accept connections',
    ].join('\n')
    expect(reasonOfEnd({ code: 137 }, words)).toBe('killed by signal 9 (SIGKILL)')
    expect(reasonOfEnd({ code: 134 }, '')).toBe('killed by signal 6 (SIGABRT)')
    expect(reasonOfEnd({ code: 2 }, words.split('\n')[2]!)).toBe('ended with exit code 2')
  })
})
