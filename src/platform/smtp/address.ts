/** Local part, at, domain: no line break, list, comment, quoting or invisible character. */
const ADDRESS = /^[^\s@"(),:;<>[\]\\\p{Cc}\p{Cf}]+@[^\s@,;:"()<>[\]\\\p{Cc}\p{Cf}]+$/u

const LOCAL_PART = /^.*(?=@)/u

/** Returns whether an address needs a server that offers SMTPUTF8 (RFC 6531): its local part is beyond ASCII. A domain is not looked at, because it can be written in ASCII. */
export const needsSmtpUtf8 = (address: string): boolean => /\P{ASCII}/u.test(LOCAL_PART.exec(address)?.[0] ?? address)

/** Returns whether an address stands alone in a header and in a command of SMTP. */
export const isPlainAddress = (address: string): boolean => ADDRESS.test(address)
