import { CommandLine, type Value } from '../../chain/parse/prompt/command-line.ts'
import { readWhole } from '../../base/numbers.ts'
import { parseDuration } from '../../base/durations.ts'
import { nearest } from '../../base/nearest.ts'

/** Chat commands for forkhestra itself, besides those of prompts. */
export type OwnCommand =
  | { readonly name: 'help' }
  | { readonly name: 'cost' }
  | { readonly name: 'quit' }
  | { readonly name: 'queue' }
  | { readonly name: 'inbox' }
  | {
      readonly name: 'check'
      readonly from?: string[]
      readonly lifo: boolean
      readonly max?: number
    }
  | {
      readonly name: 'receive'
      readonly from?: string[]
      readonly lifo: boolean
      readonly timeoutMs?: number
    }
  | { readonly name: 'send'; readonly to: string; readonly message: string }
  | { readonly name: 'cancel'; readonly task: string }

const OWN = /^\/(help|cost|quit|queue|inbox|check|receive|send|cancel)(?=\s|$)/
/** Words for quitting from other programs: they should not cost a turn. */
const QUIT = /^(?:\/(?:exit|bye|q)|exit|quit|:q)$/i
/** Those that are part of a prompt lose their slash where the prompt is read. */
const LITERAL =
  /^\/(?=\/(?!(?:read|push|run|queue|inbox|check|receive|send|cancel)(?:\s|$))[A-Za-z]+(?:\s|$))/

/** Undefined where it is something to say; refuses with the place what is written wrong. */
export function readOwnCommand(text: string): OwnCommand | undefined {
  const typed = text.trim()
  if (QUIT.test(typed)) return { name: 'quit' }
  const [, name] = typed.includes('\n') ? [] : (OWN.exec(typed) ?? [])
  if (name === undefined) return undefined
  const line = new CommandLine('what you typed', 1, typed)
  const word = line.takeWord()
  switch (name) {
    case 'check': {
      const { from, lifo, max } = takeOptions(line, ['from', 'max', 'lifo'])
      const most = max && {
        max: line.read(max, (value) => readWhole('max', value, MANY, 'Write max=5.')),
      }
      return { name, lifo: lifo !== undefined, ...namesOf(line, from), ...most }
    }
    case 'receive': {
      const { from, lifo, timeout } = takeOptions(line, ['from', 'timeout', 'lifo'])
      const limit = timeout && { timeoutMs: line.read(timeout, readTimeout) }
      return { name, lifo: lifo !== undefined, ...namesOf(line, from), ...limit }
    }
    case 'send': {
      const to = needed(line, line.isAtEnd ? undefined : line.takeWord(), word, 'name of an agent')
      return { name, to, message: needed(line, line.takeRest(), word, 'message') }
    }
    case 'cancel':
      return { name, task: needed(line, line.takeRest(), word, 'name of a task') }
    default:
      takeOptions(line, [])
      return { name: name as 'help' | 'cost' | 'quit' | 'queue' | 'inbox' }
  }
}

const ALL = 'help cost quit queue inbox check receive send cancel read push run'.split(' ')

/** A word that was perhaps meant as a command: misspelt, or alone. */
export function findMiss(
  text: string,
): { readonly word: string; readonly meant?: string } | undefined {
  const typed = text.trim()
  const word = /^\/[A-Za-z]+(?=\s|$)/.exec(typed)?.[0]
  const name = word?.slice(1).toLowerCase() ?? ''
  if (word === undefined || ALL.includes(name) || QUIT.test(typed)) return undefined
  const meant = nearest(name, ALL)
  if (meant !== undefined) return { word, meant: `/${meant}` }
  return typed === word ? { word } : undefined
}

const MANY = { least: 1, most: 1_000_000 }

/** What is said in place of a command of ours, with a further slash before it. */
export function withoutSlash(text: string): string {
  return text.replace(LITERAL, '')
}

function takeOptions<Name extends string>(
  line: CommandLine,
  names: readonly Name[],
): Partial<Record<Name, Value>> {
  const found: Partial<Record<string, Value>> = {}
  for (let name = line.takeOptionName(); name !== undefined; name = line.takeOptionName()) {
    const known = names.find((each) => each === name.text.replace(/^--/, ''))
    if (known === undefined) throw line.refuse(name, `Unknown option '${name.text}'.`, HELP)
    found[known] = known === 'lifo' ? name : line.takeOptionValue(name)
  }
  const rest = line.takeRest()
  if (rest !== undefined) throw line.refuse(rest, 'Too many arguments.', HELP)
  return found
}

const HELP = 'See /help.'

function needed(line: CommandLine, value: Value | undefined, word: Value, what: string): string {
  if (value === undefined || value.text === '')
    throw line.refuse(word, `The ${what} is missing.`, HELP)
  return value.text
}

function namesOf(line: CommandLine, value: Value | undefined): { from?: string[] } {
  if (value === undefined) return {}
  const from = value.text.split(',').filter((name) => name !== '')
  if (from.length === 0)
    throw line.refuse(value, 'from is empty.', 'Leave it out to accept messages from anyone.')
  return { from }
}

/** A number alone is seconds. */
function readTimeout(text: string): number {
  return parseDuration(/^\d+(?:\.\d+)?$/.test(text) ? `${text}s` : text, 'timeout')
}
