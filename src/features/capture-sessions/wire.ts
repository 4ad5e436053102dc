import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { amountColumn, type Column, recordShape } from '../../platform/wire/columns.ts'
import { amount, currencyCode, date, flag, guid, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, required, word } from '../../platform/wire/read.ts'
import { orNull, outFlag, outId, outInstant, outText, outWord } from '../../platform/wire/write.ts'
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

const instant = <Row>(of: (row: Row) => string): Column<Row, string> => [outInstant(), of]

const columns = {
  AppId: [
    outId('The same as AccountID; clients of other services look for it.'),
    ({ accountId }: SessionView) => accountId,
  ],
  AccountID: [outId(identifies('account')), ({ accountId }: SessionView) => accountId],
  iframeCapturePayID: [outId(identifies('capture session')), ({ id }: SessionView) => id],
  IframeType: [
    outWord(['CapturePaymentMethod'], 'Always `CapturePaymentMethod`.'),
    () => 'CapturePaymentMethod' as const,
  ],
  ExtRef: [orNull(outText('Always null; clients of other services look for it.')), () => null],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }: SessionView) => currency],
  DateCreated: described(
    instant(({ createdAt }: SessionView) => createdAt),
    SHARED.DateCreated,
  ),
  Expires: described(
    instant(({ expiresAt }: SessionView) => expiresAt),
    'Until when it can be used.',
  ),
  VaultingType: [
    outWord(VAULTING_TYPES, 'Whether the gateway keeps the method (`VaultGateway`), or nobody does (`VaultNone`).'),
    ({ saleType }: SessionView) => (saleType === 'SaleOnly' ? ('VaultNone' as const) : ('VaultGateway' as const)),
  ],
  SaleType: [
    outWord(SALE_TYPES, 'Whether the session only keeps a method, keeps and charges it, or only charges it.'),
    ({ saleType }: SessionView) => saleType,
  ],
  isVaultOnlyOnSuccess: [
    outFlag('Whether the method is kept only if the charge succeeded.'),
    ({ isVaultOnlyOnSuccess }: SessionView) => isVaultOnlyOnSuccess,
  ],
  Amount: amountColumn<SessionView>(
    ({ amountMinor }) => amountMinor,
    'The amount that is charged; 0 where the session only keeps a method.',
  ),
  gatewayID: [outId(identifies('gateway')), ({ gatewayId }: SessionView) => gatewayId],
  GatewayToken: [
    outText('The token by which requests name the gateway.'),
    ({ gatewayToken }: SessionView) => gatewayToken,
  ],
  AuthDomain: [outText('The one origin whose pages may show the frame.'), ({ authOrigin }: SessionView) => authOrigin],
  paymentMethodID: [
    orNull(outId('Drawn when it is captured; the method is there once the session is completed')),
    ({ methodId }: SessionView) => methodId,
  ],
  paymentMethodToken: [
    orNull(outText('The token of the method that was captured; null until then.')),
    ({ methodToken }: SessionView) => methodToken,
  ],
  transactionID: [
    orNull(outText("The gateway's name of the charge; null without a sale that was charged")),
    ({ sale }: SessionView) => (sale?.state === 'charged' ? sale.gatewayReference : null),
  ],
  Description: [
    orNull(outText('What the charge is for; the frame shows it.')),
    ({ description }: SessionView) => description,
  ],
  State: [
    outWord(
      STATES,
      'How far the session is: open, captured and waiting for a customer, completed, expired, or failed.',
    ),
    ({ state }: SessionView) => state,
  ],
} as const satisfies Record<string, Column<SessionView>>

/** A session in events: without its tokens. */
export const sessionShape = recordShape<SessionView>()('CaptureSessionRecord', columns)

/** A session as it is answered to whoever began or completes it, by a key with full permission. */
export const namedSessionShape = recordShape<NamedSession>()('CaptureSession', {
  ...columns,
  SessionToken: [outText('The token by which requests name the session.'), ({ sessionToken }) => sessionToken],
  HashToken: [
    outText('The token with which the frame, and nobody else, speaks to the service.'),
    ({ hashToken }) => hashToken,
  ],
  Html: [outText('The markup that shows the frame: put it into your page.'), ({ html }) => html],
})

