import { createHash } from 'node:crypto'
import { assert } from '../../kernel/assert.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { html } from '../../platform/page/html.ts'
import { type Links, linkUrl } from '../../platform/page/links.ts'
import type { EventType } from '../events/types.ts'
import { recordEvent } from '../events/record.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { type CaptureSession, findSession } from './queries.ts'
import { sessionState } from './rules.ts'
import { type NamedSession, sessionShape, type SessionView, type ShownSession } from './wire.ts'

/** How a session is shown, and the markup that shows its frame. */

export interface SessionDeps {
  links: Links
  /** The origin of the frames, where they have one of their own. */
  widgetOrigin?: string | undefined
}

/** The script of host pages, below the address of the service. */
export const LOADER_PATH = '/widget/capture.js'

export const tokenHash = (sessionToken: string): Buffer => createHash('sha256').update(sessionToken).digest()

export const sessionView = ({ account, moment }: RequestContext, session: CaptureSession): SessionView => ({
  ...session,
  accountId: account.id,
  state: sessionState(session, moment.now),
})

/** Returns a session as it is answered to whoever holds its token; `base` is the address of the service. */
export function namedSession(
  context: RequestContext,
  { links, widgetOrigin }: SessionDeps,
  session: CaptureSession,
  sessionToken: string,
  base: string,
): NamedSession {
  const hashToken = links.token({ kind: 'w', account: context.account.id, record: session.id, counter: 0 })
  const frame = linkUrl(widgetOrigin ?? base, 'w', hashToken)
  const container = `perennial-capture-${session.id}`
  const box = html`<div id="${container}"></div>`
  const address = base + LOADER_PATH
  // A gateway with card fields of its own may open windows, as of a bank.
  const markup = gatewayFactsOf(session.gatewayType).fields
    ? html`${box}<script src="${address}" data-frame="${frame}" data-container="${container}" data-allows="popups" async></script>`
    : html`${box}<script src="${address}" data-frame="${frame}" data-container="${container}" async></script>`
  return { ...sessionView(context, session), sessionToken, hashToken, html: markup.markup }
}

/** Returns a session as the key of a request may see it: what opens its form is for full permission. */
export const shownSession = ({ caller }: RequestContext, session: NamedSession): ShownSession =>
  caller.permission === 'full' ? session : { ...session, hashToken: null, html: null }

/** Records a change of a session as it now is, without its tokens. */
export async function recordSession(
  tx: Transaction,
  context: RequestContext,
  type: EventType & `capture_session.${string}`,
  id: Id,
  customerId: CustomerId | null = null,
  reason: string | null = null,
): Promise<CaptureSession> {
  const session = await findSession(tx, tx.account, id)
  assert(session, `capture session ${id} exists`)
  const record = sessionShape.write(sessionView(context, session), writingOf(context))
  await recordEvent(tx, context, { type, recordId: id, customerId, record, reason })
  return session
}
