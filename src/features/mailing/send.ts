import type { Logger } from 'pino'
import { REMINDER_KINDS } from '../../engine/collection/rules.ts'
import { backgroundContext, momentOf, type RealClock, type RequestContext } from '../../kernel/context.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { isOutage } from '../../platform/database/failures.ts'
import type { GoOn } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { takeUpEffects } from '../../platform/failover/queries.ts'
import { underWay } from '../../platform/failover/under-way.ts'
import type { Sending, SmtpLine } from '../../platform/smtp/connection.ts'
import { writeMessage } from '../../platform/smtp/message.ts'
import { type AccountSettings, getAccountSettings } from '../accounts/queries.ts'
import type { Drawing } from '../documents/draw.ts'
import { fullTexts, type MailSecrets, messageDomainOf, settleAttachment } from '../outbox/mail.ts'
import { recordMailEvent } from '../outbox/record.ts'
import {
  type ClaimedMail,
  claimMails,
  holdMails,
  holdQueuedMails,
  lockLostMails,
  type LostMail,
  type MailTry,
  markHandedOver,
  releaseMails,
  renewClaims,
} from '../outbox/sending-queries.ts'
import { reminderLink } from '../reminders/page.ts'
import { attachmentsOf, DocumentGone } from './attach.ts'
import { badAddressOf, forTest, headsInAscii, type MailSender, senderOf } from './compose.ts'
import { type Ended, finish } from './finish.ts'
import { FRESH_MS, mailVerdictOf, receiversOf, verdictOfLost } from './rules.ts'

/**
 * Sending: some mails of an account are claimed, each is written, offered to the mail server, and what came of it is kept. No transaction and no
 * connection to the database is held meanwhile, except for the moment before the body leaves, which is written down first.
 */

export interface MailingDeps extends MailSender {
  db: Database
  log: Logger
  realClock: RealClock
  drawing: Drawing
  /** Open and make what the mails that wait hide. */
  secrets: MailSecrets
  /** When this sender first could take mail: what was a day old then is held. In milliseconds of real time. */
  sinceMs: number
}

/** Claimed at a time: what a sender that dies leaves for the next. */
const PORTION = 10
/** Held, or found without a sender, in one transaction. */
const MANY = 500
/** After each mail while requests come: drawing, writing and sending one takes as long, and nobody waits for mail as for an answer. */
const REST_MS = 25
const RENEW_EVERY_MS = 10_000
const ACTOR = 'mail'
/** By which a mail that leaves is remembered across a failover, with its identifier. */
const EFFECT = 'mail'
const LEFT_BEFORE = 'it may have left before a failover that lost the record of that'

/** Progress of one portion of an account. */
export interface MailPortion {
  /** Something was claimed, held or found without a sender: there may be more. */
  hadMail: boolean
  /** The mail server could not be reached or sent us away: why. */
  away: string | null
}

/** Sends some mails of an account over a line. */
export async function sendPortion(
  deps: MailingDeps,
  line: SmtpLine,
  account: AccountId,
  goOn: GoOn,
): Promise<MailPortion> {
  const { settings, mails, hadMail } = await deps.db.transaction(account, (tx) => takePortion(deps, tx))
  const left = [...mails]
  const renew = () => void deps.db.transaction(account, (tx) => renewClaims(tx, left)).catch(() => {})
  const timer = setInterval(renew, RENEW_EVERY_MS)
  let away: string | null = null
  try {
    while (left[0] !== undefined && away === null) {
      goOn()
      const sending = await sendOne(deps, line, settings, left[0])
      left.shift()
      await deps.db.turns.leaveToRequests(REST_MS)
      if (sending?.outcome === 'away') away = sending.reason
    }
  } finally {
    clearInterval(timer)
    if (left.length > 0)
      await deps.db
        .transaction(account, (tx) => releaseMails(tx, left, instantOf(deps.realClock())))
        // Their claims lapse.
        .catch(() => {})
  }
  return { hadMail, away }
}

const referenceOf = ({ id }: Pick<ClaimedMail, 'id'>): string => String(id)

interface Taken {
  settings: AccountSettings
  mails: readonly ClaimedMail[]
  hadMail: boolean
}

