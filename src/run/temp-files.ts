import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Launch } from '../engines/engine.ts'

/** What a process needs in files: readable by this user alone, gone with the process. */
export interface TempFiles {
  readonly argv: readonly string[]
  readonly stdin: number | 'ignore'
  /** After the start: the process has its own hold on what it reads. */
  closeStdin(): void
  /** After the end. */
  remove(): void
}

/** Writes what is too long for the command line. */
export function makeTempFiles({ argv, stdin, files = [] }: Launch): TempFiles {
  if (stdin === undefined && files.length === 0) {
    return { argv, stdin: 'ignore', closeStdin: () => undefined, remove: () => undefined }
  }
  const folder = mkdtempSync(join(tmpdir(), 'forkhestra-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const paths = new Map(files.map(({ at, text }) => [at, write(folder, `${at}`, text)]))
    const fd = stdin === undefined ? undefined : openSync(write(folder, 'stdin', stdin), 'r')
    return {
      argv: argv.map((word, index) => paths.get(index) ?? word),
      stdin: fd ?? 'ignore',
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
