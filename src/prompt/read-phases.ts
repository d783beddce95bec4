import { UserError } from '../base/errors.ts'
import type { Fill } from '../parse/phases/command-line.ts'
import { parsePhases } from '../parse/phases/parse-phases.ts'
import type { Phases, PushCommand, SetupCommand } from '../parse/phases/phases.ts'
import { renderPhases } from '../parse/phases/render-phases.ts'
import { fillTemplate, renderTemplate, type Template } from '../parse/template.ts'
import type { Values } from './choose.ts'

/** Where the signs are that stand for values while the text around them is read. */
const FIRST_SIGN = 0xf0000
const LAST_SIGN = 0x10fffd
const SIGNS = /[\u{F0000}-\u{10FFFD}]/gu

/** Tasks that queue tasks that queue tasks: deeper nobody writes them down. */
const DEEPEST = 16

/**
 * Reads a prompt as a small program, with the prompts of its tasks. What a variable was filled with
 * is text, whatever it holds, also in the prompts of tasks. Holes stay as they were written, but
 * for those in options of commands, which get their `values`.
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
  const same: Fill = (signed) => signed
  const [fill, fillOption] = held.size === 0 ? [same, same] : [filler(NONE), filler(values)]
  return fillPhases(parsePhases(text, where, fillOption), { where, fill, fillOption, depth: 1 })
}

const NONE: Values = new Map()

/** Gives signs that the text does not use itself: there are symbols among them. */
function unusedSigns(text: string): () => string {
  const used = new Set(text.match(SIGNS) ?? [])
  let code = FIRST_SIGN
  return () => {
    let sign = String.fromCodePoint(code++)
    while (used.has(sign)) sign = String.fromCodePoint(code++)
    if (code > LAST_SIGN) throw new UserError('A prompt has more variables than can be told apart.')
    return sign
  }
}

/** The same prompt as one text, written so that no value in it is read as a command. */
export function renderPrompt(template: Template, where: string): string {
  const text = renderTemplate(template)
  const hasValues = template.some((part) => typeof part !== 'string' && 'value' in part)
  if (!hasValues) return text
  const wanted = readPhases(template, where)
  return isReadAs(text, wanted) ? text : renderPhases(wanted)
}

/** A prompt in which nothing is a command. */
export function contentOnly(content: string): Phases {
  return { setup: [], content, teardown: [] }
}

/** Whether a prompt wants something to be queued or started before its agent. */
export function hasSetup({ setup }: Phases): boolean {
  return setup.some(({ kind }) => kind !== 'read')
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

/** The prompt of a task with its values, written so that none of them becomes a command there. */
function fillTask(task: PushCommand, reading: Reading): string {
  const { where, fill, fillOption, depth } = reading
  const place = taskPlace(task, where)
  if (depth === DEEPEST)
    throw new UserError(`${place}  More than ${DEEPEST} tasks inside each other.`)
  const phases = parsePhases(task.prompt, place, fillOption)
  const wanted = fillPhases(phases, { ...reading, where: place, depth: depth + 1 })
  const text = fill(task.prompt)
  if (wanted.teardown.length > 0 && wanted.content.trim() === '') {
    const hint = 'Give the variable a value, or write a few words beside it.'
    throw new UserError(`${place}  There is no content once the variables are filled in.`, hint)
  }
  return text === task.prompt || isReadAs(text, wanted) ? text : renderPhases(wanted)
}

/** What a message calls the prompt of a task. */
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

/** A value may have lines of its own. */
function withoutLines({ setup, content, teardown }: Phases): Phases {
  const unnumbered = <Command extends SetupCommand>(command: Command) => ({ ...command, line: 0 })
  return { setup: setup.map(unnumbered), content, teardown: teardown.map(unnumbered) }
}
