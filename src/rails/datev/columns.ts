/** Columns of a stack of bookings in version 13 of DATEV's format: their titles in their order, and which hold texts. */

const numbered = (count: number, ...titles: readonly ((number: number) => string)[]): string[] =>
  Array.from({ length: count }, (_, place) => titles.map((title) => title(place + 1))).flat()

export const TITLES: readonly string[] = [
  ...[
    'Umsatz (ohne Soll/Haben-Kz)',
    'Soll/Haben-Kennzeichen',
    'WKZ Umsatz',
    'Kurs',
    'Basis-Umsatz',
    'WKZ Basis-Umsatz',
  ],
  ...['Konto', 'Gegenkonto (ohne BU-Schlüssel)', 'BU-Schlüssel', 'Belegdatum', 'Belegfeld 1', 'Belegfeld 2', 'Skonto'],
  ...[
    'Buchungstext',
    'Postensperre',
    'Diverse Adressnummer',
    'Geschäftspartnerbank',
    'Sachverhalt',
    'Zinssperre',
    'Beleglink',
  ],
  ...numbered(
    8,
    (number) => `Beleginfo - Art ${number}`,
    (number) => `Beleginfo - Inhalt ${number}`,
  ),
  ...['KOST1 - Kostenstelle', 'KOST2 - Kostenstelle', 'Kost-Menge', 'EU-Land u. UStID (Bestimmung)'],
  ...['EU-Steuersatz (Bestimmung)', 'Abw. Versteuerungsart', 'Sachverhalt L+L', 'Funktionsergänzung L+L'],
  ...['BU 49 Hauptfunktionstyp', 'BU 49 Hauptfunktionsnummer', 'BU 49 Funktionsergänzung'],
  ...numbered(
    20,
    (number) => `Zusatzinformation - Art ${number}`,
    (number) => `Zusatzinformation - Inhalt ${number}`,
  ),
  ...['Stück', 'Gewicht', 'Zahlweise', 'Forderungsart', 'Veranlagungsjahr', 'Zugeordnete Fälligkeit', 'Skontotyp'],
  ...['Auftragsnummer', 'Buchungstyp', 'USt-Schlüssel (Anzahlungen)', 'EU-Land (Anzahlungen)'],
  ...['Sachverhalt L+L (Anzahlungen)', 'EU-Steuersatz (Anzahlungen)', 'Erlöskonto (Anzahlungen)', 'Herkunft-Kz'],
  ...['Buchungs GUID', 'KOST-Datum', 'SEPA-Mandatsreferenz', 'Skontosperre', 'Gesellschaftername', 'Beteiligtennummer'],
  ...['Identifikationsnummer', 'Zeichnernummer', 'Postensperre bis', 'Bezeichnung SoBil-Sachverhalt'],
  ...['Kennzeichen SoBil-Buchung', 'Festschreibung', 'Leistungsdatum', 'Datum Zuord. Steuerperiode', 'Fälligkeit'],
  ...['Generalumkehr (GU)', 'Steuersatz', 'Land', 'Abrechnungsreferenz', 'BVV-Position', 'EU-Land u. UStID (Ursprung)'],
  ...['EU-Steuersatz (Ursprung)', 'Abw. Skontokonto'],
]

/** Columns that hold numbers or days, counted from 1; all others are texts, which stand in quotes also where they are empty. */
const PLAIN = new Set([
  ...[
    1, 4, 5, 7, 8, 10, 13, 15, 17, 18, 19, 39, 41, 43, 44, 45, 46, 47, 88, 89, 90, 92, 93, 94, 97, 99, 100, 101, 104,
    106, 108,
  ],
  ...[111, 113, 114, 115, 116, 117, 119, 122, 124, 125],
])

export const isText = (column: number): boolean => !PLAIN.has(column)
