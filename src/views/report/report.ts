import { basename } from 'node:path'
import { counted, formatMoney, formatTokens } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { localTime } from '../../base/local-time.ts'
import type { Attempt, Cost, Wait } from '../../records/events/attempts.ts'
import { branchName } from '../../records/events/branch-name.ts'
import { countTokens } from '../../records/events/spent.ts'
import { stepOf } from '../../records/events/state.ts'
import { formatCost } from '../amounts.ts'
import { describeAttempt } from '../attempts.ts'
import { describeMerges, readerIn } from '../merges.ts'
import { notesOn, type NextStep } from '../notes.ts'
import { describeChain, describeSteps, durationOf, lookOf } from '../runs.ts'
import { describeContinuation, describeTimes, nextStepsOf, type ShownRun } from '../show.ts'
import { describeSpan, renderCurve, renderTimeline, type Bar, type Span } from './charts.ts'
import { html, Html } from './html.ts'
import { STYLE } from './style.ts'

interface Commit {
  readonly hash: string
  readonly subject: string
}

/** A run as the report shows it. */
export interface ReportedRun extends ShownRun {
  readonly attempts: readonly Attempt[]
  readonly waits: readonly Wait[]
  readonly costs: readonly Cost[]
  readonly budgetUsd?: number | undefined
  readonly commitsOf: (attempt: Attempt) => readonly Commit[]
}

