import { closeSync, constants, existsSync, openSync } from 'node:fs'
import type { ProcessLaunch } from '../../engines/engine.ts'
import { errorCode, errorText, tryOr } from '../../base/errors.ts'
import { waitForOwn } from '../../base/linux/children.ts'
import { openChildPipe, type Pipe } from './pipe.ts'
import { makeTempFiles, type TempFiles } from './temp-files.ts'

export type Exit =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }

/** A process that leads its own session and process group. */
export interface Child {
  readonly pid: number
  readonly exited: Promise<Exit>
  readonly out: Pipe
  readonly err: Pipe
  /** Signals the whole group. */
  signal(signal: NodeJS.Signals): void
}

/** The process could not be started; the message says why. */
export class SpawnError extends Error {}

/** The temporary files for the process could not be written. */
export class FilesError extends SpawnError {}

export function startChild(launch: ProcessLaunch, cwd: string, env: Record<string, string>): Child {
  const files = prepareFiles(launch)
  const out = openChildPipe()
  const err = openChildPipe()
  const mark = openMark(env['FORKHESTRA_RECORD'])
  try {
    const child = Bun.spawn([...files.argv], {
      cwd,
      env,
      detached: true,
      stdio: [files.stdin, out.stdio, err.stdio, ...withMark(mark)],
    })
    return {
      pid: child.pid,
      exited: waitForOwn(child.pid, child.exited).then((code) => {
        files.remove()
        return child.signalCode === null
          ? { kind: 'exited', code }
          : { kind: 'signalled', signal: String(child.signalCode) }
      }),
      out: out.open(child.stdout),
      err: err.open(child.stderr),
      signal: (signal) => sendSignal(-child.pid, signal),
    }
  } catch (error) {
    files.remove()
    out.discard()
    err.discard()
    throw new SpawnError(explain(error, launch, cwd))
  } finally {
    if (mark !== undefined) closeSync(mark)
    out.releaseWriter()
    err.releaseWriter()
  }
}

/**
 * Every descendant of an agent inherits this descriptor of the record, even in another session and with an
 * empty environment, so orphans can be found after forkhestra is killed. Scripts are unlikely to use this
 * number.
 */
export const MARK_FD = 100

function openMark(record: string | undefined): number | undefined {
  if (record === undefined || process.platform !== 'linux') return undefined
  // The record was deleted.
  return tryOr(undefined, () => openSync(record, constants.O_RDONLY | constants.O_DIRECTORY))
}

function withMark(mark: number | undefined): (number | null)[] {
  return mark === undefined ? [] : [...Array.from({ length: MARK_FD - 3 }, () => null), mark]
}

function prepareFiles(launch: ProcessLaunch): TempFiles {
  try {
    return makeTempFiles(launch)
  } catch (error) {
    throw new FilesError(`cannot write the prompt to a file: ${errorText(error)}`)
  }
}

/** Signals a process or, with a negative pid, a group; does nothing if it has already ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    const code = errorCode(error)
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

// The system reports a missing working directory or interpreter as a missing program.
function explain(error: unknown, launch: ProcessLaunch, cwd: string): string {
  const program = launch.argv[0] ?? ''
  const code = errorCode(error)
  if (!existsSync(cwd)) return `the working directory ${cwd} no longer exists`
  if (code === 'ENOENT' && existsSync(program))
    return `the interpreter in the first line of ${program} was not found`
  if (code === 'ENOENT') return `${program} no longer exists`
  if (code === 'EACCES') return `no permission to execute ${program}`
  if (code === 'ENOEXEC') return `${program} is not an executable for this system`
  if (code === 'E2BIG') return 'its arguments and environment are longer than the system allows'
  return `cannot start ${program}: ${errorText(error)}`
}
