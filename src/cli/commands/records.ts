import type { Command, Options } from '../command.ts'
import { CWD, JSON_OBJECT, LIMIT_OPTIONS, LIVE, NO_TITLE, ORPHANS, VERBOSE } from './run.ts'

const RECORD_OPTIONS: Options = { ...CWD, ...JSON_OBJECT }

/** Which runs a list is about; `readFilter` reads them. */
const FILTERS: Options = {
  failed: { help: 'only runs that failed, were stopped or died' },
  chain: { value: '<name>', help: 'only runs of this chain' },
  since: { value: '<time>', help: 'only what happened in the last 30m, 12h or 7d' },
}

export const RECORD_COMMANDS = {
  status: {
    summary: 'Show active runs, the last run and the open tasks of the project.',
    usage: ['forkhestra status [--json]'],
    examples: [
      ['forkhestra status', 'what is running, how the last run ended, what is left to do'],
      ['forkhestra status --json', 'for scripts'],
    ],
    options: RECORD_OPTIONS,
    words: [],
    run: async (input) => (await import('../records/print-status.ts')).printStatus(input),
  },
  runs: {
    summary: 'List the recorded runs, newest first.',
    usage: ['forkhestra runs [--failed] [--chain NAME] [--since TIME] [--sort ORDER] [--json]'],
    examples: [
      ['forkhestra runs', 'status, progress, duration and cost of each run'],
      ['forkhestra runs --failed --since 12h', 'what went wrong last night'],
      ['forkhestra runs --json', 'for scripts'],
    ],
    options: {
      ...FILTERS,
      sort: { value: '<order>', help: 'started (newest first), time or cost (default: started)' },
      ...RECORD_OPTIONS,
    },
    words: [],
    run: async (input) => (await import('../records/list-runs.ts')).listRecordedRuns(input),
  },
  show: {
    summary: 'Show how a run went and what to do next.',
    usage: [
      'forkhestra show [RUN] [--step N [--copy N] [--round N]] [--json]',
      'forkhestra show [RUN] --html FILE',
      'forkhestra show [RUN] --step N [--copy N] --iteration N [--attempt N] [--round N] [--json]',
    ],
    examples: [
      ['forkhestra show', 'the newest run'],
      ['forkhestra show --html night.html', 'a report as one web page, to read or to send'],
      ['forkhestra show x7k2m', 'a run by the beginning or the end of its id'],
      [
        'forkhestra show --step 2 --iteration 5',
        'one iteration: command, prompt, outcome, changes',
      ],
    ],
    options: {
      step: { value: '<n>', help: 'only this step' },
      copy: { value: '<n>', help: 'only this copy of the step' },
      iteration: { value: '<n>', help: 'details of this iteration' },
      attempt: { value: '<n>', help: 'attempt of the iteration (default: the last)' },
      round: { value: '<n>', help: 'round of the step (default: the last)' },
      html: { value: '<file>', help: 'write a report as one web page, to read or to send' },
      ...RECORD_OPTIONS,
    },
    run: async (input) => (await import('../records/show-run.ts')).showRun(input),
  },
  watch: {
    summary: 'Watch a run on the whole terminal; press ? for the keys.',
    usage: ['forkhestra watch [RUN]'],
    examples: [
      ['forkhestra watch', 'the newest run, also one that was started in another terminal'],
      [
        'forkhestra watch x7k2m',
        'a run by the beginning or the end of its id, also a finished one',
      ],
    ],
    options: CWD,
    run: async (input) => (await import('../records/watch-run.ts')).watchRun(input),
  },
  logs: {
    summary: 'Print the output of a run.',
    usage: [
      'forkhestra logs [RUN] [--follow] [--step N [--copy N]] [--iteration N] [--raw | --json]',
      'forkhestra logs [RUN] [--follow] --task NAME [--attempt N] [--raw | --json]',
    ],
    examples: [
      ['forkhestra logs', 'output of the newest run'],
      ['forkhestra logs --follow', 'keep printing until the run ends'],
      ['forkhestra logs --tail 50 --timestamps', 'the last 50 lines, with their times'],
      ['forkhestra logs --step 2 --iteration 5 -v', 'one iteration, with the results of tools'],
      ['forkhestra logs --step 2 --iteration 5 --raw', 'raw output of one iteration'],
    ],
    json: 'events',
    options: {
      follow: { short: 'f', help: 'keep printing until the run ends' },
      step: { value: '<n>', help: 'only this step' },
      copy: { value: '<n>', help: 'only this copy of the step' },
      iteration: { value: '<n>', help: 'only this iteration' },
      task: { value: '<name>', help: 'only this task' },
      attempt: { value: '<n>', help: 'only this attempt of the task' },
      tail: { value: '<n>', help: 'only the last n lines so far' },
      since: { value: '<time>', help: 'only what happened in the last 90s, 10m or 2h' },
      timestamps: { help: 'print the local time before each line' },
      raw: { help: 'the output of the agents, byte for byte, both streams on stdout' },
      verbose: {
        short: 'v',
        help: 'print everything in full, with the results of tools; -vv: these in full, too',
      },
      ...CWD,
      json: { help: 'print one JSON event per line, like a run with --json' },
    },
    run: async (input) => (await import('../records/print-logs.ts')).printLogs(input),
  },
  cost: {
    summary: 'Add up the iterations, tokens, time and cost of recorded runs.',
    usage: [
      'forkhestra cost [RUN] [--by run|agent|step|branch|day|task] [--json]',
      'forkhestra cost [--failed] [--chain NAME] [--since TIME] [--by …]',
    ],
    examples: [
      ['forkhestra cost', 'cost per run'],
      ['forkhestra cost --by task', 'cost per forge-tasks task'],
      ['forkhestra cost --by agent --since 24h', 'who spent what since yesterday'],
      ['forkhestra cost x7k2m --by step', 'cost per step of one run'],
    ],
    options: {
      by: { value: '<what>', help: 'run, agent, step, branch, day or task (default: run)' },
      ...FILTERS,
      ...RECORD_OPTIONS,
    },
    run: async (input) => (await import('../records/print-cost.ts')).printCost(input),
  },
  stop: {
    summary: 'Stop a run after its current iteration; it can be resumed.',
    usage: ['forkhestra stop [RUN] [--now] [--json]'],
    examples: [
      ['forkhestra stop', 'the newest active run'],
      ['forkhestra stop --now', 'interrupt the iteration, like Ctrl-C'],
    ],
    options: {
      now: { help: 'interrupt the iteration, like Ctrl-C' },
      ...RECORD_OPTIONS,
    },
    run: async (input) => (await import('../records/ask-run.ts')).stopRun(input),
  },
  resume: {
    summary: 'Resume a run that was killed, was stopped or did not complete.',
    usage: ['forkhestra resume [RUN] [options]'],
    examples: [
      ['forkhestra resume', 'the newest incomplete run, at the iteration where it ended'],
      ['forkhestra resume 20261116-2203', 'a run by the beginning of its id'],
      ['forkhestra resume --max-cost 20', 'with a larger budget'],
    ],
    json: 'events',
    options: {
      ...CWD,
      anyway: { help: 'start even if another run is active in this working tree' },
      ...ORPHANS,
      'trust-record': { help: 'accept a record that was not created here or is not signed' },
      'new-queue': { help: 'start with an empty queue and keep the damaged one' },
      prompt: {
        short: 'p',
        value: '<text>',
        help: 'the original prompt, if the record does not contain all of it',
      },
      ...LIMIT_OPTIONS,
      ...LIVE,
      ...VERBOSE,
      ...NO_TITLE,
      json: { help: 'print one JSON event per line on stdout' },
    },
    run: async (input) => (await import('../resume-run.ts')).resumeRun(input),
  },
  'retry-now': {
    summary: 'Make a run that waits for a quota or a retry continue now.',
    usage: ['forkhestra retry-now [RUN] [--json]'],
    examples: [['forkhestra retry-now', 'the newest waiting run']],
    options: RECORD_OPTIONS,
    run: async (input) => (await import('../records/ask-run.ts')).retryNow(input),
  },
  clean: {
    summary: 'Remove the records of old runs.',
    usage: ['forkhestra clean --keep N [--with-queues] [--with-foreign] [--dry-run] [--json]'],
    examples: [
      ['forkhestra clean --keep 10', 'keep the newest 10; active runs are never removed'],
      ['forkhestra clean --keep 0 --dry-run', 'show what would be removed'],
    ],
    options: {
      keep: { value: '<n>', help: 'number of runs to keep' },
      'with-queues': { help: 'also remove runs with queued tasks, unread results or worktrees' },
      'with-foreign': { help: 'also remove runs that were not created here' },
      'dry-run': { help: 'print what would be removed, and exit' },
      ...RECORD_OPTIONS,
    },
    words: [],
    run: async (input) => (await import('../records/clean-runs.ts')).cleanRuns(input),
  },
  worktrees: {
    summary: 'List the git worktrees and branches that runs left behind, and what to do with them.',
    usage: ['forkhestra worktrees [--clean] [--json]'],
    examples: [
      ['forkhestra worktrees', 'what is not merged, why, and what to do next'],
      ['forkhestra worktrees --clean', 'remove those with nothing to lose'],
    ],
    options: {
      clean: {
        help: 'remove those with nothing to lose, unless their run is active',
      },
      ...RECORD_OPTIONS,
    },
    words: [],
    run: async (input) => (await import('../records/list-worktrees.ts')).listWorktrees(input),
  },
} satisfies Record<string, Command>
