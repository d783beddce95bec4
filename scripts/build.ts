import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

// One stand-alone program. Splitting keeps what a call does not need unloaded; the last two flags
// keep the program from reading `.env` and `bunfig.toml` of the folder in which it is called.
export const COMPILE_FLAGS = [
  '--compile',
  '--minify',
  '--bytecode',
  '--format=esm',
  '--splitting',
  '--no-compile-autoload-dotenv',
  '--no-compile-autoload-bunfig',
]

// The same program under further names; what it does depends on the name by which it is called.
const BUNDLED = ['manager', 'coordinator', 'worker'].flatMap((agent) => [
  `forge-task-${agent}`,
  `task-${agent}`,
])

const root = join(import.meta.dir, '..')

/** Compiles one entry file into one executable. */
export function compile(entry: string, outfile: string): void {
  const { exitCode, stderr, stdout } = Bun.spawnSync(
    [process.execPath, 'build', ...COMPILE_FLAGS, entry, '--outfile', outfile],
    { cwd: root, stdout: 'pipe', stderr: 'pipe' },
  )
  if (exitCode === 0) return
  console.error(`${stdout.toString()}${stderr.toString()}`)
  process.exit(exitCode ?? 1)
}

/** The program in `bin/`, under all its names. */
export function build(): void {
  mkdirSync(join(root, 'bin'), { recursive: true })
  compile('src/main.ts', 'bin/forkhestra')
  for (const name of ['forge-tasks', ...BUNDLED]) {
    rmSync(join(root, 'bin', name), { force: true })
    symlinkSync('forkhestra', join(root, 'bin', name))
  }
}

if (import.meta.main) {
  build()
  console.log('Built bin/forkhestra')
}
