/** Local part, at, domain: no line break, list, comment, quoting or invisible character. */
const ADDRESS = /^[^\s@"(),:;<>[\]\\\p{Cc}\p{Cf}]+@[^\s@,;:"()<>[\]\\\p{Cc}\p{Cf}]+$/u

/** Returns whether an address stands alone in a header and in a command of SMTP. */
export const isPlainAddress = (address: string): boolean => ADDRESS.test(address)
