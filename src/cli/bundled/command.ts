import type { Command } from '../command.ts'

/** What a program of our own that is one agent takes. */
export function makeBundledCommand(name: string): Command {
  const isWorker = name.endsWith('worker')
  const example = isWorker ? `${name} --task TASK-007` : `${name} "Add a login page"`
  return {
    summary: SUMMARIES[name.replace(/^forge-/, '')] ?? '',
    usage: [`${name} [prompt…] [options]`],
    examples: [
      [example, 'on a terminal: a conversation'],
      [`${example} --print`, 'head-less: works, prints what it does, ends'],
      [`forkhestra "${name}:10"`, 'in a loop until it says that all is done'],
    ],
    options: {
      print: { short: 'p', help: 'head-less; always so inside of a run and without a terminal' },
      ...(isWorker ? { task: { value: '<id>', help: 'the task to work on' } } : {}),
      cwd: { value: '<path>', help: 'the project, if not the current folder' },
    },
    async run(input) {
      const { runBundled } = await import('./run-bundled.ts')
      return runBundled(name, input)
    },
  }
}

const SUMMARIES: Readonly<Record<string, string>> = {
  'task-manager': 'Turn requirements into tasks.',
  'task-coordinator': 'See to it that all tasks get done.',
  'task-worker': 'Work on one task until it is done.',
}
