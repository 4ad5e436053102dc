/** A right body of an eMandate for a debit order, and the fields of one of SEPA. */

export const MANDATE = {
  Name: 'Ada',
  Lastname: 'Lovelace',
  Email: 'ada@example.org',
  Address1: '12 Long Street',
  City: 'Cape Town',
  PostalCode: '8001',
  CountryISOCode: 'ZAF',
  bank_Name: 'FNB',
  bank_BranchCode: '250655',
  bank_AccHolder: 'Ada Lovelace',
  bank_AccNumber: '62001871490',
  bank_AccountType: 'savings',
  debit_ActionDay: 31,
  debit_StartDate: '2027-02-01',
  debit_Frequency: 'monthly',
  debit_Escalation: '6 % a year',
  debit_Amt: 199.5,
  debit_MaxAmt: 400,
  debit_NameOnStmt: 'ENGINES',
  debit_ContractRef: 'C-17',
  debit_VariableAmts: true,
}

export const SEPA = {
  ...MANDATE,
  bank_DebitMethod: 'sepa',
  bank_Name: 'Commerzbank',
  bank_AccNumber: 'de89 3704 0044 0532 0130 00',
  bank_BranchCode: 'cobadeffxxx',
}
