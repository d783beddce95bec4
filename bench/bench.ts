import { cpus, release } from 'node:os'
import { version } from '../package.json'
import { measureClaude } from './claude.ts'
import { isMissed, ratioOf, renderTable, type Figure } from './figure.ts'
import { measureJournal } from './journal.ts'
import { measureLoop } from './loop.ts'
import { measureMask } from './mask.ts'
import { measureNative } from './native.ts'
import { measureOutput } from './output.ts'
import { buildPrograms, removeProjects, type Programs } from './project.ts'
import { measureParallel } from './parallel.ts'
import { measureProgress } from './progress.ts'
import { measureQueue } from './queue/queue.ts'
import { measureStartup } from './startup.ts'
import { measureStop } from './stop.ts'
import { leadFigures, measurePeers, type PeerReport } from './tasks/peers.ts'
import { renderPeers } from './tasks/tables.ts'
import { measureTasks } from './tasks/measure.ts'
import { measureViews } from './views.ts'

// `npm run bench [-- GROUP…] [--json] [--quick]`: exits with 1 if a target is missed.

type Measure = (programs: Programs) => Figure[] | Promise<Figure[]>

const GROUPS: Readonly<Record<string, Measure>> = {
  startup: measureStartup,
  loop: measureLoop,
  output: measureOutput,
  mask: measureMask,
  stop: measureStop,
  claude: measureClaude,
  journal: measureJournal,
  progress: measureProgress,
  tasks: measureTasks,
  queue: measureQueue,
  native: measureNative,
  parallel: measureParallel,
  views: measureViews,
  'tasks-peers': async (programs) => {
    peers = await measurePeers(programs, isQuick)
    return leadFigures(peers)
  },
}

let peers: PeerReport | undefined
const words = process.argv.slice(2)
const asJson = words.includes('--json')
const isQuick = words.includes('--quick')
const chosen = words.filter((word) => word !== '--json' && word !== '--quick')
const unknown = chosen.find((word) => !Object.hasOwn(GROUPS, word))

if (unknown !== undefined) {
  console.error(`There is no group '${unknown}'. Groups: ${Object.keys(GROUPS).join(', ')}`)
  process.exitCode = 2
} else if (process.platform !== 'linux') {
  console.error('The benchmark reads /proc and so needs Linux.')
  process.exitCode = 2
} else {
  const figures = await measure(chosen.length === 0 ? Object.keys(GROUPS) : chosen)
  console.log(asJson ? renderJson(figures) : renderText(figures))
  process.exitCode = figures.some(isMissed) ? 1 : 0
}

async function measure(names: readonly string[]): Promise<Figure[]> {
  const figures: Figure[] = []
  process.once('SIGINT', () => {
    removeProjects()
    process.exit(130)
  })
  try {
    const programs = await buildPrograms()
    for (const name of names) {
      console.error(`Measuring ${name} …`)
      figures.push(...(await GROUPS[name]!(programs)))
    }
  } finally {
    removeProjects()
  }
  return figures
}

function renderText(figures: readonly Figure[]): string {
  const tables = peers === undefined ? [] : [renderPeers(peers)]
  return [...tables, renderTable(figures), renderMachine()].join('\n\n')
}

function machine() {
  const processors = cpus()
  return {
    forkhestra: version,
    bun: Bun.version,
    system: `Linux ${release()} ${process.arch}`,
    cores: processors.length,
    processor: processors[0]?.model ?? 'unknown',
  }
}

function renderMachine(): string {
  const { forkhestra, bun, system, cores, processor } = machine()
  return `forkhestra ${forkhestra}, Bun ${bun}, ${system}, ${cores} cores (${processor})`
}

function renderJson(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => ({
    ...figure,
    ratio: ratioOf(figure),
    pass: figure.limit === undefined ? undefined : !isMissed(figure),
  }))
  return JSON.stringify({ machine: machine(), figures: rows, peers }, null, 2)
}
