// oxlint-disable no-control-regex

const SIGNATURES: readonly (readonly [string, RegExp])[] = [
  ['a PNG image', /^\x89PNG/],
  ['a JPEG image', /^\xff\xd8\xff/],
  ['a GIF image', /^GIF8[79]a/],
  ['a WebP image', /^RIFF....WEBP/s],
  ['a BMP image', /^BM.{4}\0\0\0\0/s],
  ['a TIFF image', /^(?:II\*\0|MM\0\*)/],
  ['an icon', /^\0\0[\x01\x02]\0/],
  ['an AVIF or HEIC image', /^....ftyp(?:avif|avis|heic|heix|mif1)/s],
  ['a PDF document', /^%PDF-/],
  [
    'UTF-16 text, which `iconv -f UTF-16 -t UTF-8` turns into readable text',
    /^(?:\xff\xfe|\xfe\xff)/,
  ],
  ['a zip archive', /^PK\x03\x04/],
  ['compressed with gzip', /^\x1f\x8b/],
  ['a program', /^(?:\x7fELF|\xcf\xfa\xed\xfe|MZ[^\n]*\0)/],
]

/** As much of a file's beginning as is looked at. */
export const KIND_BYTES = 8192

/** What a file is that is no text, by its first bytes; undefined for text. */
export function kindOfBinary(start: Uint8Array): string | undefined {
  const bytes = Buffer.from(start).subarray(0, KIND_BYTES).toString('latin1')
  const known = SIGNATURES.find(([, signature]) => signature.test(bytes))?.[0]
  return known ?? (bytes.includes('\0') ? 'a binary file' : undefined)
}
