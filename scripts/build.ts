import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'

// The same program under further names; what it does depends on the name by which it is called.
const BUNDLED = ['manager', 'coordinator', 'worker'].flatMap((agent) => [
  `forge-task-${agent}`,
  `task-${agent}`,
])

const root = join(import.meta.dir, '..')

/** Functions run so many times more often than usual before they are compiled: most calls end before that pays. */
const JIT_POLICY = 30

/**
 * Compiles one entry file into one stand-alone program. Splitting keeps what a call does not need
 * unloaded; nothing is read from `.env` and `bunfig.toml` of the folder in which it is called.
 */
export async function compile(entry: string, outfile: string): Promise<void> {
  await Bun.build({
    entrypoints: [resolve(root, entry)],
    compile: {
      outfile: resolve(root, outfile),
      autoloadDotenv: false,
      autoloadBunfig: false,
      jitPolicy: JIT_POLICY,
    },
    target: 'bun',
    minify: true,
    bytecode: true,
    format: 'esm',
    splitting: true,
  })
}

/** The program in `bin/`, under all its names. */
export async function build(): Promise<void> {
  mkdirSync(join(root, 'bin'), { recursive: true })
  await compile('src/main.ts', 'bin/forkhestra')
  for (const name of ['forge-tasks', ...BUNDLED]) {
    rmSync(join(root, 'bin', name), { force: true })
    symlinkSync('forkhestra', join(root, 'bin', name))
  }
}

if (import.meta.main) {
  await build()
  console.log('Built bin/forkhestra')
}
