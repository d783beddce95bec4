import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Installs the real `claude` for the end-to-end tests if it is missing or its lockfile has changed.
// It is a separate package because only `npm test` needs its 350 MB.

const folder = join(import.meta.dir, '../tests/e2e')
const stamp = join(folder, 'node_modules/.lock-sha256')
const claude = join(folder, 'node_modules/.bin/claude')
const lock = createHash('sha256')
  .update(readFileSync(join(folder, 'package-lock.json')))
  .digest('hex')

function must(argv: string[]): void {
  const { exitCode } = Bun.spawnSync(argv, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  if (exitCode === 0) return
  console.error(`\`${argv.join(' ')}\` failed in tests/e2e`)
  process.exit(1)
}

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lock) {
  must(['npm', 'ci', '--no-fund', '--no-audit', '--loglevel=error'])
  writeFileSync(stamp, lock)
}
// Without its install script, the package has only a text file in place of the program.
must([claude, '--version'])
