import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { compile } from '../scripts/build.ts'

const made: string[] = []

/** A temporary folder with these files; those that begin with `#!` are made executable. */
export function makeProject(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'forkhestra-bench-')))
  made.push(folder)
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    if (content.startsWith('#!')) chmodSync(path, 0o755)
  }
  return folder
}

export function removeProjects(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
}

/** The project's folder is on PATH, so that its scripts are agents; no user settings are read. */
export function environment(cwd: string): Record<string, string> {
  return {
    PATH: `${cwd}:${process.env['PATH']}`,
    HOME: cwd,
    XDG_STATE_HOME: join(cwd, '.state'),
    XDG_CONFIG_HOME: join(cwd, '.config'),
    IS_SANDBOX: '1',
  }
}

/** The programs to measure. */
export interface Programs {
  readonly forkhestra: string
  /** Does nothing: the minimum cost of a program that is compiled with the same flags. */
  readonly empty: string
}

/** Always compiled anew, so that no old build is measured. */
export async function buildPrograms(): Promise<Programs> {
  const folder = makeProject({ 'empty.ts': 'export {}\n' })
  const forkhestra = join(folder, 'forkhestra')
  const empty = join(folder, 'empty')
  await compile('src/main.ts', forkhestra)
  await compile(join(folder, 'empty.ts'), empty)
  return { forkhestra, empty }
}
