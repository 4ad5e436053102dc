/** Fields of a line that is no booking of a file, and so is compared with no other. */
export const NOT_COMPARED = {
  entryMinor: null,
  hasBankReference: false,
  referenceLikeness: null,
  entryKey: null,
  isSum: false,
  isStatus: false,
  batchId: null,
  sameAs: null,
  invoiceId: null,
}
