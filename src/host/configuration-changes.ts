import { errorText } from '../base/errors.ts'
import { Mask } from '../base/secrets/mask.ts'
import { printable } from '../base/terminal/printable.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { loadConfiguration, type Configuration } from './configuration.ts'
import { namedIn } from './secrets.ts'

/** So many changed lines are shown of each of the two. */
const SHOWN = 6
const WIDEST = 120

/** The recorded plan is carried out; that it would be another one now is worth a word. */
export async function changedConfiguration(
  { cwd, configuration }: Plan,
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  if (configuration === undefined) return []
  const { file, hash, text } = configuration
  const goesOn = 'the run continues with its original plan'
  let found: Configuration
  try {
    found = await loadConfiguration(cwd, file, process.env)
  } catch (error) {
    return [`${file} can no longer be used (${errorText(error)}); ${goesOn}`]
  }
  if (found.hash === hash) return []
  const now = new Mask({ ...env, ...namedIn(found.content) }).text(found.text ?? '')
  const lines = text === undefined ? [] : changedLines(text, now)
  return [[`${file} has changed since; ${goesOn}`, ...lines].join('\n')]
}

/** The lines between those with which both texts begin and end. */
function changedLines(before: string, now: string): string[] {
  const [old, young] = [before.split('\n'), now.split('\n')]
  const least = Math.min(old.length, young.length)
  let first = 0
  while (first < least && old[first] === young[first]) first += 1
  let last = 0
  while (last < least - first && old.at(-1 - last) === young.at(-1 - last)) last += 1
  const between = (lines: readonly string[]) => lines.slice(first, lines.length - last)
  return [...shown('-', between(old)), ...shown('+', between(young))]
}

function shown(sign: string, lines: readonly string[]): string[] {
  const more = lines.length > SHOWN ? [`  ${sign} … (${lines.length - SHOWN} more)`] : []
  const first = lines.slice(0, SHOWN).map((line) => `  ${sign} ${printable(line).slice(0, WIDEST)}`)
  return [...first, ...more]
}
