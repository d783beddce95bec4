import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'

// Links to the same program, which picks its behaviour by the name it is called with.
const BUNDLED = ['manager', 'coordinator', 'worker'].flatMap((agent) => [
  `forge-task-${agent}`,
  `task-${agent}`,
])

const root = join(import.meta.dir, '..')

/** Delays JIT compilation: most invocations exit before it pays off. */
const JIT_POLICY = 30

/**
 * Compiles an entry file into a stand-alone program. With splitting, a call loads only the modules it
 * needs. The program ignores `.env` and `bunfig.toml` of the current folder.
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

/** Builds the program and its links in `bin/`. */
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