const FULL_KEYS = 'null for a key that may only read'

export const shownSessionShape = recordShape<ShownSession>()('CaptureSessionRead', {
  ...columns,
  SessionToken: [outText('The token by which requests name the session.'), ({ sessionToken }) => sessionToken],
  HashToken: [orNull(outText(FULL_KEYS)), ({ hashToken }) => hashToken],
  Html: [orNull(outText(FULL_KEYS)), ({ html }) => html],
})

const sessionInputs = {
  VaultingType: required(
    word(VAULTING_TYPES, { anyCase: true }),
    'Whether the gateway keeps the method (`VaultGateway`), or nobody does (`VaultNone`).',
  ),
  SaleType: required(
    word(SALE_TYPES, { anyCase: true }),
    'Whether the session only keeps a method, keeps and charges it, or only charges it.',
  ),
  ExpiresIn: required(text({ max: 8, description: 'A span of shape hh:mm:ss, over 0 and at most 24:00:00' })),
  isVaultOnlyOnSuccess: required(flag(), 'Whether the method is kept only if the charge succeeded.'),
  CurrencyCode: required(currencyCode(), SHARED.CurrencyCode),
  GatewayToken: required(guid(), 'The token by which requests name the gateway.'),
  AuthDomain: required(
    text({ description: 'The one host or origin whose pages may show the frame; a bare host means https' }),
  ),
  Amount: optional(
    amount(),
    'The amount that is charged; required where SaleType charges, and not taken with VaultOnly.',
    'Left out, it is 0.',
  ),
  Description: optional(text(), 'What the charge is for; the frame shows it.', LEFT_OUT.none),
}
export const SessionIn = objectOf(sessionInputs, {
  name: 'CaptureSessionInput',
  ignored: Object.keys(namedSessionShape.columns).filter((name) => !Object.hasOwn(sessionInputs, name)),
})
export type SessionBody = BodyOf<typeof sessionInputs>

const completionInputs = {
  customerID: required(requiredReference(), identifies('customer')),
  SessionToken: required(text(), 'The token of the session that has captured something.'),
}
export const CompletionIn = objectOf(completionInputs, { name: 'CaptureCompletionInput' })

/** A sale on which a person has to decide. */
export const unsettledSaleShape = recordShape<UnsettledSale>()('UnsettledCaptureSale', {
  captureSaleID: [outId('The key under which the gateway knows the charge'), ({ chargeId }) => chargeId],
  iframeCapturePayID: [outId(identifies('capture session')), ({ sessionId }) => sessionId],
  gatewayID: [outId(identifies('gateway')), ({ gatewayId }) => gatewayId],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Amount: amountColumn<UnsettledSale>(({ amountMinor }) => amountMinor, 'The amount that was to be charged.'),
  DateCreated: described(
    instant(({ begunAt }) => begunAt),
    SHARED.DateCreated,
  ),
  Waiting: [
    outWord(
      SALE_WAITINGS,
      'What a person has to decide: the charge or the refund has no answer, or the refund was refused.',
    ),
    ({ waiting }) => waiting,
  ],
  SilentSince: described(
    instant(({ silentSince }) => silentSince),
    'Since when the gateway has given no answer.',
  ),
  transactionID: [
    orNull(outText("The gateway's name of the charge; null where it gave none.")),
    ({ gatewayReference }) => gatewayReference,
  ],
  Description: [
    orNull(outText('What the charge is for, as the session was given it.')),
    ({ description }) => description,
  ],
})

export const SaleResultIn = objectOf(
  {
    Success: required(flag(), 'Whether the charge, or its refund, went through.'),
    Reason: optional(text(), 'Why it did not; only with Success false.', LEFT_OUT.noReason),
    Date: optional(date(), 'The day on which it went through or failed.', LEFT_OUT.today),
  },
  { name: 'CaptureSaleResult' },
)
