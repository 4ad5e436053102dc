/** Returns the name by which mails and documents address a customer: a company's name, or both names of a person. */
export const customerNameOf = (customer: { name: string; lastName?: string | null; isCompany: boolean }): string =>
  customer.isCompany || !customer.lastName ? customer.name : `${customer.name} ${customer.lastName}`
