import type { AccountId } from '../../kernel/ids.ts'
import { amountColumn, type Column, recordShape } from '../../platform/wire/columns.ts'
import { amount, currencyCode, date, flag, guid, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, required, word } from '../../platform/wire/read.ts'
import { orNull, outDate, outFlag, outId, outText, outWord } from '../../platform/wire/write.ts'
import { type CaptureSession, SALE_TYPES } from './queries.ts'
import { SALE_WAITINGS, type SessionState, STATES } from './rules.ts'
import type { UnsettledSale } from './unsettled-queries.ts'

export const VAULTING_TYPES = ['VaultGateway', 'VaultNone'] as const

/** A session as events show it. */
export interface SessionView extends CaptureSession {
  accountId: AccountId
  state: SessionState
}

/** A session as it is answered: its tokens are stored nowhere, so they are known only to who sent or made them. */
export interface NamedSession extends SessionView {
  sessionToken: string
  hashToken: string
  html: string
}

/** A session as a key that may only read sees it: without what shows its form. */
export interface ShownSession extends Omit<NamedSession, 'hashToken' | 'html'> {
  hashToken: string | null
  html: string | null
}

const instant = <Row>(of: (row: Row) => string): Column<Row, string> => [outDate('Instant'), of]

const columns = {
  AppId: [outId(), ({ accountId }: SessionView) => accountId],
  AccountID: [outId(), ({ accountId }: SessionView) => accountId],
  iframeCapturePayID: [outId(), ({ id }: SessionView) => id],
  IframeType: [outWord(['CapturePaymentMethod']), () => 'CapturePaymentMethod' as const],
  ExtRef: [orNull(outText()), () => null],
  CurrencyCode: [outText(), ({ currency }: SessionView) => currency],
  DateCreated: instant(({ createdAt }: SessionView) => createdAt),
  Expires: instant(({ expiresAt }: SessionView) => expiresAt),
  VaultingType: [
    outWord(VAULTING_TYPES),
    ({ saleType }: SessionView) => (saleType === 'SaleOnly' ? ('VaultNone' as const) : ('VaultGateway' as const)),
  ],
  SaleType: [outWord(SALE_TYPES), ({ saleType }: SessionView) => saleType],
  isVaultOnlyOnSuccess: [outFlag(), ({ isVaultOnlyOnSuccess }: SessionView) => isVaultOnlyOnSuccess],
  Amount: amountColumn<SessionView>(({ amountMinor }) => amountMinor),
  gatewayID: [outId(), ({ gatewayId }: SessionView) => gatewayId],
  GatewayToken: [outText(), ({ gatewayToken }: SessionView) => gatewayToken],
  AuthDomain: [outText(), ({ authOrigin }: SessionView) => authOrigin],
  paymentMethodID: [
    orNull(outId('Drawn when it is captured; the method is there once the session is completed')),
    ({ methodId }: SessionView) => methodId,
  ],
  paymentMethodToken: [orNull(outText()), ({ methodToken }: SessionView) => methodToken],
  transactionID: [
    orNull(outText({ description: "The gateway's name of the charge; null without a sale that was charged" })),
    ({ sale }: SessionView) => (sale?.state === 'charged' ? sale.gatewayReference : null),
  ],
  Description: [orNull(outText()), ({ description }: SessionView) => description],
  State: [outWord(STATES), ({ state }: SessionView) => state],
} as const satisfies Record<string, Column<SessionView>>

/** A session in events: without its tokens. */
export const sessionShape = recordShape<SessionView>()('CaptureSessionRecord', columns)

/** A session as it is answered to whoever began or completes it, by a key with full permission. */
export const namedSessionShape = recordShape<NamedSession>()('CaptureSession', {
  ...columns,
  SessionToken: [outText(), ({ sessionToken }) => sessionToken],
  HashToken: [outText(), ({ hashToken }) => hashToken],
  Html: [outText(), ({ html }) => html],
})

const FULL_KEYS = 'null for a key that may only read'

export const shownSessionShape = recordShape<ShownSession>()('CaptureSessionRead', {
  ...columns,
  SessionToken: [outText(), ({ sessionToken }) => sessionToken],
  HashToken: [orNull(outText({ description: FULL_KEYS })), ({ hashToken }) => hashToken],
  Html: [orNull(outText({ description: FULL_KEYS })), ({ html }) => html],
})

const sessionInputs = {
  VaultingType: required(word(VAULTING_TYPES, { anyCase: true })),
  SaleType: required(word(SALE_TYPES, { anyCase: true })),
  ExpiresIn: required(text({ max: 8, description: 'A span of shape hh:mm:ss, over 0 and at most 24:00:00' })),
  isVaultOnlyOnSuccess: required(flag()),
  CurrencyCode: required(currencyCode()),
  GatewayToken: required(guid()),
  AuthDomain: required(
    text({ description: 'The one host or origin whose pages may show the frame; a bare host means https' }),
  ),
  Amount: optional(amount()),
  Description: optional(text()),
}
export const SessionIn = objectOf(sessionInputs, {
  name: 'CaptureSessionInput',
  ignored: Object.keys(namedSessionShape.columns).filter((name) => !Object.hasOwn(sessionInputs, name)),
})
export type SessionBody = BodyOf<typeof sessionInputs>

const completionInputs = {
  customerID: required(requiredReference()),
  SessionToken: required(text()),
}
export const CompletionIn = objectOf(completionInputs, { name: 'CaptureCompletionInput' })

/** A sale on which a person has to decide. */
export const unsettledSaleShape = recordShape<UnsettledSale>()('UnsettledCaptureSale', {
  captureSaleID: [outId('The key under which the gateway knows the charge'), ({ chargeId }) => chargeId],
  iframeCapturePayID: [outId(), ({ sessionId }) => sessionId],
  gatewayID: [outId(), ({ gatewayId }) => gatewayId],
  CurrencyCode: [outText(), ({ currency }) => currency],
  Amount: amountColumn<UnsettledSale>(({ amountMinor }) => amountMinor),
  DateCreated: instant(({ begunAt }) => begunAt),
  Waiting: [outWord(SALE_WAITINGS), ({ waiting }) => waiting],
  SilentSince: instant(({ silentSince }) => silentSince),
  transactionID: [orNull(outText()), ({ gatewayReference }) => gatewayReference],
  Description: [orNull(outText()), ({ description }) => description],
})

export const SaleResultIn = objectOf(
  { Success: required(flag()), Reason: optional(text()), Date: optional(date()) },
  { name: 'CaptureSaleResult' },
)
