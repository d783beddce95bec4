import { realpathSync } from 'node:fs'
import { sep } from 'node:path'
import type { Place } from './check.ts'

/** A program that may be run, or why it may not. */
export type Program =
  | { readonly kind: 'program'; readonly path: string }
  | { readonly kind: 'inside'; readonly path: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unusable'; readonly path: string; readonly problem: string }

/** Searches PATH. Programs inside the working directory are reported, but never run. */
export function findProgram(name: string, { cwd, facts }: Place): Program {
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

export interface Answer {
  /** Undefined if a signal ended it. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

const OUTPUT_LIMIT = 1024 * 1024

/** The process groups of running programs. */
const asked = new Set<number>()

/** Kills all running programs, when doctor is interrupted. */
export function endAsked(): void {
  for (const pid of asked) endGroup(pid)
}

/** Runs a program; one that takes too long is killed with all its children. */
export async function ask(
  argv: readonly string[],
  options: { readonly cwd: string; readonly env: Place['env']; readonly limitMs: number },
): Promise<Answer | undefined> {
  const { cwd, env, limitMs } = options
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), limitMs)
  try {
    const child = Bun.spawn([...argv], {
      cwd,
      env,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      detached: true,
    })
    asked.add(child.pid)
    const whole = Promise.all([child.exited, read(child.stdout), read(child.stderr)])
    const answer = await Promise.race([whole, late])
    endGroup(child.pid)
    if (answer === undefined) return undefined
    const [code, stdout, stderr] = answer
    return { code: child.signalCode === null ? code : undefined, stdout, stderr }
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

async function read(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of stream) {
    // Read to the end so that the program does not block on a full pipe; only the beginning is kept.
    if (text.length < OUTPUT_LIMIT) text += decoder.decode(bytes, { stream: true })
  }
  return text
}

function endGroup(pid: number): void {
  asked.delete(pid)
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has no children left.
  }
}
