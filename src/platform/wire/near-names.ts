/** The known name that an unknown one is likely to stand for. */

/** Names that other services give to what has another name here: without case and underscores. The first that is known in the place counts. */
const ALSO_CALLED: Readonly<Record<string, readonly string[]>> = {
  quantity: ['Qty', 'NumUnits', 'TotalQuantity'],
  units: ['NumUnits', 'Qty'],
  count: ['Qty', 'NumUnits'],
  price: ['UnitCostEx', 'Price', 'ChargePrice', 'Amount'],
  unitprice: ['UnitCostEx', 'Price'],
  unitcost: ['UnitCostEx', 'Price'],
  unitamount: ['UnitCostEx', 'Price'],
  total: ['Amount'],
  value: ['Amount', 'Value'],
  amount: ['Amount', 'UnitCostEx', 'amountApplied', 'AmtAllocated'],
  applied: ['amountApplied', 'AmtAllocated'],
  description: ['Description', 'Descrip', 'Memo'],
  desc: ['Description', 'Descrip', 'Memo'],
  memo: ['Memo', 'Notes', 'Note'],
  note: ['Note', 'Notes', 'Memo'],
  comment: ['Note', 'Notes', 'Memo'],
  currency: ['CurrencyCode'],
  client: ['customerID'],
  clientid: ['customerID'],
  customer: ['customerID'],
  plan: ['packageID', 'packageVersionID'],
  planid: ['packageID', 'packageVersionID'],
  package: ['packageID', 'packageVersionID'],
  invoice: ['invoiceID'],
  subscription: ['subscriptionID'],
  component: ['componentID'],
  items: ['Charges', 'RecurInvoiceCharges', 'Lines'],
  lines: ['Charges', 'RecurInvoiceCharges', 'Lines'],
  lineitems: ['Charges', 'RecurInvoiceCharges', 'Lines'],
  duedate: ['DueDate', 'PaymentTermDays'],
  date: ['Date', 'InvoiceDate', 'StartDate', 'date'],
  start: ['StartDate', 'startDate', 'from'],
  end: ['EndDate', 'endDate', 'to'],
  startdate: ['StartDate', 'startDate', 'from'],
  enddate: ['EndDate', 'endDate', 'to'],
  firstname: ['Name'],
  surname: ['LastName', 'Lastname'],
  familyname: ['LastName', 'Lastname'],
  companyname: ['Company'],
  mail: ['Email'],
  phone: ['Tel', 'Cell'],
  phonenumber: ['Tel', 'Cell'],
  telephone: ['Tel'],
  mobile: ['Cell'],
  postcode: ['ZipCode', 'PostalCode'],
  postalcode: ['ZipCode', 'PostalCode'],
  zip: ['ZipCode', 'PostalCode'],
  address: ['Address1'],
  street: ['Address1'],
  status: ['comp_Status', 'comp_status', 'status'],
  compstatus: ['status'],
  vat: ['VatNo'],
  vatid: ['VatNo'],
  vatnumber: ['VatNo'],
  taxid: ['VatNo', 'TaxNumber'],
  language: ['Locale'],
  rate: ['Perc', 'Rate'],
  percent: ['Perc'],
  percentage: ['Perc'],
  reference: ['Reference', 'Ref', 'CreditNumber'],
  cvv: ['SecurityCode'],
  lock: ['isLock'],
  limit: ['page_size'],
  perpage: ['page_size'],
  offset: ['page'],
}

/** Longer ones are near to nothing: no known name is nearly as long. */
const LENGTH_MAX = 50
/** From so many letters on two may be wrong, below it one. */
const LETTERS_FOR_TWO = 5

const plain = (name: string): string => name.replaceAll('_', '').toLowerCase()

/**
 * Returns the documented name that an unknown one is near to: equal without case and underscores, one or two letters off (one below five
 * letters), or called so elsewhere; undefined where none is. `spellings` are all names of the place, each with the documented one.
 */
export function nearName(unknown: string, spellings: ReadonlyMap<string, string>): string | undefined {
  const sent = plain(unknown)
  if (sent === '' || unknown.length > LENGTH_MAX) return undefined
  let near: string | undefined
  let best = (sent.length < LETTERS_FOR_TWO ? 1 : 2) + 1
  const called = Object.hasOwn(ALSO_CALLED, sent) ? ALSO_CALLED[sent]?.find((name) => spellings.has(name)) : undefined
  for (const [spelling, documented] of spellings) {
    const known = plain(spelling)
    if (Math.abs(known.length - sent.length) >= best) continue
    const off = lettersOff(sent, known)
    // What the table knows is surer than a likeness, and less sure than an equal name.
    if (off >= best || (off > 0 && called !== undefined)) continue
    best = off
    near = documented
    if (off === 0) break
  }
  return near ?? (called === undefined ? undefined : spellings.get(called))
}

/** Counts how many letters are to be put in, left out, changed, or swapped with the next, to make one text of the other. */
function lettersOff(one: string, other: string): number {
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1]
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        least = Math.min(least, before[j - 2]! + 1)
      next.push(least)
    }
    before = row
    row = next
  }
  return row[other.length]!
}
