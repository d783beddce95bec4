/** One number of the benchmark and its limit. */
export interface Figure {
  readonly group: string
  readonly name: string
  readonly measured: number
  readonly unit: 'µs' | 'ms' | 's' | 's/GB' | 'MB' | '%' | 'processes'
  /** The baseline, measured in the same run and in the same unit. */
  readonly base?: number
  /** Limit of the ratio to the base, or of the value if there is no base; without it, for information only. */
  readonly limit?: number
}

export function ratioOf({ measured, base }: Figure): number | undefined {
  return base === undefined ? undefined : measured / base
}

export function isMissed(figure: Figure): boolean {
  return figure.limit !== undefined && (ratioOf(figure) ?? figure.measured) > figure.limit
}

/** The figures as a Markdown table, readable in a terminal and ready to paste. */
export function renderTable(figures: readonly Figure[]): string {
  const head = ['group', 'figure', 'measured', 'compared with', 'ratio', 'target', 'result']
  const rows = [head, ...figures.map(cellsOf)]
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) => line(row.map((cell, column) => cell.padEnd(widths[column]!))))
  const rule = line(widths.map((width) => '-'.repeat(width)))
  return [lines[0], rule, ...lines.slice(1)].join('\n')
}

function cellsOf(figure: Figure): string[] {
  const { group, name, measured, unit, base } = figure
  return [
    group,
    name,
    renderValue(measured, unit),
    base === undefined ? '' : renderValue(base, unit),
    ratioOf(figure)?.toFixed(2) ?? '',
    renderTarget(figure),
    figure.limit === undefined ? '' : isMissed(figure) ? 'MISS' : 'pass',
  ]
}

function renderTarget({ base, limit, unit }: Figure): string {
  if (limit === undefined) return ''
  return base === undefined ? `<= ${limit} ${unit}` : `<= ${limit} x`
}

function renderValue(value: number, unit: Figure['unit']): string {
  const digits = { µs: 1, ms: 1, s: 2, 's/GB': 2, MB: 0, '%': 1, processes: 0 }[unit]
  return `${value.toFixed(digits)} ${unit}`
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
