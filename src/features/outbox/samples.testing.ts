import { REMINDER_KINDS } from '../../engine/collection/rules.ts'
import { type CollectionItem, CARD_LOST, collectionMail, DEBIT_NOTICE, DUNNING_KINDS } from './collection-templates.ts'
import { invoiceMail } from './invoice-template.ts'
import { attachmentMarksOf, withAttachment } from './links.ts'
import { creditNoteMail, receiptMail, statementMail } from './money-templates.ts'
import { signedMandateMail } from '../emandates/mandate-template.ts'
import type { Template } from './queries.ts'
import { type Rendered, welcomeMail } from './templates.ts'
import { webhookDisabledMail } from '../webhooks/webhook-template.ts'

/** A mail of every template, with long names and many lines, as a test shows it. */

const LINK = 'https://pay.example/i/4f2a9c1b7e3d5a8f6c2e'
const MESSAGE_ID = '<sample@pay.example>'
const attachment = attachmentMarksOf(MESSAGE_ID)
const money = { currency: 'EUR', totalMinor: 148_750n }
const invoice = {
  what: 'invoice',
  number: 20_270_142n,
  currency: 'EUR',
  openMinor: 148_750n,
  dueDate: '2027-02-15',
  reason: null,
  link: LINK,
} as const satisfies CollectionItem

const itemsOf = (kind: string): CollectionItem[] => {
  if (kind === 'card_expiring' || kind === CARD_LOST)
    return [{ what: 'card', brand: 'Visa', lastFour: '4242', day: '2027-02-28' }]
  if (kind === 'debit_notice')
    return [
      {
        what: 'debit',
        number: 20_270_142n,
        currency: 'EUR',
        amountMinor: 148_750n,
        day: '2027-02-15',
        lastFour: '3000',
        mandate: 'EM12-MANDATE-OF-THIRTY-FIVE-SIGNS-01',
        creditor: 'DE98ZZZ09999999999',
      },
    ]
  if (['upcoming_renewal', 'trial_expiring', 'end_near'].includes(kind))
    return [{ what: 'contract', name: 'Managed hosting, two servers in Frankfurt', day: '2027-02-28' }]
  return [invoice, { ...invoice, number: 20_270_143n, openMinor: 99n, reason: 'The bank refused the debit' }]
}

/** Returns a mail as it is with its PDF. */
const attached = ({ html, ...mail }: Rendered): Rendered => ({ ...mail, html: withAttachment(html, MESSAGE_ID, true) })

/** Returns a mail of each template in a language. */
export function sampleMails(locale: string): Record<Template, Rendered> {
  const writer = { accountName: 'Brightquay Hosting', colour: '#7a1f5c', locale }
  const greeted = { ...writer, customerName: 'Gebrüder Weißenfels Maschinenbau GmbH & Co. KG' }
  const kinds = [...DUNNING_KINDS, ...REMINDER_KINDS, DEBIT_NOTICE, CARD_LOST] as const
  const collected = kinds.map((kind) => {
    const isStoppable = kind === CARD_LOST || REMINDER_KINDS.some((one) => one === kind)
    const stop = isStoppable ? { stopLink: 'https://pay.example/u/9d8c7b6a' } : {}
    return [kind, collectionMail({ ...greeted, kind, items: itemsOf(kind), ...stop })] as const
  })
  return {
    ...(Object.fromEntries(collected) as Record<(typeof kinds)[number], Rendered>),
    welcome: welcomeMail({
      ...writer,
      name: 'Ann',
      lastName: 'Featherstonehaugh',
      username: 'ann.featherstonehaugh-cholmondeley@weissenfels.example',
      password: 'kX7-pluto-92',
      isChange: false,
    }),
    invoice: attached(
      invoiceMail({
        ...greeted,
        ...money,
        attachment,
        link: LINK,
        number: 20_270_142n,
        invoiceDate: '2027-02-01',
        dueDate: '2027-02-15',
        balanceMinor: 148_750n,
      }),
    ),
    credit_note: attached(
      creditNoteMail({ ...greeted, ...money, attachment, number: 'CN-2027-0007', date: '2027-02-03' }),
    ),
    statement: attached(
      statementMail({
        ...greeted,
        attachment,
        from: '2027-01-01',
        to: '2027-01-31',
        closing: [
          { currency: 'EUR', closingMinor: 148_750n },
          { currency: 'USD', closingMinor: -1_200n },
        ],
      }),
    ),
    payment_receipt: receiptMail({
      ...greeted,
      date: '2027-02-15',
      currency: 'EUR',
      amountMinor: 200_000n,
      reference: 'Invoices 20270142, 20270143',
      paid: [
        { number: 20_270_142n, amountMinor: 148_750n },
        { number: null, amountMinor: 1_250n },
      ],
    }),
    signed_mandate: signedMandateMail({
      ...writer,
      signeeName: 'Ann Featherstonehaugh',
      reference: 'EM12-MANDATE-OF-THIRTY-FIVE-SIGNS-01',
      bank: 'Hamburger Sparkasse',
      account: '•••• 3000',
      signedOn: '2027-02-01',
      link: 'https://pay.example/e/4f2a9c1b7e3d5a8f6c2e',
    }),
    webhook_disabled: webhookDisabledMail({
      ...writer,
      url: 'https://hooks.weissenfels.example/billing/incoming/events?tenant=0123456789abcdef',
      cause: 'failing',
    }),
  }
}
