import { appendFileSync, mkdirSync, rmdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeNewFile } from '../base/atomic-write.ts'
import { errorText, UserError } from '../base/errors.ts'
import { statOf } from '../base/files.ts'

export interface NewFile {
  /** Relative to the folder that is written to. */
  readonly path: string
  readonly text: string
  /** Append to an existing file. */
  readonly append?: boolean
}

/** Not a usage error, so exit code 1. */
class CannotWrite extends UserError {
  override readonly exitCode: number = 1
}

/** Creates files with their folders and appends to existing ones. If one fails, all are undone. */
export function writeAllOrNothing(root: string, files: readonly NewFile[]): void {
  const undo: (() => void)[] = []
  for (const { path, text, append } of files) {
    try {
      for (const folder of missingFolders(root, dirname(path))) {
        mkdirSync(folder)
        undo.push(() => rmdirSync(folder))
      }
      const target = join(root, path)
      if (append === true) {
        const { size } = statSync(target)
        undo.push(() => truncateSync(target, size))
        appendFileSync(target, text)
      } else {
        writeNewFile(target, text, { durable: false })
        undo.push(() => rmSync(target))
      }
    } catch (error) {
      for (const step of undo.toReversed()) attempt(step)
      throw new CannotWrite(
        `${path} cannot be written: ${errorText(error)}`,
        'Nothing was written. Make it writable and retry.',
      )
    }
  }
}

/** Outermost first. */
function missingFolders(root: string, folder: string): string[] {
  const path = join(root, folder)
  if (folder === '.') return []
  const outer = missingFolders(root, dirname(folder))
  const stat = statOf(path)
  if (stat === undefined) return [...outer, path]
  if (stat.isDirectory()) return outer
  throw new Error(`${folder} is not a folder`)
}

function attempt(step: () => void): void {
  try {
    step()
  } catch {
    // Another program has changed it meanwhile.
  }
}
