import type { RequestContext } from '../../kernel/context.ts'
import { Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { Visitor } from '../../platform/http/pages.ts'
import { languageOf } from '../../platform/locale/format.ts'
import { plainName } from '../../platform/page/html.ts'
import { REFUSED } from '../../platform/wire/read.ts'
import { linkSigned, type OnMethodChanged } from '../payment-methods/actions.ts'
import { mandateState, mandateReference } from '../payment-methods/emandate.ts'
import { lockMethod } from '../payment-methods/queries.ts'
import { addEvidence, openMandateNumber } from './actions.ts'
import { mandateHash, sha256 } from './evidence.ts'
import { queueCopyMail } from './copy-mail.ts'
import { announceSigned, endMandate, findMandate, listEvidence, lockMandate, updateSigned } from './queries.ts'
import { recordMandate } from './record.ts'
import { mandateText } from './terms-text.ts'
import { SigneeIn, signeeFromWire } from './wire.ts'
import type { Evidence, Mandate, MandateDeps, Signee } from './types.ts'

/** Signing: what a signee sends is checked, and one of several at once counts. */

export interface SigningDeps extends MandateDeps {
  db: Database
  onMethodChanged: OnMethodChanged
}

/** Names of the basics in a form, by the properties of a signee. */
export const BASICS = {
  name: 'Name',
  lastName: 'Lastname',
  company: 'Company',
  tradingAs: 'TradingAs',
  tel: 'Tel',
  email: 'Email',
  address1: 'Address1',
  address2: 'Address2',
  postalCode: 'PostalCode',
  city: 'City',
  state: 'State',
  country: 'CountryISOCode',
} as const satisfies Record<keyof Signee, string>

export const DRAWING_MAX = 20_000
const DRAWING = /^(?:M\d{1,3} \d{1,3}(?:L\d{1,3} \d{1,3})+)+$/
const PAPER = { width: 600, height: 200 }
/** A drawing is wider or higher than this: a dot is no signature. */
const EXTENT_MIN = 10

/** Returns whether a text is strokes of a pen on the paper: lines from point to point, and nothing else of a path. */
export function isDrawing(path: string): boolean {
  if (path.length > DRAWING_MAX || !DRAWING.test(path)) return false
  const numbers = (path.match(/\d+/g) ?? []).map(Number)
  const extent = (axis: 0 | 1, max: number) => {
    const along = numbers.filter((_, index) => index % 2 === axis)
    const [from, to] = [Math.min(...along), Math.max(...along)]
    return to > max ? undefined : to - from
  }
  const [width, height] = [extent(0, PAPER.width), extent(1, PAPER.height)]
  return width !== undefined && height !== undefined && Math.max(width, height) >= EXTENT_MIN
}

export interface Signature {
  typed: string
  drawing: string
}

export interface SentSignature extends Signature {
  hasConsent: boolean
  signee: Signee
  /** SHA-256 of the terms that the page showed. */
  shown: string
}

export type Complaint = 'consent' | 'signature' | 'drawing' | keyof typeof BASICS

/** Returns the SHA-256 of the words that a page shows of a mandate. */
export const hashOfTerms = (mandate: Mandate, number: string, locale: string): string =>
  sha256(JSON.stringify(mandateText(mandate, number, locale)))

/** Reads the basics that a signee may correct, and notes which of them are wrong. */
export function readSignee(
  { signee, isCustomerEditable, isCompanySignee }: Mandate,
  values: ReadonlyMap<string, string>,
  timeZone: string,
): { signee: Signee; complaints: Complaint[] } {
  if (!isCustomerEditable) return { signee, complaints: [] }
  const names = Object.entries(BASICS) as [keyof Signee, string][]
  const sent = Object.fromEntries(names.map(([key, name]) => [name, values.get(name) ?? signee[key]]))
  const problems = new Problems()
  const read = SigneeIn.read(sent, '', { problems, timeZone, isStrict: false, isSecret: true })
  const complaints = names
    .filter(([, name]) => problems.found.some(({ field }) => field === name))
    .map(([key]) => key as Complaint)
  // What was entered is shown again, right or wrong.
  if (read === REFUSED || complaints.length > 0) {
    const entered = Object.fromEntries(names.map(([key, name]) => [key, sent[name] ?? null]))
    return { signee: { ...signee, ...entered }, complaints }
  }
  const edited = signeeFromWire(read)
  return {
    signee: isCompanySignee ? edited : { ...edited, company: signee.company, tradingAs: signee.tradingAs },
    complaints,
  }
}

/** Returns what is missing or wrong in a signature. */
export function complaintsOf({ hasConsent, typed, drawing }: SentSignature): Complaint[] {
  return [
    ...(plainName(typed) === '' && drawing === '' ? (['signature'] as const) : []),
    ...(drawing !== '' && !isDrawing(drawing) ? (['drawing'] as const) : []),
    ...(hasConsent ? [] : (['consent'] as const)),
  ]
}

/** Outcome of a signature: another was first, or what was shown is not what there is now. */
export type SigningOutcome = 'signed' | 'not open' | 'changed'

const evidenceOf = (
  { deps, context, visitor, locale }: Signing,
  mandate: Mandate,
  sent: SentSignature,
  signed: Mandate,
) => {
  const number = openMandateNumber(deps.envelope, context.account.id, mandate)
  const edited = (Object.keys(BASICS) as (keyof Signee)[]).filter((key) => mandate.signee[key] !== sent.signee[key])
  return {
    reference: mandateReference(mandate),
    channel: mandate.channel,
    clock: context.moment.now,
    address: visitor.address,
    agent: visitor.agent,
    languages: visitor.languages,
    locale,
    shown: sent.shown,
    signedTerms: hashOfTerms(signed, number, locale),
    signedRecord: mandateHash(signed),
    consent: mandateText(mandate, '', locale).consent,
    typed: sent.typed,
    drawing: sent.drawing,
    edited: Object.fromEntries(edited.map((key) => [key, [mandate.signee[key], sent.signee[key]]])),
  }
}

/** Signature under way: who signs, from where and in which language. */
export interface Signing {
  deps: SigningDeps
  context: RequestContext
  visitor: Visitor
  locale: string
}

/** Signs an open mandate, and links it to the method that it is for. Of two at once the first counts. */
export async function signMandate(signing: Signing, id: Id, sent: SentSignature): Promise<SigningOutcome> {
  const { deps, context, locale } = signing
  return deps.db.transaction(context.account.id, async (tx) => {
    const { method, mandate } = await lockBoth(tx, id)
    if (!mandate || mandateState(mandate, nowOf(signing)) !== 'open') return 'not open'
    const number = openMandateNumber(deps.envelope, tx.account, mandate)
    if (sent.shown !== hashOfTerms(mandate, number, languageOf(locale))) return 'changed'
    if (
      mandate.methodId !== null &&
      !(method?.numberHash?.equals(mandate.numberHash) && method.kind === mandate.kind)
    ) {
      await endMandate(tx, id, context.moment.now)
      return 'not open'
    }
    const signed = { ...mandate, signee: sent.signee, signedAt: context.moment.now }
    const written = { ...signing, locale: languageOf(locale) }
    await updateSigned(tx, id, sent.signee, context.moment.now, instantOf(deps.realClock()))
    await addEvidence(tx, deps, id, 'signed', evidenceOf(written, mandate, sent, signed))
    if (method) {
      const linked = await linkSigned(tx, context, method, { id, reference: mandateReference(mandate) })
      await deps.onMethodChanged(tx, context, linked)
    }
    await recordMandate(tx, context, deps, 'emandate.signed', signed)
    await queueCopyMail(tx, context, signed, { customerId: method?.customerId ?? null, locale })
    await announceSigned(tx)
    return 'signed'
  })
}

/** Locks a mandate after the method that it is linked to: methods are locked first everywhere. */
export async function lockBoth(tx: Transaction, id: Id) {
  const found = await findMandate(tx, tx.account, id)
  const method = found?.linkedMethodId == null ? undefined : await lockMethod(tx, tx.account, found.linkedMethodId)
  const mandate = await lockMandate(tx, tx.account, id)
  return { method, mandate }
}

export const nowOf = ({ deps, context }: Pick<Signing, 'deps' | 'context'>) => ({
  clock: context.moment.now,
  real: instantOf(deps.realClock()),
})

/** Notes who was shown an open mandate first. */
export async function noteOpened(signing: Omit<Signing, 'locale'>, id: Id): Promise<void> {
  const { deps, context, visitor } = signing
  const isNoted = (steps: readonly Evidence[]) => steps.some(({ kind }) => kind === 'opened')
  if (isNoted(await listEvidence(deps.db.reader(context.account.id), context.account.id, id))) return
  await deps.db.transaction(context.account.id, async (tx) => {
    const mandate = await lockMandate(tx, tx.account, id)
    if (!mandate || mandateState(mandate, nowOf(signing)) !== 'open') return
    if (isNoted(await listEvidence(tx, tx.account, id))) return
    const { address, agent, languages } = visitor
    await addEvidence(tx, deps, id, 'opened', { address, agent, languages })
  })
}

/** Notes that a signee would not sign; the mandate stays open until its time is over. */
export async function declineMandate(signing: Signing, id: Id): Promise<'declined' | 'not open'> {
  const { deps, context, visitor } = signing
  return deps.db.transaction(context.account.id, async (tx) => {
    const mandate = await lockMandate(tx, tx.account, id)
    if (!mandate || mandateState(mandate, nowOf(signing)) !== 'open') return 'not open'
    await addEvidence(tx, deps, id, 'declined', { address: visitor.address, agent: visitor.agent })
    await recordMandate(tx, context, deps, 'emandate.declined', mandate)
    return 'declined'
  })
}
