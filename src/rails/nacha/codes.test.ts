import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { classOfCode } from '../../engine/collection/reasons.ts'
import { correctionOf, isBetweenBanks, isWithoutFunds } from './codes.ts'

test.each([
  ['C01', ' 1918171614 ', { account: '1918171614' }],
  ['C01', '61 002', { account: '61002' }],
  ['C03', '081000210 61 002', { routing: '081000210', account: '61002' }],
  ['C02', '081000210', { routing: '081000210' }],
  ['C03', '0810002101918171614', { routing: '081000210', account: '1918171614' }],
  ['C05', '37', { isSavings: true }],
  ['C05', '27', { isSavings: false }],
  ['C06', '191817161422', { account: '1918171614', isSavings: false }],
  ['C07', '081000210191817161432', { routing: '081000210', account: '1918171614', isSavings: true }],
  // No account, one that does not check, one of neither checking nor savings, and what corrects something else.
  ['C01', '', undefined],
  ['C02', '081000211', undefined],
  ['C03', '081000210', undefined],
  ['C06', '37', undefined],
  ['C05', '52', undefined],
  ['C04', 'ADA', undefined],
  ['C13', '', undefined],
  ['C61', '', undefined],
  ['R01', '', undefined],
])('%s of %j corrects %j', (code, corrected, correction) => {
  expect(correctionOf(code, corrected)).toEqual(correction)
})

test.skipIf(!hasFixtures)(
  'codes are of the classes of the table, and changes as it has them (needs ../shared/fixtures)',
  () => {
    const path = fileURLToPath(new URL('../../../../shared/fixtures/gateways/nacha/codes.json', import.meta.url))
    const { returns, changes } = JSON.parse(readFileSync(path, 'utf8')) as {
      returns: { code: string; class: string; mayRepresent: boolean; kind: string }[]
      changes: { code: string; changes: string[] }[]
    }
    for (const { code, class: declineClass, mayRepresent, kind } of returns) {
      expect([code, classOfCode(code), classOfCode(code, true)]).toEqual([code, declineClass, declineClass])
      expect([code, isWithoutFunds(code)]).toEqual([code, mayRepresent])
      expect([code, isBetweenBanks(code)]).toEqual([code, kind !== 'return' || code === 'R90'])
    }
    const OURS = new Set(['account', 'routing', 'transactionCode'])
    const data: Record<string, string> = {
      C02: '081000210',
      C05: '27',
      C06: '127',
      C07: '081000210127',
      C03: '0810002101',
    }
    for (const { code, changes: parts } of changes) {
      const isOurs = parts.length > 0 && parts.every((part) => OURS.has(part))
      expect([code, correctionOf(code, data[code] ?? '1') !== undefined]).toEqual([code, isOurs])
    }
  },
)
