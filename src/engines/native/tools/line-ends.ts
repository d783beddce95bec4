// Models do not see line ends and byte order marks, so edits keep those of the file. Texts have one
// character per byte (latin1), so that bytes that are not UTF-8 survive.

export const CRLF_REMARK = '[lines end with CRLF; edit keeps that]'

export const BOM = '\u00EF\u00BB\u00BF'

export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

export function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Whether every line of a text ends with CRLF. */
export function endsWithCrlf(text: string): boolean {
  return text.includes('\r\n') && !/(?<!\r)\n/.test(text)
}

export function withCrlf(text: string): string {
  return text.replaceAll(/\r?\n/g, '\r\n')
}
