// oxlint-disable no-control-regex

// Control characters, line separators, and what reverses the direction of text.
const SIGNS = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/

/** A text on one line, without what would move the cursor or colour a terminal. */
export function printable(text: string): string {
  // Nearly no text has any, and to look for them is much faster than to replace them.
  if (!SIGNS.test(text)) return text
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g, ' ')
}

/** The same for several lines. */
export function printableLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, ' ')
}

const LONGEST_PATH = 300

/** A path is what somebody wrote, whatever and however long that is; messages repeat it. */
export function shownPath(path: string): string {
  const start = path.slice(0, LONGEST_PATH)
  return `${printable(start).toWellFormed()}${start.length < path.length ? '…' : ''}`
}
