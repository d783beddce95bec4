import type { Cell } from './cell.ts'
import type { Column } from './judge.ts'
import { LIMITS, type LimitCase } from './limits.ts'
import { MARKERS } from './markers.ts'

const WANTS: Readonly<Record<LimitCase['want'], string>> = {
  wait: 'wait for the reset',
  retry: 'try again',
  fail: 'an ordinary failure',
}

/** Both matrices as Markdown, followed by the observed behaviour. */
export function renderMatrices(columns: readonly Column[]): string {
  const limits = LIMITS.map(({ id, title, want }) => [id, title, WANTS[want]])
  const markers = MARKERS.map(({ id, title, isDone }) => [id, title, isDone ? 'done' : 'not done'])
  return [
    renderRemarks(columns),
    '### Limits',
    renderTable(limits, columns, (column) => column.limits),
    renderSeen(limits, columns, (column) => column.limits),
    '### Markers',
    renderTable(markers, columns, (column) => column.markers),
    renderSeen(markers, columns, (column) => column.markers),
  ].join('\n\n')
}

function renderRemarks(columns: readonly Column[]): string {
  return columns.map(({ name, remark }) => `- **${name}**: ${remark}.`).join('\n')
}

type Pick = (column: Column) => readonly Cell[]

function renderTable(
  heads: readonly (readonly string[])[],
  columns: readonly Column[],
  pick: Pick,
): string {
  const rows = [
    ['', 'case', 'wanted', ...columns.map(({ name }) => name)],
    ['---', '---', '---', ...columns.map(() => '---')],
    ...heads.map((head, index) => [
      ...head,
      ...columns.map((column) => pick(column)[index]!.verdict),
    ]),
    ['', 'score', '', ...columns.map((column) => scoreOf(pick(column)))],
  ]
  return rows.map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function scoreOf(cells: readonly Cell[]): string {
  return `${cells.filter(({ verdict }) => verdict === 'yes').length}/${cells.length}`
}

/** What each tool did, with cases of the same behaviour grouped. */
function renderSeen(
  heads: readonly (readonly string[])[],
  columns: readonly Column[],
  pick: Pick,
): string {
  const lines = columns.map((column) => {
    const groups = Map.groupBy(heads.keys(), (index) => pick(column)[index]!.seen)
    const parts = [...groups].map(
      ([seen, indices]) => `${indices.map((index) => heads[index]![0]).join(' ')}: ${seen}`,
    )
    return `- **${column.name}**. ${parts.join('; ')}.`
  })
  return ['What was seen:', '', ...lines].join('\n')
}
