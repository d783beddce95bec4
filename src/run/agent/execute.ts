import { randomLetters } from '../../base/ids.ts'
import type { Executed, ExecOptions } from '../../engines/native/tools/tool.ts'
import { SpawnError, type Exit } from '../process/child.ts'
import { endProcesses } from '../process/end-processes.ts'
import type { Processes } from '../chain/context.ts'
import { describeLeftovers, TASK_PATH, treeOf } from '../process/family.ts'
import { startProcess, type Cut } from '../process/process.ts'

/** Where a command of the built-in agent runs. */
export interface Surroundings {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Aborts when everything must end without waiting. */
  readonly force: AbortSignal
  readonly family: Processes
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
    const end = await family.whileAlive(pid, endWithTree(pid, finished, signal, force))
    const left = await family.endTask(key, force)
    if (left.length > 0)
      warn(`ended processes that a command left running: ${describeLeftovers(left)}`)
    return asExecuted(end)
  } catch (error) {
    if (error instanceof SpawnError) return { kind: 'failed', error: error.message }
    throw error
  }
}

async function endWithTree<End>(
  pid: number,
  finished: Promise<End>,
  signal: AbortSignal,
  force: AbortSignal,
): Promise<End> {
  const tree = treeOf(pid)
  // Records the descendants while they can still be found through their parent.
  const look = () => void tree()
  signal.addEventListener('abort', look)
  try {
    const end = await finished
    if (signal.aborted) await endProcesses(tree, force, { termMs: 0 })
    return end
  } finally {
    signal.removeEventListener('abort', look)
  }
}

function asExecuted(end: Exit | Cut | undefined): Executed {
  if (end === undefined) return { kind: 'stopped' }
  if (end.kind === 'exited' || end.kind === 'signalled') return end
  return { kind: 'timed_out' }
}
