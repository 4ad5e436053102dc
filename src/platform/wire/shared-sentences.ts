/** Sentences of fields that mean the same in several rooms; one that a single room has stands at its field. */

export const SHARED = {
  CurrencyCode:
    'The three letters of the currency (ISO 4217); in a request one of the account, which `POST /v1/currencies` adds.',
  Email: 'The e-mail address.',
  Tel: 'The telephone number.',
  Address1: 'The first line of the postal address.',
  Address2: 'The second line of the postal address.',
  City: 'The city of the postal address.',
  ZipCode: 'The postal code.',
  numDaysBeforeToInv: 'How many days before a term begins its invoice is made.',
  BookedDate: 'The day in the books.',
  AutoApply:
    'Whether the money goes automatically to what is open and due first; the list of allocations is not looked at then.',
  Ref: 'A reference of your own, as the number of a transfer.',
  Memo: 'A note of your own; customers do not see it.',
  Problem: 'The problem in plain words.',
  transactionID: 'The name that the gateway has for it, as its console shows it; null where none is known.',
  DateCreated: 'When it was made.',
  ComponentCode: 'The code of the component, unique within the account.',
  Term: 'How many months or days a term has; `TermType` names the unit.',
  TermType: 'The unit of `Term`.',
  TaxName: 'The name of the tax.',
  Perc: 'The rate as a fraction: `0.19` is 19 %.',
  PercAnswered: 'The rate as a fraction: `0.19` is 19 %. A fraction from 0 to 1.',
  Taxes: 'The taxes, each with its rate and amount.',
  NoteAmount: 'The amount of the note, taxes included.',
  CreditNumber: 'The number of the credit note.',
  Category:
    'The category of EN 16931: S taxed, Z zero, E exempt, AE reverse charge, K intra-community, G export, O outside; null on papers from before it was kept.',
  LineName: 'The short text of the line.',
  AmountEx: 'The amount without tax.',
  Allocations: 'To which records the money goes, and how much to each.',
  Reference: 'The reference by which you know the record, unique among its kind.',
  LastName: 'The family name.',
  packageCode: 'The code of the package, unique within the account.',
  invoiceNum: 'The number of the invoice; null where there is none.',
  DueDate: 'The day until which it is to be paid.',
  LastUpdated: 'When it was last changed.',
  isCancelled: 'Whether the record is cancelled.',
  ReasonCode: 'Why there is no tax, as a code of EN 16931.',
  TaxNumber: 'The number under which the account pays this tax; it stands on documents.',
} as const

/** Returns the sentence of a field that identifies a record, named as in a sentence: recurring invoice. */
export const identifies = (name: string): string => `The identifier of the ${name}.`
