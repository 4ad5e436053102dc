import { described } from '../../platform/wire/described.ts'
import type { BookAccount, DatevSettings, GlCodes } from '../../engine/books/codes.ts'
import { LEDGER_ACCOUNTS } from '../../engine/money/postings.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { NO_READER, recordColumn, recordShape } from '../../platform/wire/columns.ts'
import { text, whole } from '../../platform/wire/fields.ts'
import { glCode, outGlCode } from '../../platform/wire/gl-code.ts'
import { type BodyOf, distinct, listOf, objectOf, optional, type Properties } from '../../platform/wire/read.ts'
import { orNull, outInteger, outList, outText } from '../../platform/wire/write.ts'
import { PAYMENT_METHODS } from '../customers/fields.ts'

const BOOK_ACCOUNTS = [...LEDGER_ACCOUNTS, 'unsettled'] as const satisfies readonly BookAccount[]

/** Descriptions of accounts whose name alone is not clear, with the meaning of a blank code. */
const ABOUT: Partial<Record<BookAccount, string>> = {
  receivable: 'Code of receivable where a customer has no GLCode and there is no Debtor',
  unapplied: 'Code of money that is not allocated; null: the same as of what the customer owes',
  cash: 'Code of payments whose method has no code in Methods',
  revenue: 'Code of revenue whose tax rule, component or package has none',
  tax: 'Code of taxes whose rule has no GLCode',
  unsettled: 'Code of what of a credit note corrects no invoice yet, apart from revenue until it is settled',
}
const aboutAccount = (name: BookAccount): string => ABOUT[name] ?? `Code of the ledger account ${name}`

const methodsShape = recordShape<GlCodes>()(
  'GLCodesOfMethods',
  Object.fromEntries(
    PAYMENT_METHODS.map((method) => [
      method,
      [
        outGlCode(`Code of the cash side of payments by ${method}; null: that of cash`),
        ({ methods }: GlCodes) => methods[method] ?? null,
      ] as const,
    ]),
  ),
)

const datevShape = recordShape<DatevSettings>()('DatevSettings', {
  Consultant: [orNull(outInteger('Number of the tax consultant')), ({ consultant }) => consultant],
  Client: [orNull(outInteger('Number of the client with the consultant')), ({ client }) => client],
  YearStartMonth: [outInteger('First month of the fiscal year, 1 to 12'), ({ yearStartMonth }) => yearStartMonth],
  AccountLength: [
    outInteger('Digits of the accounts of the general ledger; those of debtors have one more'),
    ({ accountLength }) => accountLength,
  ],
  KeyWithoutTax: [
    outText(
      'Key of rows without tax on automatic accounts, and of those that touch a tax account directly; the accountant confirms it',
    ),
    ({ keyWithoutTax }) => keyWithoutTax,
  ],
  AutomaticAccounts: [
    outList(
      outText('Code of an account'),
      'The accounts from which the program of the accountant computes tax automatically, so that their taxed rows carry no key, and those without tax KeyWithoutTax.',
    ),
    ({ automaticAccounts }) => automaticAccounts,
  ],
  Initials: [orNull(outText('Initials of who exports, two letters')), ({ initials }) => initials],
  Chart: [
    orNull(outText('Number of the standard chart, as 03 of SKR03, in the head of files; null: none is named')),
    ({ chart }) => chart,
  ],
})

export const glCodesShape = recordShape<GlCodes>()('GLCodes', {
  ...Object.fromEntries(
    BOOK_ACCOUNTS.map((name) => [
      name,
      [outGlCode(aboutAccount(name)), ({ accounts }: GlCodes) => accounts[name] ?? null] as const,
    ]),
  ),
  Debtor: [
    outGlCode('Collective account of the customers that have no GLCode of their own'),
    ({ debtor }: GlCodes) => debtor,
  ],
  Methods: recordColumn(methodsShape, (codes: GlCodes) => codes, 'The codes of the cash side by payment method.'),
  Datev: recordColumn(datevShape, ({ datev }: GlCodes) => datev, 'The settings of exports in the format of DATEV.'),
})

export const glCodesEtag = (codes: GlCodes): string => etagOf(glCodesShape.write(codes, NO_READER))

const digits = (max: number) => (value: string) =>
  new RegExp(`^\\d{1,${max}}$`).test(value) ? undefined : `must have one to ${max} digits`

