/**
 * Reads back an XML text that this service wrote, as strictly as it was written: elements, their attributes and texts. It is no reader for the
 * files of others: comments, sections, instructions and declarations of types are refused.
 */

export interface WrittenElement {
  name: string
  attributes: ReadonlyMap<string, string>
  /** Without the white space between children; of an element without children as it stands. */
  text: string
  children: WrittenElement[]
}

const DEPTH_MAX = 32
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
const TAG = /<(\/?)([A-Za-z]\w*)((?:\s+[A-Za-z]\w*="[^"<>]*")*)>/y

class NotWritten extends Error {}

function unescaped(text: string): string {
  return text.replace(/&([^;&]*);?/g, (whole, name: string) => {
    const character = whole.endsWith(';') ? ENTITIES[name] : undefined
    if (character === undefined) throw new NotWritten('it has an entity that is not known')
    return character
  })
}

const attributesOf = (text: string): Map<string, string> =>
  new Map([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, unescaped(value)]))

/** Reads the tags behind the declaration into an element that holds the root; throws NotWritten. */
function readElements(xml: string): WrittenElement {
  const top: WrittenElement = { name: '', attributes: new Map(), text: '', children: [] }
  const open = [top]
  let place = DECLARATION.length
  for (;;) {
    const tagAt = xml.indexOf('<', place)
    const text = xml.slice(place, tagAt === -1 ? undefined : tagAt)
    const inner = open.at(-1) ?? top
    if (text.includes('>')) throw new NotWritten('it has a ">" outside of a tag')
    inner.text += unescaped(text)
    if (tagAt === -1) break
    TAG.lastIndex = tagAt
    const [whole, slash, name = '', attributes = ''] = TAG.exec(xml) ?? []
    if (whole === undefined) throw new NotWritten('it has a tag that is not well formed')
    place = tagAt + whole.length
    if (slash === '') {
      const element: WrittenElement = { name, attributes: attributesOf(attributes), text: '', children: [] }
      inner.children.push(element)
      open.push(element)
      if (open.length > DEPTH_MAX) throw new NotWritten('it is nested too deep')
    } else if (open.length === 1 || inner.name !== name) throw new NotWritten(`</${name}> closes nothing`)
    else open.pop()
  }
  if (open.length > 1) throw new NotWritten(`<${open.at(-1)?.name}> is not closed`)
  return top
}

/** Returns the root of an XML text, or a sentence with what keeps it from being read. */
export function readXml(xml: string): WrittenElement | string {
  if (!xml.startsWith(DECLARATION)) return 'it does not begin as XML in UTF-8'
  try {
    const { children, text } = readElements(xml)
    const [root] = children
    if (!root || children.length > 1 || text.trim() !== '') return 'it has not one root'
    return root
  } catch (error) {
    if (error instanceof NotWritten) return error.message
    throw error
  }
}
