import { crc32, deflateRawSync } from 'node:zlib'

/** Writes ZIP archives for tests, sound ones and others. */

export interface PackedFile {
  name: string
  content: string | Buffer
  isStored?: boolean
  /** Headers in place of the true ones. */
  lie?: { size?: number; crc?: number; flags?: number; method?: number }
}

export function zipOf(...files: PackedFile[]): Buffer {
  const bodies: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const file of files) {
    const { local, central } = headersOf(file, offset)
    bodies.push(local)
    directory.push(central)
    offset += local.length
  }
  const entries = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(entries.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, entries, end])
}

function headersOf({ name, content, isStored = false, lie = {} }: PackedFile, offset: number) {
  const bytes = Buffer.from(content)
  const packed = isStored ? bytes : deflateRawSync(bytes)
  const common = Buffer.alloc(26)
  common.writeUInt16LE(20, 0)
  common.writeUInt16LE(0x800 | (lie.flags ?? 0), 2)
  common.writeUInt16LE(lie.method ?? (isStored ? 0 : 8), 4)
  common.writeUInt32LE(lie.crc ?? crc32(bytes), 10)
  common.writeUInt32LE(packed.length, 14)
  common.writeUInt32LE(lie.size ?? bytes.length, 18)
  const named = Buffer.from(name)
  common.writeUInt16LE(named.length, 22)
  const central = Buffer.alloc(14)
  central.writeUInt32LE(offset, 10)
  return {
    local: Buffer.concat([Buffer.from('504b0304', 'hex'), common, named, packed]),
    central: Buffer.concat([Buffer.from('504b01021400', 'hex'), common, central, named]),
  }
}
