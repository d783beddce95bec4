import { UserError } from '../../base/errors.ts'
import { nearest } from '../../base/nearest.ts'
import { parseInput, type Command } from '../command.ts'
import { columns, renderHelp } from '../help.ts'
import { renderError } from '../render-error.ts'

/** Loaded when it is asked for: a call needs one of them. */
const VERBS: Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>
> = {
  init: {
    summary: 'write a configuration (not necessary)',
    load: async () => (await import('./commands/init.ts')).initCommand,
  },
  create: {
    summary: 'create a task',
    load: async () => (await import('./commands/create.ts')).createCommand,
  },
  list: {
    summary: 'list tasks; --ready: what can be begun now',
    load: async () => (await import('./commands/list.ts')).listCommand,
  },
  next: {
    summary: 'the next task with all it needs; --claim takes it',
    load: async () => (await import('./commands/next.ts')).nextCommand,
  },
  claim: {
    summary: 'take one task',
    load: async () => (await import('./commands/claim.ts')).claimCommand,
  },
  release: {
    summary: 'give a task back',
    load: async () => (await import('./commands/claim.ts')).releaseCommand,
  },
  view: {
    summary: 'show one task',
    load: async () => (await import('./commands/view.ts')).viewCommand,
  },
  edit: {
    summary: 'change tasks',
    load: async () => (await import('./commands/edit.ts')).editCommand,
  },
  archive: {
    summary: 'put tasks aside',
    load: async () => (await import('./commands/shelve.ts')).archiveCommand,
  },
  delete: {
    summary: 'delete a task',
    load: async () => (await import('./commands/shelve.ts')).deleteCommand,
  },
  search: {
    summary: 'find tasks by words',
    load: async () => (await import('./commands/look.ts')).searchCommand,
  },
  stats: {
    summary: 'count tasks',
    load: async () => (await import('./commands/look.ts')).statsCommand,
  },
  doctor: {
    summary: 'find and mend what is wrong with the files',
    load: async () => (await import('./commands/look.ts')).doctorCommand,
  },
  board: {
    summary: 'the tasks as a board, to look at and to move',
    load: async () => (await import('./commands/board.ts')).boardCommand,
  },
  completions: {
    summary: 'completion for bash, zsh or fish',
    load: async () => (await import('./commands/completions.ts')).completionsCommand,
  },
  mcp: {
    summary: 'serve the same operations as MCP tools, on stdin and stdout',
    load: async () => (await import('./commands/mcp.ts')).mcpCommand,
  },
}

const ALIASES: Readonly<Record<string, string>> = {
  ls: 'list',
  show: 'view',
  update: 'edit',
  rm: 'delete',
}

/** The front door of forge-tasks. */
export async function tasksMain(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    if (args.includes('--json'))
      console.log(JSON.stringify({ ok: false, problems: error.problems }))
    console.error(renderError('forge-tasks', error))
    return error.exitCode
  }
}

async function dispatch([first, ...rest]: readonly string[]): Promise<number> {
  if (first === undefined || first === '--help' || first === '-h') {
    console.log(renderMainHelp())
    return first === undefined ? 2 : 0
  }
  const name = Object.hasOwn(ALIASES, first) ? ALIASES[first]! : first
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
  if (verb === undefined) {
    const close = nearest(first, Object.keys(VERBS))
    throw new UserError(
      `Unknown command '${first}'${close === undefined ? '.' : `, did you mean '${close}'?`}`,
      'See: forge-tasks --help',
    )
  }
  const command = await verb.load()
  const input = parseInput(rest, command)
  if (input.flag('help')) {
    console.log(renderHelp(name, command))
    return 0
  }
  return command.run(input)
}

function renderMainHelp(): string {
  const verbs = Object.entries(VERBS).map(([name, { summary }]) => [name, summary] as const)
  return [
    'The task database that agents and people share: Markdown files in forge/tasks/.',
    '',
    'Examples:',
    '  forge-tasks create "Add login" --ac "A wrong password is refused" -p high',
    '  forge-tasks next --claim',
    '  forge-tasks edit TASK-001 --check-ac 1 --status done',
    '  forge-tasks list --ready --plain',
    '',
    'Commands:',
    ...columns(verbs),
    '',
    'Each has --help, --plain, --json and --cwd.',
  ].join('\n')
}
