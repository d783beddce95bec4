import { lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { listNames } from '../../base/files.ts'
import { processIdentity } from '../../base/linux/process-identity.ts'
import type { ProcessLaunch } from '../../engines/engine.ts'

/** Temporary files of a process: private to this user, and removed when the process ends. */
export interface TempFiles {
  readonly argv: readonly string[]
  readonly stdin: Bun.BunFile | 'ignore'
  /** Call after the end of the process. */
  remove(): void
}

/** Writes texts that are too long for the command line. */
export function makeTempFiles(
  { argv, stdin, files = [] }: ProcessLaunch,
  place?: string,
): TempFiles {
  if (stdin === undefined && files.length === 0) {
    return { argv, stdin: 'ignore', remove: () => undefined }
  }
  // The process may have another working directory.
  const temp = resolve(place ?? tmpdir())
  removeLeftovers(temp)
  const folder = mkdtempSync(join(temp, `forkhestra-${process.pid}-`))
  const remove = () => removeFolder(folder)
  try {
    const paths = new Map(
      files.map(({ at, text, name }) => [at, write(folder, name ?? `${at}`, text)]),
    )
    return {
      argv: argv.map((word, index) => paths.get(index) ?? word),
      stdin: stdin === undefined ? 'ignore' : Bun.file(write(folder, 'stdin', stdin)),
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

/** May fail while a process still writes into the folder; a later run removes it. */
function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // Not a reason to end the run.
  }
}

const OWN = /^forkhestra-(\d+)-\w{6}$/
/** Recent folders are kept: the agent may outlive its run, or the pid may belong to another container. */
const OLD_MS = 24 * 3600 * 1000

/** Folders that this process has already cleaned up. */
const swept = new Set<string>()

/** Removes what killed processes left: these files may contain copies of the user's files. */
function removeLeftovers(temp: string): void {
  if (swept.has(temp)) return
  swept.add(temp)
  for (const name of listNames(temp)) {
    const pid = OWN.exec(name)?.[1]
    if (pid === undefined || processIdentity(Number(pid)) !== undefined) continue
    const stat = lstatSync(join(temp, name), { throwIfNoEntry: false })
    const isOurs = stat?.isDirectory() === true && stat.uid === process.getuid?.()
    if (isOurs && Date.now() - stat.mtimeMs > OLD_MS) removeFolder(join(temp, name))
  }
}
