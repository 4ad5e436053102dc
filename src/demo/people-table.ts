/** Names for the people and firms of the demo: everyday ones, combined by draws, so that nobody in particular is meant. */

export interface Land {
  /** ISO 3166-1 alpha-2. */
  code: string
  currency: string
  given: readonly string[]
  family: readonly string[]
  /** City, postal code, and the state where the land has such. */
  cities: readonly (readonly [city: string, zip: string, state?: string])[]
  streets: readonly string[]
  legalForms: readonly string[]
  /** Of the digits that the land keeps free for fiction; absent where it keeps none. */
  phone?: (digits: string) => string
  /** How tax numbers look; absent where the account needs none. */
  taxNumber?: (digits: string) => string
  /** Language of its papers and mails, where it is not that of the account. */
  locale?: string
  /** The house number stands behind the street. */
  isNumberLast: boolean
}

export const LANDS: readonly Land[] = [
  {
    code: 'IE',
    currency: 'EUR',
    given: ['Aoife', 'Ciara', 'Niamh', 'Orla', 'Sinead', 'Conor', 'Declan', 'Eoin', 'Padraig', 'Ronan'],
    family: ['Byrne', 'Doyle', 'Gallagher', 'Kavanagh', 'Keane', 'Moran', 'Nolan', 'Quinn', 'Sheehan', 'Tierney'],
    cities: [
      ['Dublin', 'D08 X2K4'],
      ['Cork', 'T12 W8R3'],
      ['Galway', 'H91 E7P2'],
      ['Limerick', 'V94 T5N6'],
      ['Sligo', 'F91 K3C8'],
    ],
    streets: ['Orchard Lane', 'Mill Street', 'Strand Road', 'Castle Terrace', 'Abbey Row'],
    legalForms: ['Ltd', 'DAC'],
    phone: (digits) => `+353 20 91${digits.slice(0, 1)} ${digits.slice(1, 5)}`,
    taxNumber: (digits) => `IE${digits.slice(0, 7)}KH`,
    isNumberLast: false,
  },
  {
    code: 'DE',
    currency: 'EUR',
    locale: 'de',
    given: ['Anke', 'Birgit', 'Jana', 'Katrin', 'Silke', 'Dirk', 'Holger', 'Jens', 'Matthias', 'Torsten'],
    family: ['Albrecht', 'Brandt', 'Ebert', 'Fiedler', 'Hartwig', 'Kessler', 'Lindner', 'Paulsen', 'Reuter', 'Winkler'],
    cities: [
      ['Hamburg', '20459'],
      ['Leipzig', '04109'],
      ['Freiburg', '79098'],
      ['Bremen', '28195'],
      ['Kassel', '34117'],
    ],
    streets: ['Gartenstraße', 'Lindenweg', 'Am Kanal', 'Bahnhofstraße', 'Mühlgasse'],
    legalForms: ['GmbH', 'UG', 'KG'],
    phone: (digits) => `+49 30 23125 ${digits.slice(0, 3)}`,
    taxNumber: (digits) => `DE${digits.slice(0, 9)}`,
    isNumberLast: true,
  },
  {
    code: 'FR',
    currency: 'EUR',
    given: ['Amélie', 'Camille', 'Élodie', 'Manon', 'Solène', 'Bastien', 'Corentin', 'Florian', 'Rémi', 'Yannick'],
    family: ['Aubry', 'Besson', 'Chauvin', 'Delmas', 'Fournel', 'Guillot', 'Lacombe', 'Perrin', 'Rolland', 'Vasseur'],
    cities: [
      ['Lyon', '69002'],
      ['Nantes', '44000'],
      ['Rennes', '35000'],
      ['Montpellier', '34000'],
      ['Annecy', '74000'],
    ],
    streets: ['rue des Tilleuls', 'quai Saint-Jean', 'rue du Moulin', 'avenue de la Gare', 'place du Marché'],
    legalForms: ['SARL', 'SAS'],
    taxNumber: (digits) => `FR${digits.slice(0, 2)}${digits.slice(0, 9)}`,
    isNumberLast: false,
  },
  {
    code: 'NL',
    currency: 'EUR',
    given: ['Anouk', 'Femke', 'Lotte', 'Marijke', 'Sanne', 'Bram', 'Jeroen', 'Maarten', 'Ruben', 'Wouter'],
    family: [
      'Bakker',
      'de Graaf',
      'Dijkstra',
      'Hoekstra',
      'Kuipers',
      'Mulder',
      'Postma',
      'Scholten',
      'van Dam',
      'Verhoef',
    ],
    cities: [
      ['Utrecht', '3511 LN'],
      ['Groningen', '9712 HV'],
      ['Haarlem', '2011 RC'],
      ['Arnhem', '6811 EJ'],
    ],
    streets: ['Havenkade', 'Molenweg', 'Kerkstraat', 'Stationsplein', 'Oude Gracht'],
    legalForms: ['BV', 'VOF'],
    taxNumber: (digits) => `NL${digits.slice(0, 9)}B01`,
    isNumberLast: true,
  },
  {
    code: 'ES',
    currency: 'EUR',
    given: ['Alba', 'Inés', 'Lucía', 'Marta', 'Nuria', 'Álvaro', 'Gonzalo', 'Iker', 'Javier', 'Rubén'],
    family: ['Campos', 'Esteban', 'Gallardo', 'Herrero', 'Lozano', 'Montero', 'Pascual', 'Redondo', 'Soler', 'Vidal'],
    cities: [
      ['Valencia', '46002'],
      ['Bilbao', '48005'],
      ['Girona', '17004'],
      ['Zaragoza', '50003'],
    ],
    streets: ['Calle del Olivo', 'Calle Mayor', 'Paseo del Río', 'Plaza Nueva'],
    legalForms: ['SL', 'SA'],
    taxNumber: (digits) => `ESB${digits.slice(0, 8)}`,
    isNumberLast: true,
  },
  {
    code: 'GB',
    currency: 'GBP',
    given: ['Bethany', 'Eleanor', 'Harriet', 'Imogen', 'Megan', 'Alastair', 'Callum', 'Gareth', 'Owen', 'Toby'],
    family: [
      'Ashworth',
      'Bramley',
      'Chadwick',
      'Ellery',
      'Fairclough',
      'Hollis',
      'Lockwood',
      'Pemberton',
      'Rowntree',
      'Wragg',
    ],
    cities: [
      ['Leeds', 'LS1 4DY'],
      ['Bristol', 'BS1 5TR'],
      ['Cardiff', 'CF10 2AF'],
      ['Norwich', 'NR2 1TF'],
      ['Edinburgh', 'EH3 9QN'],
    ],
    streets: ['Station Road', 'Weavers Yard', 'Queen Street', 'Harbour Walk', 'Mill Lane'],
    legalForms: ['Ltd', 'LLP'],
    phone: (digits) => `+44 7700 900${digits.slice(0, 3)}`,
    taxNumber: (digits) => `GB${digits.slice(0, 9)}`,
    isNumberLast: false,
  },
  {
    code: 'US',
    currency: 'USD',
    given: ['Abigail', 'Brooke', 'Denise', 'Marisol', 'Tamika', 'Brandon', 'Curtis', 'Hector', 'Jerome', 'Travis'],
    family: ['Alvarez', 'Bowman', 'Castillo', 'Dalton', 'Hendricks', 'Lambert', 'Mccoy', 'Pruitt', 'Stokes', 'Vaughn'],
    cities: [
      ['Austin', '78701', 'Texas'],
      ['Houston', '77002', 'Texas'],
      ['Portland', '97204', 'Oregon'],
      ['Buffalo', '14202', 'New York'],
      ['Denver', '80202', 'Colorado'],
    ],
    streets: ['Maple Avenue', 'Second Street', 'Ridge Road', 'Harrison Boulevard', 'Cedar Court'],
    legalForms: ['LLC', 'Inc.'],
    phone: (digits) => `+1 ${digits.slice(4, 5)}15 555 01${digits.slice(0, 2)}`,
    isNumberLast: false,
  },
  {
    code: 'CA',
    currency: 'USD',
    given: ['Chantal', 'Heather', 'Josée', 'Paige', 'Darren', 'Étienne', 'Graham', 'Luc'],
    family: ['Beaulieu', 'Fraser', 'Gauthier', 'Macleod', 'Pelletier', 'Sinclair', 'Tremaine', 'Whelan'],
    cities: [
      ['Toronto', 'M5V 2T6', 'Ontario'],
      ['Montréal', 'H2Y 1C6', 'Quebec'],
      ['Victoria', 'V8W 1P6', 'British Columbia'],
    ],
    streets: ['Lakeshore Drive', 'Birch Street', 'rue Notre-Dame', 'Wharf Street'],
    legalForms: ['Inc.', 'Ltd.'],
    isNumberLast: false,
  },
  {
    code: 'JP',
    currency: 'JPY',
    given: ['Ayaka', 'Haruka', 'Mio', 'Yuko', 'Daichi', 'Kenta', 'Naoki', 'Sho'],
    family: ['Fujita', 'Hayashi', 'Ishikawa', 'Maeda', 'Nakajima', 'Ogawa', 'Sakai', 'Uchida'],
    cities: [
      ['Kyoto', '604-8005'],
      ['Sendai', '980-0811'],
      ['Fukuoka', '810-0001'],
    ],
    streets: ['Honmachi', 'Sakuragaoka', 'Ekimae-dori'],
    legalForms: ['KK', 'GK'],
    isNumberLast: true,
  },
  {
    code: 'ZA',
    currency: 'USD',
    given: ['Ayanda', 'Lerato', 'Nomsa', 'Thandi', 'Johan', 'Pieter', 'Sipho', 'Thabo'],
    family: ['Botha', 'Dlamini', 'Khumalo', 'Mokoena', 'Naidoo', 'Nkosi', 'Steyn', 'van Wyk'],
    cities: [
      ['Cape Town', '8001'],
      ['Durban', '4001'],
      ['Pretoria', '0002'],
    ],
    streets: ['Protea Road', 'Long Street', 'Kloof Avenue'],
    legalForms: ['(Pty) Ltd'],
    isNumberLast: false,
  },
]

