// oxlint-disable no-control-regex

/** Control strings are shown as text, up to this length. */
const SHOWN_CHARACTERS = 40
/** After this many characters, a control string is treated as unterminated. */
const LONGEST_SEQUENCE = 4096

/** Control characters except tab, line feed and carriage return, line separators, and changes of text direction. */
const UNSAFE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
/** OSC, DCS, SOS, PM and APC, in seven bits or as one C1 character; any control character ends them. */
const STRING =
  /(?:\u001b([\]PX^_])|([\u0090\u0098\u009d-\u009f]))([^\u0000-\u001f\u007f-\u009f]*)(\u0007|\u001b\\|\u009c)?/y
const CSI = /(?:\u001b\[|\u009b)([0-?]*)([ -/]*)([@-~])?/y
const ESCAPE = /\u001b[ -/]*([0-~])?/y
const COLOURS = /^[\d;:]{0,80}$/
const LINK = /^8;(id=[\w.-]*)?;((?:https?:\/\/[!-~]+)?)$/i

interface Replaced {
  readonly by: string
  readonly end: number
}

/**
 * Reduces foreign text to what may reach a terminal: colours, web links and carriage returns pass,
 * control strings become text, and sequences that move the cursor, erase or change a mode are
 * dropped. A sequence may continue in the next piece.
 */
export class TerminalFilter {
  /** An incomplete sequence. */
  #open = ''
  #isDropping = false
  #isStyled = false
  #isLinked = false

  push(piece: string): string {
    const text = this.#open + piece
    this.#open = ''
    return this.#reduce(text, false)
  }

  /** Returns the held-back text, and the sequences that end open colours and links. */
  finish(): { readonly text: string; readonly reset: string } {
    const rest = this.#open
    this.#open = ''
    const text = this.#reduce(rest, true)
    const reset = `${this.#isLinked ? '\u001b]8;;\u001b\\' : ''}${this.#isStyled ? '\u001b[0m' : ''}`
    this.#isDropping = false
    this.#isStyled = false
    this.#isLinked = false
    return { text, reset }
  }

  #reduce(text: string, isEnd: boolean): string {
    let shown = ''
    let from = this.#isDropping ? this.#endOfDropped(text) : 0
    for (;;) {
      UNSAFE.lastIndex = from
      const at = UNSAFE.exec(text)?.index ?? text.length
      shown += text.slice(from, at)
      if (at === text.length) return shown
      const replaced = this.#sequence(text, at, isEnd)
      if (replaced === 'cut') {
        this.#open = text.slice(at)
        return shown
      }
      shown += replaced.by
      from = replaced.end
    }
  }

  #endOfDropped(text: string): number {
    const at = text.search(CONTROL)
    this.#isDropping = at === -1
    return at === -1 ? text.length : at
  }

  #sequence(text: string, at: number, isEnd: boolean): Replaced | 'cut' {
    const string = matchAt(STRING, text, at)
    if (string !== undefined) return this.#string(string, text, isEnd)
    const csi = matchAt(CSI, text, at)
    const match = csi ?? matchAt(ESCAPE, text, at)
    // A lone control character.
    if (match === undefined) return { by: '', end: at + 1 }
    const end = at + match[0].length
    const isCut = match.at(-1) === undefined && end === text.length && !isEnd
    if (isCut && match[0].length < LONGEST_SEQUENCE) return 'cut'
    return { by: csi === undefined ? '' : this.#colours(csi), end }
  }

  #colours([, parameters = '', between, final]: RegExpExecArray): string {
    if (final !== 'm' || between !== '' || !COLOURS.test(parameters)) return ''
    this.#isStyled = !/^0*$/.test(parameters)
    return `\u001b[${parameters}m`
  }

  #string(match: RegExpExecArray, text: string, isEnd: boolean): Replaced | 'cut' {
    const [all, letter, single = '', body = '', terminator] = match
    const end = match.index + all.length
    const isAtEnd = end === text.length || (end === text.length - 1 && text.endsWith('\u001b'))
    if (terminator === undefined && isAtEnd && !isEnd) {
      if (all.length < LONGEST_SEQUENCE) return 'cut'
      this.#isDropping = end === text.length
    }
    const kind = letter ?? String.fromCharCode(single.charCodeAt(0) - 0x40)
    const link = kind === ']' && terminator !== undefined ? LINK.exec(body) : null
    if (link === null) return { by: asText(`^[${kind}${body}`) + terminatorText(terminator), end }
    const [, id = '', url = ''] = link
    this.#isLinked = url !== ''
    return { by: `\u001b]8;${id};${url}\u001b\\`, end }
  }
}

/** Filters one of our own lines, which may quote foreign text. */
export function reduceLine(line: string): string {
  const filter = new TerminalFilter()
  const shown = filter.push(line)
  const { text, reset } = filter.finish()
  return `${shown}${text}${reset}`.replaceAll(/[\r\n]+/g, ' ')
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | undefined {
  sticky.lastIndex = at
  return sticky.exec(text) ?? undefined
}

/** Shown, because removing it could join two parts of a secret. */
function terminatorText(terminator: string | undefined): string {
  if (terminator === undefined) return ''
  return terminator === '\u0007' ? '^G' : '^[\\'
}

function asText(text: string): string {
  const safe = text.replaceAll(UNSAFE, '')
  return safe.length > SHOWN_CHARACTERS ? `${safe.slice(0, SHOWN_CHARACTERS)}…` : safe
}