const datevFields = {
  Consultant: optional(
    described(whole(1001, 9_999_999), 'Number of the tax consultant; left out it stays, null clears it'),
  ),
  Client: optional(described(whole(1, 99_999), 'Number of the client; left out it stays, null clears it')),
  YearStartMonth: optional(described(whole(1, 12), 'First month of the fiscal year; left out it stays, null is 1')),
  AccountLength: optional(
    described(whole(4, 8), 'Digits of the accounts of the general ledger; left out it stays, null is 4'),
  ),
  KeyWithoutTax: optional(
    text({
      takesNumbers: true,
      check: digits(4),
      description: 'Key of rows that touch a tax account directly; left out it stays, null is 40',
    }),
  ),
  AutomaticAccounts: optional(
    described(
      distinct(listOf(text({ takesNumbers: true, check: digits(8) }), { max: 1000, what: 'accounts' })),
      'Accounts from which the program computes the tax automatically, so that their taxed rows get no key; left out they stay',
    ),
  ),
  Initials: optional(
    text({
      check: (value) => (/^[A-Za-z]{2}$/.test(value) ? undefined : 'must be two letters'),
      description: 'Initials of who exports; left out they stay, null clears them',
    }),
  ),
  Chart: optional(
    text({
      takesNumbers: true,
      check: (value) => (/^\d{2,4}$/.test(value) ? undefined : 'must have two to four digits, as 03'),
      description: 'Number of the standard chart, as 03 of SKR03; left out it stays, null clears it',
    }),
  ),
} satisfies Properties

const stays = (about: string): string => `${about}; left out it stays, null clears it`

const accountFields = Object.fromEntries(
  BOOK_ACCOUNTS.map((name) => [name, optional(glCode(stays(aboutAccount(name).replace('; null:', ', blank:'))))]),
) as Record<BookAccount, ReturnType<typeof optional<string>>>

const methodFields = Object.fromEntries(
  PAYMENT_METHODS.map((method) => [method, optional(glCode(stays(`Code of the cash side of payments by ${method}`)))]),
) as Record<(typeof PAYMENT_METHODS)[number], ReturnType<typeof optional<string>>>

const inputs = {
  ...accountFields,
  Debtor: optional(glCode(stays('Collective account of the customers that have no GLCode of their own'))),
  Methods: optional(
    described(
      objectOf(methodFields, { name: 'GLCodesOfMethodsInput' }),
      'Codes by payment method; those left out stay',
    ),
    'The codes of the cash side by payment method.',
    'Left out, they stay as they are.',
  ),
  Datev: optional(
    described(
      objectOf(datevFields, { name: 'DatevSettingsInput' }),
      'Settings of files of DATEV (exports of Format datev); those left out stay',
    ),
    'The settings of exports in the format of DATEV.',
    'Left out, they stay as they are.',
  ),
} satisfies Properties

export const GlCodesIn = objectOf(inputs, { name: 'GLCodesInput' })
export type GlCodesBody = BodyOf<typeof inputs>

/** Puts the codes of a body over those there are: one that is left out stays, null takes it away. */
function codesOver<Name extends string>(
  present: Readonly<Partial<Record<Name, string>>>,
  body: Readonly<Partial<Record<Name, string | null | undefined>>> | null | undefined,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const codes = names.map((name) => [name, body?.[name] === undefined ? present[name] : body[name]] as const)
  return Object.fromEntries(codes.filter(([, code]) => code != null)) as Partial<Record<Name, string>>
}

const settingOf = <T>(sent: T | null | undefined, present: T, blank: T): T =>
  sent === undefined ? present : (sent ?? blank)

/** Returns the codes of a body over those there are. */
export function glCodesFromWire(body: GlCodesBody, present: GlCodes, blank: DatevSettings): GlCodes {
  const datev = body.Datev ?? {}
  const now = present.datev
  return {
    accounts: codesOver(present.accounts, body, BOOK_ACCOUNTS),
    debtor: settingOf(body.Debtor, present.debtor, null),
    methods: codesOver(present.methods, body.Methods, PAYMENT_METHODS) as Record<string, string>,
    datev: {
      consultant: settingOf(datev.Consultant, now.consultant, blank.consultant),
      client: settingOf(datev.Client, now.client, blank.client),
      yearStartMonth: settingOf(datev.YearStartMonth, now.yearStartMonth, blank.yearStartMonth),
      accountLength: settingOf(datev.AccountLength, now.accountLength, blank.accountLength),
      keyWithoutTax: settingOf(datev.KeyWithoutTax, now.keyWithoutTax, blank.keyWithoutTax),
      automaticAccounts: settingOf(datev.AutomaticAccounts, now.automaticAccounts, blank.automaticAccounts),
      initials: settingOf(datev.Initials, now.initials, blank.initials),
      chart: settingOf(datev.Chart, now.chart, blank.chart),
    },
  }
}
