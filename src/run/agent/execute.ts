import { randomLetters } from '../../base/ids.ts'
import type { Executed, ExecOptions } from '../../engines/native/tools/tool.ts'
import { SpawnError, type Exit } from '../process/child.ts'
import { describeLeftovers, endWithTree, TASK_PATH, type Family } from '../process/family.ts'
import { startProcess, type Cut } from '../process/process.ts'

/** Where a command of the built-in agent runs. */
interface Surroundings {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Aborts when everything must end without waiting. */
  readonly force: AbortSignal
  readonly family: Family
  readonly warn: (text: string) => void
}

/** Shorter than for agents: a model waits for the result. */
const TERM_MS = 2000

/** Runs a command of the built-in agent; nothing that it started outlives it. */
export async function execute(
  command: string,
  { timeoutMs, signal, take }: ExecOptions,
  { cwd, env, force, family, warn }: Surroundings,
): Promise<Executed> {
  const key = `x-${randomLetters(12)}`
  const path = [env[TASK_PATH], key].filter(Boolean).join(':')
  const argv = ['/bin/sh', '-c', command]
  try {
    const { pid, finished } = startProcess(
      { kind: 'process', argv, env: {}, decode: () => undefined },
      {
        cwd,
        env: { ...env, [TASK_PATH]: path },
        grace: { markerMs: 0, termMs: TERM_MS },
        limits: { timeoutMs },
        stop: signal,
        force,
        take: (_, bytes) => take(bytes),
      },
    )
    const over = endWithTree(pid, finished, signal, force, 0)
    const end = await family.whileAlive(over)
    const left = await family.endTask(key, force)
    if (left.length > 0)
      warn(`ended processes that a command left running: ${describeLeftovers(left)}`)
    return asExecuted(end)
  } catch (error) {
    if (error instanceof SpawnError) return { kind: 'failed', error: error.message }
    throw error
  }
}

function asExecuted(end: Exit | Cut | undefined): Executed {
  if (end === undefined) return { kind: 'stopped' }
  if (end.kind === 'exited' || end.kind === 'signalled') return end
  return { kind: 'timed_out' }
}
