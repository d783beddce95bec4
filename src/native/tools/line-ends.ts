// Models see and write lines; what stands at the end of each, and before the first, is the file's.
// All texts here are bytes as characters (latin1), so that what is no UTF-8 survives, too.

/** What a model is told where it does not see them. */
export const CRLF_REMARK = '[its lines end with CRLF; edit keeps them so]'

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
