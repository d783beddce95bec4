import { version } from '../../package.json'
import { buildPrograms, environment, makeProject, removeProjects } from '../project.ts'
import { Unavailable } from '../tasks/install.ts'
import type { Cell } from './cell.ts'
import { judgeTool, type Column } from './judge.ts'
import { LIMITS } from './limits.ts'
import { MARKERS } from './markers.ts'
import type { Place, Way } from './own-run.ts'
import { ownTool } from './own-tool.ts'
import { judgeOwnLimit, judgeOwnMarker } from './own.ts'
import { installPeer, listOthers, PEERS } from './peers.ts'
import { renderMatrices } from './table.ts'

// `npm run bench:matrix [-- --own]`: exits with 1 if forkhestra itself fails a case.

if (process.platform === 'linux') await main()
else {
  console.error('The benchmark reads /proc and so needs Linux.')
  process.exitCode = 2
}

async function main(): Promise<void> {
  process.once('SIGINT', () => {
    removeProjects()
    process.exit(130)
  })
  try {
    const own = await judgeOwn()
    const missing: string[] = []
    const columns = process.argv.includes('--own') ? own : [...own, ...(await judgePeers(missing))]
    console.log(renderMatrices(columns))
    if (missing.length > 0) console.log(['\nNot compared:\n', ...missing].join('\n'))
    console.log(`\n${new Date().toISOString().slice(0, 10)}, Bun ${Bun.version}`)
    process.exitCode = own.every(isPerfect) ? 0 : 1
  } finally {
    removeProjects()
  }
}

/** Watched like the others, and judged by its events: a case is right only if both say so. */
async function judgeOwn(): Promise<Column[]> {
  const { forkhestra } = await buildPrograms()
  const place: Place = { program: forkhestra, makeProject, environment }
  const columns: Column[] = []
  for (const way of ['direct', 'text'] satisfies Way[]) {
    const tool = ownTool(way)
    console.error(`Trying ${tool.name} ${version} …`)
    const seen = await judgeTool(tool, forkhestra)
    const limits = await Promise.all(LIMITS.map((limit) => judgeOwnLimit(place, way, limit)))
    const markers = await Promise.all(MARKERS.map((marker) => judgeOwnMarker(place, way, marker)))
    columns.push({
      ...seen,
      limits: seen.limits.map((cell, index) => worseOf(cell, limits[index]!)),
      markers: seen.markers.map((cell, index) => worseOf(cell, markers[index]!)),
    })
  }
  return columns
}

function worseOf(watched: Cell, byEvents: Cell): Cell {
  if (watched.verdict !== 'yes') return watched
  return { ...byEvents, seen: `${watched.seen} (${byEvents.seen})` }
}

async function judgePeers(missing: string[]): Promise<Column[]> {
  const columns: Column[] = []
  for (const peer of PEERS) {
    try {
      const program = installPeer(peer)
      console.error(`Trying ${peer.name} ${peer.version} …`)
      columns.push(await judgeTool(peer, program))
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      missing.push(`- ${peer.name} ${peer.version}: npm could not install it`)
    }
  }
  missing.push(...listOthers())
  return columns
}

function isPerfect({ limits, markers }: Column): boolean {
  return [...limits, ...markers].every(({ verdict }) => verdict === 'yes')
}
