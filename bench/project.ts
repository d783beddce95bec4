import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { compile } from '../scripts/build.ts'

const made: string[] = []

/** A throw-away folder with these files; what begins with `#!` becomes executable. */
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

/** The project's folder is on PATH, so its scripts are agents; nothing of the user's is read. */
export function environment(cwd: string): Record<string, string> {
  return {
    PATH: `${cwd}:${process.env['PATH']}`,
    HOME: cwd,
    XDG_STATE_HOME: join(cwd, '.state'),
    XDG_CONFIG_HOME: join(cwd, '.config'),
    IS_SANDBOX: '1',
  }
}

/** The programs under measurement. */
export interface Programs {
  readonly forkhestra: string
  /** Does nothing: what any program costs that is compiled with the same flags. */
  readonly empty: string
}

/** Compiled afresh, so that never an old build is measured. */
export async function buildPrograms(): Promise<Programs> {
  const folder = makeProject({ 'empty.ts': 'export {}\n' })
  const forkhestra = join(folder, 'forkhestra')
  const empty = join(folder, 'empty')
  await compile('src/main.ts', forkhestra)
  await compile(join(folder, 'empty.ts'), empty)
  return { forkhestra, empty }
}
