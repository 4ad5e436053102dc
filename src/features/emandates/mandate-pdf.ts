import type { Instant } from '../../kernel/calendar.ts'
import { formatsOf, type Language } from '../../platform/locale/format.ts'
import { ink, type Paper, QUIET, Sheet } from '../../platform/pdf/sheet.ts'
import { drawTable, type Row } from '../../platform/pdf/table.ts'
import type { MandateText, Section } from './terms-text.ts'

/** The PDF of a mandate: the words that were shown, and of a signed one the signature and its evidence. */

export interface MandateDocument {
  text: MandateText
  locale: string
  paper: Paper
  creditor: string
  reference: string
  createdAt: Instant
  /** Null: not signed, and marked so on each page. */
  signature: DrawnSignature | null
}

export interface DrawnSignature {
  typed: string
  /** Strokes on 600 by 200; empty where the name alone was typed. */
  drawing: string
  /** In real time. */
  signedAt: Instant
  address: string
  agent: string | null
  channel: string
  shown: string
  /** Who was shown the mandate first; null where nobody is known to have been. */
  opened: { at: Instant; address: string; agent: string | null } | null
  steps: readonly { kind: string; at: Instant; hash: string }[]
}

interface PdfWords {
  unsigned: string
  unsignedNotice: string
  page(page: number, pages: number): string
  signature: string
  typed: string
  drawn(name: string): string
  signedAt: string
  signedElectronically: string
  evidence: string
  address: string
  agent: string
  channel: string
  shown: string
  openedFrom: string
  step: string
  at: string
  hash: string
  kinds: Record<string, string>
}

const WORDS: Record<Language, PdfWords> = {
  en: {
    unsigned: 'NOT SIGNED',
    unsignedNotice: 'This mandate is not signed. Nothing may be debited by it.',
    page: (page, pages) => `Page ${page} of ${pages}`,
    signature: 'Signature',
    typed: 'Name',
    drawn: (name) => `Drawn signature${name === '' ? '' : ` of ${name}`}`,
    signedAt: 'Signed at',
    signedElectronically: 'Signed electronically; the seal of this document shows whether it was changed since.',
    evidence: 'Evidence',
    address: 'Network address',
    agent: 'Browser',
    channel: 'Signed on',
    shown: 'SHA-256 of what was shown',
    openedFrom: 'First shown to',
    step: 'Step',
    at: 'At (UTC)',
    hash: 'SHA-256 with the step before',
    kinds: {
      created: 'Made',
      opened: 'Shown first',
      declined: 'Declined',
      signed: 'Signed',
      embedded: 'a page of the creditor',
      redirect: 'a page of its own',
    },
  },
  de: {
    unsigned: 'NICHT UNTERSCHRIEBEN',
    unsignedNotice: 'Dieses Mandat ist nicht unterschrieben. Es darf danach nichts eingezogen werden.',
    page: (page, pages) => `Seite ${page} von ${pages}`,
    signature: 'Unterschrift',
    typed: 'Name',
    drawn: (name) => `Gezeichnete Unterschrift${name === '' ? '' : ` von ${name}`}`,
    signedAt: 'Unterschrieben am',
    signedElectronically:
      'Elektronisch unterschrieben; das Siegel dieses Dokuments zeigt, ob es seither verändert wurde.',
    evidence: 'Nachweis',
    address: 'Netzadresse',
    agent: 'Browser',
    channel: 'Unterschrieben auf',
    shown: 'SHA-256 des Gezeigten',
    openedFrom: 'Zuerst gezeigt an',
    step: 'Schritt',
    at: 'Am (UTC)',
    hash: 'SHA-256 mit dem Schritt davor',
    kinds: {
      created: 'Angelegt',
      opened: 'Zuerst gezeigt',
      declined: 'Abgelehnt',
      signed: 'Unterschrieben',
      embedded: 'einer Seite des Empfängers',
      redirect: 'einer eigenen Seite',
    },
  },
}

