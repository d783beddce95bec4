import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Content by path; files that begin with `#!` become executable. */
export type Files = Readonly<Record<string, string | Uint8Array>>

const made: string[] = []

/** Called after each test. */
export function removeProjects(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
}

/** A temporary folder with these files, removed after the test. */
export function makeProject(files: Files = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'forkhestra-test-')))
  made.push(folder)
  writeFiles(folder, files)
  return folder
}

export function writeFiles(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    if (typeof content === 'string' && content.startsWith('#!')) chmodSync(path, 0o755)
  }
}

/** A shell script as an agent. */
export function sh(...lines: string[]): string {
  return `#!/bin/sh\n${lines.join('\n')}\n`
}