async function takePortion(deps: MailingDeps, tx: Transaction): Promise<Taken> {
  const settings = await getAccountSettings(tx, tx.account)
  const context = contextOf(deps, settings)
  const nowMs = deps.realClock()
  const lost = await lockLostMails(tx, MANY)
  const lostNoted = await takeUpEffects(tx, EFFECT, lost.map(referenceOf))
  const end = (mail: Omit<LostMail, 'isHandedOver'>, reason: string, isHandedOver: boolean) =>
    finish(tx, context, mail, verdictOfLost({ ...mail, isHandedOver }, nowMs), { reason })
  for (const mail of lost)
    await (lostNoted.has(referenceOf(mail))
      ? end(mail, LEFT_BEFORE, true)
      : end(mail, 'its sender ended', mail.isHandedOver))
  if (settings.mode === 'test' && settings.testMailTo === null) {
    const held = await holdQueuedMails(tx, MANY)
    for (const mail of held) await recordMailEvent(tx, context, 'outbox_mail.held', mail)
    return { settings, mails: [], hadMail: lost.length + held.length > 0 }
  }
  const freshAfter = instantOf(deps.sinceMs - FRESH_MS)
  const domain = messageDomainOf(deps.from)
  const claimed = await claimMails(tx, { now: instantOf(nowMs), freshAfter, limit: PORTION, domain })
  const noted = await takeUpEffects(tx, EFFECT, claimed.map(referenceOf))
  const isNoted = (mail: ClaimedMail) => noted.has(referenceOf(mail))
  for (const mail of claimed.filter(isNoted)) await end(mail, LEFT_BEFORE, true)
  const unsent = claimed.filter((mail) => !isNoted(mail))
  const stale = unsent.filter(({ isStale }) => isStale)
  if (stale.length > 0) await holdMails(tx, stale)
  for (const mail of stale) await recordMailEvent(tx, context, 'outbox_mail.held', mail)
  return {
    settings,
    mails: unsent.filter(({ isStale }) => !isStale),
    hadMail: lost.length + claimed.length > 0,
  }
}

const contextOf = ({ realClock }: Pick<MailingDeps, 'realClock'>, settings: AccountSettings): RequestContext =>
  backgroundContext(settings, momentOf(settings, realClock), { actor: ACTOR, hasMailServer: true })

/** Sends one claimed mail and writes what came of it. Returns undefined where it was not offered to the server. */
async function sendOne(
  deps: MailingDeps,
  line: SmtpLine,
  settings: AccountSettings,
  mail: ClaimedMail,
): Promise<Sending | undefined> {
  const context = contextOf(deps, settings)
  const note = { account: String(settings.id), mail: String(mail.id) }
  const end = (ended: MailTry, about: Ended) =>
    deps.db.transaction(settings.id, (tx) => finish(tx, context, mail, ended, about))
  let written
  try {
    written = await write(deps, context, settings, mail)
  } catch (error) {
    if (isOutage(error)) throw error
    deps.log.warn({ ...note, err: errorFacts(error) }, 'a mail could not be written')
    const isFinal = error instanceof DocumentGone || error instanceof UnfitAddress
    await end(
      isFinal ? givenUp(mail) : verdictOf(deps, context, mail, { outcome: 'away', reply: null, reason: 'document' }),
      { reason: isFinal ? error.message : 'its PDF could not be drawn' },
    )
    return undefined
  }
  const { addressed, receivers, bytes, utf8Bytes, texts } = written
  const handOver = () => deps.db.transaction(settings.id, (tx) => markHandedOver(tx, mail))
  const sending = await underWay(
    deps.db.remember({ account: settings.id, operation: EFFECT, gatewayId: null, reference: referenceOf(mail) }),
    () => line.send({ from: deps.from, to: receivers, bytes, utf8Bytes, handOver }),
    ({ outcome }) => outcome === 'taken' || outcome === 'unknown',
  )
  if (sending.outcome === 'withheld') return undefined
  await end(verdictOf(deps, context, { ...mail, ...addressed }, sending), { reason: reasonOf(sending), texts })
  return sending
}

