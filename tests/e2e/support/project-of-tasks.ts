import type { ScriptSource } from '../../../src/fake-model/script-schema.ts'
import { openStage, type Stage } from './stage.ts'
import { bash } from './writer.ts'

/** What the model answers, in order. */
export type Turns = Extract<ScriptSource, readonly unknown[]>
type Setting = Omit<Parameters<typeof openStage>[0], 'script'>

/** What the scripted planner and builder do, one list of turns for each of their iterations. */
interface Parts {
  readonly planner?: Turns[]
  readonly builder?: Turns[]
  /** What the builder does instead if its prompt matches, in this order. */
  readonly told?: readonly Told[]
}

interface Told {
  readonly prompt: string
  readonly sessions: Turns[]
}

/** A fresh git repository with nothing but specs. */
export async function openRepository(parts: Parts, setting: Setting = {}): Promise<Stage> {
  const files = { 'forge/orch/specs/SPECS.md': '# Specs\n\nThree pages.\n', ...setting.files }
  const stage = await openStage({ ...setting, files, script: makeScript(parts) })
  await must(stage, 'git init -q -b main && git add -A && git commit -q -m "The specs"')
  return stage
}

function makeScript({ planner = [], builder = [], told = [] }: Parts): ScriptSource {
  const parts = [
    { when: { system: '# Planner' }, sessions: planner },
    ...told.map(({ prompt, sessions }) => ({ when: { system: '# Builder', prompt }, sessions })),
    { when: { system: '# Builder' }, sessions: builder },
  ]
  return { conversations: parts.filter(({ sessions }) => sessions.length > 0) }
}

export async function must(stage: Stage, line: string): Promise<string> {
  const { code, stdout, stderr } = await stage.shell(line)
  if (code !== 0) throw new Error(`${line}: exit code ${code}\n${stdout}${stderr}`)
  return stdout.trim()
}

/** The first lines of the messages of all commits since the specs, oldest first. */
export async function commits(stage: Stage): Promise<string[]> {
  const log = await must(stage, 'git log --reverse --format=%s')
  return log.split('\n').slice(1)
}

export async function tasks(stage: Stage): Promise<string[]> {
  return (await must(stage, 'forge-tasks list --plain')).split('\n').toSorted()
}

/** Three tasks, each of which waits for the one before. */
export const PLAN_THREE = bash(`set -e
forge-tasks create "Page 1" --ac "page-1.txt exists"
forge-tasks create "Page 2" --ac "page-2.txt exists" --depends-on TASK-001
forge-tasks create "Page 3" --ac "page-3.txt exists" --depends-on TASK-002
git add forge/tasks
git commit -q -m "Plan three pages"`)

const CLAIM = bash('forge-tasks next --claim --plain')

/** Takes the next task, which is to be this one, and carries it out. */
export function builds(number: number): Turns {
  const finish = bash(`set -e
echo "Page ${number}" >page-${number}.txt
forge-tasks edit TASK-00${number} --check-ac 1
forge-tasks edit TASK-00${number} --status done --append-notes "The page is there"
git add -A
git commit -q -m "TASK-00${number}: Add page ${number}"`)
  return [{ tool: CLAIM }, { tool: finish }]
}

/** Takes the next task, which is to be this one, and cannot carry it out. */
export function blocks(number: number): Turns {
  const give = bash(`set -e
forge-tasks edit TASK-00${number} --status blocked --append-notes "Needs a picture; tried to draw it"
git add -A
git commit -q -m "TASK-00${number}: blocked, the picture is missing"`)
  return [{ tool: CLAIM }, { tool: give }]
}
