import { type AnsweredEntry, answerFile as writeAnswers } from '../../rails/nacha/answers.ts'
import { COMPANY } from '../gateways/company.testing.ts'

export type { AnsweredEntry }

export interface AnswerFile {
  companyId?: string
  /** YYMMDD. */
  day?: string
}

/** Writes the file in which a bank answers debits of the company of `COMPANY`. */
export const answerFile = (
  entries: readonly AnsweredEntry[],
  { companyId = COMPANY.CompanyID, day = '270106' }: AnswerFile = {},
): string =>
  writeAnswers(
    entries.map((entry) => ({ accountHolder: 'ADA LOVELACE', ...entry })),
    {
      company: {
        name: COMPANY.CompanyName,
        id: companyId,
        bank: COMPANY.DestinationName,
        routing: COMPANY.OdfiRouting,
      },
      answering: '081000210',
      day: `20${day.slice(0, 2)}-${day.slice(2, 4)}-${day.slice(4)}`,
    },
  )
