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
export function makeTempFiles({ argv, stdin, files = {} }: Launch): TempFiles {
  const texts = Object.entries(files)
  if (stdin === undefined && texts.length === 0) {
    return { argv, stdin: 'ignore', closeStdin: () => undefined, remove: () => undefined }
  }
  const folder = mkdtempSync(join(tmpdir(), 'forkhestra-'))
  const paths = new Map(texts.map(([name, text], index) => [name, write(folder, `${index}`, text)]))
  const fd = stdin === undefined ? undefined : openSync(write(folder, 'stdin', stdin), 'r')
  return {
    argv: argv.map((word) => paths.get(word) ?? word),
    stdin: fd ?? 'ignore',
    closeStdin: () => {
      if (fd !== undefined) closeSync(fd)
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function write(folder: string, name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}
