import { glyphWarnings } from '../../platform/pdf/glyph-warnings.ts'
import type { Mandate } from './types.ts'

/** Returns the warnings of the fields on the paper of a mandate that have a character which no font has (glyphs_missing). */
export function glyphWarningsOfMandate({ signee, terms, isCompanySignee }: Mandate): string[] {
  const { bank, beneficiary } = terms
  return glyphWarnings('EMandate', {
    ...{ Name: signee.name, LastName: signee.lastName },
    ...(isCompanySignee ? { Company: signee.company, TradingAs: signee.tradingAs } : {}),
    ...{ Tel: signee.tel, Email: signee.email, Address1: signee.address1, Address2: signee.address2 },
    ...{ City: signee.city, State: signee.state, PostalCode: signee.postalCode },
    ...{ bank_Name: bank.name, bank_BranchCode: bank.branchCode, bank_AccHolder: bank.accountHolder },
    ...{ debit_NameOnStmt: terms.nameOnStatement, debit_ContractRef: terms.contractRef },
    ...{ debit_Escalation: terms.escalation, BeneficiaryName: beneficiary.name },
    ...{ BeneficiaryAddress: beneficiary.address.join(' '), BeneficiaryContactNumber: beneficiary.tel },
    ...{ BeneficiaryEmail: beneficiary.email, BeneficiaryWebPage: beneficiary.webPage },
  })
}
