import type { Command } from '../command.ts'

/** Loaded when it is asked for: a call needs one of them. */
interface Verb {
  readonly summary: string
  readonly load: () => Promise<Command>
}

export const VERBS: Readonly<Record<string, Verb>> = {
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
  unarchive: {
    summary: 'bring tasks back from the archive',
    load: async () => (await import('./commands/shelve.ts')).unarchiveCommand,
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

export const ALIASES: Readonly<Record<string, string>> = {
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
}
