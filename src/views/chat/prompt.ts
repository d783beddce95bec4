import type { Key } from '../../base/terminal/keys.ts'
import { hasLine, NOTHING_TYPED, textOf, typeKey, type Edit } from './edit.ts'
import { look, remember, type InputHistory } from './input-history.ts'

/** The prompt line: what is typed, and what was. */
export interface Prompt {
  readonly edit: Edit
  readonly past: InputHistory
}

/** What a key asks for beyond the text. */
export type Wish =
  | { readonly type: 'say'; readonly text: string }
  | { readonly type: 'interrupt' | 'end' | 'suspend' | 'clear' }

/** The prompt after a key, and what is to be done. */
export function pressKey(
  prompt: Prompt,
  key: Key,
): { readonly prompt: Prompt; readonly wish?: Wish } {
  const { edit, past } = prompt
  const text = textOf(edit)
  switch (key.name) {
    case 'enter':
      return enter(prompt)
    case 'ctrl-c':
      return { prompt, wish: { type: 'interrupt' } }
    case 'ctrl-d':
      if (text === '') return { prompt, wish: { type: 'end' } }
      break
    case 'ctrl-z':
      return { prompt, wish: { type: 'suspend' } }
    case 'ctrl-l':
      return { prompt, wish: { type: 'clear' } }
    case 'up':
    case 'down':
    case 'ctrl-p':
    case 'ctrl-n': {
      const direction = key.name === 'up' || key.name === 'ctrl-p' ? -1 : 1
      if (hasLine(edit, direction)) break
      const found = look(past, direction, text)
      return {
        prompt: found === undefined ? prompt : { edit: atEnd(found.text), past: found.past },
      }
    }
  }
  return { prompt: { ...prompt, edit: typeKey(edit, key) } }
}

/** Sends the input; a backslash at the end of a line continues it. */
function enter({ edit, past }: Prompt): { prompt: Prompt; wish?: Wish } {
  const { before, after } = edit
  if (before.endsWith('\\') && lineIsOver(after)) {
    return { prompt: { edit: { before: `${before.slice(0, -1)}\n`, after }, past } }
  }
  const text = textOf(edit)
  if (text.trim() === '') return { prompt: { edit: NOTHING_TYPED, past } }
  return {
    prompt: { edit: NOTHING_TYPED, past: remember(past, text) },
    wish: { type: 'say', text },
  }
}

function lineIsOver(after: string): boolean {
  return after === '' || after.startsWith('\n')
}

/** The prompt with another text in it. */
export function atEnd(text: string): Edit {
  return { before: text, after: '' }
}
