import { UsageError } from '../command.ts'
import { columns } from '../help.ts'
import { summariesOf, type Program } from '../program.ts'
import { guessTaskCommand } from './first-guesses.ts'

const COMMANDS: Program['commands'] = {
  init: async () => (await import('./commands/init.ts')).initCommand,
  create: async () => (await import('./commands/create.ts')).createCommand,
  list: async () => (await import('./commands/list.ts')).listCommand,
  next: async () => (await import('./commands/next.ts')).nextCommand,
  claim: async () => (await import('./commands/claim.ts')).claimCommand,
  release: async () => (await import('./commands/claim.ts')).releaseCommand,
  view: async () => (await import('./commands/view.ts')).viewCommand,
  edit: async () => (await import('./commands/edit.ts')).editCommand,
  archive: async () => (await import('./commands/archive.ts')).archiveCommand,
  unarchive: async () => (await import('./commands/archive.ts')).unarchiveCommand,
  delete: async () => (await import('./commands/archive.ts')).deleteCommand,
  search: async () => (await import('./commands/inspect.ts')).searchCommand,
  stats: async () => (await import('./commands/inspect.ts')).statsCommand,
  doctor: async () => (await import('./commands/inspect.ts')).doctorCommand,
  board: async () => (await import('./commands/board.ts')).boardCommand,
  completions: async () => {
    const { makeCompletionsCommand } = await import('../commands/general.ts')
    return makeCompletionsCommand('forge-tasks', async () => {
      return (await import('./completions/program.ts')).TASKS_COMPLETIONS
    })
  },
  mcp: async () => (await import('./commands/mcp.ts')).mcpCommand,
  help: async () => (await import('../commands/general.ts')).makeHelpCommand(FORGE_TASKS),
  version: async () => (await import('../commands/general.ts')).makeVersionCommand('forge-tasks'),
}

export const FORGE_TASKS: Program = {
  name: 'forge-tasks',
  summary: 'Manage the task database, as forge-tasks does.',
  prefix: 'forge-tasks',
  commands: COMMANDS,
  aliases: {
    add: 'create',
    new: 'create',
    ls: 'list',
    show: 'view',
    get: 'view',
    update: 'edit',
    set: 'edit',
    take: 'claim',
    unclaim: 'release',
    rm: 'delete',
    remove: 'delete',
    find: 'search',
    status: 'stats',
  },
  async help() {
    return [
      'A task database for agents and people: Markdown files in forge/tasks/.',
      '',
      'Examples:',
      '  forge-tasks create "Add login" --ac "A wrong password is refused" -p high',
      '  forge-tasks next --claim',
      '  forge-tasks edit TASK-001 --check-ac 1 --status done',
      '  forge-tasks list --ready --plain',
      '',
      'Commands:',
      ...columns(await summariesOf(FORGE_TASKS)),
      '',
      'Every command has --help; those that show or change tasks have --plain, --json and --cwd.',
    ].join('\n')
  },
  guess(words) {
    const [first, ...rest] = words
    const meant = rest.includes('--help') ? [first!] : words
    const guess = guessTaskCommand(meant, Object.keys(COMMANDS))
    if (guess === undefined) return undefined
    return new UsageError(`Unknown command '${first}'.`, `Did you mean: ${guess}`)
  },
}
