import { formatMoney } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { localTime } from '../../base/local-time.ts'
import { html, type Html } from './html.ts'

/** A stretch of time in a lane. */
export interface Bar {
  readonly from: number
  readonly to: number
  readonly look: 'green' | 'red' | 'yellow' | 'dim' | 'wait'
  readonly title: string
}

export interface Lane {
  readonly name: string
  readonly bars: readonly Bar[]
}

export interface Span {
  readonly from: number
  readonly to: number
}

const [WIDTH, NAMES, ROW, AXIS] = [1000, 150, 26, 24]
/** A shorter bar could not be seen. */
const LEAST_BAR = 1.5

/** The lanes over time. */
export function renderTimeline(lanes: readonly Lane[], span: Span): Html {
  const height = lanes.length * ROW + AXIS
  const x = scale(span, NAMES)
  const rows = lanes.map(({ name, bars }, index) => {
    const top = index * ROW
    const short = name.length > 21 ? `${name.slice(0, 20).toWellFormed()}…` : name
    return html`<text class="name" x="0" y="${top + 17}">${short}</text>${bars.map((bar) => {
        const left = x(bar.from)
        const width = Math.max(LEAST_BAR, x(bar.to) - left)
        const look = bar.look === 'wait' ? 'wait' : `bar ${bar.look}`
        return html`<rect
          class="${look}"
          x="${round(left)}"
          y="${top + 5}"
          width="${round(width)}"
          height="${ROW - 10}"
          rx="1.5"
          ><title>${bar.title}</title></rect
        >`
      })}`
  })
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Timeline">
    ${renderAxis(span, x, lanes.length * ROW)}${rows}
  </svg>`
}

/** What was spent, as a curve over time; `limit` is the budget. */
export function renderCurve(
  points: readonly { readonly at: number; readonly usd: number }[],
  span: Span,
  limit: number | undefined,
): Html {
  const height = 180
  let sum = 0
  const sums = points.map(({ at, usd }) => ({ at, sum: (sum += usd) }))
  // A budget that is far away would flatten the curve.
  const isNear = limit !== undefined && limit < sum * 3
  const most = Math.max(sum, isNear ? limit : 0, 0.0001) * 1.05
  const x = scale(span, NAMES)
  const y = (usd: number) => round(height - (usd / most) * (height - 12))
  const steps = sums.map((each) => `H${round(x(each.at))}V${y(each.sum)}`).join('')
  const line = `M${x(span.from)} ${height}${steps}H${WIDTH}`
  const marks = [0, sum / 2, sum].map(
    (usd) =>
      html`<line class="grid" x1="${NAMES}" x2="${WIDTH}" y1="${y(usd)}" y2="${y(usd)}" /><text
          x="${NAMES - 8}"
          y="${y(usd) + 4}"
          text-anchor="end"
          >${formatMoney(usd)}</text
        >`,
  )
  const budget = isNear
    ? html`<line class="limit" x1="${NAMES}" x2="${WIDTH}" y1="${y(limit)}" y2="${y(limit)}" /><text
          x="${WIDTH}"
          y="${y(limit) + 14}"
          text-anchor="end"
          >budget ${formatMoney(limit)}</text
        >`
    : ''
  return html`<svg
    viewBox="0 0 ${WIDTH} ${height + AXIS}"
    role="img"
    aria-label="Cost over time: ${formatMoney(sum)}"
  >
    ${renderAxis(span, x, height)}${marks}
    <path class="area" d="${line}V${height}Z" />
    <path class="curve" d="${line}" />
    ${budget}
  </svg>`
}

function scale({ from, to }: Span, left: number): (time: number) => number {
  const width = WIDTH - left
  return (time) => left + ((time - from) / Math.max(1, to - from)) * width
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]
const STEPS = [
  ...[1, 2, 5, 10, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 30].map((count) => count * MINUTE),
  ...[1, 2, 4, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 30, 365].map((count) => count * DAY),
]
const MOST_TICKS = 8

function renderAxis({ from, to }: Span, x: (time: number) => number, height: number): Html[] {
  const step = STEPS.find((each) => (to - from) / each <= MOST_TICKS) ?? to - from + 1
  const offset = new Date(from).getTimezoneOffset() * MINUTE
  const first = Math.ceil((from - offset) / step) * step + offset
  const count = Math.max(0, Math.floor((to - first) / step) + 1)
  return Array.from({ length: count }, (_, index) => {
    const time = first + index * step
    const at = round(x(time))
    // A label at the edge would be cut.
    const anchor = at > WIDTH - 40 ? 'end' : 'middle'
    return html`<line class="grid" x1="${at}" x2="${at}" y1="0" y2="${height}" /><text
        x="${at}"
        y="${height + 16}"
        text-anchor="${anchor}"
        >${labelOf(time, step)}</text
      >`
  })
}

function labelOf(time: number, step: number): string {
  const [date = '', clock = ''] = localTime(time, true).split(' ')
  if (step >= DAY || (step >= HOUR && clock.startsWith('00:00'))) return date.slice(5)
  return step < MINUTE ? clock : clock.slice(0, 5)
}

/** `14:03, 2 min 10 s`. */
export function describeSpan({ from, to }: Span): string {
  return `${localTime(from, true).slice(11)}, ${formatDuration(to - from)}`
}

function round(value: number): number {
  return Number(value.toFixed(1))
}
