import { UserError } from '../../base/errors.ts'
import type { Fill } from '../parse/prompt/command-line.ts'
import { parsePhases } from '../parse/prompt/parse-phases.ts'
import type { Phases, PushCommand, SetupCommand } from '../parse/prompt/phases.ts'
import { renderPhases } from '../parse/prompt/render-phases.ts'
import { fillTemplate, renderTemplate, type Template } from '../parse/template.ts'
import type { Values } from './choose.ts'

/** Private-use characters that replace the values while the text is parsed. */
const FIRST_SIGN = 0xf0000
const LAST_SIGN = 0x10fffd
const SIGNS = /[\u{F0000}-\u{10FFFD}]/gu

/** Limits how deep prompts of tasks may be nested. */
const DEEPEST = 16

/**
 * Parses the commands of a prompt and of its tasks' prompts. Values of variables are always text, never
 * commands, including in the prompts of tasks. Unfilled variables stay as written, except in command options,
 * where `values` fill them.
 */
export function readPhases(template: Template, where: string, values: Values = NONE): Phases {
  const held = new Map<string, Exclude<Template[number], string>>()
  const nextSign = unusedSigns(template.filter((part) => typeof part === 'string').join(''))
  const text = template
    .map((part) => {
      if (typeof part === 'string') return part
      const sign = nextSign()
      held.set(sign, part)
      return sign
    })
    .join('')
  const filler =
    (valuesOfHoles: Values): Fill =>
    (signed) =>
      signed.replaceAll(SIGNS, (sign) => {
        const part = held.get(sign)
        return part === undefined ? sign : renderTemplate(fillTemplate([part], valuesOfHoles))
      })
  const [fill, fillOption] = [filler(NONE), filler(values)]
  return fillPhases(parsePhases(text, where, fillOption), { where, fill, fillOption, depth: 1 })
}

const NONE: Values = new Map()

/** Picks characters that the text does not contain. */
function unusedSigns(text: string): () => string {
  const used = new Set(text.match(SIGNS) ?? [])
  let code = FIRST_SIGN
  return () => {
    let sign = String.fromCodePoint(code++)
    while (used.has(sign)) sign = String.fromCodePoint(code++)
    if (code > LAST_SIGN) throw new UserError('A prompt has too many variables.')
    return sign
  }
}

/** Renders a prompt as one text, escaped so that no value in it becomes a command. */
export function renderPrompt(template: Template, where: string): string {
  const text = renderTemplate(template)
  const hasValues = template.some((part) => typeof part !== 'string' && 'value' in part)
  if (!hasValues) return text
  const wanted = readPhases(template, where)
  return isReadAs(text, wanted) ? text : renderPhases(wanted)
}

/** A prompt without commands. */
export function contentOnly(content: string): Phases {
  return { setup: [], content, teardown: [] }
}

/** Whether a prompt queues or starts something before its agent. */
export function hasSetup({ setup }: Phases): boolean {
  return setup.some(({ kind }) => kind !== 'read')
}

/** Whether a prompt queues something after its agent. */
export function hasTeardown({ teardown }: Phases, isSuccess: boolean): boolean {
  return teardown.some((command) => isWantedAfter(command, isSuccess))
}

/** Whether a teardown command applies to this outcome of the agent. */
export function isWantedAfter(
  { on = 'success' }: Phases['teardown'][number],
  isSuccess: boolean,
): boolean {
  return on === 'always' || (on === 'success') === isSuccess
}

interface Reading {
  readonly where: string
  readonly fill: Fill
  readonly fillOption: Fill
  readonly depth: number
}

function fillPhases({ setup, content, teardown }: Phases, reading: Reading): Phases {
  const fillPush = (task: PushCommand) => ({ ...task, prompt: fillTask(task, reading) })
  const fillCommand = (command: SetupCommand): SetupCommand => {
    if (command.kind === 'push') return fillPush(command)
    return command.kind === 'read' ? { ...command, path: reading.fill(command.path) } : command
  }
  return {
    setup: setup.map(fillCommand),
    content: reading.fill(content),
    teardown: teardown.map(fillPush),
  }
}

/** Fills the prompt of a task, escaped so that no value becomes a command there. */
function fillTask(task: PushCommand, reading: Reading): string {
  const { where, fill, fillOption, depth } = reading
  const place = taskPlace(task, where)
  if (depth === DEEPEST)
    throw new UserError(`${place}  Tasks are nested more than ${DEEPEST} levels deep.`)
  const phases = parsePhases(task.prompt, place, fillOption)
  const wanted = fillPhases(phases, { ...reading, where: place, depth: depth + 1 })
  const text = fill(task.prompt)
  if (wanted.teardown.length > 0 && wanted.content.trim() === '') {
    const hint = 'Set the variable, or add some text next to it.'
    throw new UserError(`${place}  The content is empty after variables are filled in.`, hint)
  }
  return text === task.prompt || isReadAs(text, wanted) ? text : renderPhases(wanted)
}

/** The location of a task's prompt in messages. */
export function taskPlace({ name, line }: PushCommand, where: string): string {
  return `${where}:${line}, task${name === undefined ? '' : ` '${name}'`}`
}

function isReadAs(text: string, wanted: Phases): boolean {
  try {
    return Bun.deepEquals(withoutLines(parsePhases(text, '')), withoutLines(wanted))
  } catch (error) {
    if (error instanceof UserError) return false
    throw error
  }
}

/** Line numbers differ if a value has several lines. */
function withoutLines({ setup, content, teardown }: Phases): Phases {
  const unnumbered = <Command extends SetupCommand>(command: Command) => ({ ...command, line: 0 })
  return { setup: setup.map(unnumbered), content, teardown: teardown.map(unnumbered) }
}