export function renderMandate(mandate: MandateDocument): Buffer {
  const { text, locale, creditor, reference, signature } = mandate
  const { language } = formatsOf(locale)
  const words = WORDS[language]
  const last = signature?.steps.at(-1)?.hash
  const sheet = new Sheet({
    title: `${text.title} ${reference} – ${creditor}`,
    author: creditor,
    language,
    paper: mandate.paper,
    createdAt: mandate.createdAt,
    watermark: signature ? null : words.unsigned,
    runningHead: `${creditor} · ${text.title} ${reference}`,
    pageWords: (page, pages) => `${last === undefined ? '' : `${last} · `}${words.page(page, pages)}`,
  })
  sheet.paragraph('H1', text.title, ink(18, 'bold'))
  sheet.y += 6
  if (!signature) sheet.paragraph('P', words.unsignedNotice, ink(10, 'bold', '#a61b1b'))
  for (const section of text.sections) drawSection(sheet, section)
  sheet.y += 10
  sheet.paragraph('P', text.consent, ink(9))
  if (signature) drawSignature(sheet, words, signature)
  return sheet.finish()
}

function drawSection(sheet: Sheet, { heading, facts, paragraphs }: Section): void {
  sheet.y += 12
  sheet.need(50)
  sheet.group('Sect', () => {
    sheet.paragraph('H2', heading, ink(10, 'bold'))
    sheet.y += 2
    if (facts.length > 0) drawFacts(sheet, facts)
    for (const paragraph of paragraphs) {
      sheet.y += 3
      sheet.paragraph('P', paragraph, ink(9))
    }
  })
}

/** Leaves room for a SHA-256 on one line. */
const NAME_WIDTH = 150

function drawFacts(sheet: Sheet, facts: readonly (readonly [string, string])[]): void {
  const rows = facts.map(([name, value]): Row => ({
    cells: [[{ text: name, ink: ink(8.5, 'regular', QUIET) }], [{ text: value, ink: ink(9) }]],
  }))
  const columns = [
    { title: '', width: NAME_WIDTH },
    { title: '', width: sheet.width - NAME_WIDTH },
  ]
  drawTable(sheet, columns, rows, { x: sheet.left, hasRowHeads: true, isPlain: true })
}

const DRAWING_WIDTH = 180

const timeText = (at: Instant): string => `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`

function drawSignature(sheet: Sheet, words: PdfWords, signature: DrawnSignature): void {
  const { typed, drawing, signedAt, steps } = signature
  sheet.y += 14
  sheet.need(140)
  sheet.group('Sect', () => {
    sheet.paragraph('H2', words.signature, ink(10, 'bold'))
    if (drawing !== '') {
      sheet.strokes(drawing, words.drawn(typed), DRAWING_WIDTH)
      sheet.y += 4
    }
    const facts: [string, string][] = [[words.signedAt, timeText(signedAt)]]
    drawFacts(sheet, typed === '' ? facts : [[words.typed, typed], ...facts])
    sheet.paragraph('P', words.signedElectronically, ink(8, 'regular', QUIET))
  })
  sheet.y += 14
  sheet.need(120)
  sheet.group('Sect', () => {
    sheet.paragraph('H2', words.evidence, ink(10, 'bold'))
    const { address, agent, channel, shown, opened } = signature
    const firstShown = opened && [timeText(opened.at), opened.address, opened.agent].filter((part) => part !== null)
    drawFacts(sheet, [
      ...(firstShown === null ? [] : ([[words.openedFrom, firstShown.join(' · ')]] as const)),
      [words.address, address],
      ...(agent === null ? [] : ([[words.agent, agent]] as const)),
      [words.channel, words.kinds[channel] ?? channel],
      [words.shown, shown],
    ])
    const columns = [
      { title: words.step, width: 80 },
      { title: words.at, width: 110 },
      { title: words.hash, width: sheet.width - 190 },
    ]
    const rows = steps.map(({ kind, at, hash }): Row => ({
      cells: [words.kinds[kind] ?? kind, timeText(at).replace(' UTC', ''), hash].map((text) => [{ text, ink: ink(7) }]),
    }))
    drawTable(sheet, columns, rows, { x: sheet.left })
  })
}
