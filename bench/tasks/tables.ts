import { bestPeer, type Comparison, type PeerReport } from './peers.ts'
import type { Timing } from './rounds.ts'

/** The comparison as Markdown: a table per size, one for concurrency, and the tools that could not be installed. */
export function renderPeers(report: PeerReport): string {
  const sizes = [...new Set(report.comparisons.map(({ size }) => size))]
  return [
    ...sizes.map((size) => renderSize(report, size)),
    renderCrowds(report),
    ...Object.entries(report.missing).map(([name, why]) => `Not available: ${name} (${why})`),
  ].join('\n\n')
}

function renderSize({ versions, comparisons }: PeerReport, size: number): string {
  const names = Object.keys(versions)
  const head = [
    `${size} tasks`,
    'H',
    ...names.map((name) => `${name} ${versions[name]}`),
    'lead over the fastest peer',
  ]
  const rows = comparisons
    .filter((comparison) => comparison.size === size)
    .map((row) => [
      row.command,
      `${row.empty.toFixed(1)} ms`,
      ...names.map((name) => renderTiming(row.timings[name]!, row.empty)),
      renderLead(row),
    ])
  return renderRows([head, ...rows])
}

function renderTiming(timing: Timing, empty: number): string {
  switch (timing.kind) {
    case 'too slow':
      return '> 120 s'
    case 'failed':
      return `failed: ${timing.why}`
    case 'measured': {
      const { ms } = timing
      return `${ms.toFixed(ms < 100 ? 1 : 0)} ms (${(ms / empty).toFixed(ms < 100 ? 1 : 0)} H)`
    }
  }
}

function renderLead({ timings }: Comparison): string {
  const [own, best] = [timings['forge-tasks'], bestPeer(timings)]
  if (own?.kind !== 'measured' || best === undefined) return ''
  return `${(best.ms / own.ms).toFixed(1)} x (${best.name})`
}

function renderCrowds({ versions, crowds, claims }: PeerReport): string {
  const head = ['8 at a time', 'creates', 'seconds', 'kept', 'distinct ids', 'reported as failed']
  const rows = Object.keys(versions).map((name) => {
    const { calls, seconds, kept, ids, refused } = crowds[name]!
    const winners = claims[name]!.filter((code) => code === 0).length
    return [name, calls, seconds.toFixed(1), kept, ids, refused, winners].map(String)
  })
  return renderRows([[...head, 'of 8 who claim one task, told that they have it'], ...rows])
}

function renderRows(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)))
  const rule = widths.map((width) => '-'.repeat(width))
  return [lines[0]!, rule, ...lines.slice(1)].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
