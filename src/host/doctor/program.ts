import { realpathSync } from 'node:fs'
import { sep } from 'node:path'
import { firstCause } from '../../base/first-cause.ts'
import type { CheckContext } from './check.ts'

/** A program that may be run, or why it may not. */
export type FoundProgram =
  | { readonly kind: 'program'; readonly path: string }
  | { readonly kind: 'inside'; readonly path: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unusable'; readonly path: string; readonly problem: string }

/** Searches PATH. Programs inside the working directory are reported, but never run. */
export function findProgram(name: string, { cwd, facts }: CheckContext): FoundProgram {
  const fact = facts.programOnPath(name)
  if (fact.kind !== 'program') return fact
  const kind = isInside(fact.path, cwd) ? 'inside' : 'program'
  return { kind, path: fact.path }
}

function isInside(path: string, folder: string): boolean {
  const root = realpathSync(folder)
  return [path, realpathSync(path)].some((each) =>
    [folder, root].some((f) => each.startsWith(f + sep)),
  )
}

export interface ProgramOutput {
  /** Undefined if a signal ended it. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** A program that prints more is killed. */
const MOST_BYTES = 64 * 1024 * 1024

/** The process groups of running programs. */
const started = new Set<number>()

/** Kills all running programs, when doctor is interrupted. */
export function killStarted(): void {
  for (const pid of started) endGroup(pid)
}

/** Runs a program; one that takes too long is killed with all its children. */
export async function runBriefly(
  argv: readonly string[],
  options: { readonly cwd: string; readonly env: CheckContext['env']; readonly limitMs: number },
): Promise<ProgramOutput | undefined> {
  const { cwd, env, limitMs } = options
  try {
    const child = Bun.spawn([...argv], {
      cwd,
      env,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      detached: true,
      maxBuffer: MOST_BYTES,
    })
    started.add(child.pid)
    const output = Promise.all([child.exited, child.stdout.text(), child.stderr.text()])
    const cause = await firstCause({ output, late: limitMs })
    endGroup(child.pid)
    if (cause === 'late') return undefined
    const [code, stdout, stderr] = await output
    return { code: child.signalCode === null ? code : undefined, stdout, stderr }
  } catch {
    return undefined
  }
}

function endGroup(pid: number): void {
  started.delete(pid)
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Its process group is empty.
  }
}
