import { StringDecoder } from 'node:string_decoder'

/** A named key, or the text that it types; a paste is one key with all of its text. */
export type Key =
  { readonly name: KeyName } | { readonly name: 'text' | 'paste'; readonly text: string } | MouseKey

/** A mouse button or wheel, where the terminal reports them; counted from 0. */
export interface MouseKey {
  readonly name: 'click' | 'wheel-up' | 'wheel-down'
  readonly column: number
  readonly row: number
}

type KeyName =
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'shift-left'
  | 'shift-right'
  | 'home'
  | 'end'
  | 'page-up'
  | 'page-down'
  | 'delete'
  | 'backspace'
  | 'enter'
  | 'alt-enter'
  | 'word-left'
  | 'word-right'
  | 'escape'
  | 'tab'
  | 'back-tab'
  | `ctrl-${string}`

const SEQUENCES: Readonly<Record<string, KeyName>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  Z: 'back-tab',
  '1;2C': 'shift-right',
  '1;2D': 'shift-left',
  '1;5C': 'word-right',
  '1;5D': 'word-left',
  '1;3C': 'word-right',
  '1;3D': 'word-left',
  c: 'shift-right',
  d: 'shift-left',
  '1~': 'home',
  '7~': 'home',
  '4~': 'end',
  '8~': 'end',
  '3~': 'delete',
  '5~': 'page-up',
  '6~': 'page-down',
  M: 'enter',
}

/** Alt combinations: terminals send Escape before the other key. */
const ALTS: Readonly<Record<string, KeyName>> = {
  '\r': 'alt-enter',
  '\n': 'alt-enter',
  b: 'word-left',
  f: 'word-right',
}

const ESC = '\u001b'
const PASTE_BEGIN = `${ESC}[200~`
const PASTE_END = `${ESC}[201~`
// Parameters and the final byte of a control sequence; `[[A` is what the Linux console sends.
const CSI = /^\[(\[.|[0-?]*[ -/]*[@-~])/
const SS3 = /^O(.)/
const BEGUN = /^(?:O|\[(?:\[|[0-?]*[ -/]*))?$/

/** Parses the input of a terminal into keys, across chunk boundaries. */
export class KeyParser {
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  /** Whether an escape sequence may have begun; only waiting shows whether it is a lone Escape. */
  get isWaiting(): boolean {
    return this.#rest !== '' && !this.#rest.startsWith(PASTE_BEGIN)
  }

  push(chunk: Uint8Array): Key[] {
    this.#rest += this.#decoder.write(Buffer.from(chunk))
    const keys: Key[] = []
    while (this.#rest !== '') {
      const found = readKey(this.#rest)
      if (found === undefined) break
      this.#rest = this.#rest.slice(found.length)
      if (found.key !== undefined) keys.push(found.key)
    }
    return keys
  }

  /** Treats a pending Escape as the key itself, because nothing followed. */
  flush(): Key[] {
    if (!this.isWaiting) return []
    const [, ...others] = this.#rest
    this.#rest = ''
    return [{ name: 'escape' }, ...this.push(Buffer.from(others.join('')))]
  }
}

interface Found {
  readonly length: number
  /** Undefined for unknown sequences. */
  readonly key: Key | undefined
}

/** The first key of the text, or undefined if it is incomplete. */
function readKey(text: string): Found | undefined {
  if (!text.startsWith(ESC)) return readCharacter(text)
  if (text.startsWith(PASTE_BEGIN)) return readPaste(text)
  const sequence = text.slice(ESC.length)
  if (BEGUN.test(sequence)) return undefined
  const alt = ALTS[sequence[0]!]
  if (alt !== undefined) return { length: ESC.length + 1, key: { name: alt } }
  const match = CSI.exec(sequence) ?? SS3.exec(sequence)
  if (match === null) return { length: ESC.length, key: { name: 'escape' } }
  const name = SEQUENCES[match[1]!]
  const key = name === undefined ? readMouse(match[1]!) : { name }
  return { length: ESC.length + match[0].length, key }
}

const MOUSE: Readonly<Record<string, MouseKey['name']>> = {
  0: 'click',
  64: 'wheel-up',
  65: 'wheel-down',
}

/** Undefined for other buttons, and when a button is released. */
function readMouse(sequence: string): MouseKey | undefined {
  const [, button = '', column, row] = /^<(\d+);(\d+);(\d+)M$/.exec(sequence) ?? []
  const name = MOUSE[button]
  return name && { name, column: Number(column) - 1, row: Number(row) - 1 }
}

function readPaste(text: string): Found | undefined {
  const end = text.indexOf(PASTE_END)
  if (end === -1) return undefined
  const pasted = text.slice(PASTE_BEGIN.length, end)
  return { length: end + PASTE_END.length, key: { name: 'paste', text: pasted } }
}

const CONTROLS: Readonly<Record<string, KeyName>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\b': 'backspace',
  '\u007f': 'backspace',
}

function readCharacter(text: string): Found {
  const character = String.fromCodePoint(text.codePointAt(0)!)
  const { length } = character
  const control = CONTROLS[character]
  if (control !== undefined) return { length, key: { name: control } }
  if (character >= ' ') return { length, key: { name: 'text', text: character } }
  const letter = String.fromCodePoint(character.codePointAt(0)! + 96)
  return { length, key: { name: `ctrl-${letter}` } }
}
