import { Running, forkhestra, type Finished } from './forkhestra.ts'
import { makeProject, sh, type Files } from './project.ts'

/** An agent that runs its prompt as a script. */
const OBEDIENT = sh('eval "$1"')

/** A project in which every prompt is a script, for agents of steps and sub-agents. */
export function makeQueueProject(prompt: string, files: Files = {}): string {
  return makeProject({ 'forge/.keep': '', agent: OBEDIENT, 'prompt.md': prompt, ...files })
}

export const RUN = ['./agent', '--prompt-file', 'prompt.md']

/** Runs the step's agent of such a project to its end. */
export function runPrompt(cwd: string, ...more: string[]): Promise<Finished> {
  return forkhestra([...RUN, ...more], { cwd })
}

export function startPrompt(cwd: string): Running {
  return new Running(RUN, { cwd })
}

/** The output of a command with --json. */
export async function ask<Answer>(cwd: string, ...words: string[]): Promise<Answer> {
  const { stdout, stderr } = await forkhestra([...words, '--json'], { cwd })
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as Answer
}

export interface TaskJson {
  readonly name: string
  readonly state: string
  readonly attempt: number
  readonly end: {
    readonly success: boolean
    readonly class?: string
    readonly output?: string
  } | null
}

export async function tasksOf(cwd: string): Promise<readonly TaskJson[]> {
  return (await ask<{ tasks: TaskJson[] }>(cwd, 'queue', '--all')).tasks
}

/** The problems in the queues of the newest run. */
export async function problemsOf(cwd: string): Promise<readonly string[]> {
  return (await ask<{ problems: string[] }>(cwd, 'queue', 'verify')).problems
}
