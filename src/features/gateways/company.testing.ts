/** Settings of a right gateway of type ach-file. */
export const COMPANY = {
  CompanyName: 'Acme Software',
  CompanyID: '1234567890',
  OdfiRouting: '091012984',
  DestinationName: 'First Bank',
}
