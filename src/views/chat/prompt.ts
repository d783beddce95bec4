import type { Key } from '../terminal/keys.ts'
import { atEnd, hasLine, textOf, typeKey, type EditedText } from '../terminal/line-editor.ts'
import { look, remember, type InputHistory } from './history.ts'

/** The current and the earlier inputs. */
export interface Prompt {
  readonly edit: EditedText
  readonly past: InputHistory
}

/** What a key requests besides a change of the input. */
export type Action =
  | { readonly type: 'say'; readonly text: string }
  | { readonly type: 'interrupt' | 'end' | 'suspend' | 'clear' }

export function pressKey(
  prompt: Prompt,
  key: Key,
): { readonly prompt: Prompt; readonly action?: Action } {
  const { edit, past } = prompt
  const text = textOf(edit)
  switch (key.name) {
    case 'enter':
      return enter(prompt)
    case 'ctrl-c':
      return { prompt, action: { type: 'interrupt' } }
    case 'ctrl-d':
      if (text === '') return { prompt, action: { type: 'end' } }
      break
    case 'ctrl-z':
      return { prompt, action: { type: 'suspend' } }
    case 'ctrl-l':
      return { prompt, action: { type: 'clear' } }
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
function enter({ edit, past }: Prompt): { prompt: Prompt; action?: Action } {
  const { before, after } = edit
  if (before.endsWith('\\') && (after === '' || after.startsWith('\n'))) {
    return { prompt: { edit: { before: `${before.slice(0, -1)}\n`, after }, past } }
  }
  const text = textOf(edit)
  if (text.trim() === '') return { prompt: { edit: atEnd(''), past } }
  return {
    prompt: { edit: atEnd(''), past: remember(past, text) },
    action: { type: 'say', text },
  }
}
