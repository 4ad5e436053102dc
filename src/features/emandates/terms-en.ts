import type { Wording } from './terms-text.ts'

/** English texts of mandates. HAVE THEM REVIEWED by somebody who knows the law of your country before you rely on them. */
export const EN: Wording = {
  titles: {
    debit_order: 'Authority and mandate for debit orders',
    sepa: 'SEPA Direct Debit mandate',
    ach: 'Authorisation for ACH debits',
  },
  headings: {
    creditor: 'Who collects',
    payer: 'Who pays',
    account: 'The account',
    debit: 'The debits',
    authority: 'What you authorise',
  },
  labels: {
    name: 'Name',
    company: 'Company',
    tradingAs: 'Trading as',
    tel: 'Telephone',
    email: 'E-mail',
    address: 'Address',
    webPage: 'Web page',
    creditorIdentifier: 'Creditor identifier',
    reference: 'Mandate reference',
    contractRef: 'Contract reference',
    nameOnStatement: 'Name on your statement',
    bank: 'Bank',
    accountHolder: 'Account holder',
    accountType: 'Type of account',
    amount: 'Amount',
    maxAmount: 'Highest amount',
    escalation: 'Escalation',
    variable: 'Amounts may vary',
    frequency: 'How often',
    actionDay: 'Day of the debit',
    startDate: 'From',
    endDate: 'Until',
    notice: 'Days of notice before a debit',
    paymentType: 'Type of payment',
  },
  numbers: {
    debit_order: { number: 'Account number', branch: 'Branch code' },
    sepa: { number: 'IBAN', branch: 'BIC' },
    ach: { number: 'Account number', branch: 'Routing number' },
  },
  frequencies: {
    Daily: 'Every day',
    Weekly: 'Every week',
    Monthly: 'Every month',
    Quarterly: 'Every quarter',
    Yearly: 'Every year',
    Once: 'Once',
  },
  weekdays: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'],
  lastDay: 'Last day of the month',
  dayOfMonth: (day) => `Day ${day} of the month`,
  yes: 'Yes',
  no: 'No',
  sepaTypes: { once: 'One-off payment', recurrent: 'Recurrent payment' },
  authority: {
    debit_order: ({ creditor, contact, noticeDays }) => [
      `I authorise ${creditor} to issue and deliver payment instructions to its banker for collection against my account named above, at my bank or at any other bank to which I may move it, on condition that the sum of such instructions will exceed neither my obligations under the agreement named by the contract reference nor the amounts named above.`,
      'The instructions are issued and delivered on the days named above. If a day falls on a Sunday or public holiday, the debit may be made on the ordinary business day that follows, or on the one before.',
      `I am told of a change of amount or day at least ${noticeDays} days before the debit.`,
      'I understand that the withdrawals will be processed through the computerised system of the South African banks, that each appears on my bank statement under the name given above, and that I remain bound to pay where a debit is not honoured.',
      `I agree that I may cancel this authority and mandate by notice in writing to ${creditor}${contact ? ` (${contact})` : ''}; cancelling it does not cancel the agreement, and I am not entitled to a refund of amounts that were withdrawn while it was in force, if they were owed.`,
      'I acknowledge that the party named above may not cede or assign any of its rights, and that I may not delegate my obligations under this authority to a third party, without prior written agreement of the other.',
    ],
    sepa: ({ creditor, noticeDays }) => [
      `By signing this mandate form, you authorise (A) ${creditor} to send instructions to your bank to debit your account and (B) your bank to debit your account in accordance with the instructions from ${creditor}.`,
      'As part of your rights, you are entitled to a refund from your bank under the terms and conditions of your agreement with your bank. A refund must be claimed within 8 weeks starting from the date on which your account was debited.',
      'Your rights are explained in a statement that you can obtain from your bank.',
      `We agree that each debit is announced to you at least ${noticeDays} days before it is due.`,
    ],
    ach: ({ creditor, contact, noticeDays, frequency }) => [
      frequency === 'Once'
        ? `I authorise ${creditor} to debit my account named above a single time, in the amount and on the date named above.`
        : `I authorise ${creditor} to debit my account named above by recurring electronic debits, in the amounts, as often and from the date named above.`,
      `Where the amount of a debit differs from the one before, ${creditor} tells me of it at least ${noticeDays} days before the debit.`,
      `This authorisation stays in force until I revoke it. I may revoke it by writing to ${creditor}${contact ? ` (${contact})` : ''} at least three business days before the next debit.`,
      'I confirm that I may dispose of this account, and that the debits comply with the law of the United States and the rules of Nacha. I may dispute a debit with my bank.',
      'A copy of this authorisation is given to me, and kept for two years after it ends.',
    ],
  },
  consent: ({ creditor }) =>
    `I have read the terms above, I am entitled to sign for this account, and I authorise ${creditor} to debit it accordingly. I agree to sign electronically.`,
}
