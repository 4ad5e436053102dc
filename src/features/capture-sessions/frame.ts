import type { RequestContext } from '../../kernel/context.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { PageRequest, Shown } from '../../platform/http/pages.ts'
import { html, type Html } from '../../platform/page/html.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { type CaptureSession, findSession } from './queries.ts'
import { FRAME_SCRIPT } from './script.ts'

/** The pages of a session's frame have in common what their link names, and who may show them. */

export interface Frame {
  session: CaptureSession
  gateway: Gateway
}

async function findFrame(db: Queryable, { account }: RequestContext, id: bigint): Promise<Frame | undefined> {
  const session = await findSession(db, account.id, id)
  const gateway = session && (await findGateway(db, account.id, session.gatewayId))
  return session && gateway && { session, gateway }
}

export type FrameRequest = Pick<PageRequest<Frame>, 'context' | 'found' | 'locale' | 'path'>

/** Frames what is shown for the page that may show it, with what the script posts to that page. */
export const inFrame = (
  { session }: Frame,
  page: { title: string; content: Html; status?: number },
  facts: { result?: string; error?: string } = {},
): Shown => ({
  ...page,
  content: html`<div data-host="${session.authOrigin}" data-result="${facts.result}" data-error="${facts.error}">
    ${page.content}
  </div>`,
  script: FRAME_SCRIPT,
  framedBy: session.authOrigin,
})

/** The link and the record of each page of a frame. */
export const OF_FRAMES = {
  link: 'w',
  find: async (db: Queryable, context: RequestContext, { record }: { record: bigint }) => {
    const found = await findFrame(db, context, record)
    return found && { found, locale: null }
  },
} as const
