// oxlint-disable no-control-regex

/** A text on one line, without what would move the cursor or colour a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
}

/** The same for several lines. */
export function printableLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g, ' ')
}