/** One page about a run that needs nothing else: no files, no network and no script. */
export function renderReport(run: ReportedRun, now: number): string {
  const { state, attempts } = run
  const project = state.cwd === undefined ? '' : basename(state.cwd)
  const chain = state.steps.length === 0 ? describeChain(run) : describeSteps(state)
  const title = state.chain ?? chain
  const [begin = 0, end = 0] = spanOf(run, now)
  const span = { from: begin, to: Math.max(end, begin + 1000) }
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta
          http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'"
        />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}: ${run.status} – ${project}</title>
        <style>
          ${new Html(STYLE)}
        </style>
      </head>
      <body>
        <header>
          <h1>${title} <span class="badge ${lookOf(run)}">${run.status}</span></h1>
          ${state.chain === undefined ? '' : html`<p><code>${chain}</code></p>`}
          <p class="dim">${project}, ${describeTimes(run, now)}</p>
          ${describeContinuation(run, undefined).map((line) => html`<p>${line}</p>`)}
          ${renderFigures(run, now)}
        </header>
        ${renderLeft(run)} ${attempts.length === 0 ? '' : renderTime(run, span)} ${renderTasks(run)}
        ${renderGates(run)} ${renderSubAgents(run)} ${renderAttempts(run, span)}
        <footer>Run ${run.id} in ${state.cwd ?? '?'}; times are local. Made by forkhestra.</footer>
      </body>
    </html> `.text
}

/** From the first start to the last end. */
function spanOf({ attempts, state, status, costs }: ReportedRun, now: number): number[] {
  const isActive = status === 'running' || status === 'waiting'
  const times = [
    state.startedAt,
    state.ended?.at,
    ...attempts.flatMap((each) => [each.startedAt, each.endedAt]),
    ...costs.map(({ at }) => at),
  ]
  const known = times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)]))
  const all = isActive ? [...known, now] : known
  return all.length === 0
    ? []
    : [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))]
}

function renderFigures(run: ReportedRun, now: number): Html {
  const { state, attempts, budgetUsd } = run
  const commits = attempts.reduce((sum, { changes }) => sum + (changes?.commits ?? 0), 0)
  const tasks = new Set(attempts.flatMap((each) => each.tasks.map(({ id }) => id))).size
  const waited = run.waits.reduce(
    (sum, { startedAt, endedAt }) =>
      sum +
      Math.max(0, (endedAt === undefined ? now : Date.parse(endedAt)) - Date.parse(startedAt)),
    0,
  )
  const tokens = countTokens(state.spent)
  const figures: readonly (readonly [string, string, string])[] = [
    [
      'Time',
      formatDuration(durationOf(run, now)),
      waited > 0 ? `${formatDuration(waited)} of it waiting` : '',
    ],
    [
      'Iterations',
      String(state.spent.iterations),
      attempts.length > state.spent.iterations ? counted(attempts.length, 'attempt') : '',
    ],
    ['Tasks worked on', String(tasks), ''],
    ['Commits', String(commits), ''],
    [
      'Cost',
      state.spent.costUsd > 0 ? formatMoney(state.spent.costUsd) : '–',
      [
        state.spent.billing === 'subscription' ? 'API-equivalent' : '',
        budgetUsd === undefined ? '' : `of ${formatMoney(budgetUsd)}`,
      ]
        .filter(Boolean)
        .join(', '),
    ],
    ['Tokens', tokens > 0 ? formatTokens(tokens) : '–', ''],
  ]
  return html`<dl>
    ${figures.map(
      ([name, value, more]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value} <small>${more}</small></dd>
        </div>`,
    )}
  </dl>`
}

/** What a person has to do now. */
function renderLeft(run: ReportedRun): Html {
  const reader = readerIn(undefined, run.state.cwd)
  const { left, merged } = describeMerges(run.state, reader)
  const words = [
    ...run.damage.map((each) => `The record is damaged: ${each}`),
    ...(run.foreign === undefined ? [] : [`Not created here: ${run.foreign}`]),
    ...(run.openTasks === undefined ? [] : [`Tasks of the project: ${run.openTasks}`]),
    ...notesOn(run.state).map((note) => note.words),
    ...merged,
    ...left.map((each) => each.words),
  ]
  const steps: readonly NextStep[] = nextStepsOf(run, undefined)
  return html`<section>
    <h2>What is left to do</h2>
    ${run.status === 'complete' && words.length === 0 ? html`<p>Nothing: all steps are complete.</p>` : ''}
    <ul>
      ${words.map((each) => html`<li>${each}</li>`)}${steps.map(([command, why]) => html`<li><code>${command}</code> <span class="dim">${why}</span></li>`)}
    </ul>
  </section>`
}

function renderTime(run: ReportedRun, span: Span): Html {
  const { attempts, waits, state } = run
  const laneOf = (scope: readonly string[]): string => {
    const step = attempts.find((each) => each.scope.join('/') === scope.join('/'))?.step
    const { number, name, agent } = stepOf(state, { scope, step: step ?? stepNumber(scope) })
    return branchName(state, scope) ?? `${number}. ${name ?? agent}`
  }
  const bars = [
    ...waits.map((wait) => ({ lane: laneOf(wait.scope), bar: waitBar(wait, span) })),
    ...attempts.map((attempt) => ({ lane: laneOf(attempt.scope), bar: attemptBar(attempt, span) })),
  ]
  const names = [...new Set(attempts.map(({ scope }) => laneOf(scope)))]
  const byLane = Map.groupBy(bars, ({ lane }) => lane)
  const lanes = names.map((name) => ({ name, bars: byLane.get(name)?.map(({ bar }) => bar) ?? [] }))
  const points = run.costs.map(({ at, costUsd }) => ({ at: Date.parse(at), usd: costUsd }))
  return html`<section>
      <h2>Timeline</h2>
      <figure>${renderTimeline(lanes, span)}</figure>
      <p class="legend">
        ${LEGEND.map(([colour, words]) => html`<span><i class="${colour}"></i>${words}</span>`)}
      </p>
    </section>
    ${
      points.length < 2
        ? ''
        : html`<section>
            <h2>Cost over time</h2>
            <figure>${renderCurve(points, span, run.budgetUsd)}</figure>
          </section>`
    }`
}

const LEGEND = [
  ['green', 'done'],
  ['blue', 'iteration without the marker'],
  ['yellow', 'refused or limited'],
  ['red', 'failed or killed'],
  ['wait', 'waiting'],
] as const

function stepNumber(scope: readonly string[]): number {
  const part = scope.findLast((each) => /^s\d+$/.test(each))
  return Number(part?.slice(1) ?? 0)
}

function attemptBar(attempt: Attempt, { to }: Span): Bar {
  const { words, look } = describeAttempt(attempt)
  const from = Date.parse(attempt.startedAt)
  const end = attempt.endedAt === undefined ? to : from + (attempt.ms ?? 0)
  const title = `${nameOf(attempt)}: ${words} (${describeSpan({ from, to: end })})`
  return { from, to: end, look, title }
}

function waitBar({ startedAt, endedAt, why }: Wait, { to }: Span): Bar {
  const from = Date.parse(startedAt)
  const end = endedAt === undefined ? to : Date.parse(endedAt)
  const words = why === 'quota' ? 'waiting for the limit' : 'waiting before the next attempt'
  return { from, to: end, look: 'wait', title: `${words} (${describeSpan({ from, to: end })})` }
}

/** `3.2`: the second attempt at iteration 3. */
function nameOf({ iteration, attempt, round }: Attempt): string {
  const of = round > 1 ? `round ${round}, ` : ''
  return `${of}${attempt > 1 ? `${iteration}.${attempt}` : iteration}`
}

function renderTable(head: readonly string[], rows: readonly Html[]): Html {
  const heads = head.map(
    (name) =>
      html`<th class="${name.startsWith('#') ? 'number' : ''}">${name.replace(/^#(?=.)/, '')}</th>`,
  )
  return html`<div class="scroll">
    <table>
      <thead>
        <tr>
          ${heads}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`
}

interface TaskSum {
  readonly id: string
  title: string
  attempts: number
  costUsd: number
  last: Attempt
  readonly commits: Commit[]
}

function renderTasks({ attempts, commitsOf }: ReportedRun): Html | '' {
  const tasks = new Map<string, TaskSum>()
  const others: Commit[] = []
  for (const attempt of attempts) {
    const commits = commitsOf(attempt)
    for (const { id, title = '' } of attempt.tasks) {
      const known = tasks.get(id) ?? {
        id,
        title,
        attempts: 0,
        costUsd: 0,
        last: attempt,
        commits: [],
      }
      tasks.set(id, known)
      known.title ||= title
      known.attempts += 1
      known.costUsd += (attempt.usage?.costUsd ?? 0) / attempt.tasks.length
      known.last = attempt
    }
    const [first] = attempt.tasks
    ;(first === undefined ? others : tasks.get(first.id)!.commits).push(...commits)
  }
  if (tasks.size === 0 && others.length === 0) return ''
  const rows = Array.from(
    tasks.values(),
    ({ id, title, attempts: count, costUsd, last, commits }) => {
      const { words, look } = describeAttempt(last)
      return html`<tr>
        <td class="fixed">${id}</td>
        <td>${title}${renderCommits(commits)}</td>
        <td class="${look}">${words}</td>
        <td class="number">${count}</td>
        <td class="number">${costUsd === 0 ? '' : formatMoney(costUsd)}</td>
      </tr>`
    },
  )
  return html`<section>
    <h2>Tasks and commits</h2>
    ${rows.length === 0 ? '' : renderTable(['task', 'title and commits', 'last outcome', '#attempts', '#cost'], rows)}
    ${
      others.length === 0
        ? ''
        : html`<h3>${rows.length === 0 ? '' : 'Commits without a task'}</h3>
            ${renderCommits(others)}`
    }
  </section>`
}

function renderCommits(commits: readonly Commit[]): Html | '' {
  if (commits.length === 0) return ''
  return html`<ul>
    ${commits.map(({ hash, subject }) => html`<li><code>${hash}</code> ${subject}</li>`)}
  </ul>`
}

/** The output of more failures would bury the rest. */
const MOST_FAILURES = 3

function renderGates({ attempts }: ReportedRun): Html | '' {
  const runs = attempts.flatMap((attempt) =>
    attempt.commands.flatMap((command) =>
      command.role === 'verify' || command.role === 'until' ? [{ attempt, command }] : [],
    ),
  )
  if (runs.length === 0) return ''
  const gates = [...Map.groupBy(runs, ({ command }) => `${command.role}: ${command.command}`)]
  const rows = gates.map(([name, all]) => {
    const failed = all.filter(({ command }) => command.result !== 'ok')
    const ms = all.reduce((sum, { command }) => sum + command.ms, 0)
    return html`<tr>
      <td><code>${name}</code></td>
      <td class="number green">${all.length - failed.length}</td>
      <td class="number ${failed.length > 0 ? 'red' : ''}">${failed.length}</td>
      <td class="number">${formatDuration(ms)}</td>
    </tr>`
  })
  const failures = runs.filter(
    ({ command }) => command.result !== 'ok' && command.role === 'verify',
  )
  const shown = failures.slice(-MOST_FAILURES)
  return html`<section>
    <h2>Gates</h2>
    ${renderTable(['command', '#passed', '#failed', '#time'], rows)}
    ${shown.map(
      ({ attempt, command }) =>
        html`<p>
            Iteration ${nameOf(attempt)} of step ${attempt.step}, ${localTime(attempt.startedAt)}:
            <span class="red">${command.command} ${command.detail}</span>
          </p>
          ${command.tail === undefined ? '' : html`<pre>${command.tail.trimEnd()}</pre>`}`,
    )}
    ${failures.length > shown.length ? html`<p class="dim">The output of the last ${shown.length} of ${failures.length} failures.</p>` : ''}
  </section>`
}

function renderSubAgents({ tasks }: ReportedRun): Html | '' {
  if (tasks === undefined || tasks.tasks.length === 0) return ''
  const rows = tasks.tasks.map((task) => {
    const look = { failed: 'red', done: 'green' }[task.state] ?? 'yellow'
    const why = task.error === undefined ? '' : `: ${task.error}`
    const cost = task.costUsd ? formatCost({ costUsd: task.costUsd, billing: task.billing }) : ''
    return html`<tr>
      <td>${task.name}</td>
      <td class="${look}">${task.state}${why}</td>
      <td>${task.agent ?? ''}</td>
      <td>${task.parent}</td>
      <td class="number">${task.ms === undefined ? '' : formatDuration(task.ms)}</td>
      <td class="number">${cost}</td>
    </tr>`
  })
  return html`<section>
    <h2>Sub-agents</h2>
    ${renderTable(['name', 'state', 'agent', 'for', '#time', '#cost'], rows)}
  </section>`
}

function renderAttempts({ attempts, state }: ReportedRun, { from, to }: Span): Html | '' {
  if (attempts.length === 0) return ''
  const isOneDay = localTime(from).slice(0, 10) === localTime(to).slice(0, 10)
  const rows = attempts.map((attempt) => {
    const { words, look } = describeAttempt(attempt)
    const step = stepOf(state, attempt)
    const who = branchName(state, attempt.scope) ?? step.name ?? step.agent
    const { usage, changes, ms, tasks } = attempt
    return html`<tr>
      <td>${who}</td>
      <td class="number">${nameOf(attempt)}</td>
      <td class="fixed dim">${localTime(attempt.startedAt).slice(isOneDay ? 11 : 5)}</td>
      <td class="number">${ms === undefined ? '' : formatDuration(ms)}</td>
      <td class="${look}">${words}</td>
      <td class="fixed">${tasks.map(({ id }) => id).join(' ')}</td>
      <td class="number">${changes?.commits || ''}</td>
      <td class="number">
        ${usage?.tokens === undefined ? '' : formatTokens(countTokens({ tokens: usage.tokens }))}
      </td>
      <td class="number">${usage?.costUsd === undefined ? '' : formatMoney(usage.costUsd)}</td>
    </tr>`
  })
  const head = ['agent', '##', 'start', '#time', 'outcome', 'task', '#commits', '#tokens', '#cost']
  return html`<section>
    <h2>All attempts</h2>
    ${renderTable(head, rows)}
  </section>`
}
