// Runs the pinned Bun on a machine that has only Node and npm: installs the dependencies if the
// lockfile has changed, then starts Bun with the same arguments.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bun = join(root, 'node_modules/bun/bin/bun.exe')
const stamp = join(root, 'node_modules/.lock-sha256')

const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
const lock = createHash('sha256')
  .update(read(join(root, 'package-lock.json')))
  .digest('hex')

function must(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status === 0) return
  console.error(`\`${command} ${args.join(' ')}\` failed${error ? `: ${error.message}` : ''}`)
  process.exit(status ?? 1)
}

if (read(stamp) !== lock) {
  console.error('Installing the dependencies (once) …')
  must('npm', ['ci', '--no-fund', '--no-audit', '--loglevel=error'])
  writeFileSync(stamp, lock)
}
// Until its install script has run, Bun's package has a short text file in place of the program.
if (!existsSync(bun) || statSync(bun).size < 1_000_000) {
  must(process.execPath, [join(root, 'node_modules/bun/install.js')])
}

const child = spawn(bun, process.argv.slice(2), { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
