import { createSign, createPrivateKey } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { buildWhenStale } from '../bin/build-when-stale.js'
import { makeDrawing } from '../src/features/documents/draw.ts'
import { sampleMandate } from '../src/features/emandates/emandates.testing.ts'
import { makeSealKey, type SealKey } from '../src/platform/seal/certificate.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellHost } from './measure/machine.ts'
import { flatness } from './measure/memory.ts'
import { cpuOf, drawFloor } from './pdf.ts'

/**
 * Signed mandates drawn and sealed in the thread of the build, as the service does, beside the least that a sealed document costs: a page that says
 * one thing, and one signature of the same key over it.
 */

const GOAL_SECONDS = 60
const GOAL_DOCUMENTS = 1000
/** Looks at the memory of a turn. */
const LOOKS = 10

const ROOT = fileURLToPath(new URL('..', import.meta.url))

function sealFloor({ key }: SealKey): () => Buffer {
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  return () => createSign('sha256').update(drawFloor()).sign(privateKey)
}

export async function benchMandates({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  tellHost()
  if (!buildWhenStale(ROOT)) throw new Error('the program could not be built')
  const drawing = makeDrawing({ root: ROOT, threads: 1 })
  const key = await makeSealKey(new Date())
  const mandate = sampleMandate()
  const draw = () =>
    drawing.draw(1n, { kind: 'emandate', ...mandate, seal: { key, at: mandate.at, evidence: mandate.evidence } })
  const seal = sealFloor(key)
  const calls = isSmoke ? 5 : GOAL_DOCUMENTS
  await cpuOf(draw, Math.min(calls, 50))
  await cpuOf(seal, Math.min(calls, 50))
  const floor: number[] = []
  const subject: number[] = []
  const memory: number[] = []
  for (let time = 0; time < times; time += 1) {
    floor.push(await cpuOf(seal, calls))
    const parts: number[] = []
    for (let look = 0; look < Math.min(LOOKS, calls); look += 1) {
      parts.push(await cpuOf(draw, calls / Math.min(LOOKS, calls)))
      memory.push(process.memoryUsage.rss() / 1e6)
    }
    subject.push(parts.reduce((sum, part) => sum + part, 0) / parts.length)
  }
  const inMs = (seconds: readonly number[]) => spread(seconds.map((value) => value * 1000))
  tellTable(
    ['CPU a document, ms', '', 'KB'],
    [
      ['a signed mandate, drawn and sealed', inMs(subject), String(Math.round((await draw()).length / 1000))],
      [
        'floor: one page that says one thing, and a signature',
        inMs(floor),
        String(Math.round(drawFloor().length / 1000)),
      ],
    ],
  )
  tell(`a sealed mandate costs ${spread(ratioOf(subject, floor))} of the floor`)
  if (isNoisy(floor)) tell('Noisy: the floor moved more than twofold.')
  const seconds = median(subject) * GOAL_DOCUMENTS
  tellVerdicts(
    [
      {
        goal: `${GOAL_DOCUMENTS} sealed mandates: under ${GOAL_SECONDS} CPU-seconds`,
        reached: `${seconds.toFixed(1)} s`,
        isMet: seconds < GOAL_SECONDS,
      },
      { goal: 'flat memory', reached: `${Math.round(Math.max(...memory))} MB at most`, isMet: flatness(memory).isFlat },
    ],
    { isSmoke },
  )
  await drawing.close()
}