/** First words of firms that are called after something. */
export const FIRM_WORDS = [
  ...['Alder', 'Amber', 'Anchor', 'Basalt', 'Beacon', 'Birch', 'Bluebell', 'Bramble', 'Brook', 'Cinder'],
  ...['Clover', 'Copper', 'Crane', 'Dune', 'Ember', 'Fennel', 'Flint', 'Fjord', 'Gable', 'Granite'],
  ...['Harbour', 'Hazel', 'Heron', 'Indigo', 'Juniper', 'Kestrel', 'Kiln', 'Lantern', 'Larch', 'Linden'],
  ...['Magpie', 'Maple', 'Meridian', 'Moss', 'Nettle', 'Orchard', 'Otter', 'Pebble', 'Plover', 'Quarry'],
  ...['Rowan', 'Saffron', 'Sable', 'Sparrow', 'Tarn', 'Thistle', 'Tidal', 'Umber', 'Willow', 'Wren'],
]

/** Trades of firms, each with the words for it in a firm's name. */
export const TRADES: readonly (readonly [industry: string, words: readonly string[]])[] = [
  ['Logistics', ['Freight', 'Couriers', 'Haulage']],
  ['Health', ['Dental', 'Physio', 'Clinics']],
  ['Retail', ['Outfitters', 'Books', 'Homeware', 'Cycles']],
  ['Software', ['Software', 'Labs', 'Systems']],
  ['Hospitality', ['Hotels', 'Kitchens', 'Catering']],
  ['Property', ['Lettings', 'Property', 'Facilities']],
  ['Legal', ['Legal', 'Notaries']],
  ['Trades', ['Plumbing', 'Roofing', 'Electrical', 'Joinery']],
  ['Education', ['Language School', 'Tutors', 'Academy']],
]
