import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes'
import { textSlices } from './bytes.ts'
import { UnreadableFile } from './unreadable.ts'

/**
 * Elements of an XML file, read as they stream past. Those that a reader names are handed over when they end and are then forgotten, so that
 * memory does not grow with the file. Every size is bounded, because the file comes from outside: a document type is refused, and with it all
 * entities but the five of XML.
 */

export interface XmlElement {
  /** Local name; empty for elements of another namespace than the root's. */
  name: string
  /** Its own text without spaces around it; that of elements inside is theirs. */
  text: string
  /** The attribute Ccy, by which amounts name their currency. */
  currency: string | undefined
  parent: XmlElement | undefined
  /** Elements inside that have not been handed over. */
  children: XmlElement[]
}

const DEPTH_MAX = 64
const TEXT_MAX = 20_000
const ATTRIBUTE_MAX = 2_000
const ATTRIBUTES_MAX = 50
/** Comments and processing instructions of a file. */
const REMARKS_MAX = 1_000
/** Elements kept at a time. */
const KEPT_MAX = 50_000
/** Characters without the end of a tag, text or comment. */
const STALLED_MAX = 64 * 1024

export interface ElementHandler {
  /** Looks at the root as it begins: refuses a document that is not wanted. */
  begin(namespace: string, name: string): void
  /** Returns whether elements of this name are handed over and forgotten. */
  isUnit(name: string): boolean
  /** Takes an element that ended; those that it stands in are as far as they have been read. */
  take(unit: XmlElement): void
}

/** Reads a file, yielding after each slice of some thousand characters. Throws UnreadableFile for what is not well-formed or out of bounds. */
export function* readElements(bytes: Buffer, handler: ElementHandler): Generator<undefined, void, undefined> {
  const reading = new Reading(handler)
  for (const slice of textSlices(bytes)) {
    reading.write(slice)
    yield
  }
  reading.close()
}

/**
 * Handlers of the parser under the names by which it keeps them, which its type package does not describe. Its function `on` sets them by computed
 * names: from the seventh on V8 makes a dictionary of the parser, and reading costs three times as much.
 */
interface ParserHandlers {
  errorHandler: () => void
  doctypeHandler: () => void
  commentHandler: () => void
  piHandler: () => void
  openTagStartHandler: () => void
  attributeHandler: (attribute: Pick<SaxesAttributeNS, 'value'>) => void
  openTagHandler: (tag: SaxesTagNS) => void
  closeTagHandler: () => void
  textHandler: (text: string) => void
  cdataHandler: (text: string) => void
}

class Reading {
  readonly #parser = new SaxesParser({ xmlns: true, position: false })
  readonly #handler: ElementHandler
  #namespace = ''
  #current: XmlElement | undefined
  #hasRoot = false
  #depth = 0
  #kept = 0
  #remarks = 0
  #attributes = 0
  #stalled = 0

  constructor(handler: ElementHandler) {
    this.#handler = handler
    const parser = this.#parser as unknown as ParserHandlers
    parser.errorHandler = () => refuse('is no well-formed XML, or ends too early')
    parser.doctypeHandler = () => refuse('has a document type, which is not read')
    parser.commentHandler = this.#remark
    parser.piHandler = this.#remark
    parser.openTagStartHandler = this.#begin
    parser.attributeHandler = this.#attribute
    parser.openTagHandler = this.#open
    parser.closeTagHandler = this.#close
    parser.textHandler = this.#text
    parser.cdataHandler = this.#text
  }

  write(slice: string): void {
    this.#stalled += slice.length
    this.#parser.write(slice)
    if (this.#stalled > STALLED_MAX) refuse('has a text that is too long')
  }

  close(): void {
    this.#parser.close()
    if (!this.#hasRoot) refuse('is empty')
  }

  readonly #begin = () => {
    this.#stalled = 0
    this.#attributes = 0
    this.#depth += 1
    if (this.#depth > DEPTH_MAX) refuse(`has more than ${DEPTH_MAX} elements inside of each other`)
  }

  readonly #attribute = ({ value }: Pick<SaxesAttributeNS, 'value'>) => {
    this.#stalled = 0
    this.#attributes += 1
    if (this.#attributes > ATTRIBUTES_MAX || value.length > ATTRIBUTE_MAX) refuse('has attributes that are too long')
  }

  readonly #remark = () => {
    this.#stalled = 0
    this.#remarks += 1
    if (this.#remarks > REMARKS_MAX) refuse('has too many comments')
  }

  readonly #open = ({ local, uri, attributes }: SaxesTagNS) => {
    if (!this.#hasRoot) {
      this.#hasRoot = true
      this.#namespace = uri
      this.#handler.begin(uri, local)
    }
    this.#kept += 1
    if (this.#kept > KEPT_MAX) refuse('has too many elements in one place')
    const parent = this.#current
    const name = uri === this.#namespace ? local : ''
    const element = { name, text: '', currency: attributes['Ccy']?.value, parent, children: [] }
    parent?.children.push(element)
    this.#current = element
  }

  readonly #close = () => {
    this.#depth -= 1
    this.#stalled = 0
    const ended = this.#current
    if (!ended) return
    ended.text = ended.text.trim()
    this.#current = ended.parent
    if (!this.#handler.isUnit(ended.name)) return
    this.#handler.take(ended)
    ended.parent?.children.pop()
    this.#kept -= sizeOf(ended)
  }

  readonly #text = (text: string) => {
    this.#stalled = 0
    const element = this.#current
    // Layout between the elements of a list grows with the list.
    if (!element || (element.text === '' && text.trim() === '')) return
    if (element.text.length + text.length > TEXT_MAX) refuse('has a text that is too long')
    element.text += text
  }
}

function refuse(what: string): never {
  throw new UnreadableFile(`The file ${what}.`)
}

const sizeOf = ({ children }: XmlElement): number => children.reduce((size, child) => size + sizeOf(child), 1)

/** Names of each path that was asked for: paths stand in the code, never in a file. */
const namesOfPaths = new Map<string, readonly string[]>()

function namesOf(path: string): readonly string[] {
  let names = namesOfPaths.get(path)
  if (!names) namesOfPaths.set(path, (names = path.split('/')))
  return names
}

/** Returns the first element at a path below another, as 'Refs/EndToEndId'; undefined where there is none. */
export function elementAt(element: XmlElement | undefined, path: string): XmlElement | undefined {
  let found = element
  for (const name of namesOf(path)) {
    if (!found) return undefined
    found = found.children.find((child) => child.name === name)
  }
  return found
}

/** Returns the text at a path; null where there is none, or nothing in it. */
export const textAt = (element: XmlElement | undefined, path: string): string | null =>
  elementAt(element, path)?.text || null

/** Returns the elements of a name directly below another. */
export const elementsIn = (element: XmlElement | undefined, name: string): XmlElement[] =>
  element?.children.filter((child) => child.name === name) ?? []