/** Returns why a mail was not taken, without what the server wrote: that may name the receiver, and an event outlives its mail. */
function reasonOf(sending: Exclude<Sending, { outcome: 'withheld' }>): string {
  if (sending.outcome === 'unknown') return `no answer came (${sending.reason})`
  if (sending.outcome === 'away') return `the mail server was away (${sending.reason})`
  const replies = [...sending.refused.map(({ reply }) => reply), sending.reply]
  return `refused with ${replies[0]?.code ?? 0}`
}

/** An address came into the outbox that must not stand in a header. */
class UnfitAddress extends Error {
  override name = 'UnfitAddress'
  override message = 'an address cannot stand in a header'
}

async function write(deps: MailingDeps, context: RequestContext, settings: AccountSettings, mail: ClaimedMail) {
  const found = await attachmentsOf({ db: deps.db.reader(settings.id), context, drawing: deps.drawing }, mail)
  const isApart = found === 'too large'
  const { text, html } = settleAttachment(mail, !isApart)
  const own = { ...mail, ...fullTexts(settings.id, { ...mail, text, html }, deps.secrets) }
  const { testMailTo } = settings
  const isTest = testMailTo !== null
  const addressed = isTest ? forTest(own, testMailTo) : own
  const receivers = isTest ? [testMailTo] : (mail.open ?? receiversOf(mail))
  const { from, replyTo } = senderOf(settings, deps)
  if (badAddressOf([...receivers, addressed.to, addressed.cc, from.address, replyTo]) !== null) throw new UnfitAddress()
  const heads = {
    from,
    // A mail to the account itself is not to be answered to itself.
    replyTo: mail.customerId === null ? null : replyTo,
    to: addressed.to,
    cc: addressed.cc,
  }
  const inAscii = headsInAscii(heads, deps)
  const rest = {
    subject: addressed.subject,
    text: addressed.text,
    html: addressed.html,
    messageId: mail.messageId,
    date: new Date(deps.realClock()),
    headers: { 'Auto-Submitted': 'auto-generated', ...stopHeaders(deps, settings.id, mail) },
    attachments: isApart ? [] : found,
  }
  const { to, cc } = addressed
  return {
    addressed: { to, cc, open: isTest ? null : mail.open },
    receivers,
    bytes: await writeMessage({ ...(inAscii ?? heads), ...rest }),
    utf8Bytes: inAscii && (await writeMessage({ ...heads, ...rest })),
    texts: textsToKeep(mail, isApart ? { text, html } : undefined),
  }
}

/** Returns the texts that the row is to keep from now on: what was offered to a server is not composed anew, and one whose PDF is too large has the sentence of that. */
function textsToKeep(
  { facts, subject, text, html }: ClaimedMail,
  apart: Pick<ClaimedMail, 'text' | 'html'> | undefined,
): Ended['texts'] {
  if (apart) return { subject, ...apart }
  return facts === null ? undefined : { subject, text, html }
}

/** Returns how mail programs let a reminder's reader stop its kind by one click (RFC 8058), which asks for https; nothing for other mails. */
function stopHeaders(
  { secrets }: Pick<MailingDeps, 'secrets'>,
  account: AccountId,
  { customerId, template }: ClaimedMail,
): Record<string, string> {
  const kind = REMINDER_KINDS.find((one) => one === template)
  if (kind === undefined || customerId === null) return {}
  const url = secrets.links.url(reminderLink(account, customerId, kind))
  if (url === null) return {}
  const oneClick = { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
  return { 'List-Unsubscribe': `<${url}>`, ...(url.startsWith('https:') ? oneClick : {}) }
}

const verdictOf = (
  { realClock }: Pick<MailingDeps, 'realClock'>,
  { moment }: RequestContext,
  mail: Pick<ClaimedMail, 'to' | 'cc' | 'open' | 'takenAt' | 'tries'>,
  sending: Exclude<Sending, { outcome: 'withheld' }>,
): MailTry => mailVerdictOf(mail, sending, { nowMs: realClock(), at: moment.now })

const givenUp = ({ open, takenAt }: ClaimedMail): MailTry => ({
  status: 'failed',
  nextTryAt: null,
  lastReply: null,
  open,
  takenAt,
  sentAt: null,
})
