// oxlint-disable no-control-regex

/** A text on one line, without control characters, line separators and changes of text direction. */
export function printable(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g, ' ')
}

/** Like `printable`, but keeps tabs and all kinds of line breaks. */
export function printableLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, ' ')
}

/** Indents the lines after the first, so that text from elsewhere, such as a path, cannot forge a message of ours. */
export function indentRest(message: string): string {
  return message.replaceAll(/[\n\r\u2028\u2029]+(?=\S)/g, '\n  ')
}

const LONGEST_PATH = 300

/** A path for messages: it comes from input, so it may be long and contain anything. */
export function shownPath(path: string): string {
  const start = path.slice(0, LONGEST_PATH)
  return `${printable(start).toWellFormed()}${start.length < path.length ? '…' : ''}`
}
