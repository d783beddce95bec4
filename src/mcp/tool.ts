import type { z } from 'zod'
import { brokenLine } from '../tasks/render.ts'
import type { TaskDatabase } from '../tasks/database.ts'
import type { Broken } from '../tasks/store/scan.ts'

export interface TaskContext {
  readonly database: TaskDatabase
  /** The prefix of the tool names. */
  readonly prefix: string
}

/** An operation as data; it answers with what the command line prints with `--plain`. */
interface Definition<Schema extends z.ZodObject> {
  readonly name: string
  readonly description: string
  readonly input: Schema
  /** Read-only: clients need not ask their user. */
  readonly isReading?: boolean
  run(input: z.output<Schema>, context: TaskContext): string
}

export type Tool = Definition<z.ZodObject>
export type Input = z.output<Tool['input']>

/** Erases the input type, which the schema checks before `run`. */
export function makeTool<Schema extends z.ZodObject>(definition: Definition<Schema>): Tool {
  return definition
}

/** Appends warnings about claims that the call has ended. */
export function withWarnings(text: string, warnings: readonly string[]): string {
  return warnings.length === 0 ? text : [text, '', ...warnings].join('\n')
}

const MOST_BROKEN = 5

/** Appends the first few files that cannot be read. */
export function withBroken(
  text: string,
  broken: readonly Broken[],
  { prefix }: TaskContext,
): string {
  if (broken.length === 0) return text
  const advice = `the tool ${prefix}doctor lists them`
  const lines = atMost(MOST_BROKEN, broken.map(brokenLine), advice)
  return [text, '', 'Files that cannot be read:', ...lines].join('\n')
}

/** Cuts long answers, which cost the agent tokens, and says how many lines are left out. */
export function atMost(limit: number, lines: readonly string[], advice: string): string[] {
  const rest = lines.length - limit
  return rest <= 0 ? [...lines] : [...lines.slice(0, limit), `… and ${rest} more; ${advice}`]
}
