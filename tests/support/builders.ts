import { dirname, join } from 'node:path'
import type { RunEvent } from '../../src/records/events/schema.ts'
import { environment, FORKHESTRA, forkhestra } from './forkhestra.ts'
import { makeProject, sh, type Files } from './project.ts'

// Projects with tasks, and a stand-in for claude that plans and builds.

const ENV = { IS_SANDBOX: '1', USER: 'me' }

/** A planner that creates tasks and prints the marker. */
export const PLAN = [
  'for title in One Two Three; do forge-tasks create "$title" --ac "It works" >/dev/null; done',
  'echo FORKHESTRA_COMPLETE',
]

/** A builder that completes one ready task and prints the marker when none is left. */
export const BUILD = [
  `id=$(forge-tasks list --ready --plain | head -n 1 | cut -d ' ' -f 1)`,
  'if [ -n "$id" ]; then',
  '  forge-tasks edit "$id" --status "In Progress" >/dev/null',
  '  forge-tasks edit "$id" --check-ac 1 --status done >/dev/null',
  '  echo "$id" >>built',
  'fi',
  'echo FORKHESTRA_COMPLETE',
]

/** A stand-in for claude that acts as the agent of the given name. */
export function claude(play: Readonly<Record<string, readonly string[]>>): Files {
  const cases = Object.entries(play).map(([name, lines]) => `${name})\n${lines.join('\n')}\n;;`)
  return { claude: sh('case "$FORKHESTRA_AGENT" in', ...cases, 'esac') }
}

/** A project with these files and these tasks, each with one criterion. */
export function withTasks(titles: readonly string[], files: Files): string {
  const cwd = makeProject(files)
  const lines = titles.map((title) => JSON.stringify({ title, ac: ['It works'] }))
  if (lines.length > 0) tasks(cwd, ['create', '--batch'], lines.join('\n'))
  return cwd
}

/** Runs the real forge-tasks and returns its output. */
export function tasks(
  cwd: string,
  args: readonly string[],
  stdin = '',
  more: Readonly<Record<string, string>> = {},
): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync(
    [join(dirname(FORKHESTRA), 'forge-tasks'), ...args],
    { cwd, env: environment({ cwd, env: { ...ENV, ...more } }), stdin: Buffer.from(stdin) },
  )
  if (exitCode !== 0) throw new Error(`forge-tasks ${args.join(' ')}: ${stderr.toString()}`)
  return stdout.toString()
}

/** The statuses of all tasks, in the order of their ids. */
export function statuses(cwd: string): string[] {
  const lines = tasks(cwd, ['list', '--plain']).split('\n').filter(Boolean)
  return lines.toSorted().map((line) => line.split(' | ')[1]!)
}

export async function run(cwd: string, ...args: string[]) {
  return forkhestra(args, { cwd, env: ENV })
}

/** Runs with --json, and returns the events, the ends of steps and the refused markers. */
export async function runJson(cwd: string, ...args: string[]) {
  const { code, stdout } = await run(cwd, ...(args.includes('--json') ? args : [...args, '--json']))
  const events = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as RunEvent)
  const ends = events.flatMap((each) =>
    each.type === 'step_ended' ? [[each.reason, each.iterations] as const] : [],
  )
  const refusals = events.flatMap((each) => (each.type === 'marker_refused' ? [each.why] : []))
  return { code, events, ends, refusals }
}
