import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BunPlugin } from 'bun'

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
    plugins: [inOnePiece(await bundlePieces())],
  })
}

/**
 * The verbs of every day, each in one piece with all that it imports: to load the twenty pieces that
 * splitting makes of it would take as long as its work. A call loads one of them and nothing else, so
 * that no class is there twice.
 */
const QUICK = join(root, 'src/cli/tasks/quick')

/** By itself it takes the part of its validator that it needs, a third of what all schemas together do. */
const SCHEMA = join(root, 'src/parse/chains-schema.ts')

async function bundlePieces(): Promise<ReadonlyMap<string, string>> {
  const quick = readdirSync(QUICK).map((name) => bundleQuick(join(QUICK, name)))
  return new Map(await Promise.all([...quick, bundle(SCHEMA)]))
}

async function bundleQuick(path: string): Promise<Piece> {
  const piece = await bundle(path, [LEAN])
  if (/from"(?:fs|path)"/.test(piece[1])) throw new Error(`${path} loads what is slow to load`)
  return piece
}

type Piece = readonly [path: string, text: string]

async function bundle(path: string, plugins: BunPlugin[] = []): Promise<Piece> {
  const { outputs } = await Bun.build({
    entrypoints: [path],
    target: 'bun',
    minify: true,
    plugins,
  })
  return [path, await outputs[0]!.text()]
}

/** What is slow to load, and imported for a few functions, has a small one in its place. */
const LEAN: BunPlugin = {
  name: 'lean',
  setup(plan) {
    // By the text: the bundler asks nobody where modules of the runtime are.
    plan.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const text = await Bun.file(path).text()
      const contents = text.replaceAll(/from 'node:(fs|path)'/g, (_, name) => {
        return `from '${join(root, `src/base/quick/${name}.ts`)}'`
      })
      return { contents, loader: 'ts' }
    })
  },
}

function inOnePiece(bundles: ReadonlyMap<string, string>): BunPlugin {
  return {
    name: 'in one piece',
    setup(plan) {
      plan.onLoad({ filter: /\/(?:quick\/\w+|chains-schema)\.ts$/ }, ({ path }) => {
        const contents = bundles.get(path)
        return contents === undefined ? undefined : { contents, loader: 'js' }
      })
    },
  }
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
