import type { z } from 'zod'
import { brokenLine } from '../tasks/render.ts'
import type { Asking } from '../tasks/list.ts'
import type { Places } from '../tasks/store/places.ts'
import type { Broken } from '../tasks/store/scan.ts'

/** For whom, where and when a call acts. */
export interface Desk extends Asking {
  readonly places: Places
  /** What stands before the names of the tools, where others are beside them. */
  readonly prefix: string
}

/** An operation as data; its answer is the text that the command line prints, of tasks with `--plain`. */
interface Definition<Schema extends z.ZodObject> {
  readonly name: string
  readonly description: string
  readonly input: Schema
  /** Nothing is changed by it, so that a client need not ask its user. */
  readonly isReading?: boolean
  run(input: z.output<Schema>, desk: Desk): string
}

export type Tool = Definition<z.ZodObject>
export type Input = z.output<Tool['input']>

/** Forgets the type of the input, which is checked against the schema before `run`. */
export function makeTool<Schema extends z.ZodObject>(definition: Definition<Schema>): Tool {
  return definition
}

/** Whose work was ended by it is told behind an answer. */
export function withTaken(text: string, taken: readonly string[]): string {
  return taken.length === 0 ? text : [text, '', ...taken].join('\n')
}

const MOST_BROKEN = 5

/** Files that cannot be read are named behind an answer, a few of them. */
export function withBroken(text: string, broken: readonly Broken[], { prefix }: Desk): string {
  if (broken.length === 0) return text
  const advice = `the tool ${prefix}doctor names them`
  const lines = atMost(MOST_BROKEN, broken.map(brokenLine), advice)
  return [text, '', 'Files that cannot be used:', ...lines].join('\n')
}

/** The first lines, and how many there are besides: an agent has to read all of an answer. */
export function atMost(limit: number, lines: readonly string[], advice: string): string[] {
  const rest = lines.length - limit
  return rest <= 0 ? [...lines] : [...lines.slice(0, limit), `… and ${rest} more; ${advice}`]
}
