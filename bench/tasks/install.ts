import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The peers, with the exact versions that are compared. */
export const PEERS = {
  backlog: { name: 'Backlog.md', from: 'npm', package: 'backlog.md', version: '1.52.0' },
  taskMaster: { name: 'task-master', from: 'npm', package: 'task-master-ai', version: '0.43.1' },
  dex: { name: 'dex', from: 'npm', package: '@zeeg/dex', version: '0.16.0' },
  taskwarrior: { name: 'Taskwarrior', from: 'Debian', package: 'taskwarrior', version: '2.6.2' },
} as const

export type Peer = (typeof PEERS)[keyof typeof PEERS]

/** Thrown if a peer cannot be installed; the others are still compared. */
export class Unavailable extends Error {}

/** Installs a peer once, in the user's cache, and returns the path of its program. */
export function install(peer: Peer, program: string): string {
  const folder = join(cacheFolder(), `${peer.package.replace('/', '-')}@${peer.version}`)
  const path = join(folder, program)
  const complete = join(folder, '.complete')
  if (!existsSync(complete)) {
    console.error(`Installing ${peer.name} ${peer.version} …`)
    mkdirSync(folder, { recursive: true })
    if (peer.from === 'npm') installFromNpm(peer, folder)
    else installFromDebian(peer, folder)
    writeFileSync(complete, '')
  }
  if (!existsSync(path)) throw new Unavailable(`the package has no ${program}`)
  return path
}

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'forkhestra-bench')
}

function installFromNpm(peer: Peer, folder: string): void {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  // Run inside the folder: from its parent, npm would take its name for the package to install.
  run(['npm', 'install', '--prefix', '.', ...flags, `${peer.package}@${peer.version}`], folder)
}

/** Unpacked instead of installed, so that root is not needed. */
function installFromDebian(peer: Peer, folder: string): void {
  run(
    ['sh', '-c', `apt-get download ${peer.package} && dpkg-deb -x ${peer.package}_*.deb .`],
    folder,
  )
}

function run(argv: readonly string[], cwd: string): void {
  let result
  try {
    result = Bun.spawnSync([...argv], { cwd, stdin: 'ignore', timeout: 600_000 })
  } catch (error) {
    throw new Unavailable(String(error))
  }
  if (result.exitCode === 0) return
  const lines = result.stderr.toString().trim().split('\n')
  throw new Unavailable(lines.at(-1) || `${argv[0]} ended with ${result.exitCode}`)
}
