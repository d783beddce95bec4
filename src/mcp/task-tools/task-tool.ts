import type { z } from 'zod'
import type { TaskDatabase } from '../../tasks/database.ts'
import { brokenLine, describeEndedClaim } from '../../tasks/render.ts'
import type { Broken } from '../../tasks/store/scan.ts'
import type { Claim } from '../../tasks/store/state-shape.ts'
import type { Tool } from '../../queue/tools/tool.ts'

export interface TaskContext {
  readonly database: TaskDatabase
  readonly prefix: string
}

/** An operation as data; it answers with what the command line prints with `--plain`. */
interface Definition<Schema extends z.ZodObject> extends Tool<Schema> {
  readonly run: (input: z.output<Schema>, context: TaskContext) => string
}

export type TaskTool = Definition<z.ZodObject>

/** Erases the input type, which the schema checks before `run`. */
export function makeTaskTool<Schema extends z.ZodObject>(definition: Definition<Schema>): TaskTool {
  return definition
}

/** Appends warnings about claims of other owners that the work has ended, and about what may be a mistake. */
export function withWarnings(
  work: (options: {
    onClaimEnded(id: string, claim: Claim): void
    onDoubt(id: string, what: string): void
  }) => string,
): string {
  const warnings: string[] = []
  const text = work({
    onClaimEnded: (id, claim) => warnings.push(describeEndedClaim(id, claim)),
    onDoubt: (id, what) => warnings.push(`${id} ${what}`),
  })
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

/** Rewrites a hint of forge-tasks in terms of the task tools. `prefix` precedes their names. */
export function translateHint(hint: string, prefix: string): string {
  return hint
    .replaceAll('forge-tasks release', `the tool ${prefix}claim, release`)
    .replaceAll(/forge-tasks (?=[a-z])/g, `the tool ${prefix}`)
    .replaceAll('--check-ac N', 'checkAc')
    .replaceAll('--check-ac', 'checkAc')
    .replaceAll('--remove-dep ID', 'removeDeps')
    .replaceAll('--force', 'force: true')
    .replaceAll(/--(fix|status|done)\b/g, '$1')
}
