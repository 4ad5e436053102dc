/** Settings of a right gateway of type sepa-file. */
export const CREDITOR = {
  CreditorName: 'Engines GmbH',
  CreditorIBAN: 'DE89370400440532013000',
  CreditorBIC: 'COBADEFFXXX',
  CreditorIdentifier: 'DE98ZZZ09999999999',
}
