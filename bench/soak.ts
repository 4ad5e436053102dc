import { setTimeout as delay } from 'node:timers/promises'
import { addPackage, newAccount } from './measure/accounts.ts'
import { bundled, run } from './measure/children.ts'
import { dataFolder } from './measure/database.ts'
import { median, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { FLAT_RULE, flatness } from './measure/memory.ts'
import { PatientClient, Tally } from './measure/patient-client.ts'
import { type Service, startService, verify } from './measure/service.ts'
import { newShop, prepareFiles } from './neighbours.ts'
import type { AttackName, HostileReport, HostileSettings } from './subject/hostile.ts'
import { type Firm, keepTime, openFirm, trade } from './trade.ts'

/** Good and hostile callers together for a long time: every answer is right, memory stays flat, and the books verify. */

const ATTACKS: readonly AttackName[] = [
  ...(['reports', 'documents', 'half', 'clocks', 'contacts', 'lists', 'bodies', 'keys', 'pages', 'floods'] as const),
  ...(['bankFiles', 'exports'] as const),
]
const CALLERS_A_FIRM = 3
const DAILY = 20
/** How long after one move of a firm's clock the next follows. */
const DAY_MS = 2_000

/** Opens accounts of good callers: so many with a clock of their own, and as many on real time. */
export async function openFirms(
  service: Pick<Service, 'connection'>,
  given: { each: number; tally: Tally; address: () => string | Promise<string>; mayBreak: boolean },
): Promise<Firm[]> {
  const modes = (['test', 'live'] as const).flatMap((mode) => Array.from({ length: given.each }, () => mode))
  const firms = await Promise.all(
    modes.map(async (mode) => {
      const authorization = await newAccount(service.connection, mode)
      return openFirm(new PatientClient({ ...given, authorization }), mode === 'test')
    }),
  )
  const customers = await Promise.all(
    firms.map(({ client }) => client.add<{ customerID: number }>('/v1/customers', { Name: 'First', isCompany: true })),
  )
  firms.forEach((firm, place) => (firm.stranger = customers[(place + 1) % firms.length]?.customerID ?? 0))
  return firms
}

/** Starts the callers of all firms; settles when the last of them is through after `isOver`. */
export const tradeAll = (firms: readonly Firm[], name: string, isOver: () => boolean): Promise<unknown> =>
  Promise.all(
    firms.flatMap((firm) => [
      ...Array.from({ length: CALLERS_A_FIRM }, (_, caller) => trade(firm, `${name} ${caller}`, isOver)),
      keepTime(firm, isOver, () => delay(DAY_MS)),
    ]),
  )

/** The hostile account: one customer with a statement of many movements, all of them billed by days that went by; and others with clocks. */
export async function openHostile(service: Service, { isSmoke }: { isSmoke: boolean }): Promise<HostileSettings> {
  const { days, shops, callers } = isSmoke ? { days: 3, shops: 2, callers: 1 } : { days: 400, shops: 8, callers: 6 }
  const { port, authorization } = service
  const hostile = { port, authorization }
  const client = new PatientClient({
    authorization,
    tally: new Tally(),
    address: () => `http://127.0.0.1:${port}`,
    mayBreak: false,
  })
  const { Now } = await client.read<{ Now: string }>('/v1/clock')
  const { packageID } = await addPackage(client.add.bind(client), 1, 'days')
  const customer = { Name: 'Acme', isCompany: true, CurrencyCode: 'USD', autoSendInvoice: false }
  const { customerID } = await client.add<{ customerID: number }>('/v1/customers', customer)
  for (let count = 0; count < DAILY; count += 1) await client.add('/v1/subscriptions', { customerID, packageID })
  const later = new Date(Date.parse(Now) + days * 86_400_000).toISOString()
  await client.ask({ method: 'PUT', path: '/v1/clock', body: { Now: later }, status: 200 })
  const open: HostileSettings['shops'][number][] = []
  for (let count = 0; count < shops; count += 1) open.push(await newShop(service))
  // An invoice to which much is applied is written past the rules in the other bench, where no books have to verify: not asked for here.
  const longInvoice = 0
  return {
    longInvoice,
    ...{ attacks: ATTACKS, hostile, shops: open, contactOf: customerID, statementOf: customerID },
    ...{ callers, firstDay: 1, gatewayOf: await prepareFiles(hostile) },
  }
}

/** Figures of a part of the soak, in MB. */
interface Part {
  resident: number
  /** The least at any look: what stays when neither a document is drawn nor garbage waits for its collector. */
  leastResident: number
  /** Least in use of each thread: as much as the collector of garbage leaves. */
  main: number
  drawing: number
}

const MB = 2 ** 20
const PARTS_MIN = 4

/** Looks at memory while time goes by: a part is a minute, or less in a short soak. */
async function watchMemory(service: Service, minutes: number): Promise<Part[]> {
  const parts: Part[] = []
  const count = Math.max(PARTS_MIN, Math.round(minutes))
  const partMs = (minutes * 60_000) / count
  await service.leastInUse()
  for (let part = 0; part < count; part += 1) {
    const resident: number[] = []
    for (const until = performance.now() + partMs; performance.now() < until;) {
      await delay(Math.min(500, partMs / 5))
      resident.push(service.memory())
    }
    const { main = Number.NaN, drawing = Number.NaN } = await service.leastInUse()
    parts.push({
      ...{ resident: median(resident), leastResident: Math.min(...resident) },
      ...{ main: main / MB, drawing: drawing / MB },
    })
    const { resident: now, main: least } = parts.at(-1) as Part
    process.stderr.write(`part ${part + 1} of ${count}: ${now.toFixed(0)} MB resident, ${least.toFixed(0)} MB in use\n`)
  }
  return parts
}

/** Requests by status of 5xx, as the service itself counts them: also those whose caller had gone. */
async function serverErrors(port: number): Promise<{ unreasoned: number; unavailable: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const counts = [...text.matchAll(/^perennial_requests_total\{.*status="(5\d\d)"\} (\d+)/gm)]
  const sum = (isOf: (status: string) => boolean) =>
    counts.filter(([, status = '']) => isOf(status)).reduce((all, [, , count]) => all + Number(count), 0)
  return { unreasoned: sum((status) => status !== '503'), unavailable: sum((status) => status === '503') }
}

function flatVerdict(what: string, figures: readonly number[]): Verdict {
  const { isFlat, first, second } = flatness(figures.filter((figure) => !Number.isNaN(figure)))
  const reached = `first half ${first.toFixed(1)} MB, second half ${second.toFixed(1)} MB`
  return { goal: `${what} flat (${FLAT_RULE})`, reached, isMet: isFlat }
}

/** Lets good and hostile callers work together for so many minutes, and judges what became of it. */
export async function benchSoak({ minutes, isSmoke }: { minutes: number; isSmoke: boolean }): Promise<void> {
  const folder = dataFolder()
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test', LOG_LEVEL: 'error' }, folder.path)
  const tally = new Tally()
  try {
    await tellMachine(service.connection)
    const address = () => `http://127.0.0.1:${service.port}`
    const firms = await openFirms(service, { each: isSmoke ? 1 : 2, tally, address, mayBreak: false })
    const settings = await openHostile(service, { isSmoke })
    const hostile = run<object>(await bundled('subject/hostile.ts'), settings)
    await hostile.said
    let isOver = false
    const trading = tradeAll(firms, 'soak', () => isOver)
    const parts = await watchMemory(service, minutes)
    isOver = true
    hostile.process.send('stop')
    await trading
    const report = (await hostile.last) as HostileReport
    const errors = await serverErrors(service.port)
    tellParts(parts, minutes)
    tell(
      `good callers: ${tally.answers} right answers, asked to wait: ${JSON.stringify(Object.fromEntries(tally.waits))}`,
    )
    tell(
      `hostile callers, by status: ${JSON.stringify(report.statuses)}; 503 of the service in all: ${errors.unavailable}`,
    )
    const books = await verify(folder.path)
    tell(books.out)
    const wrong = [...tally.wrong, ...report.wrong]
    for (const line of wrong.slice(0, 20)) tell(line)
    tellVerdicts(
      [
        {
          goal: '0 answers of 5xx but 503 with a code and Retry-After',
          reached: `${report.wrong.length} seen by hostile callers, ${errors.unreasoned} counted by the service`,
          isMet: report.wrong.length === 0 && errors.unreasoned === 0,
        },
        { goal: '0 wrong answers to good callers', reached: `${tally.wrong.length}`, isMet: tally.wrong.length === 0 },
        flatVerdict(
          'resident memory',
          parts.map(({ resident }) => resident),
        ),
        flatVerdict(
          'memory in use of the event loop',
          parts.map(({ main }) => main),
        ),
        flatVerdict(
          'memory in use of the thread that draws',
          parts.map(({ drawing }) => drawing),
        ),
        { goal: 'the books verify', reached: books.isClean ? '0 differences' : 'differences', isMet: books.isClean },
      ],
      { isSmoke },
    )
    // However short, a wrong answer is wrong.
    if (wrong.length > 0 || errors.unreasoned > 0 || !books.isClean) process.exitCode = 1
  } finally {
    await service.stop()
    folder.remove()
  }
}

function tellParts(parts: readonly Part[], minutes: number): void {
  tellTable(
    ['to minute', 'resident, MB (median)', 'least', 'least in use: event loop', 'thread that draws'],
    parts.map(({ resident, leastResident, main, drawing }, part) => [
      (((part + 1) * minutes) / parts.length).toFixed(parts.length > minutes ? 2 : 0),
      ...[resident, leastResident, main, drawing].map((figure) => figure.toFixed(1)),
    ]),
  )
}
