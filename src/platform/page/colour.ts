/** The one colour that an account brings: it lies behind white letters, so it has to be dark enough for them. */

/** Our own, where an account has none that can be read on. */
export const OWN_COLOUR = '#1d4f73'

/** The contrast that WCAG 2.2 asks of text of any size (1.4.3). */
const CONTRAST_MIN = 4.5

const COLOUR = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i

/** Returns whether a text is a colour as pages take it: # and six hexadecimal digits. */
export const isColour = (text: string): boolean => COLOUR.test(text)

/** Returns the relative luminance of a channel, after WCAG 2.2. */
function luminanceOf(hex: string): number {
  const part = Number.parseInt(hex, 16) / 255
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
}

/** Returns the contrast of white letters on a colour, from 1 to 21. */
function contrastWithWhite(colour: string): number {
  const [, red = '', green = '', blue = ''] = COLOUR.exec(colour) ?? []
  return 1.05 / (0.2126 * luminanceOf(red) + 0.7152 * luminanceOf(green) + 0.0722 * luminanceOf(blue) + 0.05)
}

/** Returns the colour of an account where white letters can be read on it, else ours. */
export const readableColour = (colour: string | null): string =>
  colour !== null && isColour(colour) && contrastWithWhite(colour) >= CONTRAST_MIN ? colour.toLowerCase() : OWN_COLOUR
