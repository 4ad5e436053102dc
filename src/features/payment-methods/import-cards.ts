import { backgroundContext, momentOf, type RequestContext } from '../../kernel/context.ts'
import { assert } from '../../kernel/assert.ts'
import { Fault, invalid, Problems } from '../../kernel/fault.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { refuseStrayNumbers } from '../../platform/http/stray-numbers.ts'
import { parseJson } from '../../platform/wire/json.ts'
import { REFUSED } from '../../platform/wire/read.ts'
import { findCustomerIdByReference } from '../customers/queries.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import type { Gateway } from '../gateways/queries.ts'
import { keyNotAccepted } from '../gateways/rules.ts'
import type { OnMethodChanged } from './actions.ts'
import { bringCard, type FoundCard, findBrought, tokenOfAnother } from './brought-cards.ts'
import type { CardRow } from './card-file.ts'
import { type GatewayTokenBody, GatewayTokenIn } from './wire.ts'

/** Cards of a file, brought by their tokens one after the other (§36). A file can be brought again: what is there already stays as it is. */

/** Result of a line. `stored` and `already` have the method; of a dry run `stored` has none. */
export type ImportedLine = { line: number } & (
  | { kind: 'stored' | 'already'; paymentMethodId: Id | null }
  | { kind: 'error'; code: string; message: string }
)

export interface ImportDeps extends GatewayDeps {
  db: Database
  onMethodChanged: OnMethodChanged
}

interface Import {
  account: RequestContext['account']
  gateway: Gateway
  /** The gateway is asked, and nothing is written. */
  isDryRun: boolean
  now: () => number
}

/** Lines whose cards are asked about at a time; they are written in the order of the file. */
const AT_ONCE = 16

type Asked = { line: number } & ({ fault: Fault } | { body: GatewayTokenBody; found: Promise<FoundCard> })

/** Brings the cards of a file, and yields what became of each line, in their order. Throws where the gateway does not accept its key: nothing more can be brought. */
export async function* importCards(
  deps: ImportDeps,
  about: Import,
  rows: AsyncIterable<CardRow>,
): AsyncGenerator<ImportedLine> {
  const context = () => backgroundContext(about.account, momentOf(about.account, about.now), { actor: 'command line' })
  const seen: Seen = new Map()
  const asked: Asked[] = []
  const next = () => finish(deps, about, context(), asked.shift() as Asked, seen)
  for await (const row of rows) {
    asked.push(await ask(deps, about, context(), row))
    if (asked.length >= AT_ONCE) yield await next()
  }
  while (asked.length > 0) yield await next()
}

async function ask(
  deps: ImportDeps,
  { account, gateway }: Import,
  context: RequestContext,
  { line, cells }: CardRow,
): Promise<Asked> {
  try {
    const { customerID, Reference, isPrimary, ...texts } = cells
    const customerId =
      Reference === undefined
        ? idIn(customerID)
        : await findCustomerIdByReference(deps.db.reader(account.id), account.id, Reference)
    if (Reference !== undefined && customerId === undefined)
      throw invalid('customer_unknown', 'This account has no customer of this Reference.', 'Reference')
    const body = read(context, {
      ...texts,
      ...(isPrimary !== undefined && { isPrimary: flagIn(isPrimary) }),
      ...(customerId !== undefined && { customerID: Number(customerId) }),
      gatewayID: Number(gateway.id),
    })
    const found = findBrought(deps, context, gateway, body)
    // Who waits for it may come to it later.
    found.catch(() => {})
    return { line, body, found }
  } catch (error) {
    if (error instanceof Fault) return { line, fault: error }
    throw error
  }
}

/** Reads the identifier of a customer; undefined where none stands there. Throws where something else does. */
function idIn(text: string | undefined): CustomerId | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,14}$/.test(text)) throw invalid('wrong_type', 'customerID must be a whole number.', 'customerID')
  return BigInt(text)
}

function flagIn(text: string): boolean {
  const word = text.toLowerCase()
  if (word !== 'true' && word !== 'false') throw invalid('wrong_type', 'isPrimary must be true or false.', 'isPrimary')
  return word === 'true'
}

/** Reads a line as the body of the request that brings one card. */
function read(
  { account: { timeZone } }: RequestContext,
  given: Readonly<Record<string, string | number | boolean>>,
): GatewayTokenBody {
  const line = parseJson(JSON.stringify(given))
  assert(line !== undefined, 'what was just written is JSON')
  refuseStrayNumbers(line, null)
  const problems = new Problems()
  const body = GatewayTokenIn.read(line, '', { problems, timeZone, isStrict: true, isSecret: true })
  problems.throwIfAny()
  if (body === REFUSED) throw invalid('invalid', 'The line cannot be read.')
  return body
}

/** Cards that a dry run would have stored, and whose they would be. */
type Seen = Map<string, CustomerId>

/** Ends a transaction whose writes are not meant to stay. */
class NotKept extends Error {
  readonly result: ImportedLine
  constructor(result: ImportedLine) {
    super('a dry run writes nothing')
    this.result = result
  }
}

async function finish(
  deps: ImportDeps,
  { account, gateway, isDryRun }: Import,
  context: RequestContext,
  asked: Asked,
  seen: Seen,
): Promise<ImportedLine> {
  const { line } = asked
  if ('fault' in asked) return refusedLine(line, asked.fault)
  const found = await asked.found
  if (found.kind === 'not_sent' && found.refused?.by === 'key')
    throw keyNotAccepted({ ...gateway, keyState: 'refused' })
  const write = async (tx: Transaction): Promise<ImportedLine> => {
    const { customerID } = asked.body
    const brought = await bringCard(tx, context, asked.body, gateway, found, deps)
    if (brought instanceof Fault) return refusedLine(line, brought)
    const { isNew, method } = brought
    if (!isDryRun || !isNew || (found.kind !== 'stored' && found.kind !== 'account'))
      return { line, kind: isNew ? 'stored' : 'already', paymentMethodId: method.id }
    const earlier = seen.get(found.token) ?? null
    if (earlier !== null && earlier !== customerID) return refusedLine(line, tokenOfAnother())
    seen.set(found.token, customerID)
    return { line, kind: earlier === null ? 'stored' : 'already', paymentMethodId: null }
  }
  if (!isDryRun) return deps.db.transaction(account.id, write)
  return deps.db
    .transaction(account.id, async (tx): Promise<ImportedLine> => {
      throw new NotKept(await write(tx))
    })
    .catch((error: unknown) => {
      if (error instanceof NotKept) return error.result
      throw error
    })
}

const refusedLine = (line: number, { problems: [first] }: Fault): ImportedLine => ({
  line,
  kind: 'error',
  code: first?.code ?? 'invalid',
  message: first?.message ?? 'The line cannot be brought.',
})
