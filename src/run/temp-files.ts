import {
  closeSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { processIdentity } from '../base/process-identity.ts'
import type { ProcessLaunch } from '../engines/engine.ts'

/** What a process needs in files: readable by this user alone, gone with the process. */
export interface TempFiles {
  readonly argv: readonly string[]
  readonly stdin: number
  /** After the start: the process has its own hold on what it reads. */
  closeStdin(): void
  /** After the end. */
  remove(): void
}

let empty: number | undefined

/** Opened once: otherwise every process would do so, while we wait for it to begin. */
function nothing(): number {
  return (empty ??= openSync(devNull, 'r'))
}

/** Writes what is too long for the command line. */
export function makeTempFiles(
  { argv, stdin, files = [] }: ProcessLaunch,
  place?: string,
): TempFiles {
  if (stdin === undefined && files.length === 0) {
    return { argv, stdin: nothing(), closeStdin: () => undefined, remove: () => undefined }
  }
  // The process may work in another folder than we do.
  const temp = resolve(place ?? tmpdir())
  removeLeftovers(temp)
  const folder = mkdtempSync(join(temp, `forkhestra-${process.pid}-`))
  const remove = () => removeFolder(folder)
  try {
    const paths = new Map(
      files.map(({ at, text, name }) => [at, write(folder, name ?? `${at}`, text)]),
    )
    const fd = stdin === undefined ? undefined : openSync(write(folder, 'stdin', stdin), 'r')
    return {
      argv: argv.map((word, index) => paths.get(index) ?? word),
      stdin: fd ?? nothing(),
      closeStdin: () => {
        if (fd !== undefined) closeSync(fd)
      },
      remove,
    }
  } catch (error) {
    remove()
    throw error
  }
}

function write(folder: string, name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

/** Somebody may still write into it; what stays is found another day. */
function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // It is of no use to anybody, and no reason to end a run.
  }
}

const OWN = /^forkhestra-(\d+)-\w{6}$/
/** An agent may outlive whoever started it, and a pid may be of another machine's container. */
const OLD_MS = 24 * 3600 * 1000

/** Folders looked through by this process. */
const swept = new Set<string>()

/** What a process left that was killed: nobody else removes copies of a user's files. */
function removeLeftovers(temp: string): void {
  if (swept.has(temp)) return
  swept.add(temp)
  for (const name of namesIn(temp)) {
    const pid = OWN.exec(name)?.[1]
    if (pid === undefined || processIdentity(Number(pid)) !== undefined) continue
    const stat = lstatSync(join(temp, name), { throwIfNoEntry: false })
    const isOurs = stat?.isDirectory() === true && stat.uid === process.getuid?.()
    if (isOurs && Date.now() - stat.mtimeMs > OLD_MS) removeFolder(join(temp, name))
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
